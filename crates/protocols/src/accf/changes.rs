//! What has changed of the groupings since the system was founded (000 §9.6), and how all servers come to know it (D10).

use super::groups::Groups;
use super::tracks::Tracks;
use super::{Accf, Params, Peer, Work};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use tidemark_contract::core::{DcId, Hlc, Micros, PartitionId, ServerId};
use tidemark_contract::grouping::tracked::Reached;
use tidemark_contract::grouping::{
    Behind, CheckingGroup, GroupStanding, Grouping, Groupings, Members, Regrouping, Tracking,
};
use tidemark_contract::{Ceiling, Cx, Hard, Topology};

/// Between two servers that are told of changes.
const SPREAD_US: Micros = 50_000;

/// The numbers of groups that came later begin here.
const FROM_HERE: u64 = 1 << 63;

/// The changes that one server knows of. Two servers' are merged; the order does not matter.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Changes {
    pub(super) checking: BTreeMap<CheckingGroup, Added>,
    /// Checking groups that came and went.
    gone: BTreeSet<CheckingGroup>,
    /// The trackings that were chosen, beside the one of the cluster file.
    trackings: BTreeMap<Tracking, Chosen>,
    /// The latest choice, and when and where it was made.
    latest: (Hlc, DcId, PartitionId, Tracking),
}

/// A way to divide servers into tracking groups.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Chosen {
    /// As an operator writes it.
    pub(super) text: String,
    pub(super) groups: Vec<Vec<ServerId>>,
}

impl Chosen {
    fn new(tracking: &Grouping, topology: &Topology) -> Result<Self, String> {
        let groups = tracking.disjoint(topology)?.into_iter().map(|group| group.servers);
        Ok(Self { text: tracking.to_string(), groups: groups.collect() })
    }
}

/// A checking group that came while the system ran.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Added {
    pub(super) name: String,
    pub(super) servers: Vec<ServerId>,
    /// It is to go: nobody new is to ask for it.
    pub(super) retired: bool,
    /// Servers that nobody has asked for it for a while, since it is to go.
    left: BTreeSet<ServerId>,
}

impl Changes {
    /// T.
    pub(super) fn tracking(&self, params: &Params, topology: &Topology) -> (Tracking, Chosen) {
        let by = self.latest.3;
        let founded = || Chosen::new(&params.tracking, topology).expect("it was checked");
        (by, self.trackings.get(&by).cloned().unwrap_or_else(founded))
    }

    /// Its name.
    pub(super) fn chosen(&self) -> Tracking {
        self.latest.3
    }

    /// Whether there may be versions of several trackings.
    pub(super) fn tracked_otherwise(&self) -> bool {
        !self.trackings.is_empty()
    }

    /// The checking groups that clients may choose: not those that are to go.
    pub(super) fn choices(&self, params: &Params, topology: &Topology) -> Vec<(CheckingGroup, Members)> {
        self.members(params, topology, |added| !added.retired)
    }

    /// The checking groups; of those that came while the system ran, only `some`.
    fn members(
        &self,
        params: &Params,
        topology: &Topology,
        some: impl Fn(&Added) -> bool,
    ) -> Vec<(CheckingGroup, Members)> {
        let founded = params.checking.groups(topology).expect("it was checked");
        let members = |added: &Added| Members { name: added.name.clone(), servers: added.servers.clone() };
        let added = self.checking.iter().filter(|(_, added)| some(added));
        let added = added.map(|(id, added)| (*id, members(added)));
        (0..).map(CheckingGroup).zip(founded).chain(added).collect()
    }

    /// How all groups stand, as `groups` of one server are.
    pub(super) fn standing(
        &self,
        groups: &Groups,
        behind: Behind,
        params: &Params,
        topology: &Topology,
    ) -> Groupings {
        let one = |(id, Members { name, servers }): (CheckingGroup, Members)| {
            let (stage, asked) = groups.standing(id);
            let servers = servers.iter().map(ServerId::to_string).collect();
            GroupStanding { name, servers, added: came_later(id), stage, asked }
        };
        let (_, tracking) = self.tracking(params, topology);
        let checking = self.members(params, topology, |_| true).into_iter().map(one).collect();
        Groupings { tracking: tracking.text, checking, behind }
    }

    /// Carries out an order that is given at `now` to server `me`.
    pub(super) fn obey(
        &mut self,
        order: &Regrouping,
        (now, me): (Hlc, ServerId),
        params: &Params,
        topology: &Topology,
    ) -> Result<(), String> {
        match order {
            Regrouping::Add { name, servers } => {
                let servers = Regrouping::members(name, servers, topology)?;
                let known = self.choices(params, topology);
                if known.iter().any(|(_, known)| known.name.eq_ignore_ascii_case(name)) {
                    return Err(format!("there is a checking group {name} already: remove it first"));
                }
                let id = CheckingGroup(number(&format!("{name} {now:?} {me}")) | FROM_HERE);
                let added = Added { name: name.clone(), servers, retired: false, left: BTreeSet::new() };
                self.checking.insert(id, added);
            }
            Regrouping::Remove { name } => {
                let known = self.choices(params, topology);
                let known = known.iter().find(|(_, known)| known.name.eq_ignore_ascii_case(name));
                let (id, _) = known.ok_or_else(|| format!("no checking group is called {name}"))?;
                let Some(added) = self.checking.get_mut(id) else {
                    return Err(format!("{name} is of the cluster file: only what was added can be removed"));
                };
                added.retired = true;
            }
            Regrouping::Track { tracking } => {
                let chosen = Chosen::new(tracking, topology)?;
                let founded = *tracking == params.tracking;
                let by = if founded { Tracking::default() } else { self.called(chosen)? };
                self.latest = (now.max(self.latest.0.next()), me.dc, me.partition, by);
            }
        }
        Ok(())
    }

    /// The name of a tracking: what versions are marked with that are stored under it.
    fn called(&mut self, tracking: Chosen) -> Result<Tracking, String> {
        let by = Tracking((number(&tracking.text) % u64::from(u32::MAX)) as u32 + 1);
        match self.trackings.insert(by, tracking.clone()) {
            Some(other) if other != tracking => {
                let why = format!(
                    "versions under it would look like those under {}, which was used before",
                    other.text
                );
                self.trackings.insert(by, other);
                Err(why)
            }
            _ => Ok(by),
        }
    }

    /// Nobody has asked `me` for a group for a while that is to go. Whether that is news.
    pub(super) fn leave(&mut self, id: CheckingGroup, me: ServerId) -> bool {
        let news = self.checking.get_mut(&id).is_some_and(|added| added.retired && added.left.insert(me));
        self.tidy();
        news
    }

    /// Adds what `other` knows. Whether there was something new.
    pub(super) fn merge(&mut self, other: &Self) -> bool {
        let before = self.clone();
        for (id, theirs) in &other.checking {
            let mine = self.checking.entry(*id).or_insert_with(|| theirs.clone());
            mine.retired |= theirs.retired;
            mine.left.extend(&theirs.left);
        }
        self.gone.extend(&other.gone);
        other.trackings.iter().for_each(|(by, tracking)| {
            self.trackings.entry(*by).or_insert_with(|| tracking.clone());
        });
        self.latest = self.latest.max(other.latest);
        self.tidy();
        *self != before
    }

    /// Groups that everybody has left are gone.
    fn tidy(&mut self) {
        let Self { checking, gone, .. } = self;
        checking.retain(|id, added| {
            if added.servers.iter().all(|server| added.left.contains(server)) {
                gone.insert(*id);
            }
            !gone.contains(id)
        });
    }
}

/// Whether a group came while the system ran.
pub(super) fn came_later(id: CheckingGroup) -> bool {
    id.0 >= FROM_HERE
}

/// A number for something, the same everywhere (FNV-1a).
fn number(of: &str) -> u64 {
    of.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

/// Who knows of the changes that this server knows of. What changed is told to one server after the other, until each has said
/// that it knows the same: messages get lost.
#[derive(Default)]
pub(super) struct Spreading {
    agreed: BTreeSet<ServerId>,
    turn: usize,
    again_at: Micros,
}

impl Spreading {
    /// The changes are not what they were.
    pub(super) fn begin(&mut self) {
        self.agreed.clear();
        self.again_at = 0;
    }

    /// A server that has restarted may have lost its disk.
    pub(super) fn reset(&mut self, peer: ServerId) {
        self.agreed.remove(&peer);
    }

    /// `from` knows the same.
    pub(super) fn agree(&mut self, from: ServerId) {
        self.agreed.insert(from);
    }

    /// Now and then tells the next server.
    pub(super) fn work(&mut self, changes: &Changes, cx: &mut Cx<'_, Accf>) {
        if *changes == Changes::default() || cx.mono < self.again_at {
            return;
        }
        let waits = |server: &ServerId| *server != cx.me && !self.agreed.contains(server);
        let waiting: Vec<ServerId> = cx.topology.servers().filter(waits).collect();
        if waiting.is_empty() {
            return;
        }
        self.again_at = cx.mono + SPREAD_US;
        self.turn += 1;
        cx.send(waiting[self.turn % waiting.len()], Peer::Changes(changes.clone(), true));
    }
}

/// D10 and D11: what a server does about changes.
impl Accf {
    /// Another server tells what it knows, and may want to know what this one does.
    pub(super) fn hear_of(&mut self, from: ServerId, theirs: &Changes, asks: bool, cx: &mut Cx<'_, Accf>) {
        if self.changes.merge(theirs) {
            self.changed(cx);
        }
        if self.changes == *theirs {
            self.spreading.agree(from);
        }
        if asks {
            cx.send(from, Peer::Changes(self.changes.clone(), false));
        }
    }

    /// At every θ: leaves groups that are to go and that nobody asks for, and tells others what they do not know.
    pub(super) fn look_after_changes(&mut self, cx: &mut Cx<'_, Accf>) {
        let before = cx.mono.saturating_sub(cx.params.drain_us);
        let idle: Vec<CheckingGroup> = self.groups.idle(before).collect();
        let left = idle.into_iter().filter(|id| self.changes.leave(*id, cx.me)).count();
        if left > 0 {
            self.changed(cx);
        }
        self.spreading.work(&self.changes, cx);
    }

    /// The changes are not what they were.
    pub(super) fn changed(&mut self, cx: &mut Cx<'_, Accf>) {
        self.groups.change(&self.changes, cx.mono);
        self.spreading.begin();
        let (changes, from) = (self.changes.chosen() != self.tracks.chosen, self.tracks.by);
        if changes {
            let tracks = Tracks::new(self.changes.tracking(cx.params, cx.topology), cx.me, cx.topology);
            self.groups.retrack(from, &tracks);
            self.collection.retrack(from, &tracks, cx);
            let Hard { ceiling, stable } = self.ceiling.durable().clone();
            let stable = Reached { by: from, upto: stable }.at_least(tracks.by, tracks.count);
            self.ceiling = Ceiling::new(Hard { ceiling, stable });
            self.overwritten = tracks.least(&self.latest, self.clock);
            self.tracks = tracks;
        }
        self.persist(Some(self.ceiling.durable().clone()), cx);
        if changes {
            // It waits for times of groups that there are no more.
            for work in self.waiting.expire(Micros::MAX) {
                match work {
                    Work::Asked(ticket, request, since) => self.take(ticket, request, since, cx),
                    Work::Slice(from, request) => self.take_slice(from, request, cx),
                }
            }
        }
    }
}
