//! Read-only transactions of ACCF, which its text does not define (D7, D8).

use super::groups::heard_of;
use super::rules::{LATE_SLICE_IS_REFUSED, SLICE_LEAVES_OUT, SNAPSHOT_HOLDS_DS};
use super::tracks::Tracks;
use super::{Accf, Peer, View};
use tidemark_contract::core::{Key, Micros, Outcome, ServerId, Vector};
use tidemark_contract::gather::{Gather, GatherId};
use tidemark_contract::grouping::Tracking;
use tidemark_contract::grouping::tracked::{Reached, Tracked};
use tidemark_contract::slices::by_partition;
use tidemark_contract::slices::unanswered;
use tidemark_contract::{Collector, Cx, SliceReply, SliceReq, Slices, Ticket};

/// A transaction: whom to answer, what to read, what its session depends on, and when it is given up.
#[derive(Clone)]
pub(super) struct Reading {
    pub(super) ticket: Ticket,
    pub(super) keys: Vec<Key>,
    pub(super) ds: Tracked,
    pub(super) deadline: Micros,
}

/// The transactions that one server coordinates.
pub(super) struct Transactions {
    slices: Slices<Reached, Reading>,
    /// Those that wait for the `vv` of the servers that they read at, and the least so far.
    moments: Gather<(Reading, Option<Reached>)>,
}

impl Transactions {
    pub(super) fn new(life: u64) -> Self {
        Self { slices: Slices::new(life), moments: Gather::new(life) }
    }

    /// A transaction begins: in a checking group that holds all servers that it reads at, or in a group of the moment.
    pub(super) fn begin(
        &mut self,
        reading: Reading,
        svv: impl FnOnce(&[ServerId]) -> Option<Reached>,
        cx: &mut Cx<'_, Accf>,
    ) {
        let partitions = by_partition(reading.keys.iter().cloned(), cx.topology).into_keys();
        let servers: Vec<ServerId> = partitions.map(|partition| ServerId::new(cx.me.dc, partition)).collect();
        if let Some(sv) = svv(&servers) {
            return self.scatter(reading, sv, cx);
        }
        let id = self.moments.open(servers.clone(), reading.deadline, (reading, None));
        servers.into_iter().for_each(|server| cx.send(server, Peer::Ask(id)));
    }

    /// A server tells its `vv` for a group of the moment.
    pub(super) fn told(&mut self, from: ServerId, id: GatherId, vv: Reached, cx: &mut Cx<'_, Accf>) {
        let least = |(_, least): &mut (Reading, Option<Reached>)| match least {
            Some(least) => least.meet(&vv),
            None => *least = Some(vv),
        };
        if let Some((reading, Some(sv))) = self.moments.answer(id, from, least) {
            self.scatter(reading, sv, cx);
        }
    }

    /// Asks for the slices of a snapshot at `sv` and what the session depends on.
    fn scatter(&mut self, reading: Reading, mut sv: Reached, cx: &mut Cx<'_, Accf>) {
        if SNAPSHOT_HOLDS_DS.kept() {
            sv.raise(&reading.ds);
        }
        let (ticket, keys, deadline) = (reading.ticket, reading.keys.clone(), reading.deadline);
        self.slices.scatter((ticket, keys.into()), sv, reading, deadline, Peer::SliceReq, cx);
    }

    /// A slice comes.
    pub(super) fn gather(&mut self, from: ServerId, slice: SliceReply<Tracked>, cx: &mut Cx<'_, Accf>) {
        if let Some(read) = self.slices.gather(from, slice, |reading, seen| reading.ds.merge(&seen)) {
            cx.answer(read.ticket, Outcome::FoundAll(read.found), read.seen.ds);
        }
    }

    /// A slice was asked for too late: once more, above what is `kept`.
    pub(super) fn again(&mut self, id: GatherId, kept: &Reached, cx: &mut Cx<'_, Accf>) {
        if let Some(mut read) = self.slices.withdraw(id) {
            read.at.merge(kept);
            self.scatter(read.seen, read.at, cx);
        }
    }

    /// Gives up what waits for `peer`, because it restarted.
    pub(super) fn reset(&mut self, peer: ServerId, cx: &mut Cx<'_, Accf>) {
        cx.fail_all(self.slices.reset(peer), unanswered);
        cx.fail_all(self.moments.reset(peer).into_iter().map(|(reading, _)| reading.ticket), unanswered);
    }

    /// Gives up what waited too long.
    pub(super) fn expire(&mut self, cx: &mut Cx<'_, Accf>) {
        cx.fail_all(self.slices.expire(cx.mono), unanswered);
        cx.fail_all(self.moments.expire(cx.mono).into_iter().map(|(reading, _)| reading.ticket), unanswered);
    }
}

/// Collection: what nobody should need any more, some time after it was durable that it is stable.
pub(super) struct Collection {
    collector: Collector,
    by: Tracking,
    durable: Vector,
    since: Micros,
    /// What an earlier life may have collected, or this one by another tracking.
    earlier: Vector,
}

impl Collection {
    /// Begins above what an earlier life may have collected: what was stable, and what nobody was shown less than.
    pub(super) fn new(durable: Vector, earlier: &Vector, by: Tracking, cx: &mut Cx<'_, Accf>) -> Self {
        let mut collector = Collector::default();
        collector.raise(&heard_of(durable.clone()), cx.store());
        Self { collector, by, durable, since: cx.mono, earlier: earlier.clone() }
    }

    /// Below this versions are gone.
    pub(super) fn gone(&self) -> Vector {
        let mut gone = self.earlier.clone();
        gone.merge(self.collector.safe());
        gone
    }

    /// Collects a piece. `durable` is what is stable, and will be after a crash.
    pub(super) fn work(&mut self, durable: &Vector, cx: &mut Cx<'_, Accf>) {
        if cx.mono >= self.since + cx.params.collect_after_us {
            self.collector.raise(&heard_of(self.durable.clone()), cx.store());
            (self.since, self.durable) = (cx.mono, durable.clone());
        }
        let point = Reached { by: self.by, upto: self.collector.safe().clone() };
        self.collector.work(cx, |_, d| point.covers(&d.meta));
    }

    /// Servers share entries in another way from now on (D11).
    pub(super) fn retrack(&mut self, from: Tracking, tracks: &Tracks, cx: &mut Cx<'_, Accf>) {
        let (by, groups) = (tracks.by, tracks.count);
        let was = |upto: &Vector| Reached { by: from, upto: upto.clone() };
        let safe = was(self.collector.safe()).at_least(by, groups);
        let earlier = was(&self.gone()).at_most(by, groups);
        let durable = was(&self.durable).at_least(by, groups);
        let mut collector = Collector::default();
        collector.raise(&safe, cx.store());
        *self = Self { collector, by, durable, since: cx.mono, earlier };
    }
}

/// The keys of one partition in a snapshot: nothing that is written or arrives later lies in it (I1, I3).
pub(super) fn slice(
    from: ServerId,
    SliceReq { id, keys, at: sv }: SliceReq<Reached>,
    kept: &Reached,
    cx: &mut Cx<'_, Accf>,
) {
    if LATE_SLICE_IS_REFUSED.kept() && !sv.covers_all(kept) {
        return cx.send(from, Peer::TooLate(id, kept.clone()));
    }
    let (view, mut seen) = (View(SLICE_LEAVES_OUT.kept().then_some(sv)), Tracked::by(kept.by));
    let found = cx.read_slice(&keys, &view, |d| seen.merge(&d.meta));
    cx.send(from, Peer::SliceReply(SliceReply { id, found, seen }));
}
