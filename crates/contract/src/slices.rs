//! Snapshot reads of one round: a coordinator asks each partition for its slice of the keys at one snapshot,
//! and answers when all slices are in (GentleRain's Algorithm 3, CausalSpartanX's Algorithm 5.4).
//!
//! `S` is what names a snapshot (a time, a vector), `D` what the reader comes to depend on.

use crate::{Cx, Gather, GatherId, Protocol, Ticket};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use tidemark_core::{Failure, Found, Key, Micros, ServerId};

/// The papers' SLICEREQ, for all keys of one partition: each with its place in the answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SliceReq<S> {
    /// Comes back with the slice.
    pub id: GatherId,
    /// What to read.
    pub keys: Vec<(u32, Key)>,
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
        (ticket, keys): (Ticket, Vec<Key>),
        at: S,
        seen: D,
        deadline: Micros,
        wrap: fn(SliceReq<S>) -> P::Peer,
        cx: &mut Cx<'_, P>,
    ) {
        let mut slices = BTreeMap::<ServerId, Vec<(u32, Key)>>::new();
        let found = vec![Found::default(); keys.len()];
        for (place, key) in keys.into_iter().enumerate() {
            let server = ServerId::new(cx.me.dc, cx.topology.partition_of(&key));
            slices.entry(server).or_default().push((place as u32, key));
        }
        let read = SnapshotRead { ticket, at: at.clone(), found, seen };
        let id = self.0.open(slices.keys().copied().collect(), deadline, read);
        for (server, keys) in slices {
            cx.send(server, wrap(SliceReq { id, keys, at: at.clone() }));
        }
    }

    /// Takes a slice; returns the whole read if it was the last one missing.
    pub fn gather(
        &mut self,
        from: ServerId,
        SliceReply { id, found, seen }: SliceReply<D>,
        merge: impl FnOnce(&mut D, D),
    ) -> Option<SnapshotRead<S, D>> {
        self.0.answer(id, from, |read| {
            merge(&mut read.seen, seen);
            for (place, found) in found {
                if let Some(slot) = read.found.get_mut(place as usize) {
                    *slot = found;
                }
            }
        })
    }

    /// The snapshots being read: collection stays below them.
    pub fn snapshots(&self) -> impl Iterator<Item = &S> {
        self.0.pending().map(|read| &read.at)
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

/// What a reader is told when a slice does not come.
pub fn unanswered() -> Failure {
    Failure::Unavailable("a partition that the transaction reads did not answer".to_string())
}
