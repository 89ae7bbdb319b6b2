//! The reading side: records in order, from disk, for links and replay.

use std::collections::VecDeque;

use super::reader::{FrameReader, Next};
use super::segment::{self, Segment, SegmentHeader};
use super::{Log, LogError, LogResult, Position, frame};

/// One record, as it stands in the cursor's buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frame<'a> {
    /// The caller's kind.
    pub kind: u8,
    /// The partition it belongs to.
    pub partition: u16,
    /// The caller's sequence number.
    pub seq: u64,
    /// Where it begins.
    pub position: Position,
    /// Where it ends: a cursor opened here goes on with the record after it.
    pub end: Position,
    /// The caller's bytes.
    pub payload: &'a [u8],
}

/// A place in a log, with an open segment and a buffer: reading on is one `read` a hundred kilobytes.
#[derive(Debug)]
pub struct LogCursor {
    reader: FrameReader,
    segment: SegmentHeader,
    /// No record was read since the caller named the position.
    fresh: bool,
}

/// What of a log can be read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Written<'l> {
    /// Oldest first; there is one.
    pub(super) segments: &'l VecDeque<Segment>,
    pub(super) flushed: Position,
}

impl Written<'_> {
    pub(super) fn oldest(self) -> Position {
        match self.segments[0].header {
            SegmentHeader { first: 0, .. } => Position::START,
            header => header.data_start(),
        }
    }
}

/// What is written of a log by now, to be read on any thread while the log goes on: what is dropped meanwhile is still there.
#[derive(Debug, Clone)]
pub struct LogView {
    segments: VecDeque<Segment>,
    flushed: Position,
}

impl LogView {
    pub(super) fn new(log: &Log) -> Self {
        Self { segments: log.segments.clone(), flushed: log.flushed() }
    }

    /// As [`Log::cursor`].
    ///
    /// # Errors
    /// As [`Log::cursor`].
    pub fn cursor(&self, position: Position) -> LogResult<LogCursor> {
        LogCursor::new(self.written(), position)
    }

    /// Reads the next record of a cursor of this log; `None` where this view ends.
    ///
    /// # Errors
    /// As [`Log::read`].
    pub fn read<'c>(&self, cursor: &'c mut LogCursor) -> LogResult<Option<Frame<'c>>> {
        cursor.next(self.written(), self.flushed)
    }

    /// As [`Log::read_before`].
    ///
    /// # Errors
    /// As [`Log::read`].
    pub fn read_before<'c>(&self, cursor: &'c mut LogCursor, end: Position) -> LogResult<Option<Frame<'c>>> {
        cursor.next(self.written(), end)
    }

    /// Where this view ends.
    #[must_use]
    pub fn end(&self) -> Position {
        self.flushed
    }

    fn written(&self) -> Written<'_> {
        Written { segments: &self.segments, flushed: self.flushed }
    }
}

impl LogCursor {
    pub(super) fn new(log: Written<'_>, position: Position) -> LogResult<Self> {
        if position > log.flushed {
            return Err(LogError::BeyondEnd { position, end: log.flushed });
        }
        if position < log.oldest() {
            return Err(LogError::Dropped { position, oldest: log.oldest() });
        }
        let after = log.segments.partition_point(|s| s.header.first <= position.0);
        let Segment { header, file } = &log.segments[after - 1];
        let offset = (position.0 - header.first).max(segment::HEADER);
        let reader = FrameReader::new(file.clone(), header.incarnation, header.first, offset);
        Ok(Self { reader, segment: *header, fresh: true })
    }

    /// Where the next record is looked for.
    #[must_use]
    pub fn position(&self) -> Position {
        Position(self.segment.first + self.reader.offset())
    }

    pub(super) fn next<'c>(&'c mut self, log: Written<'_>, end: Position) -> LogResult<Option<Frame<'c>>> {
        let end = end.min(log.flushed);
        loop {
            let position = self.position();
            if position >= end {
                return Ok(None);
            }
            let limit = self.segment.capacity.min(end.0 - self.segment.first);
            let first = self.segment.first;
            let (header, offset) = match self.reader.next(limit)? {
                Next::Frame(header, offset) => (header, offset),
                Next::End => return Err(self.nothing_at(position, "there is no record")),
                Next::Bad(detail) => return Err(self.nothing_at(position, detail)),
            };
            self.fresh = false;
            match header.kind {
                frame::KIND_COMMIT => {}
                frame::KIND_SEAL => self.enter(log, header.seq)?,
                kind => {
                    return Ok(Some(Frame {
                        kind,
                        partition: header.partition,
                        seq: header.seq,
                        position: Position(first + offset),
                        end: Position(first + offset + header.length as u64),
                        payload: self.reader.payload(&header, offset),
                    }));
                }
            }
        }
    }

    pub(super) fn skip(&mut self, log: Written<'_>, to: Position) -> LogResult<()> {
        if to <= self.position() {
            return Ok(());
        }
        if !self.segment.covers(to) {
            *self = Self::new(log, to)?;
            return Ok(());
        }
        self.reader.skip_to(to.0 - self.segment.first);
        Ok(())
    }

    fn enter(&mut self, log: Written<'_>, number: u64) -> LogResult<()> {
        let at = log.segments.partition_point(|s| s.header.number < number);
        let Some(next) = log.segments.get(at).filter(|s| s.header.number == number) else {
            return Err(LogError::Dropped { position: self.position(), oldest: log.oldest() });
        };
        self.segment = next.header;
        self.reader.switch(next.file.clone(), next.header.first, segment::HEADER);
        Ok(())
    }

    fn nothing_at(&self, position: Position, detail: &'static str) -> LogError {
        let file = segment::name_of(self.segment.number);
        let offset = position.0 - self.segment.first;
        if self.fresh {
            LogError::NoRecordAt { position, file, offset, detail }
        } else {
            LogError::Corrupt { file, offset, detail, synced: position }
        }
    }
}
