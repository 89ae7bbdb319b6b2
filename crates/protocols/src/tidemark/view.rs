//! What readers see (2, 9).

use super::exclusion::Lost;
use super::{
    CAUSES_NEED_L, Edge, FRESH_CAUSES_MAY_LACK, GET_NEEDS_L, Meta, NEED_UNDER_FENCE, SAFE_FENCE_COVERS_L,
    SNAPSHOT_NEEDS_L,
};
use tidemark_contract::Rule;
use tidemark_contract::core::{ClientId, DcId, Hlc, Stamp, Vector};

/// In data centre m, of which the entry of vectors for L is this: DSV, or sv.
pub struct At {
    pub(super) m: DcId,
    pub(super) l: DcId,
    pub(super) dsv: Vector,
    /// D21.
    pub(super) lost: Lost,
}

/// What a reader can see.
pub enum View {
    /// GET at DSV (2).
    Fresh(At),
    /// S(sv) (9).
    Snapshot(At),
    /// The same, of what had come by then (D13).
    Pinned(At, Vector),
    /// V(b): the same in every data centre (D16).
    Base(At),
    /// The same, and what an edge client has written before its transaction of this number (D17).
    Own(At, ClientId, u64),
    /// At a time (D6).
    At(Hlc, Lost),
}

/// Whether a version may depend on something that was lost with the data centre that wrote it (D21).
#[inline]
fn is_lost(lost: Lost, stamp: Stamp, meta: &Meta) -> bool {
    lost.is_some_and(|(dc, cut)| stamp.origin == dc && meta.ds[dc] > cut)
}

impl View {
    /// Whether its reader sees this version: of one that has copies, one of them.
    #[inline]
    pub(super) fn shows(&self, stamp: Stamp, meta: &Meta) -> bool {
        match &meta.edge {
            None => self.shows_copy(stamp, meta),
            Some(edge) => self.shows_edge(edge, meta),
        }
    }

    fn shows_edge(&self, edge: &Edge, meta: &Meta) -> bool {
        let lost = |at: &At| {
            let others = edge.others.iter().all(|(stamp, copy)| is_lost(at.lost, *stamp, copy));
            others && is_lost(at.lost, edge.at, meta)
        };
        matches!(self, Self::Own(at, client, k) if edge.client == *client && edge.k < *k && !lost(at))
            || self.shows_copy(edge.at, meta)
            || edge.others.iter().any(|(at, copy)| self.shows_copy(*at, copy))
    }

    /// Whether its reader sees a version that was written with this stamp.
    #[inline]
    pub(super) fn shows_copy(&self, stamp: Stamp, meta: &Meta) -> bool {
        match self {
            Self::Fresh(at) => {
                (stamp.origin == at.m || meta.ds.le_elsewhere(&at.dsv, at.m)) // 2
                    && at.has_l(stamp, meta, GET_NEEDS_L)
                    && !is_lost(at.lost, stamp, meta)
            }
            Self::Snapshot(at) => at.has_in_snapshot(stamp, meta),
            Self::Pinned(at, pin) => stamp.ts <= pin[stamp.origin] && at.has_in_snapshot(stamp, meta),
            Self::Base(at) | Self::Own(at, ..) => at.is_below(stamp, meta),
            Self::At(time, lost) => stamp.ts <= *time && !is_lost(*lost, stamp, meta),
        }
    }
}

impl At {
    /// Safe. Its own entry is at or above its L, as in every snapshot (8): so S(safe) has the causes of what it has.
    pub(super) fn safe(m: DcId, l: DcId, safe: &Vector) -> Vector {
        let mut dsv = safe.clone();
        if SAFE_FENCE_COVERS_L.kept() {
            dsv.raise(m, safe[l]);
        }
        dsv
    }

    /// Whether L covers what a version needs of this data centre's transactions (2, 9).
    #[inline]
    fn has_l(&self, stamp: Stamp, meta: &Meta, rule: Rule) -> bool {
        let needs = if stamp.origin == self.m {
            if rule.kept() { meta.local() } else { Hlc::ZERO }
        } else if CAUSES_NEED_L.kept() {
            meta.ds[self.m]
        } else {
            Hlc::ZERO
        };
        needs <= self.dsv[self.l]
    }

    /// S(sv): (a) what it depends on is covered; or (b) it was written here, under the fence, and what it needs is.
    pub(super) fn has_in_snapshot(&self, stamp: Stamp, meta: &Meta) -> bool {
        let Self { m, dsv: sv, lost, .. } = self;
        let covered = meta.ds.le_elsewhere(sv, *m) && (stamp.origin != *m || meta.ds[*m] <= sv[*m]);
        (covered
            || FRESH_CAUSES_MAY_LACK.kept()
                && stamp.origin == *m
                && (stamp.ts <= sv[*m] || !NEED_UNDER_FENCE.kept())
                && meta.need().le_elsewhere(sv, *m))
            && self.has_l(stamp, meta, SNAPSHOT_NEEDS_L)
            && !is_lost(*lost, stamp, meta)
    }

    /// Whether this version, and all that it depends on, lies below: no pin of a snapshot from here on excludes it (D13), and it is in
    /// every base from here on (D16).
    pub(super) fn is_below(&self, stamp: Stamp, meta: &Meta) -> bool {
        let Self { m, dsv: safe, lost, .. } = self;
        stamp.ts <= safe[stamp.origin]
            && meta.ds.le_elsewhere(safe, *m)
            && self.has_l(stamp, meta, SNAPSHOT_NEEDS_L)
            && !is_lost(*lost, stamp, meta)
    }
}
