//! T, as one server needs it.

use super::changes::Chosen;
use super::rules::TRACKING_IS_MARKED;
use tidemark_contract::Topology;
use tidemark_contract::core::{DcId, Hlc, ServerId, Vector};
use tidemark_contract::grouping::tracked::NEVER;
use tidemark_contract::grouping::{Behind, Tracking, TrackingGroup};

/// The tracking groups: of the server itself, and of those that write for it.
pub(super) struct Tracks {
    pub(super) chosen: Tracking,
    /// What is marked with it.
    pub(super) by: Tracking,
    /// T(i).
    pub(super) own: TrackingGroup,
    /// The servers j that write for this one, by data centre, and T(j).
    peers: Vec<(DcId, TrackingGroup)>,
    /// The tracking groups that hold servers of each data centre.
    writers: Vec<(DcId, TrackingGroup)>,
    /// The group of each server.
    all: Vec<(ServerId, TrackingGroup)>,
    pub(super) count: usize,
}

impl Tracks {
    /// REQUIRES: the grouping was checked.
    pub(super) fn new((chosen, tracking): (Tracking, Chosen), me: ServerId, topology: &Topology) -> Self {
        let groups = tracking.groups;
        let numbered = (0..).map(TrackingGroup).zip(&groups);
        let mut all: Vec<(ServerId, TrackingGroup)> =
            numbered.flat_map(|(id, group)| group.iter().map(move |server| (*server, id))).collect();
        all.sort();
        let mut tracks = Self {
            chosen,
            by: if TRACKING_IS_MARKED.kept() { chosen } else { Tracking::default() }, // D11
            own: TrackingGroup::default(),
            peers: Vec::new(),
            writers: all.iter().map(|(server, group)| (server.dc, *group)).collect(),
            all,
            count: groups.len(),
        };
        tracks.own = tracks.of(me);
        tracks.peers = topology.sharing(me).map(|j| (j.dc, tracks.of(j))).collect();
        tracks.writers.sort();
        tracks.writers.dedup();
        tracks
    }

    /// T of any server.
    pub(super) fn of(&self, server: ServerId) -> TrackingGroup {
        let place = self.all.binary_search_by_key(&server, |(server, _)| *server);
        self.all[place.expect("every server is in one")].1
    }

    /// T(j), for the server j in `dc` that writes for this one.
    pub(super) fn of_peer(&self, dc: DcId) -> TrackingGroup {
        self.peers.iter().find(|(peer, _)| *peer == dc).map_or(self.own, |(_, group)| *group)
    }

    /// Of each tracking group the least of what its servers have sent, with `clock` as this server's own.
    pub(super) fn least(&self, latest: &Vector, clock: Hlc) -> Vector {
        let mut vv = Vector::from_entries((0..self.count).map(|_| NEVER));
        vv[self.own] = clock;
        for (dc, group) in &self.peers {
            vv[*group] = vv[*group].min(latest[*dc]);
        }
        vv
    }

    /// How old is what `vv` has of each group, at `clock`.
    pub(super) fn behind(&self, vv: &Vector, clock: Hlc) -> Behind {
        let age = |upto: &Hlc| clock.micros().saturating_sub(upto.micros());
        let us = vv.entries().iter().map(|upto| (*upto != NEVER).then(|| age(upto))).collect();
        Behind { us, own: self.own.index() }
    }

    /// `of` each tracking group by data centre: of each one's servers the least.
    pub(super) fn by_dc(&self, of: &Vector) -> Vector {
        let dcs = self.writers.last().map_or(0, |(dc, _)| dc.index() + 1);
        let mut by_dc = Vector::from_entries((0..dcs).map(|_| NEVER));
        for (dc, group) in &self.writers {
            by_dc[*dc] = by_dc[*dc].min(of[*group]);
        }
        by_dc
    }
}
