//! Dependency checks: a version from elsewhere waits until what it depends on is applied in this data centre (COPS,
//! Eiger, Orbe, CC-LO).
//!
//! Peers' replication streams are in order and exactly once, so at its own partition a server knows of every update whether it is
//! *applied*: it was received, and it does not wait. What other partitions hold it asks its siblings ([`Check`]), which
//! answer when all that they were asked for is applied there.
//!
//! Nothing here is durable, and need not be, if what was applied stays applied across a crash (see
//! [`crate::Cx::revise`]): then an answer that was given stays true, and what was not answered is asked again. Answers
//! to an earlier life find nothing. Messages arrive at most once, so open questions are asked again now and then.
//!
//! A dependency on a *part* of a transaction is met once that part is here, applied or not: parts come to show together.
//!
//! What has to be said and done comes out of [`Checks::send`] and [`Checks::ready`], to be emptied after each event.

use crate::deps::{Dep, Deps, Scope};
use crate::gather::GatherId;
use crate::{Cx, Protocol};
use serde::{Deserialize, Serialize};
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Bound::{Excluded, Included, Unbounded};
use tidemark_core::{DcId, Hlc, PartitionId, ServerId, Stamp, Vector};

/// How many open questions are asked again in one go.
const PIECE: usize = 1_000;

/// What siblings say to each other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Check {
    /// Say so when all of these are applied where you are.
    Ask(GatherId, Vec<Dep>),
    /// They are.
    Met(GatherId),
}

/// An update of this partition: its origin, its time, and what tells it from others of that time.
type Place = (DcId, Hlc, u32);

fn place(stamp: Stamp) -> Place {
    (stamp.origin, stamp.ts, stamp.seq)
}

/// Somebody who waits for an update of this partition.
#[derive(Clone, Copy)]
enum Who {
    Mine(GatherId),
    Sibling(ServerId, GatherId),
}

/// Work that waits for its dependencies.
struct Open<W> {
    here: Vec<Dep>,
    elsewhere: Vec<(PartitionId, Vec<Dep>)>,
    work: W,
}

/// The dependency checks of one server; `W` is the work that waits for them.
pub struct Checks<W> {
    me: ServerId,
    life: u64,
    opened: u64,
    /// For each data centre up to where its updates were received.
    received: Vector,
    /// Received before some of lower times.
    ahead: BTreeSet<Place>,
    /// Received, and not applied.
    waiting: BTreeSet<Place>,
    open: BTreeMap<GatherId, Open<W>>,
    /// What siblings asked.
    awaited: BTreeMap<(ServerId, GatherId), Vec<Dep>>,
    /// Who waits for which update: each for one at a time.
    blocked: BTreeMap<Place, Vec<Who>>,
    /// Of the waiting updates those that somebody has begun to wait for.
    wanted: BTreeSet<Place>,
    /// The last question that was asked again.
    asked_again: Option<GatherId>,
    ready: VecDeque<W>,
    out: Vec<(ServerId, Check)>,
}

impl<W> Checks<W> {
    /// The checks of `me`, which starts with what it has `received` (`Recovered::received`) all applied. `life` differs
    /// for every start.
    pub fn new(me: ServerId, life: u64, received: Vector) -> Self {
        Self {
            me,
            life,
            opened: 0,
            received,
            ahead: BTreeSet::new(),
            waiting: BTreeSet::new(),
            open: BTreeMap::new(),
            awaited: BTreeMap::new(),
            blocked: BTreeMap::new(),
            wanted: BTreeSet::new(),
            asked_again: None,
            ready: VecDeque::new(),
            out: Vec::new(),
        }
    }

    /// An update from another data centre is here, and is not applied until [`Self::apply`] is called. At a start: it
    /// was here before, and had not been applied.
    pub fn arrived(&mut self, stamp: Stamp) {
        self.waiting.insert(place(stamp));
        self.is_here(stamp);
    }

    /// An update from another data centre is here, waiting or applied, and others that its server wrote before may not be.
    pub fn is_here(&mut self, stamp: Stamp) {
        if stamp.ts > self.received[stamp.origin] {
            self.ahead.insert(place(stamp));
        }
        self.wake(place(stamp));
    }

    /// Whatever `dc` writes on this partition from now on has a time above `ts`.
    pub fn heard(&mut self, dc: DcId, ts: Hlc) {
        let before = self.received[dc];
        if ts <= before {
            return;
        }
        self.received[dc] = ts;
        self.ahead.retain(|place| place.0 != dc || place.1 > ts);
        // Who waits for an update that was never written waits for nothing.
        let passed = self.blocked.range((Excluded((dc, before, u32::MAX)), Included((dc, ts, u32::MAX))));
        let passed = passed.map(|(place, _)| *place).filter(|place| !self.waiting.contains(place));
        passed.collect::<Vec<Place>>().into_iter().for_each(|place| self.wake(place));
    }

    /// The update `stamp`, which waited, is applied.
    pub fn apply(&mut self, stamp: Stamp) {
        let place = place(stamp);
        self.waiting.remove(&place);
        self.wanted.remove(&place);
        self.wake(place);
    }

    /// `work` is ready when all of `deps` are applied in this data centre. What was written here is.
    pub fn open(&mut self, deps: &Deps, work: W) {
        let here = self.me.dc;
        self.open_those(deps, |dep| dep.stamp.origin != here, work);
    }

    /// As [`Self::open`], and siblings are asked after what was written here, too: for what else they say.
    pub fn open_all(&mut self, deps: &Deps, work: W) {
        self.open_those(deps, |_| true, work);
    }

    fn open_those(&mut self, deps: &Deps, asked: impl Fn(&Dep) -> bool, work: W) {
        self.opened += 1;
        let id = GatherId::new(self.life, self.opened);
        let (mut here, mut elsewhere) = (Vec::new(), Vec::new());
        for (partition, deps) in deps.by_partition() {
            let deps = deps.iter().filter(|dep| asked(dep)).cloned().collect::<Vec<_>>();
            if partition == self.me.partition {
                here = deps;
            } else if !deps.is_empty() {
                elsewhere.push((partition, deps));
            }
        }
        for (partition, deps) in &elsewhere {
            self.out.push((ServerId::new(self.me.dc, *partition), Check::Ask(id, deps.clone())));
        }
        self.open.insert(id, Open { here, elsewhere, work });
        self.look(Who::Mine(id));
    }

    /// A sibling asks or answers.
    pub fn on_message(&mut self, from: ServerId, message: Check) {
        match message {
            Check::Ask(id, deps) => {
                // If it is awaited already, its answer is to come.
                if let Entry::Vacant(place) = self.awaited.entry((from, id)) {
                    place.insert(deps);
                    self.look(Who::Sibling(from, id));
                }
            }
            Check::Met(id) => {
                let Some(open) = self.open.get_mut(&id) else { return };
                open.elsewhere.retain(|(partition, _)| *partition != from.partition);
                self.finish(id);
            }
        }
    }

    /// `peer` restarted: it has forgotten what it was asked, and what it asked.
    pub fn reset(&mut self, peer: ServerId) {
        self.awaited.retain(|(from, _), _| *from != peer);
        if peer.dc == self.me.dc {
            let ids: Vec<GatherId> = self.open.keys().copied().collect();
            ids.into_iter().for_each(|id| self.ask(id, |partition| partition == peer.partition));
        }
    }

    /// Asks open questions again, some of them each time: a question or its answer may be lost.
    pub fn ask_again(&mut self) {
        let after = self.asked_again.map_or(Unbounded, Excluded);
        let ids: Vec<GatherId> = self.open.range((after, Unbounded)).map(|(id, _)| *id).take(PIECE).collect();
        self.asked_again = ids.last().copied().filter(|_| ids.len() == PIECE);
        ids.into_iter().for_each(|id| self.ask(id, |_| true));
    }

    /// Gives up the work that `due` says.
    pub fn give_up(&mut self, due: impl Fn(&W) -> bool) -> Vec<W> {
        let ids = self.open.iter().filter(|(_, open)| due(&open.work)).map(|(id, _)| *id);
        let ids: Vec<GatherId> = ids.collect();
        ids.into_iter().filter_map(|id| self.open.remove(&id)).map(|open| open.work).collect()
    }

    /// Work whose dependencies are all applied, in the order in which they came to be.
    pub fn ready(&mut self) -> Option<W> {
        self.ready.pop_front()
    }

    /// An update that is here, is not applied, and that somebody has begun to wait for: for who applies only then. The
    /// same one may come again.
    pub fn wanted(&mut self) -> Option<Stamp> {
        self.wanted.pop_first().map(|(origin, ts, seq)| Stamp { ts, origin, seq })
    }

    /// Says what has to be said; `wrap` makes a message of the protocol.
    pub fn send<P: Protocol>(&mut self, wrap: impl Fn(Check) -> P::Peer, cx: &mut Cx<'_, P>) {
        self.out.drain(..).for_each(|(to, message)| cx.send(to, wrap(message)));
    }

    /// For each other data centre: all that it ever writes on this partition up to here is applied. The entry of this
    /// data centre is `clock`, above which it will write.
    pub fn applied(&self, clock: Hlc) -> Vector {
        let mut applied = self.received.clone();
        applied[self.me.dc] = clock;
        for (dc, received) in self.received.iter().filter(|(dc, _)| *dc != self.me.dc) {
            let first = self.waiting.range((dc, Hlc::ZERO, 0)..=(dc, received, u32::MAX)).next();
            first.into_iter().for_each(|(_, ts, _)| applied[dc] = Hlc(ts.0.saturating_sub(1)));
        }
        applied
    }

    /// Whether an update of this partition is applied.
    pub fn is_applied(&self, stamp: Stamp) -> bool {
        self.obstacle(&Dep { partition: self.me.partition, stamp, scope: Scope::One }).is_none()
    }

    /// How much waits.
    pub fn len(&self) -> usize {
        self.open.len() + self.awaited.len()
    }

    /// Whether nothing waits.
    pub fn is_empty(&self) -> bool {
        self.open.is_empty() && self.awaited.is_empty()
    }

    /// Whether this server knows by itself if `dep` is met.
    pub(crate) fn knows(&self, dep: &Dep) -> bool {
        dep.partition == self.me.partition || dep.stamp.origin == self.me.dc
    }

    /// The update of this partition that keeps `dep` from being met, if one does.
    fn obstacle(&self, dep: &Dep) -> Option<Place> {
        let place = place(dep.stamp);
        if dep.stamp.origin == self.me.dc {
            return None; // what was written here is here
        }
        let received = dep.stamp.ts <= self.received[dep.stamp.origin];
        if !received && (dep.scope == Scope::UpTo || !self.ahead.contains(&place)) {
            return Some(place);
        }
        match dep.scope {
            Scope::Part => None,
            Scope::UpTo => self.waiting.range((place.0, Hlc::ZERO, 0)..=place).next().copied(),
            Scope::One | Scope::Newer(_) => self.waiting.contains(&place).then_some(place),
        }
    }

    fn wake(&mut self, place: Place) {
        self.blocked.remove(&place).into_iter().flatten().for_each(|who| self.look(who));
    }

    /// Looks whether what somebody waits for here is applied; if not, they wait for the first that is not.
    fn look(&mut self, who: Who) {
        let deps = match who {
            Who::Mine(id) => self.open.get_mut(&id).map(|open| &mut open.here),
            Who::Sibling(from, id) => self.awaited.get_mut(&(from, id)),
        };
        let Some(mut deps) = deps.map(std::mem::take) else { return };
        let mut obstacle = None;
        while obstacle.is_none() && !deps.is_empty() {
            obstacle = deps.last().and_then(|dep| self.obstacle(dep));
            deps.truncate(deps.len() - usize::from(obstacle.is_none()));
        }
        if let Some(place) = obstacle {
            self.blocked.entry(place).or_default().push(who);
            self.wanted.extend(self.waiting.contains(&place).then_some(place));
        }
        match who {
            Who::Mine(id) => {
                self.open.entry(id).and_modify(|open| open.here = deps);
                self.finish(id);
            }
            Who::Sibling(from, id) if deps.is_empty() => {
                self.awaited.remove(&(from, id));
                self.out.push((from, Check::Met(id)));
            }
            Who::Sibling(from, id) => drop(self.awaited.insert((from, id), deps)),
        }
    }

    fn finish(&mut self, id: GatherId) {
        if self.open.get(&id).is_some_and(|open| open.here.is_empty() && open.elsewhere.is_empty()) {
            self.ready.extend(self.open.remove(&id).map(|open| open.work));
        }
    }

    fn ask(&mut self, id: GatherId, whom: impl Fn(PartitionId) -> bool) {
        let Some(open) = self.open.get(&id) else { return };
        for (partition, deps) in open.elsewhere.iter().filter(|(partition, _)| whom(*partition)) {
            self.out.push((ServerId::new(self.me.dc, *partition), Check::Ask(id, deps.clone())));
        }
    }
}

/// What is applied in every data centre, as far as one server has been told by its peers. It only rises, and what it
/// covers nobody has to wait for any more.
#[derive(Debug, Default)]
pub struct Everywhere {
    told: Vec<Vector>,
    all: Vector,
}

impl Everywhere {
    /// Nothing, in `dcs` data centres.
    pub fn new(dcs: usize) -> Self {
        Self { told: vec![Vector::default(); dcs], all: Vector::zero(dcs) }
    }

    /// In `dc`, all up to `applied` is applied, as [`Checks::applied`] says it there.
    pub fn tell(&mut self, dc: DcId, applied: &Vector) {
        self.told[dc.index()].merge(applied);
        let mut least = self.told[0].clone();
        self.told.iter().for_each(|told| least.meet(told));
        self.all.merge(&least);
    }

    /// For each data centre: all that it ever writes on this partition up to here is applied in every one.
    pub fn get(&self) -> &Vector {
        &self.all
    }
}

#[cfg(test)]
mod tests;
