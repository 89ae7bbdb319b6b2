//! Snapshot reads of one round: a coordinator asks each partition for its slice of the keys at one snapshot,
//! and answers when all slices are in (GentleRain's Algorithm 3, CausalSpartanX's Algorithm 5.4).
//!
//! `S` is what names a snapshot (a time, a vector), `D` what the reader comes to depend on.

use crate::gather::{Gather, GatherId};
use crate::several::Several;
use crate::{Cx, Protocol, Ticket, Topology};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use tidemark_core::{DcId, Failure, Found, Key, Micros, PartitionId, ServerId};

/// The papers' SLICEREQ, for all keys of one partition: each with its place in the answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SliceReq<S> {
    /// Comes back with the slice.
    pub id: GatherId,
    /// What to read.
    pub keys: Several<(u32, Key)>,
    /// In which snapshot.
    pub at: S,
}

/// The papers' SLICEREPLY.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SliceReply<D> {
    /// Of the request.
    pub id: GatherId,
    /// What was found, each with its place in the answer.
    pub found: Vec<(u32, Found)>,
    /// What the reader comes to depend on.
    pub seen: D,
}

/// A snapshot read that is being put together at its coordinator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SnapshotRead<S, D> {
    /// Whom to answer.
    pub ticket: Ticket,
    /// The snapshot.
    pub at: S,
    /// The answer: one entry a key, in the order asked.
    pub found: Vec<Found>,
    /// What the reader comes to depend on.
    pub seen: D,
}

/// The snapshot reads that one server coordinates.
pub struct Slices<S, D>(Gather<SnapshotRead<S, D>>);

impl<S: Clone, D> Slices<S, D> {
    /// No read. `life` differs for every start of this server.
    pub fn new(life: u64) -> Self {
        Self(Gather::new(life))
    }

    /// Opens a read of `keys`, at least one, in the snapshot `at`, and asks each server that holds some of
    /// them for its slice; this one may be among them. The read is given up at `deadline`. `wrap` makes a
    /// message of the protocol.
    pub fn scatter<P: Protocol>(
        &mut self,
        (ticket, keys): (Ticket, Several),
        at: S,
        seen: D,
        deadline: Micros,
        wrap: fn(SliceReq<S>) -> P::Peer,
        cx: &mut Cx<'_, P>,
    ) {
        let read = SnapshotRead { ticket, at, found: vec![Found::default(); keys.keys.len()], seen };
        for (server, request) in self.open(read, keys, deadline, cx.me.dc, cx.topology) {
            cx.send(server, wrap(request));
        }
    }

    fn open(
        &mut self,
        read: SnapshotRead<S, D>,
        Several { keys, command }: Several,
        deadline: Micros,
        dc: DcId,
        topology: &Topology,
    ) -> impl Iterator<Item = (ServerId, SliceReq<S>)> + use<S, D> {
        let slices = by_partition(keys, topology);
        let server = move |partition| ServerId::new(dc, partition);
        let at = read.at.clone();
        let id = self.0.open(slices.keys().copied().map(server).collect(), deadline, read);
        let asks = slices.into_iter();
        asks.map(move |(of, keys)| {
            let keys = Several { keys, command: command.clone() };
            (server(of), SliceReq { id, keys, at: at.clone() })
        })
    }

    /// Takes a slice; returns the whole read if it was the last one missing.
    pub fn gather<T>(
        &mut self,
        from: ServerId,
        SliceReply { id, found, seen }: SliceReply<T>,
        merge: impl FnOnce(&mut D, T),
    ) -> Option<SnapshotRead<S, D>> {
        self.0.answer(id, from, |read| {
            merge(&mut read.seen, seen);
            put_in_place(&mut read.found, found);
        })
    }

    /// The snapshots being read: collection stays below them.
    pub fn snapshots(&self) -> impl Iterator<Item = &S> {
        self.0.pending().map(|read| &read.at)
    }

    /// Takes back a read, to begin it again in another snapshot.
    pub fn withdraw(&mut self, id: GatherId) -> Option<SnapshotRead<S, D>> {
        self.0.withdraw(id)
    }

    /// Gives up the reads that wait for `peer`, because it restarted: whom to tell.
    pub fn reset(&mut self, peer: ServerId) -> Vec<Ticket> {
        self.0.reset(peer).into_iter().map(|read| read.ticket).collect()
    }

    /// Gives up the reads whose deadline has passed: whom to tell.
    pub fn expire(&mut self, now: Micros) -> Vec<Ticket> {
        self.0.expire(now).into_iter().map(|read| read.ticket).collect()
    }
}

/// The keys of each partition, each with its place in the answer.
pub fn by_partition(
    keys: impl IntoIterator<Item = Key>,
    topology: &Topology,
) -> BTreeMap<PartitionId, Vec<(u32, Key)>> {
    let mut slices = BTreeMap::<PartitionId, Vec<(u32, Key)>>::new();
    for (place, key) in (0..).zip(keys) {
        slices.entry(topology.partition_of(&key)).or_default().push((place, key));
    }
    slices
}

/// Puts what a slice found where it was asked for.
pub fn put_in_place(all: &mut [Found], slice: Vec<(u32, Found)>) {
    for (place, found) in slice {
        if let Some(slot) = all.get_mut(place as usize) {
            *slot = found;
        }
    }
}

/// What a reader is told when a slice does not come.
pub fn unanswered() -> Failure {
    Failure::Unavailable("a partition that the transaction reads did not answer".to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidemark_core::Value;

    /// A read of one key of each partition, and of the first once more, in the snapshot 7.
    fn open(slices: &mut Slices<u64, u64>, deadline: Micros) -> Vec<(ServerId, SliceReq<u64>)> {
        let topology = Topology::new(1, 2);
        let key =
            |p| (0..).map(|i| Key::from(format!("{i}").as_str())).find(|k| topology.partition_of(k) == p);
        let (x, y) = (key(PartitionId(0)).unwrap(), key(PartitionId(1)).unwrap());
        let ticket = Ticket { node: 0, session: deadline, ask: Default::default() };
        let read = SnapshotRead { ticket, at: 7, found: vec![Found::default(); 3], seen: 0 };
        slices.open(read, vec![x.clone(), y, x].into(), deadline, DcId(0), &topology).collect()
    }

    fn reply(SliceReq { id, keys, .. }: &SliceReq<u64>, seen: u64) -> SliceReply<u64> {
        let value = |key: &Key| Some(Value::from(&key[..]));
        let found = keys.keys.iter().map(|(place, key)| (*place, Found::new(None, value(key))));
        SliceReply { id: *id, found: found.collect(), seen }
    }

    fn keep_larger(mine: &mut u64, theirs: u64) {
        *mine = theirs.max(*mine);
    }

    #[test]
    fn each_partition_is_asked_once_and_what_it_finds_stands_where_it_was_asked_for() {
        let mut slices = Slices::new(1);
        let asked = open(&mut slices, 100);
        assert_eq!(
            asked.iter().map(|(server, req)| (server.partition.0, req.keys.keys.len())).collect::<Vec<_>>(),
            [(0, 2), (1, 1)]
        );
        assert_eq!(slices.snapshots().collect::<Vec<_>>(), [&7]);
        let [(a, first), (b, second)] = &asked[..] else { panic!("two servers") };
        assert_eq!(slices.gather(*b, reply(second, 9), keep_larger), None);
        assert_eq!(slices.gather(*b, reply(second, 99), keep_larger), None, "a repeat changes nothing");
        let whole = slices.gather(*a, reply(first, 3), keep_larger).expect("all have answered");
        let expected =
            [&first.keys.keys[0].1, &second.keys.keys[0].1, &first.keys.keys[1].1].map(|key| key.to_vec());
        assert_eq!(
            whole.found.iter().map(|f| f.value.as_deref().unwrap().to_vec()).collect::<Vec<_>>(),
            expected
        );
        assert_eq!((whole.seen, slices.snapshots().count()), (9, 0));
    }

    #[test]
    fn a_read_ends_with_the_restart_of_whom_it_waits_for_or_with_its_deadline() {
        let mut slices = Slices::new(1);
        let (early, late) = (open(&mut slices, 100), open(&mut slices, 200));
        slices.gather(early[0].0, reply(&early[0].1, 0), keep_larger);
        let tickets = |tickets: Vec<Ticket>| tickets.into_iter().map(|t| t.session).collect::<Vec<_>>();
        assert_eq!(tickets(slices.reset(early[0].0)), [200], "the early read has that slice");
        assert_eq!(tickets(slices.expire(99)), []);
        assert_eq!(tickets(slices.expire(100)), [100]);
        assert_eq!(slices.gather(late[0].0, reply(&late[0].1, 0), keep_larger), None);
    }
}
