//! The writing side: records gather in one buffer, a turn's batch is one write.

use std::collections::VecDeque;
use std::sync::Arc;

use super::ballast::Ballast;
use super::cursor::Written;
use super::segment::{self, Segment, SegmentHeader};
use super::{
    Frame, LogConfig, LogCursor, LogError, LogResult, LogView, MAX_KIND, Position, RecoveryReport, Used,
    frame,
};
use crate::disk::{Disk, DiskError};

/// Kept free at the end of each segment: for the commit frame of the batch, that of `close`, and the seal.
const RESERVE: u64 = 3 * frame::HEADER as u64;
/// The most that the frames of a batch may come to in one segment: a frame's length is 32 bits, as are offsets in tables.
const FRAMES_MAX: u64 = u32::MAX as u64;
/// A buffer that has grown larger gives its room back once it is empty.
const BUFFER_BYTES: usize = 4 << 20;
/// The size of a segment of its own is a multiple of this.
const BLOCK: u64 = 4096;

/// A log that is open for appending.
#[derive(Debug)]
pub struct Log {
    pub(super) disk: Arc<dyn Disk>,
    pub(super) config: LogConfig,
    /// All segments kept, oldest first; the last one is written.
    pub(super) segments: VecDeque<Segment>,
    /// Made ahead by a sync job, so that a turn does not wait for it.
    pub(super) spare: Option<Segment>,
    pub(super) spare_wanted: bool,
    /// The number and first position of the next segment to be made (I1: they only grow).
    pub(super) next_number: u64,
    pub(super) next_first: u64,
    /// Bytes that follow what was written.
    batch: Vec<u8>,
    /// Where they will be.
    batch_start: Position,
    /// Holds a record while the batch before it goes to another segment; empty otherwise.
    carry: Vec<u8>,
    /// Records were appended since the last commit frame.
    open_batch: bool,
    /// A segment could not be made in this turn: not tried again before the next.
    full: Option<DiskError>,
    pub(super) ballast: Ballast,
    /// The end of the last written commit frame.
    pub(super) flushed: Position,
    pub(super) synced: Position,
    /// The written segments with bytes that may not be durable, oldest first.
    pub(super) unsynced: VecDeque<Segment>,
    pub(super) sync_in_flight: bool,
    poison: Option<String>,
}

impl Log {
    /// Opens the log in `disk`, or creates it; recovers what is there. Read the records back with
    /// `log.cursor(config.replay_from)`.
    ///
    /// # Errors
    /// Any [`LogError`] that says why the log cannot be trusted.
    ///
    /// # Panics
    /// When `segment_bytes` is below 512.
    pub fn open(disk: Arc<dyn Disk>, config: LogConfig) -> LogResult<(Self, RecoveryReport)> {
        assert!(config.segment_bytes >= 512, "a segment of {} bytes is too small", config.segment_bytes);
        let (segments, report) = super::recover::recover(&disk, &config)?;
        let ballast = Ballast::at_opening(&*disk, &config)?;
        let active = segments.back().expect("recovery ends with a new segment");
        let start = active.header.data_start();
        let log = Self {
            next_number: active.header.number + 1,
            next_first: active.header.end(),
            unsynced: VecDeque::from([active.clone()]),
            disk,
            config,
            segments,
            spare: None,
            spare_wanted: true,
            batch: Vec::new(),
            batch_start: start,
            carry: Vec::new(),
            open_batch: false,
            full: None,
            ballast,
            flushed: start,
            synced: start,
            sync_in_flight: false,
            poison: None,
        };
        Ok((log, report))
    }

    /// Appends one record to the batch: the header fields, and the payload that `encode` pushes to the buffer (it must
    /// only push). Returns the record's position. On an error nothing was appended; after [`LogError::Full`] and
    /// [`LogError::TooLarge`] the log goes on working.
    ///
    /// # Errors
    /// `Full`, `TooLarge`, `Poisoned`.
    ///
    /// # Panics
    /// When `kind` is above [`MAX_KIND`].
    #[inline]
    pub fn append(
        &mut self,
        kind: u8,
        partition: u16,
        seq: u64,
        encode: impl FnOnce(&mut Vec<u8>),
    ) -> LogResult<Position> {
        assert!(kind <= MAX_KIND, "record kind {kind} belongs to the log itself");
        self.check()?;
        let mut at = self.batch.len();
        self.batch.extend_from_slice(&[0; frame::HEADER]);
        encode(&mut self.batch);
        let length = (self.batch.len() - at) as u64;
        let mut position = self.batch_start.0 + at as u64;
        if position + length + RESERVE > self.active().header.end() {
            self.make_room(at, length)?;
            at = 0;
            position = self.batch_start.0;
        }
        frame::finish(&mut self.batch[at..], self.config.incarnation, position, kind, partition, seq);
        self.open_batch = true;
        Ok(Position(position))
    }

    /// Closes the batch and writes it. Returns the end of what is written: everything before it survives the death of
    /// the process, and a cursor can read it. Without new records nothing happens.
    ///
    /// # Errors
    /// A failed write poisons the log.
    pub fn flush(&mut self) -> LogResult<Position> {
        self.check()?;
        self.full = None;
        if self.open_batch {
            self.write_commit()?;
        }
        Ok(self.flushed)
    }

    pub(super) fn write_commit(&mut self) -> LogResult<()> {
        let at = self.batch_start.0 + self.batch.len() as u64;
        let (incarnation, synced) = (self.config.incarnation, self.synced.0);
        frame::push_internal(&mut self.batch, incarnation, at, frame::KIND_COMMIT, synced);
        self.write_batch()?;
        self.flushed = self.batch_start;
        self.open_batch = false;
        Ok(())
    }

    /// Makes sure that the next `records` records with `payload_bytes` in all will not find the disk full: for an
    /// operation that appends several, or changes memory first. What does not fit a segment of the usual size gets a larger one. While
    /// there is no ballast, none of it is taken: what is left is for the records that keep a server going.
    ///
    /// # Errors
    /// `Full`, `TooLarge`, `Poisoned`; nothing has changed.
    pub fn reserve(&mut self, records: usize, payload_bytes: usize) -> LogResult<()> {
        self.check()?;
        self.ballast.check()?;
        let bytes = (records * frame::HEADER + payload_bytes) as u64;
        self.check_size(bytes)?;
        if self.end().0 + bytes + RESERVE > self.active().header.end() {
            self.spare = Some(self.next_segment(bytes)?);
        }
        Ok(())
    }

    /// The end of what was appended, flushed or not.
    #[must_use]
    pub fn end(&self) -> Position {
        Position(self.batch_start.0 + self.batch.len() as u64)
    }

    /// The end of what is written: where cursors stop.
    #[must_use]
    pub fn flushed(&self) -> Position {
        self.flushed
    }

    /// The end of what is durable.
    #[must_use]
    pub fn durable(&self) -> Position {
        self.synced
    }

    /// Bytes waiting for the next flush.
    #[must_use]
    pub fn batch_bytes(&self) -> usize {
        self.batch.len()
    }

    /// The oldest position that can still be read.
    #[must_use]
    pub fn oldest(&self) -> Position {
        self.written().oldest()
    }

    /// What is written by now, to be read on another thread.
    #[must_use]
    pub fn view(&self) -> LogView {
        LogView::new(self)
    }

    fn written(&self) -> Written<'_> {
        Written { segments: &self.segments, flushed: self.flushed }
    }

    /// What the next opening in this process has to stay above ([`LogConfig::used`]).
    #[must_use]
    pub fn used(&self) -> Used {
        Used { number: self.next_number, first: self.next_first }
    }

    /// Bytes of disk taken by the segments, reserved space included.
    #[must_use]
    pub fn total_bytes(&self) -> u64 {
        self.segments.iter().chain(&self.spare).map(|s| s.header.capacity).sum()
    }

    /// A reader from `position` on: [`Position::START`], or the `position` or `end` of a record.
    ///
    /// # Errors
    /// `Dropped` or `BeyondEnd` when the log does not hold it.
    pub fn cursor(&self, position: Position) -> LogResult<LogCursor> {
        LogCursor::new(self.written(), position)
    }

    /// Reads the next record of a cursor of this log; `None` at the end of what is flushed, to be asked again later.
    ///
    /// # Errors
    /// `Dropped` when the cursor fell behind what is kept; `Corrupt`, `NoRecordAt`, `Disk`.
    pub fn read<'c>(&self, cursor: &'c mut LogCursor) -> LogResult<Option<Frame<'c>>> {
        cursor.next(self.written(), self.flushed)
    }

    /// As [`Self::read`], of what stands before `end`: the cursor waits there. REQUIRES: `end` was what
    /// [`Self::flushed`] or [`Self::durable`] returned.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub fn read_before<'c>(&self, cursor: &'c mut LogCursor, end: Position) -> LogResult<Option<Frame<'c>>> {
        cursor.next(self.written(), end)
    }

    /// Moves a cursor on to `to` without reading what lies between: for whoever knows that it is of no interest.
    /// REQUIRES: `to` was what [`Self::flushed`] or [`Self::durable`] returned.
    ///
    /// # Errors
    /// As [`Self::cursor`].
    pub fn skip(&self, cursor: &mut LogCursor, to: Position) -> LogResult<()> {
        cursor.skip(self.written(), to)
    }

    /// Removes the segments of which every byte is before `position`. Returns how many bytes that freed. The names may
    /// come back after a power failure; the next opening removes them again. REQUIRES: a durable snapshot replays from
    /// `position` or later.
    ///
    /// # Errors
    /// `Disk`; nothing is poisoned.
    pub fn drop_before(&mut self, position: Position) -> LogResult<u64> {
        let mut freed = 0;
        let limit = position.min(self.synced);
        while self.segments.len() > 1 && self.segments[0].header.end() <= limit.0 {
            self.disk.remove(&segment::name_of(self.segments[0].header.number))?;
            let dropped = self.segments.pop_front().expect("there are two");
            freed += dropped.header.capacity;
        }
        self.full = None;
        Ok(freed)
    }

    pub(super) fn active(&self) -> &Segment {
        self.segments.back().expect("a log has a segment")
    }

    pub(super) fn check(&self) -> LogResult<()> {
        match &self.poison {
            None => Ok(()),
            Some(reason) => Err(LogError::Poisoned { reason: reason.clone() }),
        }
    }

    /// I3: the first failure is kept, and is the answer to everything after it.
    pub(super) fn poison(&mut self, error: &DiskError) -> LogError {
        let reason = self.poison.get_or_insert_with(|| error.to_string()).clone();
        LogError::Poisoned { reason }
    }

    fn write_batch(&mut self) -> LogResult<()> {
        let active = self.active();
        let offset = self.batch_start.0 - active.header.first;
        if let Err(error) = active.file.write_at(offset, &self.batch) {
            return Err(self.poison(&error));
        }
        self.batch_start = self.end();
        self.batch.clear();
        self.batch.shrink_to(BUFFER_BYTES);
        Ok(())
    }

    /// The record at `at` of the batch does not fit: seals the segment with what is before it, and begins the next.
    #[cold]
    fn make_room(&mut self, at: usize, length: u64) -> LogResult<()> {
        let next = match self.check_size(length).and_then(|()| self.next_segment(length)) {
            Ok(next) => next,
            Err(error) => {
                self.batch.truncate(at);
                return Err(error);
            }
        };
        // What is before it is copied, which is less, if the record is large.
        std::mem::swap(&mut self.batch, &mut self.carry);
        self.batch.extend_from_slice(&self.carry[..at]);
        self.carry.drain(..at);
        let (position, number) = (self.end().0, next.header.number);
        frame::push_internal(&mut self.batch, self.config.incarnation, position, frame::KIND_SEAL, number);
        self.write_batch()?;
        self.batch_start = next.header.data_start();
        self.unsynced.push_back(next.clone());
        self.segments.push_back(next);
        self.spare_wanted = true;
        std::mem::swap(&mut self.batch, &mut self.carry);
        self.carry.clear();
        Ok(())
    }

    /// Whether `bytes` of frames fit a segment, if need be one of their own.
    fn check_size(&self, bytes: u64) -> LogResult<()> {
        let (header, limit) = (frame::HEADER, FRAMES_MAX - segment::HEADER - RESERVE - BLOCK);
        match bytes <= limit {
            true => Ok(()),
            false => {
                Err(LogError::TooLarge { bytes: bytes as usize - header, limit: limit as usize - header })
            }
        }
    }

    /// A segment with room for `bytes` of frames, which follows the one written now: the spare one, if it is large enough.
    fn next_segment(&mut self, bytes: u64) -> LogResult<Segment> {
        let least = segment::HEADER + bytes + RESERVE;
        if let Some(spare) = self.spare.take_if(|spare| spare.header.capacity >= least) {
            return Ok(spare);
        }
        if let Some(error) = &self.full {
            return Err(LogError::Full(error.clone()));
        }
        let capacity = match least > self.config.segment_bytes {
            true => least.next_multiple_of(BLOCK),
            false => self.config.segment_bytes,
        };
        let header = self.plan(capacity);
        match segment::create(&*self.disk, header) {
            Ok(segment) => {
                // The number and the place of a smaller one that was there come before. Removing is best effort: opening does
                // it, too.
                if let Some(small) = self.spare.take() {
                    let _ = self.disk.remove(&segment::name_of(small.header.number));
                }
                Ok(segment)
            }
            Err(error) if error.is_no_space() => {
                self.full = Some(error.clone());
                Err(LogError::Full(error))
            }
            Err(error) => Err(self.poison(&error)),
        }
    }

    /// The header of a segment that follows the one written now. Its number and positions are used up, made or not.
    pub(super) fn plan_segment(&mut self) -> SegmentHeader {
        self.plan(self.config.segment_bytes)
    }

    fn plan(&mut self, capacity: u64) -> SegmentHeader {
        let header = SegmentHeader {
            incarnation: self.config.incarnation,
            number: self.next_number,
            first: self.next_first,
            capacity,
            previous: self.active().header.number,
        };
        self.next_number += 1;
        self.next_first = header.end();
        header
    }
}
