//! Dependency checks: a version from elsewhere waits until what it depends on is applied in this data centre (COPS,
//! Eiger, Orbe, CC-LO).
//!
//! Peers' feeds are in order and exactly once, so at its own partition a server knows of every update whether it is
//! *applied*: it was received, and it does not wait. What other partitions hold it asks its siblings ([`Check`]), which
//! answer when all that they were asked for is applied there.
//!
//! Nothing here is durable, and need not be, if what was applied stays applied across a crash (see
//! [`crate::Cx::revise`]): then an answer that was given stays true, and what was not answered is asked again. Answers
//! to an earlier life find nothing. Messages arrive at most once, so open questions are asked again now and then.
//!
//! What has to be said and done comes out of [`Checks::send`] and [`Checks::ready`], to be emptied after each event.

use crate::deps::{Dep, Deps, Scope};
use crate::{Cx, GatherId, Protocol};
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

/// An update of this partition, in the order in which its origin wrote them.
type Place = (DcId, Hlc);

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
    /// Received, and not applied.
    waiting: BTreeSet<Place>,
    open: BTreeMap<GatherId, Open<W>>,
    /// What siblings asked.
    parked: BTreeMap<(ServerId, GatherId), Vec<Dep>>,
    /// Who waits for which update: each for one at a time.
    blocked: BTreeMap<Place, Vec<Who>>,
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
            waiting: BTreeSet::new(),
            open: BTreeMap::new(),
            parked: BTreeMap::new(),
            blocked: BTreeMap::new(),
            asked_again: None,
            ready: VecDeque::new(),
            out: Vec::new(),
        }
    }

    /// An update from another data centre is here, and is not applied until [`Self::apply`] is called. At a start: it
    /// was here before, and had not been applied.
    pub fn arrived(&mut self, stamp: Stamp) {
        self.waiting.insert((stamp.origin, stamp.ts));
        self.heard(stamp.origin, stamp.ts);
    }

    /// Whatever `dc` writes on this partition from now on has a time above `ts`.
    pub fn heard(&mut self, dc: DcId, ts: Hlc) {
        let before = self.received[dc];
        if ts <= before {
            return;
        }
        self.received[dc] = ts;
        // Who waits for an update that was never written waits for nothing.
        let passed = self.blocked.range((Excluded((dc, before)), Included((dc, ts))));
        let passed = passed.map(|(place, _)| *place).filter(|place| !self.waiting.contains(place));
        passed.collect::<Vec<Place>>().into_iter().for_each(|place| self.wake(place));
    }

    /// The update `stamp`, which waited, is applied.
    pub fn apply(&mut self, stamp: Stamp) {
        self.waiting.remove(&(stamp.origin, stamp.ts));
        self.wake((stamp.origin, stamp.ts));
    }

    /// `work` is ready when all of `deps` are applied in this data centre.
    pub fn open(&mut self, deps: &Deps, work: W) {
        self.opened += 1;
        let id = GatherId::new(self.life, self.opened);
        let (mut here, mut elsewhere) = (Vec::new(), Vec::new());
        for (partition, deps) in deps.by_partition() {
            let foreign =
                deps.iter().filter(|dep| dep.stamp.origin != self.me.dc).cloned().collect::<Vec<_>>();
            if partition == self.me.partition {
                here = foreign;
            } else if !foreign.is_empty() {
                elsewhere.push((partition, foreign));
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
                // If it is parked already, its answer is to come.
                if let Entry::Vacant(place) = self.parked.entry((from, id)) {
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
        self.parked.retain(|(from, _), _| *from != peer);
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
            let first = self.waiting.range((dc, Hlc::ZERO)..=(dc, received)).next();
            first.into_iter().for_each(|(_, ts)| applied[dc] = Hlc(ts.0.saturating_sub(1)));
        }
        applied
    }

    /// Whether an update of this partition is applied.
    pub fn is_applied(&self, stamp: Stamp) -> bool {
        self.obstacle(&Dep { partition: self.me.partition, stamp, scope: Scope::One }).is_none()
    }

    /// How much waits.
    pub fn len(&self) -> usize {
        self.open.len() + self.parked.len()
    }

    /// Whether nothing waits.
    pub fn is_empty(&self) -> bool {
        self.open.is_empty() && self.parked.is_empty()
    }

    /// The update of this partition that keeps `dep` from being met, if one does.
    fn obstacle(&self, dep: &Dep) -> Option<Place> {
        let place = (dep.stamp.origin, dep.stamp.ts);
        if dep.stamp.origin == self.me.dc {
            return None; // what was written here is here
        }
        if dep.stamp.ts > self.received[dep.stamp.origin] {
            return Some(place);
        }
        match dep.scope {
            Scope::UpTo => self.waiting.range((place.0, Hlc::ZERO)..=place).next().copied(),
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
            Who::Sibling(from, id) => self.parked.get_mut(&(from, id)),
        };
        let Some(mut deps) = deps.map(std::mem::take) else { return };
        let mut obstacle = None;
        while obstacle.is_none() && !deps.is_empty() {
            obstacle = deps.last().and_then(|dep| self.obstacle(dep));
            deps.truncate(deps.len() - usize::from(obstacle.is_none()));
        }
        if let Some(place) = obstacle {
            self.blocked.entry(place).or_default().push(who);
        }
        match who {
            Who::Mine(id) => {
                self.open.entry(id).and_modify(|open| open.here = deps);
                self.finish(id);
            }
            Who::Sibling(from, id) if deps.is_empty() => {
                self.parked.remove(&(from, id));
                self.out.push((from, Check::Met(id)));
            }
            Who::Sibling(from, id) => drop(self.parked.insert((from, id), deps)),
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
mod tests {
    use super::*;

    const A: u8 = 0;
    const B: u8 = 1;

    fn stamp(ts: u64, origin: u8) -> Stamp {
        Stamp::new(Hlc(ts), DcId(origin))
    }

    fn server(dc: u8, partition: u16) -> ServerId {
        ServerId::new(DcId(dc), PartitionId(partition))
    }

    fn deps(list: &[(u16, u64)]) -> Deps {
        let mut deps = Deps::default();
        list.iter().for_each(|(p, ts)| deps.include(PartitionId(*p), stamp(*ts, A)));
        deps
    }

    /// The checks of B/`partition`, which has received A's updates up to `received`.
    fn checks(partition: u16, life: u64, received: u64) -> Checks<char> {
        Checks::new(server(B, partition), life, Vector::from_entries([Hlc(received), Hlc::ZERO]))
    }

    fn ready(checks: &mut Checks<char>) -> String {
        std::iter::from_fn(|| checks.ready()).collect()
    }

    /// Delivers what `from` says to `to`; returns how much that was.
    fn deliver(from: &mut Checks<char>, to: &mut Checks<char>) -> usize {
        let (out, me) = (std::mem::take(&mut from.out), to.me);
        let mut said = 0;
        for (_, message) in out.into_iter().filter(|(server, _)| *server == me) {
            said += 1;
            to.on_message(from.me, message);
        }
        said
    }

    #[test]
    fn work_waits_for_updates_of_its_own_partition_until_they_are_received_and_applied() {
        let mut checks = checks(0, 1, 3);
        checks.open(&deps(&[(0, 3)]), 'a');
        assert_eq!(ready(&mut checks), "a", "what was received and does not wait is applied");
        checks.open(&deps(&[(0, 5), (0, 7)]), 'b');
        checks.open(&deps(&[(0, 5)]), 'c');
        checks.arrived(stamp(5, A));
        assert_eq!(ready(&mut checks), "");
        checks.apply(stamp(5, A));
        assert_eq!(ready(&mut checks), "c");
        checks.arrived(stamp(7, A));
        checks.apply(stamp(7, A));
        assert_eq!((ready(&mut checks), checks.is_empty()), ("b".into(), true));
    }

    #[test]
    fn what_was_written_in_this_data_centre_is_applied() {
        let mut checks = checks(0, 1, 0);
        let mut mine = Deps::one(PartitionId(0), stamp(9, B));
        mine.include(PartitionId(1), stamp(9, B));
        checks.open(&mine, 'a');
        assert_eq!((ready(&mut checks), checks.out.len()), ("a".into(), 0));
    }

    #[test]
    fn siblings_answer_when_all_that_they_were_asked_for_is_applied() {
        let (mut asks, mut holds) = (checks(0, 1, 0), checks(1, 1, 4));
        asks.open(&deps(&[(1, 4)]), 'a');
        asks.open(&deps(&[(1, 4), (1, 6)]), 'b');
        assert_eq!(deliver(&mut asks, &mut holds), 2);
        deliver(&mut holds, &mut asks);
        assert_eq!((ready(&mut asks), holds.len()), ("a".into(), 1));
        holds.arrived(stamp(6, A));
        assert_eq!(deliver(&mut holds, &mut asks), 0, "it is received, and waits itself");
        holds.apply(stamp(6, A));
        assert_eq!(deliver(&mut holds, &mut asks), 1);
        assert_eq!((ready(&mut asks), holds.is_empty()), ("b".into(), true));
    }

    #[test]
    fn a_question_or_an_answer_that_is_lost_is_made_good() {
        let (mut asks, mut holds) = (checks(0, 1, 0), checks(1, 1, 0));
        asks.open(&deps(&[(1, 4)]), 'a');
        asks.out.clear();
        asks.ask_again();
        assert_eq!(deliver(&mut asks, &mut holds), 1);
        asks.ask_again();
        deliver(&mut asks, &mut holds);
        holds.arrived(stamp(4, A));
        holds.apply(stamp(4, A));
        assert_eq!(holds.out.len(), 1, "asked twice, answered once");
        holds.out.clear();
        asks.ask_again();
        deliver(&mut asks, &mut holds);
        deliver(&mut holds, &mut asks);
        assert_eq!(ready(&mut asks), "a");
    }

    #[test]
    fn who_restarts_is_asked_again_and_what_it_asked_is_dropped() {
        let (mut asks, mut holds) = (checks(0, 1, 0), checks(1, 1, 0));
        asks.open(&deps(&[(1, 4)]), 'a');
        deliver(&mut asks, &mut holds);
        let mut holds = checks(1, 2, 4);
        asks.reset(holds.me);
        deliver(&mut asks, &mut holds);
        let mut again = checks(0, 2, 0);
        assert_eq!(deliver(&mut holds, &mut again), 1);
        assert_eq!(ready(&mut again), "", "an answer to an earlier life finds nothing");
        again.open(&deps(&[(1, 8)]), 'b');
        deliver(&mut again, &mut holds);
        holds.reset(again.me);
        assert!(holds.is_empty());
    }

    #[test]
    fn a_dependency_on_all_up_to_an_update_waits_for_each() {
        let mut checks = checks(0, 1, 0);
        let mut all = deps(&[(0, 2), (0, 6)]);
        all.bound(1);
        (2..=8).step_by(2).for_each(|ts| checks.arrived(stamp(ts, A)));
        checks.open(&all, 'a');
        for (applied, then) in [(6, ""), (2, ""), (8, ""), (4, "a")] {
            checks.apply(stamp(applied, A));
            assert_eq!(ready(&mut checks), then, "after {applied}");
        }
    }

    #[test]
    fn who_waits_for_what_was_never_written_waits_until_it_could_not_be_any_more() {
        let mut checks = checks(0, 1, 0);
        checks.open(&deps(&[(0, 5)]), 'a');
        checks.heard(DcId(A), Hlc(4));
        assert_eq!(ready(&mut checks), "");
        checks.heard(DcId(A), Hlc(6));
        assert_eq!(ready(&mut checks), "a");
    }

    #[test]
    fn applied_is_what_lies_below_the_first_that_waits() {
        let mut checks = checks(0, 1, 3);
        assert_eq!(checks.applied(Hlc(9)), Vector::from_entries([Hlc(3), Hlc(9)]));
        checks.arrived(stamp(5, A));
        checks.arrived(stamp(8, A));
        checks.apply(stamp(8, A));
        assert_eq!(checks.applied(Hlc(9))[DcId(A)], Hlc(4));
        assert!(checks.is_applied(stamp(8, A)) && !checks.is_applied(stamp(5, A)));
        checks.apply(stamp(5, A));
        assert_eq!(checks.applied(Hlc(9))[DcId(A)], Hlc(8));
    }

    #[test]
    fn what_is_given_up_is_not_ready_later() {
        let mut checks = checks(0, 1, 0);
        checks.open(&deps(&[(0, 5)]), 'a');
        assert_eq!(checks.give_up(|work| *work == 'a'), ['a']);
        checks.heard(DcId(A), Hlc(5));
        assert_eq!(ready(&mut checks), "");
    }

    #[test]
    fn everywhere_is_the_least_that_was_told() {
        let mut everywhere = Everywhere::new(2);
        let v = |a, b| Vector::from_entries([Hlc(a), Hlc(b)]);
        everywhere.tell(DcId(0), &v(5, 3));
        assert_eq!(everywhere.get(), &v(0, 0));
        everywhere.tell(DcId(1), &v(4, 7));
        assert_eq!(everywhere.get(), &v(4, 3));
        everywhere.tell(DcId(1), &v(3, 6));
        assert_eq!(everywhere.get(), &v(4, 3), "what was true stays true");
    }
}
