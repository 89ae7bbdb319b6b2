//! Snapshots that interactive transactions read in. One server holds each of them for a while, and asks for its slices: as long as it
//! does, nothing that is in the snapshot is collected. After a restart it holds none.

use super::{At, Stabilised, StableTime};
use crate::{Answer, Cx, Ticket};
use std::collections::BTreeMap;
use tidemark_core::{Failure, Hlc, Micros, Outcome, PartitionId, Snapshot};

/// Where a transaction begins to read: everything at or below `floor` is in it.
pub struct Start<S> {
    /// The snapshot.
    pub at: S,
    /// Everything is in it that has a time at or below.
    pub floor: Hlc,
    /// Several data centres have it whole.
    pub base: bool,
}

/// The snapshots that one server holds.
pub struct Leases<S> {
    life: u64,
    given: u64,
    held: BTreeMap<u64, (S, Micros)>,
}

impl<S: Clone> Leases<S> {
    /// None. `life` differs for every start of this server.
    pub fn new(life: u64) -> Self {
        Self { life, given: 0, held: BTreeMap::new() }
    }

    /// Holds a snapshot until then.
    fn hold(&mut self, Start { at, floor, base }: Start<S>, holder: PartitionId, until: Micros) -> Snapshot {
        self.given += 1;
        self.held.insert(self.given, (at, until));
        Snapshot { holder, life: self.life, number: self.given, floor, base }
    }

    /// The snapshot of this name.
    fn get(&self, snapshot: Snapshot) -> Option<&S> {
        let held = self.held.get(&snapshot.number).filter(|_| snapshot.life == self.life);
        held.map(|(at, _)| at)
    }

    /// Those that are held.
    pub fn snapshots(&self) -> impl Iterator<Item = &S> {
        self.held.values().map(|(at, _)| at)
    }
}

/// An interactive transaction begins, which may be open for so long. The session is told `seen`.
pub fn begin<P: StableTime, T>(
    server: &mut P,
    ticket: Ticket,
    mut start: Start<At<P>>,
    limit_us: Micros,
    seen: T,
    cx: &mut Cx<'_, P>,
) where
    P::Reply: From<Answer<T>>,
{
    let until = cx.mono + limit_us;
    start.floor = start.floor.max(cx.store.floor()); // every view contains it
    let snapshot = server.stabilised().leases.hold(start, cx.me.partition, until);
    cx.store.keep_versions(true);
    cx.answer(ticket, Outcome::Begun(snapshot), seen);
}

/// Where an interactive transaction reads.
///
/// # Errors
/// It has ended.
pub fn snapshot<P: StableTime>(server: &mut P, snapshot: Snapshot) -> Result<At<P>, Failure> {
    server.stabilised().leases.get(snapshot).cloned().ok_or_else(ended)
}

/// Whether the snapshot of this number is held.
pub fn holds<P: StableTime>(stabilised: &Stabilised<P>, number: u64) -> bool {
    stabilised.leases.held.contains_key(&number)
}

/// An interactive transaction has ended.
pub fn end<P: StableTime>(server: &mut P, snapshot: Snapshot, cx: &mut Cx<'_, P>) {
    let leases = &mut server.stabilised().leases;
    if snapshot.life == leases.life {
        leases.held.remove(&snapshot.number);
    }
    cx.store.keep_versions(!leases.held.is_empty());
}

/// Ends those that have been held for too long.
pub(super) fn expire<P: StableTime>(server: &mut P, cx: &mut Cx<'_, P>) {
    let leases = &mut server.stabilised().leases;
    if !leases.held.is_empty() {
        leases.held.retain(|_, (_, until)| *until > cx.mono);
        cx.store.keep_versions(!leases.held.is_empty());
    }
}

/// What a protocol says to who wants to know, at the commit, whether what was read has changed, if it cannot tell.
pub fn checks_nothing() -> Failure {
    Failure::Refused("this protocol cannot check at COMMIT whether what was read has changed".into())
}

/// What a protocol says to who wants to read what several regions have whole, if it cannot tell.
pub fn knows_no_bases() -> Failure {
    Failure::Refused("this protocol does not know what several regions have: begin without REGIONS".into())
}

/// What a protocol says to an edge client, if it takes none of its transactions.
pub fn has_no_edge() -> Failure {
    Failure::Refused("this protocol takes no transactions of edge clients".into())
}

/// What a client is told whose transaction cannot read on.
pub fn ended() -> Failure {
    let why =
        "the transaction has ended: it was open for too long, or its server has restarted. Begin it again";
    Failure::Unavailable(why.into())
}
