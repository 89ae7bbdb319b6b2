//! Which servers sessions read at together, as the node sees it that they are connected to.

use crate::words::{name, names};
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;
use tidemark_contract::Topology;
use tidemark_contract::grouping::{Checking, NamedGroup};
use tidemark_core::{DcId, Micros, Op, ServerId};

/// Some servers, in order.
pub type Touched = SmallVec<[ServerId; 4]>;

/// A session belongs to whom it has read at within one or two of these.
const WINDOW_US: Micros = 1_000_000;
/// Who reads at more servers than that is left to the groups that there are: one for all of them would be as late as the last.
const WIDEST: usize = 8;
/// How many sets of servers are told apart; of more, those that were not used for longest are forgotten.
const MOST: usize = 128;

/// The checking groups that sessions can be given.
#[derive(Clone, Debug, Default)]
pub struct Choices {
    groups: Vec<NamedGroup>,
    /// How often they have changed.
    version: u64,
}

impl Choices {
    /// These are the groups now.
    pub fn update(&mut self, groups: Vec<NamedGroup>) {
        if self.groups != groups {
            (self.groups, self.version) = (groups, self.version + 1);
        }
    }

    /// The groups.
    pub fn groups(&self) -> &[NamedGroup] {
        &self.groups
    }
}

/// Of `groups` the smallest that holds all of `touched`, the first of several: what a session is given.
pub(crate) fn fitting<'a>(
    touched: &[ServerId],
    groups: impl IntoIterator<Item = &'a [ServerId]>,
) -> Option<usize> {
    let holds = |group: &[ServerId]| touched.iter().all(|server| group.contains(server));
    let fitting = groups.into_iter().enumerate().filter(|(_, group)| holds(group));
    fitting.min_by_key(|(place, group)| (group.len(), *place)).map(|(place, _)| place)
}

/// Where one session has read lately.
#[derive(Clone, Debug, Default)]
pub struct Footprint {
    /// In this window, in the one before, and in both.
    now: Touched,
    before: Touched,
    all: Touched,
    until: Micros,
    last: Option<ServerId>,
    /// What runs reads several keys at once.
    several: bool,
    /// Nobody knows where.
    leaves: bool,
    /// Where it counts: the place of its set, which set that is, and which way it came last.
    counts: Option<(usize, u64, usize)>,
    /// The group that holds all, of those of some version.
    fits: Option<(u64, Checking)>,
}

impl Footprint {
    /// The session begins `op` in `home`. Several keys at once are read at all of their servers, whoever is asked for them.
    pub fn begins(&mut self, op: &Op, (home, topology): (DcId, &Topology), now: Micros, watch: &mut Watch) {
        (self.several, self.leaves) = (false, false);
        let (Op::Rotx { keys } | Op::Snapshot { keys } | Op::At { keys, .. } | Op::Query { keys, .. }) = op
        else {
            return;
        };
        self.several = true;
        // Another region may read them, where regions hold some keys only: then nothing is counted, and nothing chosen.
        self.leaves = !topology.placement.rules.is_empty();
        if !self.leaves {
            let mut servers = Touched::new();
            for key in keys {
                insert(&mut servers, ServerId::new(home, topology.partition_of(key)));
            }
            servers.into_iter().for_each(|server| self.reads_at(server, now, watch));
        }
    }

    /// It asks `to`, to read there.
    pub fn asks(&mut self, to: ServerId, now: Micros, watch: &mut Watch) {
        if !self.several {
            self.reads_at(to, now, watch);
        }
    }

    fn reads_at(&mut self, to: ServerId, now: Micros, watch: &mut Watch) {
        let mut changed = false;
        if now >= self.until {
            let old = std::mem::take(&mut self.now);
            self.before = if now < self.until + WINDOW_US { old } else { Touched::new() };
            self.until = now + WINDOW_US;
            changed = true;
        }
        if self.now.len() <= WIDEST && insert(&mut self.now, to) {
            changed |= !self.all.contains(&to);
        }
        if changed {
            let mut all = self.before.clone();
            for server in &self.now {
                insert(&mut all, *server);
            }
            if all != self.all {
                (self.all, self.fits, self.counts) = (all, None, None);
            }
        }
        let from = self.last.replace(to).unwrap_or(to);
        self.counts =
            (self.all.len() <= WIDEST).then(|| watch.count(&self.all, self.counts, (from, to), now));
    }

    /// What it has just read came so late because a server did not have yet what the session depends on.
    pub fn waited(&mut self, waited_us: Micros, watch: &mut Watch) {
        if let Some((place, id, way)) = self.counts
            && waited_us > 0
            && let Some(of) = watch.uses.get_mut(place).filter(|of| of.id == id)
        {
            of.ways[way].waited_us += waited_us;
        }
    }

    /// The group that is to answer it: the smallest that holds all servers that it has read at. None: it is for each server to choose.
    pub fn fitting(&mut self, choices: &Choices) -> Checking {
        if self.leaves || self.all.is_empty() || self.all.len() > WIDEST {
            return Checking::new();
        }
        match &self.fits {
            Some((version, fits)) if *version == choices.version => fits.clone(),
            _ => {
                let servers = choices.groups.iter().map(|(_, group)| &group.servers[..]);
                let fits: Checking =
                    fitting(&self.all, servers).map(|place| choices.groups[place].0).into_iter().collect();
                self.fits = Some((choices.version, fits.clone()));
                fits
            }
        }
    }
}

fn insert(set: &mut Touched, server: ServerId) -> bool {
    match set.binary_search(&server) {
        Ok(_) => false,
        Err(place) => {
            set.insert(place, server);
            true
        }
    }
}

/// What all sessions of one node have done, counted by the servers that they read at together.
#[derive(Clone, Debug, Default)]
pub struct Watch {
    uses: Vec<Use>,
    begun: u64,
}

#[derive(Clone, Debug)]
struct Use {
    /// Which of all that were ever begun.
    id: u64,
    touched: Touched,
    ways: Vec<Way>,
    /// When it was used last.
    at: Micros,
}

#[derive(Clone, Debug)]
struct Way {
    from: ServerId,
    to: ServerId,
    reads: u64,
    waited_us: u64,
}

impl Watch {
    fn count(
        &mut self,
        touched: &[ServerId],
        known: Option<(usize, u64, usize)>,
        (from, to): (ServerId, ServerId),
        now: Micros,
    ) -> (usize, u64, usize) {
        let known = known.filter(|(place, id, _)| self.uses.get(*place).is_some_and(|of| of.id == *id));
        let place = match known {
            Some((place, _, _)) => place,
            None => self.place_of(touched),
        };
        let of = &mut self.uses[place];
        of.at = now;
        let way = of.ways.iter().position(|way| (way.from, way.to) == (from, to)).unwrap_or_else(|| {
            of.ways.push(Way { from, to, reads: 0, waited_us: 0 });
            of.ways.len() - 1
        });
        of.ways[way].reads += 1;
        (place, of.id, way)
    }

    fn place_of(&mut self, touched: &[ServerId]) -> usize {
        if let Some(place) = self.uses.iter().position(|of| &of.touched[..] == touched) {
            return place;
        }
        self.begun += 1;
        let new = Use { id: self.begun, touched: touched.into(), ways: Vec::new(), at: 0 };
        if self.uses.len() < MOST {
            self.uses.push(new);
            return self.uses.len() - 1;
        }
        let oldest = self.uses.iter().enumerate().min_by_key(|(_, of)| (of.at, of.id));
        let place = oldest.map(|(place, _)| place).expect("there are many");
        self.uses[place] = new;
        place
    }

    /// What was counted since the node started.
    pub fn report(&self) -> Vec<UseReport> {
        let way = |Way { from, to, reads, waited_us }: &Way| VisitReport {
            from: *from,
            to: *to,
            reads: *reads,
            waited_us: *waited_us,
        };
        let one = |of: &Use| {
            let visits = of.ways.iter().map(way).collect();
            UseReport { id: of.id, servers: of.touched.clone(), visits }
        };
        self.uses.iter().map(one).collect()
    }
}

/// What sessions that read at some servers together have done since a node started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UseReport {
    /// Tells it apart from others of that node.
    pub id: u64,
    /// Where they read.
    #[serde(with = "names")]
    pub servers: Touched,
    /// Their reads.
    pub visits: Vec<VisitReport>,
}

/// Reads at one server by sessions that had last read at another, or at the same.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VisitReport {
    /// Where they had read last.
    #[serde(with = "name")]
    pub from: ServerId,
    /// Where they read.
    #[serde(with = "name")]
    pub to: ServerId,
    /// How many.
    pub reads: u64,
    /// How long they had to wait altogether until what their sessions depended on was there, in microseconds.
    pub waited_us: u64,
}
