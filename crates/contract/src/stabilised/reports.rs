//! Reports that servers send along the tree.

use super::{HOLDS_SNAPSHOTS, Messages as _, Peer, Stabilised, StableTime};
use crate::{Cx, Report, Tree};

/// Returns the report of this server to stabilisation and collection (S3).
pub(super) fn report<P: StableTime>(server: &mut P, cx: &mut Cx<'_, P>) -> Report {
    let (share, durable, leased) = (server.share(cx), server.durable(), server.leased().collect::<Vec<_>>());
    let Stabilised { reads, leases, .. } = server.stabilised();
    let held = leases.snapshots().filter(|_| HOLDS_SNAPSHOTS.kept());
    let reads = reads.snapshots().chain(held).cloned().map(Into::into);
    Report::new(share, &durable, reads.chain(leased))
}

pub(super) fn tree<P: StableTime>(message: Tree) -> P::Peer {
    P::Peer::of(Peer::Tree(message))
}
