//! Upkeep: snapshots, so that a restart replays little, and dropping what of the log nobody needs.
//!
//! A snapshot is written a piece at a time while the partitions go on, so it mixes times; replaying the log from where
//! it was begun makes it whole, because inserting a version twice changes nothing. The tombstones that go meanwhile are
//! written too: what replay adds may be older than one that was there when it was begun. (In a group, the log says what
//! went.) It counts only once the log is durable up to where it was ended: otherwise a power failure could leave a version
//! in the snapshot that the log, and so every peer, has never heard of.

mod job;

use crate::host::Host;
use crate::place::Place;
use crate::record::{self, CEILING, CONFIRMED, GROUP, NAME, PLACE, PlaceState, START, VERSION};
pub use job::{UpkeepDone, UpkeepJob};
use job::{Work, Write, write_object};
use std::sync::Arc;
use tidemark_contract::Protocol;
use tidemark_core::{DcId, Key};
use tidemark_store::Dump;
use tidemark_store::chains::Frozen;
use tidemark_store::log::Position;
use tidemark_store::log::snapshot::{LatestSnapshot, SnapshotResult, SnapshotWriter};

/// Keys in one piece.
const PIECE: usize = 2_000;

/// Keys that are looked at together. No more of them are copied at a time.
const STEP: usize = 16;

/// A key with more elements is written by a job: it takes too long for who serves clients.
const MANY_ELEMENTS: usize = 1_000;

/// Where upkeep stands.
pub(crate) struct Upkeep {
    /// Where a restart would replay from.
    pub(crate) replay_from: Position,
    stage: Stage,
    /// Why the last snapshot failed, until one succeeds.
    pub(crate) failure: Option<String>,
    /// The log has to grow to here before another is begun after a failure.
    not_before: Position,
    /// Somebody waits for one.
    wanted: bool,
    /// Of each partition, the last record that was written, and received of each data centre, when the snapshot was begun.
    reached: Vec<(u64, Vec<u64>)>,
}

enum Stage {
    Idle,
    /// Dumping the chains of a partition, from a cursor on.
    Dumping {
        writer: SnapshotWriter,
        replay_from: Position,
        place: usize,
        cursor: u64,
    },
    /// A job is out, which writes keys of a piece. Dumping goes on from there.
    Writing {
        replay_from: Position,
        place: usize,
        cursor: u64,
    },
    /// Everything is dumped; the log has to be durable up to here.
    Waiting {
        writer: SnapshotWriter,
        replay_from: Position,
        end: Position,
    },
    /// A job is out.
    Finishing {
        replay_from: Position,
    },
}

impl Upkeep {
    pub(crate) fn new(latest: &LatestSnapshot) -> Self {
        let failure = latest.refused.first().map(|error| error.to_string());
        Self {
            replay_from: latest.replay_from(),
            stage: Stage::Idle,
            failure,
            not_before: Position::START,
            wanted: false,
            reached: Vec::new(),
        }
    }

    fn failed(&mut self, error: impl ToString, now: Position, every: u64) {
        self.stage = Stage::Idle;
        self.failure = Some(error.to_string());
        self.not_before = Position(now.0 + every / 4);
    }
}

impl<P: Protocol> Host<P> {
    /// Does a piece of what has to be done now and then; a driver calls it every few milliseconds. A job that it
    /// returns is run anywhere, and its result given to [`Self::upkept`]. REQUIRES, of who leads a group: [`Self::commit`] after
    /// it.
    pub fn upkeep(&mut self) -> Option<UpkeepJob> {
        self.tell_confirmed(); // before it is dropped here
        let every = self.config.snapshot_every_bytes;
        match std::mem::replace(&mut self.upkeep.stage, Stage::Idle) {
            Stage::Idle => {
                let end = self.log.flushed();
                let due = end.0 - self.upkeep.replay_from.0 >= every && end >= self.upkeep.not_before;
                // Who waits for one cannot wait until the log has grown after a failure.
                if self.staged.is_none() && (std::mem::take(&mut self.upkeep.wanted) || due) {
                    self.begin();
                }
                self.drop_log();
                None
            }
            Stage::Dumping { writer, replay_from, place, cursor } => {
                match self.dump(writer, replay_from, place, cursor) {
                    Ok((stage, job)) => {
                        self.upkeep.stage = stage;
                        job
                    }
                    Err(error) => {
                        self.dump_failed(error);
                        None
                    }
                }
            }
            Stage::Waiting { writer, replay_from, end } if self.is_settled(end) => {
                self.upkeep.stage = Stage::Finishing { replay_from };
                Some(UpkeepJob { writer, replay_from, work: Work::Finish(self.log.durable()) })
            }
            stage => {
                self.upkeep.stage = stage;
                None
            }
        }
    }

    /// An upkeep job has ended. A snapshot that failed is tried again later: the log is kept meanwhile.
    pub fn upkept(&mut self, UpkeepDone { replay_from: of, result }: UpkeepDone) {
        match (&self.upkeep.stage, result) {
            (Stage::Writing { replay_from, place, cursor }, Ok(Some(writer))) if *replay_from == of => {
                let (place, cursor) = (*place, *cursor);
                self.upkeep.stage = Stage::Dumping { writer, replay_from: of, place, cursor };
            }
            (Stage::Writing { replay_from, .. }, Err(error)) if *replay_from == of => self.dump_failed(error),
            (Stage::Finishing { replay_from }, result) if *replay_from == of => {
                self.upkeep.stage = Stage::Idle;
                match result {
                    Ok(_) => {
                        self.upkeep.replay_from = of;
                        self.upkeep.failure = None;
                    }
                    Err(error) => self.upkeep.failed(error, self.log.end(), self.config.snapshot_every_bytes),
                }
            }
            // One of a group may have begun anew since, and be taking another.
            _ => {}
        }
    }

    fn dump_failed(&mut self, error: impl ToString) {
        self.upkeep.failed(error, self.log.end(), self.config.snapshot_every_bytes);
        self.places.iter_mut().for_each(|place| drop(place.store.take_gone()));
    }

    /// Sees to it that a snapshot is taken soon, however little was written since the last.
    pub fn want_snapshot(&mut self) {
        self.upkeep.wanted = true;
    }

    /// Whether a snapshot is being taken, or will be soon.
    pub fn is_taking_snapshot(&self) -> bool {
        self.upkeep.wanted || !matches!(self.upkeep.stage, Stage::Idle)
    }

    /// Whether a snapshot is done but for a sync of the log.
    pub fn snapshot_waits(&self) -> bool {
        matches!(self.upkeep.stage, Stage::Waiting { end, .. } if self.log.durable() < end)
    }

    /// Whether a snapshot is done but for the group's agreement on what it contains.
    pub fn snapshot_awaits_agreement(&self) -> bool {
        let agreed = self.group.as_ref().map(|group| group.committed());
        matches!(self.upkeep.stage, Stage::Waiting { end, .. } if agreed.is_some_and(|agreed| agreed < end))
    }

    /// Takes no snapshot now; another is begun when the log has grown.
    pub fn give_up_snapshot(&mut self) {
        self.upkeep.stage = Stage::Idle;
        self.upkeep.not_before = Position(self.log.end().0 + self.config.snapshot_every_bytes / 4);
    }

    /// Whether the log is synced up to `end`, and nothing before it can be retracted.
    fn is_settled(&self, end: Position) -> bool {
        self.log.durable() >= end && self.group.as_ref().is_none_or(|group| group.committed() >= end)
    }

    fn begin(&mut self) {
        let incarnation = self.directory.manifest().incarnation;
        let replay_from = self.group.as_ref().map_or(self.log.flushed(), |group| group.committed());
        // What was not given to the stores yet comes again.
        let replay_from = self.arrivals.oldest().map_or(replay_from, |oldest| oldest.min(replay_from));
        let writer = SnapshotWriter::create(Arc::clone(&self.disk), incarnation, replay_from);
        match writer.and_then(|writer| self.begin_with_lineage(writer)) {
            Ok(writer) => {
                let deferred = self.arrivals.defer;
                let reached = |place: &Place<P>| (place.written, place.mark(deferred).received);
                self.upkeep.reached = self.places.iter().map(reached).collect();
                self.upkeep.stage = Stage::Dumping { writer, replay_from, place: 0, cursor: 0 };
                if self.group.is_none() {
                    self.places.iter_mut().for_each(|place| place.store.keep_gone());
                }
            }
            Err(error) => self.upkeep.failed(error, self.log.end(), self.config.snapshot_every_bytes),
        }
    }

    /// In a group, the first thing that a snapshot says is which entries it contains.
    fn begin_with_lineage(&self, mut writer: SnapshotWriter) -> SnapshotResult<SnapshotWriter> {
        if let Some(group) = &self.group {
            let payload = group.for_snapshot();
            writer.append(GROUP, 0, payload.0.applied, |buffer| record::encode(&payload, buffer))?;
            writer.append(NAME, 0, self.known.name, |_| ())?;
        }
        let (number, start, ceiling) = self.lineage.for_snapshot();
        writer.append(START, 0, number, |buffer| record::encode(start, buffer))?;
        writer.append(CEILING, 0, ceiling, |_| ())?;
        Ok(writer)
    }

    fn dump(
        &mut self,
        mut writer: SnapshotWriter,
        replay_from: Position,
        at: usize,
        cursor: u64,
    ) -> SnapshotResult<(Stage, Option<UpkeepJob>)> {
        let Some(place) = self.places.get(at) else {
            self.dump_gone(&mut writer)?;
            self.dump_states(&mut writer)?;
            return Ok((Stage::Waiting { writer, replay_from, end: self.log.end() }, None));
        };
        let (mut result, mut large, mark) = (Ok(()), Vec::new(), Arc::new(place.mark(self.arrivals.defer)));
        let (mut next, mut steps) = (cursor, 0);
        // Copies of large keys wait for the job: not many are made.
        while steps == 0 || next != 0 && large.is_empty() && steps * STEP < PIECE {
            steps += 1;
            next = place.store.dump_all(next, STEP, |key, item| {
                let key = Key(bytes::Bytes::copy_from_slice(key));
                match item {
                    Dump::Version(version) if result.is_ok() => {
                        let payload = record::parts(&key, version);
                        result = writer.append(VERSION, place.id.0, 0, |to| record::encode(&payload, to));
                    }
                    Dump::Object(object) if result.is_ok() => {
                        let frozen = Frozen::new(object, place.store.reached());
                        let is_large = frozen.count_elements() > MANY_ELEMENTS;
                        let write = write_object(key, Arc::clone(&mark), frozen, place.id.0);
                        if is_large {
                            large.push(Box::new(write) as Write);
                        } else {
                            result = write(&mut writer);
                        }
                    }
                    _ => {}
                }
            });
        }
        result?;
        let place = if next == 0 { at + 1 } else { at };
        if large.is_empty() {
            return Ok((Stage::Dumping { writer, replay_from, place, cursor: next }, None));
        }
        let job = UpkeepJob { writer, replay_from, work: Work::Write(large) };
        Ok((Stage::Writing { replay_from, place, cursor: next }, Some(job)))
    }

    fn dump_gone(&mut self, writer: &mut SnapshotWriter) -> SnapshotResult<()> {
        for place in &mut self.places {
            for (key, version) in place.store.take_gone() {
                let payload = record::parts(&key, &version);
                writer.append(VERSION, place.id.0, 0, |buffer| record::encode(&payload, buffer))?;
            }
        }
        Ok(())
    }

    /// What is said of records is of the beginning: of later ones some versions are in the snapshot and some are not, and in a group
    /// nobody knows before it is told which of them are agreed on. So nobody has confirmed them either.
    fn dump_states(&self, writer: &mut SnapshotWriter) -> SnapshotResult<()> {
        for (place, (written, received)) in self.places.iter().zip(&self.upkeep.reached) {
            let state = PlaceState {
                hard: place.hard.clone(),
                life: self.known.life,
                written: *written,
                received: place.received.iter().zip(received).map(|(r, seq)| (r.incarnation, *seq)).collect(),
                last: place.last.clone(),
                expiring: place.store.is_expiring(),
            };
            writer.append(PLACE, place.id.0, 0, |buffer| record::encode(&state, buffer))?;
            for dc in self.config.topology.all_dcs().filter(|dc| place.told[dc.index()] > 0) {
                let told = place.told[dc.index()].min(*written);
                writer.append(CONFIRMED, place.id.0, told, |buffer| record::encode(&dc, buffer))?;
            }
        }
        Ok(())
    }

    /// Drops the segments that neither a restart nor a peer needs. A peer that holds back more than `log_retain_bytes`
    /// is given up: it will need a copy of the data.
    fn drop_log(&mut self) {
        let floor = Position(self.log.flushed().0.saturating_sub(self.config.log_retain_bytes));
        let mut keep = self.upkeep.replay_from;
        for at in 0..self.places.len() {
            for dc in self.config.topology.all_dcs().filter(|dc| *dc != self.config.dc) {
                match self.needed_by(at, dc) {
                    Some(position) if position >= floor => keep = keep.min(position),
                    Some(_) if self.upkeep.replay_from > floor => {
                        self.places[at].needs_seeding[dc.index()] = true
                    }
                    Some(position) => keep = keep.min(position),
                    None => {}
                }
            }
            keep = self.kept_for_others(at, floor).fold(keep, Position::min);
        }
        // A failure leaves the segments where they are; the next upkeep tries again.
        if keep > self.log.oldest() && self.log.drop_before(keep).is_ok() {
            let oldest = self.log.oldest();
            self.group.iter_mut().for_each(|group| group.forget_before(oldest));
            for place in &mut self.places {
                place.index.retain(|_, position| *position >= oldest);
                for received in &mut place.received {
                    received.index.retain(|_, position| *position >= oldest);
                }
            }
        }
    }

    /// From where on the log is needed for records of others. What takes more room than that is given up: a relay then says that it
    /// cannot help.
    fn kept_for_others(&mut self, at: usize, floor: Position) -> impl Iterator<Item = Position> {
        let mut kept: Vec<Position> =
            self.places[at].relays.iter().map(|relay| relay.stream.position()).collect();
        for origin in self.config.topology.all_dcs().filter(|dc| *dc != self.config.dc) {
            let needed = self.needed_for_others(at, origin);
            if needed.is_some_and(|position| position < floor) && self.upkeep.replay_from > floor {
                let received = &mut self.places[at].received[origin.index()];
                received.passed = received.seq;
            } else {
                kept.extend(needed);
            }
        }
        kept.into_iter().filter(move |position| *position >= floor)
    }

    /// From where on the log is needed to stream `dc`, if it lacks anything and was not given up.
    pub(crate) fn needed_by(&self, at: usize, dc: DcId) -> Option<Position> {
        let place = &self.places[at];
        if place.needs_seeding[dc.index()] {
            return None;
        }
        self.needed_after(at, place.confirmed[dc.index()])
    }

    /// From where on the log has the records after `confirmed` of a partition, if there are any.
    pub(crate) fn needed_after(&self, at: usize, confirmed: u64) -> Option<Position> {
        let place = &self.places[at];
        if confirmed >= place.written {
            return None;
        }
        let indexed = place.index.range(..=confirmed + 1).next_back();
        Some(indexed.map_or(self.log.oldest(), |(_, position)| *position))
    }
}
