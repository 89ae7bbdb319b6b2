//! Opening a host: the directory, the newest snapshot, the log after it; then each protocol starts, unless the host is
//! one of a group.

use crate::applied::{apply, raise};
use crate::config::{HostConfig, Now};
use crate::entry::Entries;
use crate::group::{Membership, note, origin};
use crate::host::Host;
use crate::lineage::Past;
use crate::place::Place;
use crate::record::{self, CEILING, ENTRY, LIFE, NAME, RECEIVED, START, WRITTEN};
use crate::replay::Replay;
use crate::rule::OPENING_SYNCS;
use crate::snapshot::Upkeep;
use std::sync::Arc;
use tidemark_contract::protocol::newest_only;
use tidemark_contract::{Params as _, Protocol, Topology};
use tidemark_core::{DcId, PartitionId};
use tidemark_store::disk::Disk;
use tidemark_store::log::manifest::{DataDir, ManifestError};
use tidemark_store::log::snapshot::{LatestSnapshot, SnapshotError};
use tidemark_store::log::{Cut, Log, LogConfig, LogCursor, LogError, Position, Used};

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
    /// One of a group may lack what it has confirmed to the others.
    #[error(
        "the machine lost power while fsync was 'no', and this log may lack entries that this member has confirmed to its Raft group: it \
         is like a lost disk. Give the node an empty data directory and have the group take it in anew (tidemark replace)"
    )]
    OldMember,
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

/// A record of the log, of a snapshot, or of an entry that a group has agreed on.
pub(crate) struct Item<'a> {
    /// Where it stands in the log; for a snapshot's, where replay begins.
    pub(crate) at: Position,
    pub(crate) kind: u8,
    pub(crate) partition: u16,
    pub(crate) seq: u64,
    pub(crate) payload: &'a [u8],
}

/// What records say of all partitions.
#[derive(Clone, Debug, Default)]
pub(crate) struct Known {
    /// The number of the last start.
    pub(crate) life: u64,
    /// What the group calls what it writes; 0 if nothing has been written.
    pub(crate) name: u64,
    /// The starts of the host.
    pub(crate) past: Past,
}

impl Known {
    /// Takes a record that is of the host alone, if it is one.
    fn takes(&mut self, item: &Item<'_>) -> Result<bool, OpenError> {
        match item.kind {
            START => {
                self.past.starts = item.seq;
                self.past.last = record::decode(item.payload).map_err(|error| meaning(item, error))?;
            }
            CEILING => raise(&mut self.past.ceiling, item.seq),
            _ => return Ok(false),
        }
        Ok(true)
    }
}

impl<P: Protocol> Host<P> {
    /// Opens the directory on `disk`, recovers what is there, and starts the protocol of each partition. The start is
    /// durable when this returns.
    ///
    /// # Errors
    /// The directory, its snapshot or its log cannot be used as they are.
    pub fn open(config: HostConfig<P>, disk: Arc<dyn Disk>, now: Now) -> Result<Self, OpenError> {
        let directory = open_directory(&config, &disk, false)?;
        let recovery = Recovery::run(&config, &disk, directory, None, Used::default())?;
        let closed = recovery.closed;
        let mut host = Self::assemble(config, disk, recovery);
        host.log_start(closed);
        host.wall(now);
        host.raise_ceiling(host.config.ceiling_us);
        host.lead(now);
        host.flush_and_sync()?;
        Ok(host)
    }

    /// Opens the directory of one of a group, and recovers what is known to be agreed on; the rest of its log is among
    /// the entries that are returned. No protocol starts before [`Self::lead`].
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn join(config: HostConfig<P>, disk: Arc<dyn Disk>) -> Result<(Self, Entries), OpenError> {
        let directory = open_directory(&config, &disk, true)?;
        let (mut host, closed, entries) = Self::join_from(config, disk, directory, Used::default())?;
        host.log_start(closed);
        if host.disowned.is_some() {
            return Err(OpenError::OldMember);
        }
        host.flush_and_sync()?;
        Ok((host, entries))
    }

    /// Forgets everything that is not in the log, as [`Self::join`] would find it: one of a group that leads no more has
    /// things in memory that were never agreed on. What jobs return that it gave out is for nobody any more.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn rejoin(self) -> Result<(Self, Entries), OpenError> {
        let Self { config, disk, directory, log, .. } = self;
        // A job of the old log may be about to make its next segment.
        let used = log.used();
        drop(log);
        let (host, _, entries) = Self::join_from(config, disk, directory, used)?;
        Ok((host, entries))
    }

    fn join_from(
        config: HostConfig<P>,
        disk: Arc<dyn Disk>,
        directory: DataDir,
        used: Used,
    ) -> Result<(Self, bool, Entries), OpenError> {
        let mut recovery = Recovery::run(&config, &disk, directory, Some(Replay::default()), used)?;
        let entries = std::mem::take(&mut recovery.entries);
        let closed = recovery.closed;
        Ok((Self::assemble(config, disk, recovery), closed, entries))
    }

    /// Starts the protocol of each partition from what is known here. REQUIRES, in a group: this host was elected, and
    /// everything that an earlier leader may have had agreed on is applied.
    pub fn lead(&mut self, now: Now) {
        self.known.life += 1;
        self.append(LIFE, PartitionId(0), self.known.life, |_| ());
        if self.group.is_some() && self.known.name == 0 {
            self.known.name = self.config.new_incarnation;
            self.append(NAME, PartitionId(0), self.known.name, |_| ());
        }
        for at in 0..self.places.len() {
            for received in &mut self.places[at].received {
                received.durable = received.seq;
            }
            if self.group.is_some() && !newest_only::<P>(&self.config.params) {
                self.places[at].store.keep_journal();
            }
            self.start(now, at);
        }
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
        if OPENING_SYNCS.kept() {
            self.log.sync()?;
        }
        self.commit().map_err(|fatal| OpenError::Log(fatal.0))?;
        Ok(())
    }
}

/// What was found in a directory.
pub(crate) struct Recovery<P: Protocol> {
    pub(crate) directory: DataDir,
    pub(crate) log: Log,
    pub(crate) known: Known,
    pub(crate) places: Vec<Place<P>>,
    pub(crate) upkeep: Upkeep,
    pub(crate) group: Option<Membership>,
    pub(crate) cut: Option<Cut>,
    /// All of the log is there: it was closed.
    closed: bool,
    entries: Entries,
}

fn open_directory<P: Protocol>(
    config: &HostConfig<P>,
    disk: &Arc<dyn Disk>,
    grouped: bool,
) -> Result<DataDir, OpenError> {
    let holds = fingerprint(config, grouped);
    Ok(DataDir::open(disk.clone(), P::INFO.name, &holds, config.new_incarnation)?)
}

impl<P: Protocol> Recovery<P> {
    fn run(
        config: &HostConfig<P>,
        disk: &Arc<dyn Disk>,
        mut directory: DataDir,
        mut group: Option<Replay>,
        used: Used,
    ) -> Result<Self, OpenError> {
        let incarnation = directory.manifest().incarnation;
        let seed = incarnation.rotate_left(17) ^ 0x5DEE_CE66;
        let dcs = config.topology.dcs;
        let alone = dcs == 1 && config.topology.partitions == 1 && group.is_none();
        let place = |id: &PartitionId| {
            let place = Place::new(*id, (config.dc, dcs), seed, &config.params);
            if alone { place.alone(&config.params) } else { place }
        };
        let mut places: Vec<Place<P>> = config.partitions.iter().map(place).collect();
        let mut known = Known::default();

        let mut snapshot = LatestSnapshot::find(&**disk, incarnation)?;
        let replay_from = snapshot.replay_from();
        let upkeep = Upkeep::new(&snapshot);
        if let Some(reader) = &mut snapshot.reader {
            while let Some(record) = reader.read()? {
                let item = Item {
                    at: replay_from,
                    kind: record.kind,
                    partition: record.partition,
                    seq: record.seq,
                    payload: record.payload,
                };
                let taken = group.as_mut().map_or(Ok(false), |group| group.takes_of_snapshot(&item))?;
                if !taken && !known.takes(&item)? {
                    apply(&mut places, &mut known, &item)?;
                }
            }
        }
        let log = LogConfig {
            incarnation,
            segment_bytes: config.log_segment_bytes,
            replay_from,
            may_create: !directory.manifest().initialised,
            used,
        };
        let (log, report) = Log::open(disk.clone(), log)?;
        directory.update(|manifest| manifest.initialised = true)?;
        let mut cursor = log.cursor(replay_from)?;
        replay(&log, &mut cursor, (&mut places, &mut known), &mut group)?;
        let (group, entries) = group.map(|group| group.finish(log.flushed())).transpose()?.unzip();
        let entries = entries.unwrap_or_default();
        Ok(Self {
            directory,
            log,
            known,
            places,
            upkeep,
            group,
            cut: report.cut.clone(),
            closed: report.closed(),
            entries,
        })
    }
}

/// Adds what the log says from a cursor on.
fn replay<P: Protocol>(
    log: &Log,
    cursor: &mut LogCursor,
    (places, known): (&mut [Place<P>], &mut Known),
    group: &mut Option<Replay>,
) -> Result<(), OpenError> {
    let mut noted = Noted::default();
    while let Some(frame) = log.read(cursor)? {
        let item = Item {
            at: frame.position,
            kind: frame.kind,
            partition: frame.partition,
            seq: frame.seq,
            payload: frame.payload,
        };
        noted.take(&item, group.is_some(), places);
        match group {
            _ if known.takes(&item)? => {}
            Some(group) => {
                group.take(&item)?;
                group.apply(places, known)?;
            }
            None => apply(places, known, &item)?,
        }
    }
    Ok(())
}

/// Where records for streams stand that were read of the log; in a group, those since the last entry.
#[derive(Default)]
struct Noted(Vec<((u16, Option<DcId>), u64, Position)>);

impl Noted {
    fn take<P: Protocol>(&mut self, item: &Item<'_>, grouped: bool, places: &mut [Place<P>]) {
        match item.kind {
            WRITTEN | RECEIVED => {
                let origin = origin(item.kind, item.payload);
                self.0.extend(origin.map(|origin| ((item.partition, origin), item.seq, item.at)));
            }
            // They came with a copy that was given up: what streams look for stands before them.
            ENTRY if item.seq == 0 => self.0.clear(),
            _ => {}
        }
        if item.kind == ENTRY || !grouped {
            self.0.drain(..).for_each(|(of, seq, at)| note(places, of, seq, at));
        }
    }
}

/// What must not change under a data directory: which partitions of which data centre it holds.
fn fingerprint<P: Protocol>(config: &HostConfig<P>, grouped: bool) -> String {
    let (dc, topology) = (config.dc, &config.topology);
    let mut partitions: Vec<u16> = config.partitions.iter().map(|id| id.0).collect();
    partitions.sort_unstable();
    let of = if grouped { ", one replica of a group" } else { "" };
    let Topology { dcs, partitions: count, placement } = topology;
    let mut fingerprint = format!("region {dc} of {dcs}, partitions {partitions:?} of {count}{of}");
    for more in [placement.in_words(), config.params.format()] {
        if !more.is_empty() {
            fingerprint = format!("{fingerprint}, {more}");
        }
    }
    fingerprint
}

pub(crate) fn meaning(item: &Item<'_>, detail: impl ToString) -> OpenError {
    OpenError::Meaning { kind: item.kind, seq: item.seq, position: item.at, detail: detail.to_string() }
}
