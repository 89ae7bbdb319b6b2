//! Read-only transactions of ACCF, which its text does not define (D7, D8).

use super::{NEVER, Peer, Rules, Server, View};
use tidemark_contract::core::{Key, Micros, Outcome, ServerId, TrackingGroup, Vector};
use tidemark_contract::{
    Collector, Cx, Gather, GatherId, SliceReply, SliceReq, Slices, Ticket, Tracked, by_partition, unanswered,
};

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
    slices: Slices<Vector, Reading>,
    /// Those that wait for the `vv` of the servers that they read at, and the least so far.
    moments: Gather<(Reading, Option<Vector>)>,
}

impl Transactions {
    pub(super) fn new(life: u64) -> Self {
        Self { slices: Slices::new(life), moments: Gather::new(life) }
    }

    /// A transaction begins: in a checking group that holds all servers that it reads at, or in a group of the moment.
    pub(super) fn begin<R: Rules>(
        &mut self,
        reading: Reading,
        svv: impl FnOnce(&[ServerId]) -> Option<Vector>,
        cx: &mut Cx<'_, Server<R>>,
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
    pub(super) fn told<R: Rules>(
        &mut self,
        from: ServerId,
        id: GatherId,
        vv: Vector,
        cx: &mut Cx<'_, Server<R>>,
    ) {
        let least = |(_, least): &mut (Reading, Option<Vector>)| match least {
            Some(least) => least.meet(&vv),
            None => *least = Some(vv),
        };
        if let Some((reading, Some(sv))) = self.moments.answer(id, from, least) {
            self.scatter(reading, sv, cx);
        }
    }

    /// Asks for the slices of a snapshot at `sv` and what the session depends on.
    fn scatter<R: Rules>(&mut self, reading: Reading, mut sv: Vector, cx: &mut Cx<'_, Server<R>>) {
        if *R::SNAPSHOT_HOLDS_DS {
            sv.merge(&reading.ds.to_vector());
        }
        let (ticket, keys, deadline) = (reading.ticket, reading.keys.clone(), reading.deadline);
        self.slices.scatter((ticket, keys), sv, reading, deadline, Peer::SliceReq, cx);
    }

    /// A slice comes.
    pub(super) fn gather<R: Rules>(
        &mut self,
        from: ServerId,
        slice: SliceReply<Tracked>,
        cx: &mut Cx<'_, Server<R>>,
    ) {
        if let Some(read) = self.slices.gather(from, slice, |reading, seen| reading.ds.merge(&seen)) {
            cx.answer(read.ticket, Outcome::FoundAll(read.found), read.seen.ds);
        }
    }

    /// A slice was asked for too late: once more, above what is `kept`.
    pub(super) fn again<R: Rules>(&mut self, id: GatherId, kept: &Vector, cx: &mut Cx<'_, Server<R>>) {
        if let Some(mut read) = self.slices.withdraw(id) {
            read.at.merge(kept);
            self.scatter(read.seen, read.at, cx);
        }
    }

    /// Gives up what waits for `peer`, because it restarted.
    pub(super) fn reset<R: Rules>(&mut self, peer: ServerId, cx: &mut Cx<'_, Server<R>>) {
        cx.fail_all(self.slices.reset(peer), unanswered);
        cx.fail_all(self.moments.reset(peer).into_iter().map(|(reading, _)| reading.ticket), unanswered);
    }

    /// Gives up what waited too long.
    pub(super) fn expire<R: Rules>(&mut self, cx: &mut Cx<'_, Server<R>>) {
        cx.fail_all(self.slices.expire(cx.mono), unanswered);
        cx.fail_all(self.moments.expire(cx.mono).into_iter().map(|(reading, _)| reading.ticket), unanswered);
    }
}

/// Collection: what nobody should need any more, some time after it was durable that it is stable.
pub(super) struct Collection {
    collector: Collector,
    durable: Vector,
    since: Micros,
}

impl Collection {
    /// Begins above what an earlier life may have collected.
    pub(super) fn new<R: Rules>(durable: Vector, cx: &mut Cx<'_, Server<R>>) -> Self {
        let mut collector = Collector::default();
        collector.raise(&heard_of(durable.clone()), cx.store);
        Self { collector, durable, since: cx.mono }
    }

    /// Below this versions are gone.
    pub(super) fn safe(&self) -> &Vector {
        self.collector.safe()
    }

    /// Collects a piece. `durable` is what is stable, and will be after a crash.
    pub(super) fn work<R: Rules>(&mut self, durable: &Vector, cx: &mut Cx<'_, Server<R>>) {
        if cx.mono >= self.since + cx.params.collect_after_us {
            self.collector.raise(&heard_of(self.durable.clone()), cx.store);
            (self.since, self.durable) = (cx.mono, durable.clone());
        }
        self.collector.work(cx.store, |safe, d| d.meta.le(safe));
    }
}

/// Of groups that this server hears nothing of, others may: what they have told by then cannot be known here, and no more is
/// taken for granted than of the group that is farthest behind. Who needs more is refused, and told how much.
fn heard_of(mut stable: Vector) -> Vector {
    let heard = stable.entries().iter().copied().filter(|ts| *ts != NEVER).min().unwrap_or_default();
    let groups = 0..stable.entries().len() as u16;
    for group in groups.map(TrackingGroup) {
        if stable[group] == NEVER {
            stable[group] = heard;
        }
    }
    stable
}

/// The keys of one partition in a snapshot: nothing that is written or arrives later lies in it (I1, I3).
pub(super) fn slice<R: Rules>(
    from: ServerId,
    SliceReq { id, keys, at: sv }: SliceReq<Vector>,
    kept: &Vector,
    cx: &mut Cx<'_, Server<R>>,
) {
    if *R::LATE_SLICE_IS_REFUSED && !kept.le(&sv) {
        return cx.send(from, Peer::TooLate(id, kept.clone()));
    }
    let (view, mut seen) = (View(R::SLICE_LEAVES_OUT.then_some(sv)), Tracked::default());
    let found = cx.read(&keys, &view, |d| seen.merge(&d.meta));
    cx.send(from, Peer::SliceReply(SliceReply { id, found, seen }));
}
