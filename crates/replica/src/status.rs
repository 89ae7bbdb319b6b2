//! What a host says about itself: for status pages, metrics and tests.

use crate::host::Host;
use serde::Serialize;
use tidemark_contract::grouping::{Groupings, NamedGroup};
use tidemark_contract::{Protocol, Status};
use tidemark_core::{DcId, PartitionId};
use tidemark_store::Expired;

/// A host's state.
#[derive(Clone, Debug, Default, Serialize)]
pub struct HostStatus {
    /// Names the log.
    pub incarnation: String,
    /// The number of this start.
    pub life: u64,
    /// The first start since which no power was lost: what was written before may be gone.
    pub since: u64,
    /// Bytes of disk that the log's segments take, reserved space included.
    pub log_bytes: u64,
    /// The end of what is written, in bytes since the log began.
    pub log_written: u64,
    /// The end of what is synced.
    pub log_synced: u64,
    /// Where a restart would replay from.
    pub replay_from: u64,
    /// Whether a snapshot is being taken, or will be soon.
    pub taking_snapshot: bool,
    /// Why the last snapshot failed, if it did.
    pub snapshot_failure: Option<String>,
    /// Why no peer would take what is written here: see [`Host::disowned`].
    pub disowned: Option<String>,
    /// Its partitions.
    pub partitions: Vec<PartitionStatus>,
}

/// A partition's state.
#[derive(Clone, Debug, Serialize)]
pub struct PartitionStatus {
    /// Which.
    pub partition: PartitionId,
    /// Keys, deleted ones that are not collected included.
    pub keys: u64,
    /// Versions in all chains.
    pub versions: u64,
    /// Bytes of keys and values.
    pub bytes: u64,
    /// Keys that collection has to look at.
    pub garbage: u64,
    /// Keys with deadlines, expired ones whose content is still there included.
    pub with_deadlines: u64,
    /// Keys that have expired since this node serves the partition.
    pub expired: u64,
    /// The number of the last record written here.
    pub written: u64,
    /// What the protocol says, where it runs.
    #[serde(flatten)]
    pub protocol: Status,
    /// The groups of servers, where the protocol has some.
    pub groupings: Option<Groupings>,
    /// Its peers.
    pub peers: Vec<PeerStatus>,
}

/// How a partition stands with its peer in another data centre.
#[derive(Clone, Debug, Serialize)]
pub struct PeerStatus {
    /// Which.
    pub dc: DcId,
    /// The last of our records that it has confirmed.
    pub confirmed: u64,
    /// The last of its records that is durable here.
    pub received: u64,
    /// How many of our records it has not confirmed.
    pub behind: u64,
    /// A stream to it is open.
    pub streaming: bool,
    /// It was away too long: the log that it needs is gone.
    pub needs_seeding: bool,
    /// Bytes of log that are kept for it, of what it has not confirmed.
    pub log_kept: u64,
}

impl<P: Protocol> Host<P> {
    /// The state of this host.
    pub fn status(&self) -> HostStatus {
        HostStatus {
            incarnation: format!("{:016x}", self.incarnation()),
            life: self.known.life,
            since: self.lineage.since(),
            log_bytes: self.log.total_bytes(),
            log_written: self.log.flushed().0,
            log_synced: self.log.durable().0,
            replay_from: self.upkeep.replay_from.0,
            taking_snapshot: self.is_taking_snapshot(),
            snapshot_failure: self.upkeep.failure.clone(),
            disowned: self.disowned.clone(),
            partitions: (0..self.places.len()).map(|at| self.partition_status(at)).collect(),
        }
    }

    /// The checking groups that operations may choose, as the first partition here knows them: as of now where its protocol runs,
    /// or else as of what this host has applied. A host without partitions knows those that there were at first.
    pub fn checking_groups(&self) -> Vec<NamedGroup> {
        let first = P::Hard::default();
        let hard = self.places.first().and_then(|place| place.hard.as_ref()).unwrap_or(&first);
        P::EXTENSIONS.checking_groups(&self.config.params, &self.config.topology, hard)
    }

    /// Up to `limit` keys whose deadlines are the nearest: see [`tidemark_store::Store::nearest_deadlines`].
    pub fn nearest_deadlines(&self, limit: usize) -> Vec<Expired> {
        let mut keys: Vec<Expired> =
            self.places.iter().flat_map(|place| place.store.nearest_deadlines(limit)).collect();
        keys.sort_by_key(|key| key.deadline_ms);
        keys.truncate(limit);
        keys
    }

    /// How a partition that is here stands with its peer in `dc`.
    pub fn peer(&self, partition: PartitionId, dc: DcId) -> PeerStatus {
        self.peer_at(self.place_of[partition.index()], dc)
    }

    fn peer_at(&self, at: usize, dc: DcId) -> PeerStatus {
        let place = &self.places[at];
        let needed = self.needed_by(at, dc);
        PeerStatus {
            dc,
            confirmed: place.confirmed[dc.index()],
            received: place.received[dc.index()].durable,
            behind: place.written - place.confirmed[dc.index()],
            streaming: place.streams[dc.index()].is_some(),
            needs_seeding: place.needs_seeding[dc.index()],
            log_kept: needed.map_or(0, |from| self.log.flushed().0.saturating_sub(from.0)),
        }
    }

    fn partition_status(&self, at: usize) -> PartitionStatus {
        let place = &self.places[at];
        // Of a group, only the leader has one.
        let protocol = place.protocol.as_ref();
        let totals = place.store.totals();
        let peers = self.config.topology.all_dcs().filter(|dc| *dc != self.config.dc);
        PartitionStatus {
            partition: place.id,
            keys: totals.keys,
            versions: totals.versions,
            bytes: totals.bytes,
            garbage: place.store.garbage() as u64,
            with_deadlines: place.store.with_deadlines(),
            expired: place.store.expired(),
            written: place.written,
            protocol: protocol.map(P::status).unwrap_or_default(),
            groupings: protocol.zip(P::EXTENSIONS.checking).map(|(protocol, checking)| {
                (checking.standing)(protocol, &self.config.params, &self.config.topology)
            }),
            peers: peers.map(|dc| self.peer_at(at, dc)).collect(),
        }
    }
}
