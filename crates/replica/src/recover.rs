//! Opening a host: the directory, the newest snapshot, the log after it; then each protocol starts.

use crate::host::{Host, HostConfig, Now};
use crate::place::Place;
use crate::record::{
    self, HARD, LIFE, PEER, PLACE, PlaceState, RECEIVED, REVISED, SKIPPED, VERSION, VersionParts, WRITTEN,
};
use crate::snapshot::Upkeep;
use std::sync::Arc;
use tidemark_contract::Protocol;
use tidemark_core::{DcId, Key, PartitionId, Regions, Stamp};
use tidemark_store::disk::Disk;
use tidemark_store::log::manifest::{DataDir, ManifestError};
use tidemark_store::log::snapshot::{LatestSnapshot, SnapshotError};
use tidemark_store::log::{Cut, Log, LogConfig, LogError, Position};

/// Why a host does not open. Every message says what to do.
#[derive(Debug, Clone, thiserror::Error)]
pub enum OpenError {
    /// The directory is not this server's, or is in use.
    #[error("{0}")]
    Directory(#[from] ManifestError),
    /// The log cannot be trusted.
    #[error("{0}")]
    Log(#[from] LogError),
    /// The snapshot cannot be trusted.
    #[error("{0}")]
    Snapshot(#[from] SnapshotError),
    /// A record or frame that is whole does not say what its kind should.
    #[error(
        "record {seq} of kind {kind} at {position} of the log is whole but cannot be understood ({detail}). It was \
         written by another version of Tidemark: use that one"
    )]
    Meaning {
        /// Its kind.
        kind: u8,
        /// Its number.
        seq: u64,
        /// Where it stands.
        position: Position,
        /// What is wrong.
        detail: String,
    },
}

/// A record of the log, or of a snapshot.
struct Item<'a> {
    /// Where it stands in the log; for a snapshot's, where replay begins.
    at: Position,
    kind: u8,
    partition: u16,
    seq: u64,
    payload: &'a [u8],
}

/// What is being put together.
struct Recovery<P: Protocol> {
    places: Vec<Place<P>>,
    life: u64,
}

impl<P: Protocol> Host<P> {
    /// Opens the directory on `disk`, recovers what is there, and starts the protocol of each partition. The start is
    /// durable when this returns.
    ///
    /// # Errors
    /// The directory, its snapshot or its log cannot be used as they are.
    pub fn open(config: HostConfig<P>, disk: Arc<dyn Disk>, now: Now) -> Result<Self, OpenError> {
        let topology = fingerprint(&config);
        let mut directory = DataDir::open(disk.clone(), P::NAME, &topology, config.new_incarnation)?;
        let incarnation = directory.manifest().incarnation;
        let seed = incarnation.rotate_left(17) ^ 0x5DEE_CE66;
        let dcs = config.topology.dcs;
        let places = config.partitions.iter().map(|id| Place::new(*id, dcs, seed)).collect();
        let mut recovery = Recovery::<P> { places, life: 0 };

        let mut snapshot = LatestSnapshot::find(&*disk, incarnation)?;
        let replay_from = snapshot.replay_from();
        let upkeep = Upkeep::new(&snapshot);
        if let Some(reader) = &mut snapshot.reader {
            while let Some(record) = reader.read()? {
                recovery.apply(Item {
                    at: replay_from,
                    kind: record.kind,
                    partition: record.partition,
                    seq: record.seq,
                    payload: record.payload,
                })?;
            }
        }
        let log = LogConfig {
            incarnation,
            segment_bytes: config.log_segment_bytes,
            replay_from,
            may_create: !directory.manifest().initialised,
        };
        let (log, report) = Log::open(disk.clone(), log)?;
        directory.update(|manifest| manifest.initialised = true)?;
        let mut cursor = log.cursor(replay_from)?;
        while let Some(frame) = log.read(&mut cursor)? {
            recovery.apply(Item {
                at: frame.position,
                kind: frame.kind,
                partition: frame.partition,
                seq: frame.seq,
                payload: frame.payload,
            })?;
        }
        let Recovery { places, life } = recovery;
        let mut host = Self::assemble(config, disk, directory, log, life + 1, places, upkeep);
        host.cut = report.cut;
        host.append(LIFE, PartitionId(0), host.life, |_| ());
        for at in 0..host.places.len() {
            for received in &mut host.places[at].received {
                received.durable = received.seq;
            }
            host.start(now, at);
        }
        host.flush_and_sync()?;
        Ok(host)
    }

    /// The torn tail that was cut when the log was opened, if there was one: worth telling whoever runs this.
    pub fn cut(&self) -> Option<&Cut> {
        self.cut.as_ref()
    }

    fn flush_and_sync(&mut self) -> Result<(), OpenError> {
        if let Some(fatal) = &self.fatal {
            return Err(OpenError::Log(fatal.0.clone()));
        }
        self.log.flush()?;
        self.log.sync()?;
        self.commit().map_err(|fatal| OpenError::Log(fatal.0))?;
        Ok(())
    }
}

/// What must not change under a data directory: which partitions of which data centre it holds.
fn fingerprint<P: Protocol>(config: &HostConfig<P>) -> String {
    let (dc, topology) = (config.dc, &config.topology);
    let mut partitions: Vec<u16> = config.partitions.iter().map(|id| id.0).collect();
    partitions.sort_unstable();
    format!("region {dc} of {}, partitions {partitions:?} of {}", topology.dcs, topology.partitions)
}

impl<P: Protocol> Recovery<P> {
    fn apply(&mut self, frame: Item<'_>) -> Result<(), OpenError> {
        let meaning = |detail: String| OpenError::Meaning {
            kind: frame.kind,
            seq: frame.seq,
            position: frame.at,
            detail,
        };
        if frame.kind == LIFE {
            self.life = self.life.max(frame.seq);
            return Ok(());
        }
        let place = self.places.iter_mut().find(|place| place.id.0 == frame.partition);
        let place = place.ok_or_else(|| meaning(format!("partition {} is not here", frame.partition)))?;
        match frame.kind {
            WRITTEN => written(place, &frame),
            RECEIVED => received(place, &frame),
            REVISED => record::decode::<(Key, Stamp, P::Meta)>(frame.payload).map(|(key, stamp, revised)| {
                place.store.meta_mut(&key, stamp).into_iter().for_each(|meta| *meta = revised.clone());
            }),
            SKIPPED => record::decode::<DcId>(frame.payload)
                .map(|dc| raise(&mut place.received[dc.index()].seq, frame.seq)),
            HARD => record::decode(frame.payload).map(|hard| place.hard = Some(hard)),
            PEER => record::decode::<(DcId, u64)>(frame.payload)
                .map(|(dc, incarnation)| place.received[dc.index()].incarnation = incarnation),
            VERSION => record::decode::<VersionParts<P::Meta>>(frame.payload).map(|parts| {
                let (key, version) = record::whole(parts);
                place.store.insert(&key, version);
            }),
            PLACE => record::decode::<PlaceState<P::Hard>>(frame.payload).map(|state| {
                self.life = self.life.max(state.life);
                adopt(place, state);
            }),
            _ => return Err(meaning("the kind is unknown".into())),
        }
        .map_err(|error| meaning(error.to_string()))
    }
}

fn raise(to: &mut u64, seq: u64) {
    *to = (*to).max(seq);
}

fn written<P: Protocol>(place: &mut Place<P>, frame: &Item<'_>) -> postcard::Result<()> {
    let (_, parts): (Regions, VersionParts<P::Meta>) = record::decode(frame.payload)?;
    let (key, version) = record::whole(parts);
    raise(&mut place.written, frame.seq);
    place.note(frame.seq, frame.at);
    place.last.include(version.stamp);
    place.store.insert(&key, version);
    Ok(())
}

fn received<P: Protocol>(place: &mut Place<P>, frame: &Item<'_>) -> postcard::Result<()> {
    let (dc, parts): (DcId, VersionParts<P::Meta>) = record::decode(frame.payload)?;
    let (key, version) = record::whole(parts);
    raise(&mut place.received[dc.index()].seq, frame.seq);
    place.last.include(version.stamp);
    place.store.insert(&key, version);
    Ok(())
}

/// A snapshot is written while the log goes on, so replay may know more than it says.
fn adopt<P: Protocol>(place: &mut Place<P>, state: PlaceState<P::Hard>) {
    place.hard = state.hard.or(place.hard.take());
    raise(&mut place.written, state.written);
    place.last.merge(&state.last);
    for (received, (incarnation, seq)) in place.received.iter_mut().zip(state.received) {
        received.incarnation = incarnation;
        raise(&mut received.seq, seq);
    }
}
