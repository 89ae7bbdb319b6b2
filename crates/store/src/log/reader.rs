//! Reads the frames of one file in order, through one buffer.

use std::sync::Arc;

use super::frame::{self, Header, Parsed};
use super::segment::{self, Segment};
use crate::disk::{DiskFile, DiskResult};

const CHUNK: usize = 128 * 1024;
/// A buffer that has grown larger shrinks again.
const CHUNKS: usize = 32 * CHUNK;

/// What stands at the next place of the file.
pub(crate) enum Next {
    /// A frame, at this offset of the file.
    Frame(Header, u64),
    End,
    Bad(&'static str),
}

/// A buffered reader of frames.
#[derive(Debug)]
pub(crate) struct FrameReader {
    file: Arc<dyn DiskFile>,
    incarnation: u64,
    /// The position of the file's first byte.
    first: u64,
    /// Where in the file the next frame is.
    offset: u64,
    buffer: Vec<u8>,
    /// How much of the buffer was read; what follows is left over from before.
    filled: usize,
    /// Where in the file the buffer begins.
    buffer_offset: u64,
}

impl FrameReader {
    pub(crate) fn new(file: Arc<dyn DiskFile>, incarnation: u64, first: u64, offset: u64) -> Self {
        Self { file, incarnation, first, offset, buffer: Vec::new(), filled: 0, buffer_offset: offset }
    }

    pub(crate) fn offset(&self) -> u64 {
        self.offset
    }

    /// Goes on further on in the same file. REQUIRES: a frame begins or ended there.
    pub(crate) fn skip_to(&mut self, offset: u64) {
        self.offset = offset;
        if offset > self.buffer_offset + self.filled as u64 {
            self.buffer_offset = offset;
            self.filled = 0;
        }
    }

    /// Goes on in another file, with the same buffer.
    pub(crate) fn switch(&mut self, file: Arc<dyn DiskFile>, first: u64, offset: u64) {
        self.file = file;
        self.first = first;
        self.offset = offset;
        self.buffer_offset = offset;
        self.filled = 0;
    }

    /// The frame at the current place, which then moves past it. Nothing at or after file offset `limit` is looked at,
    /// and a frame that reaches beyond it is bad.
    pub(crate) fn next(&mut self, limit: u64) -> DiskResult<Next> {
        let room = limit.saturating_sub(self.offset);
        let position = self.first + self.offset;
        let mut need = 0;
        loop {
            let at = (self.offset - self.buffer_offset) as usize;
            match frame::parse(&self.buffer[at..self.filled], room, self.incarnation, position) {
                Parsed::Frame(header) => {
                    let offset = self.offset;
                    self.offset += header.length as u64;
                    return Ok(Next::Frame(header, offset));
                }
                Parsed::End => return Ok(Next::End),
                Parsed::Bad(detail) => return Ok(Next::Bad(detail)),
                Parsed::Short(more) if more == need => {
                    // The file itself ends here: an empty rest is an end, anything else a torn frame.
                    let rest = &self.buffer[at..self.filled];
                    let empty = rest.iter().all(|&byte| byte == 0);
                    return Ok(if empty { Next::End } else { Next::Bad("a record is cut short") });
                }
                Parsed::Short(more) => {
                    need = more;
                    self.fill(need, limit)?;
                }
            }
        }
    }

    /// The payload of the frame that `next` returned last.
    pub(crate) fn payload(&self, header: &Header, offset: u64) -> &[u8] {
        &self.frame(header, offset)[frame::HEADER..]
    }

    /// All bytes of the frame that `next` returned last.
    pub(crate) fn frame(&self, header: &Header, offset: u64) -> &[u8] {
        let at = (offset - self.buffer_offset) as usize;
        &self.buffer[at..at + header.length]
    }

    fn fill(&mut self, need: usize, limit: u64) -> DiskResult<()> {
        let at = (self.offset - self.buffer_offset) as usize;
        self.buffer.copy_within(at..self.filled, 0);
        self.filled -= at;
        self.buffer_offset = self.offset;
        let room = (limit - self.offset) as usize;
        let until = need.max(CHUNK).min(room).max(self.filled);
        if self.buffer.len() < until {
            self.buffer.resize(until, 0);
        } else if self.buffer.len() > CHUNKS && until <= CHUNK {
            // A large record has passed, and its room would stay for as long as the reader.
            self.buffer.truncate(until);
            self.buffer.shrink_to_fit();
        }
        let rest = &mut self.buffer[self.filled..until];
        self.filled += self.file.read_at(self.offset + self.filled as u64, rest)?;
        Ok(())
    }
}

/// Whether the first batch of a segment is whole.
pub(crate) fn holds_a_batch(segment: &Segment, incarnation: u64) -> DiskResult<bool> {
    let Segment { header, file } = segment;
    let mut reader = FrameReader::new(file.clone(), incarnation, header.first, segment::HEADER);
    loop {
        match reader.next(header.capacity)? {
            Next::Frame(frame, _) if frame.kind == frame::KIND_COMMIT => return Ok(true),
            Next::Frame(..) => {}
            Next::End | Next::Bad(_) => return Ok(false),
        }
    }
}
