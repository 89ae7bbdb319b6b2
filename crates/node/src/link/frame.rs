//! What stands on a connection between two nodes: frames, each checked, each holding values back to back.
//!
//! ```text
//! frame  := header crc32(header):u32le payload
//! header := length:u32le version:u8 crc32(payload):u32le
//! payload := values in postcard, one after the other; which type, the kind of the link says
//! ```
//!
//! The header has a sum of its own: a length that was damaged would have the receiver wait for bytes that nobody sends, and the link
//! would be silent until one side starts anew.

use crate::rule::{HEADERS_ARE_CHECKED, PAYLOADS_ARE_CHECKED};
use serde::{Deserialize, Serialize};

/// The version of frames and of everything in them: nodes of different versions refuse each other.
pub const VERSION: u8 = 12;
/// Bytes before a payload.
pub const HEADER: usize = 13;
/// Those of them that the second sum is of.
const SUMMED: usize = 9;
/// Room for a few values: a buffer grows byte by byte while they are encoded.
const FIRST_BYTES: usize = 256;
/// The largest payload before the other side has proved who it is.
pub const STRANGER_BYTES_MAX: usize = 16 << 10;
/// The largest payload from a peer: a little above the largest value.
pub const PEER_BYTES_MAX: usize = 768 << 20;

/// Values on their way into one frame.
#[derive(Debug, Default)]
pub struct FrameBuffer(Vec<u8>);

impl FrameBuffer {
    /// Whether nothing was added.
    pub fn is_empty(&self) -> bool {
        self.0.len() <= HEADER
    }

    /// Bytes so far.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Appends a value.
    pub fn push<T: Serialize>(&mut self, value: &T) {
        if self.0.is_empty() {
            self.0.reserve(FIRST_BYTES);
            self.0.resize(HEADER, 0);
        }
        let bytes = std::mem::take(&mut self.0);
        self.0 = postcard::to_extend(value, bytes).expect("what servers exchange can be encoded");
    }

    /// The values that it holds, encoded.
    pub(crate) fn payload(&self) -> &[u8] {
        self.0.get(HEADER..).unwrap_or_default()
    }

    /// Appends what another buffer holds, which is empty afterwards.
    pub fn append(&mut self, other: &mut FrameBuffer) {
        if self.is_empty() {
            std::mem::swap(&mut self.0, &mut other.0);
        } else if !other.is_empty() {
            self.0.extend_from_slice(&other.0[HEADER..]);
        }
        other.0.clear();
    }

    /// The frame; the buffer is empty afterwards.
    pub fn take(&mut self) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.take_into(&mut bytes);
        bytes
    }

    /// Appends the frame to `out`; the buffer is empty afterwards. If `out` is empty, they change places, and nothing is copied.
    pub fn take_into(&mut self, out: &mut Vec<u8>) {
        self.finish();
        move_bytes(&mut self.0, out);
    }

    /// Makes a frame of what the buffer holds.
    fn finish(&mut self) {
        let bytes = &mut self.0;
        if bytes.is_empty() {
            bytes.resize(HEADER, 0);
        }
        let (header, payload) = bytes.split_at_mut(HEADER);
        header[..4].copy_from_slice(&(payload.len() as u32).to_le_bytes());
        header[4] = VERSION;
        header[5..SUMMED].copy_from_slice(&crc32fast::hash(payload).to_le_bytes());
        let sum = crc32fast::hash(&header[..SUMMED]);
        header[SUMMED..].copy_from_slice(&sum.to_le_bytes());
    }
}

/// Moves bytes to the end of `to`; without copying them if that is empty, but then `from` gets its room.
pub(crate) fn move_bytes(from: &mut Vec<u8>, to: &mut Vec<u8>) {
    if to.is_empty() {
        std::mem::swap(from, to);
    } else {
        to.append(from);
    }
}

/// A frame that holds one value.
pub fn frame<T: Serialize>(value: &T) -> Vec<u8> {
    let mut buffer = FrameBuffer::default();
    buffer.push(value);
    buffer.take()
}

/// The bytes are no frames, or not what they should be: the connection is useless.
#[derive(Debug, thiserror::Error)]
pub enum FrameError {
    /// Another version.
    #[error(
        "the other side speaks version {0} of the link protocol, this one version {VERSION}: update the older"
    )]
    Version(u8),
    /// A length out of bounds.
    #[error("a frame of {0} bytes exceeds the limit")]
    Length(usize),
    /// Damaged on the way.
    #[error("a frame was damaged on the way")]
    Checksum,
    /// Whole, but not understood.
    #[error("a frame cannot be understood: {0}")]
    Meaning(postcard::Error),
}

/// Takes whole frames from the bytes of a connection.
#[derive(Debug)]
pub struct FrameDecoder {
    limit: usize,
}

impl Default for FrameDecoder {
    /// Of a connection whose other side is a stranger yet.
    fn default() -> Self {
        Self { limit: STRANGER_BYTES_MAX }
    }
}

impl FrameDecoder {
    /// The other side is a peer: it may send large frames.
    pub fn trust(&mut self) {
        self.limit = PEER_BYTES_MAX;
    }

    /// The payload of the frame at the front of `bytes`, [`HEADER`] bytes from there; none while the frame is not whole.
    ///
    /// # Errors
    /// Any [`FrameError`] but `Meaning`: what follows cannot be understood either.
    pub fn next<'b>(&self, bytes: &'b [u8]) -> Result<Option<&'b [u8]>, FrameError> {
        if bytes.len() < HEADER {
            return Ok(None);
        }
        let field = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
        let (length, version, sum) = (field(0) as usize, bytes[4], field(5));
        if version != VERSION {
            return Err(FrameError::Version(version));
        }
        if HEADERS_ARE_CHECKED.kept() && crc32fast::hash(&bytes[..SUMMED]) != field(SUMMED) {
            return Err(FrameError::Checksum);
        }
        if length > self.limit {
            return Err(FrameError::Length(length));
        }
        let Some(payload) = bytes.get(HEADER..HEADER + length) else { return Ok(None) };
        let whole = !PAYLOADS_ARE_CHECKED.kept() || crc32fast::hash(payload) == sum;
        if whole { Ok(Some(payload)) } else { Err(FrameError::Checksum) }
    }
}

/// The values of a payload, one after the other.
///
/// # Errors
/// [`FrameError::Meaning`]: what comes before it has been handed over.
pub fn values<'a, T: Deserialize<'a>>(payload: &'a [u8], mut each: impl FnMut(T)) -> Result<(), FrameError> {
    let mut rest = payload;
    while !rest.is_empty() {
        let (value, after) = postcard::take_from_bytes(rest).map_err(FrameError::Meaning)?;
        each(value);
        rest = after;
    }
    Ok(())
}

/// The one value of a payload.
///
/// # Errors
/// [`FrameError::Meaning`].
pub fn value<'a, T: Deserialize<'a>>(payload: &'a [u8]) -> Result<T, FrameError> {
    postcard::from_bytes(payload).map_err(FrameError::Meaning)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The values of the one frame that `bytes` hold; none while it is not whole.
    fn read(bytes: &[u8]) -> Result<Option<Vec<u32>>, FrameError> {
        let Some(payload) = FrameDecoder::default().next(bytes)? else { return Ok(None) };
        let mut out = Vec::new();
        values(payload, |value| out.push(value))?;
        Ok(Some(out))
    }

    #[test]
    fn values_come_back_in_order_from_buffers_that_were_joined() {
        let (mut first, mut second) = (FrameBuffer::default(), FrameBuffer::default());
        first.append(&mut FrameBuffer::default());
        assert!(first.is_empty());
        (0..3_u32).for_each(|value| first.push(&value));
        (3..5_u32).for_each(|value| second.push(&value));
        first.append(&mut second);
        assert_eq!(read(&first.take()).unwrap(), Some(vec![0, 1, 2, 3, 4]));
        assert!(first.is_empty());
    }

    #[test]
    fn damage_and_strangers_are_refused() {
        let whole = frame(&7_u32);
        for at in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[at] ^= 0x41;
            assert!(read(&bytes).is_err(), "byte {at}");
        }
        assert!(matches!(read(&frame(&vec![0_u8; STRANGER_BYTES_MAX])), Err(FrameError::Length(_))));
    }

    #[test]
    fn frames_come_whole_however_their_bytes_arrive() {
        let bytes = [frame(&7_u32), frame(&vec![0_u8; STRANGER_BYTES_MAX])].concat();
        let (mut decoder, mut buffer, mut lengths) = (FrameDecoder::default(), Vec::new(), Vec::new());
        decoder.trust();
        for byte in bytes {
            buffer.push(byte);
            if let Some(payload) = decoder.next(&buffer).unwrap() {
                lengths.push(payload.len());
                buffer.clear();
            }
        }
        assert_eq!(lengths, [1, STRANGER_BYTES_MAX + 3]);
        assert!(buffer.is_empty());
    }
}
