//! Reads the frames of one file in order, through one buffer.

use std::sync::Arc;

use super::frame::{self, Header, Parsed};
use crate::disk::{DiskFile, DiskResult};

const CHUNK: usize = 128 * 1024;

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
    /// Where in the file the buffer begins.
    buffer_offset: u64,
}

impl FrameReader {
    pub(crate) fn new(file: Arc<dyn DiskFile>, incarnation: u64, first: u64, offset: u64) -> Self {
        Self { file, incarnation, first, offset, buffer: Vec::new(), buffer_offset: offset }
    }

    pub(crate) fn offset(&self) -> u64 {
        self.offset
    }

    /// Goes on in another file, with the same buffer.
    pub(crate) fn switch(&mut self, file: Arc<dyn DiskFile>, first: u64, offset: u64) {
        self.file = file;
        self.first = first;
        self.offset = offset;
        self.buffer_offset = offset;
        self.buffer.clear();
    }

    /// The frame at the current place, which then moves past it. Nothing at or after file offset `limit` is looked at,
    /// and a frame that reaches beyond it is bad.
    pub(crate) fn next(&mut self, limit: u64) -> DiskResult<Next> {
        let room = limit.saturating_sub(self.offset);
        let position = self.first + self.offset;
        let mut need = 0;
        loop {
            let at = (self.offset - self.buffer_offset) as usize;
            match frame::parse(&self.buffer[at..], room, self.incarnation, position) {
                Parsed::Frame(header) => {
                    let offset = self.offset;
                    self.offset += header.length as u64;
                    return Ok(Next::Frame(header, offset));
                }
                Parsed::End => return Ok(Next::End),
                Parsed::Bad(detail) => return Ok(Next::Bad(detail)),
                Parsed::Short(more) if more == need => {
                    // The file itself ends here: an empty rest is an end, anything else a torn frame.
                    let rest = &self.buffer[at..];
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
        self.buffer.drain(..at);
        self.buffer_offset = self.offset;
        let have = self.buffer.len();
        let room = (limit - self.offset) as usize;
        self.buffer.resize(need.max(CHUNK).min(room), 0);
        let n = self.file.read_at(self.offset + have as u64, &mut self.buffer[have..])?;
        self.buffer.truncate(have + n);
        Ok(())
    }
}
