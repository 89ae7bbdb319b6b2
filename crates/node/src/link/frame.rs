//! What stands on a connection between two nodes: frames, each checked, each holding values back to back.
//!
//! ```text
//! frame  := header crc32(header):u32le payload
//! header := length:u32le version:u8 crc32(payload):u32le
//! payload := values in postcard, one after the other; which type, the kind of the link says
//! ```
//!
//! If the highest bit of the length is set, the payload is a part of a larger one: see [`super::parts`].
//!
//! The header has a sum of its own: a length that was damaged would have the receiver wait for bytes that nobody sends, and the link
//! would be silent until one side starts anew.

use crate::rule::{HEADERS_ARE_CHECKED, PAYLOADS_ARE_CHECKED};
use postcard::ser_flavors::Flavor;
use serde::{Deserialize, Serialize, Serializer};

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
/// The largest payload of one frame from a peer: what waits for a link leaves in one, if it is no large value.
pub const PEER_BYTES_MAX: usize = 768 << 20;
/// The most that waits of several large values.
const LARGE_BYTES_MAX: usize = 2 << 30;
/// In the length of a frame: it is a part of a larger payload.
const PART: u32 = 1 << 31;

/// Values on their way into one frame, and those that are too large for it.
#[derive(Debug, Default)]
pub struct FrameBuffer {
    bytes: Vec<u8>,
    large: Vec<Large>,
}

/// A value, encoded, that leaves in parts.
#[derive(Debug)]
pub struct Large {
    bytes: Vec<u8>,
    /// Where it begins.
    from: usize,
}

impl Large {
    /// The payload.
    pub(crate) fn payload(&self) -> &[u8] {
        &self.bytes[self.from..]
    }
}

impl FrameBuffer {
    /// Whether nothing was added.
    pub fn is_empty(&self) -> bool {
        self.bytes.len() <= HEADER && self.large.is_empty()
    }

    /// Bytes so far, without large values.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Bytes of large values.
    pub fn large_bytes(&self) -> usize {
        self.large.iter().map(|large| large.payload().len()).sum()
    }

    /// Whether it holds more than may wait. One large value may, in any case.
    pub fn overflows(&self, most: usize) -> bool {
        self.len() > most || self.large.len() > 1 && self.large_bytes() > LARGE_BYTES_MAX.max(most)
    }

    /// Appends a value.
    pub fn push<T: Serialize>(&mut self, value: &T) {
        if self.bytes.is_empty() {
            self.bytes.reserve(FIRST_BYTES);
            self.bytes.resize(HEADER, 0);
        }
        let encoded = postcard::serialize_with_flavor(value, Append(&mut self.bytes));
        encoded.expect("what servers exchange can be encoded");
    }

    /// Appends a value that leaves in parts if it has more than `above` bytes; whether it does.
    pub fn push_parted<T: Serialize>(&mut self, value: &T, above: usize) -> bool {
        let before = self.bytes.len().max(HEADER);
        self.push(value);
        if self.bytes.len() - before <= above {
            return false;
        }
        // The first is not copied.
        let (bytes, from) = match before {
            HEADER => (std::mem::take(&mut self.bytes), HEADER),
            _ => (self.bytes.split_off(before), 0),
        };
        self.large.push(Large { bytes, from });
        true
    }

    /// The large values, in the order in which they were added.
    pub(crate) fn take_large(&mut self) -> Vec<Large> {
        std::mem::take(&mut self.large)
    }

    /// The values that it holds, encoded. REQUIRES: none is large.
    pub(crate) fn payload(&self) -> &[u8] {
        self.bytes.get(HEADER..).unwrap_or_default()
    }

    /// Appends what another buffer holds, which is empty afterwards.
    pub fn append(&mut self, other: &mut FrameBuffer) {
        self.large.append(&mut other.large);
        if self.bytes.len() <= HEADER {
            std::mem::swap(&mut self.bytes, &mut other.bytes);
        } else if other.bytes.len() > HEADER {
            self.bytes.extend_from_slice(&other.bytes[HEADER..]);
        }
        other.bytes.clear();
    }

    /// The frame; the buffer is empty afterwards.
    pub fn take(&mut self) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.take_into(&mut bytes);
        bytes
    }

    /// Appends the frame to `out`; the buffer is empty afterwards. If `out` is empty, they change places, and nothing is copied.
    /// REQUIRES: no value is large, or they were taken.
    pub fn take_into(&mut self, out: &mut Vec<u8>) {
        debug_assert!(self.large.is_empty(), "large values leave in parts");
        let bytes = &mut self.bytes;
        if bytes.is_empty() {
            bytes.resize(HEADER, 0);
        }
        finish(bytes, 0);
        move_bytes(&mut self.bytes, out);
    }
}

/// Writes the header of the frame that fills `bytes`, payload already in place.
fn finish(bytes: &mut [u8], flag: u32) {
    let (header, payload) = bytes.split_at_mut(HEADER);
    header[..4].copy_from_slice(&(payload.len() as u32 | flag).to_le_bytes());
    header[4] = VERSION;
    header[5..SUMMED].copy_from_slice(&crc32fast::hash(payload).to_le_bytes());
    let sum = crc32fast::hash(&header[..SUMMED]);
    header[SUMMED..].copy_from_slice(&sum.to_le_bytes());
}

/// Appends a frame with a part of a larger payload, as `write` writes it.
pub(crate) fn push_part(out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    let at = out.len();
    out.resize(at + HEADER, 0);
    write(out);
    finish(&mut out[at..], PART);
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
    /// A part of a payload that is too large, or out of order.
    #[error("a part of {total} bytes, from {at} on, is not the next, or of too much")]
    Part {
        /// Of how many bytes in all.
        total: usize,
        /// Where it begins.
        at: usize,
    },
    /// Whole, but not understood.
    #[error("a frame cannot be understood: {0}")]
    Meaning(postcard::Error),
}

/// Appends slices whole; postcard's own extending flavor goes byte by byte.
struct Append<'a>(&'a mut Vec<u8>);

impl Flavor for Append<'_> {
    type Output = ();

    #[inline]
    fn try_push(&mut self, byte: u8) -> postcard::Result<()> {
        self.0.push(byte);
        Ok(())
    }

    #[inline]
    fn try_extend(&mut self, bytes: &[u8]) -> postcard::Result<()> {
        self.0.extend_from_slice(bytes);
        Ok(())
    }

    fn finalize(self) -> postcard::Result<()> {
        Ok(())
    }
}

/// Bytes, encoded as a slice is, with one copy.
pub(crate) fn as_bytes<S: Serializer>(bytes: &[u8], to: S) -> Result<S::Ok, S::Error> {
    to.serialize_bytes(bytes)
}

/// The same, alone.
pub(crate) struct Raw<'a>(pub(crate) &'a [u8]);

impl Serialize for Raw<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        as_bytes(self.0, to)
    }
}

/// The frame at the front of some bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framed<'b> {
    /// Values.
    Whole(&'b [u8]),
    /// A part of a larger payload.
    Part(&'b [u8]),
}

impl<'b> Framed<'b> {
    /// The payload, [`HEADER`] bytes behind the front.
    pub fn payload(self) -> &'b [u8] {
        match self {
            Self::Whole(payload) | Self::Part(payload) => payload,
        }
    }
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

    /// The frame at the front of `bytes`, with its payload [`HEADER`] bytes from there; none while it is not whole.
    ///
    /// # Errors
    /// Any [`FrameError`] but `Meaning`: what follows cannot be understood either.
    pub fn next<'b>(&self, bytes: &'b [u8]) -> Result<Option<Framed<'b>>, FrameError> {
        if bytes.len() < HEADER {
            return Ok(None);
        }
        let field = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
        let (length, version, sum) = ((field(0) & !PART) as usize, bytes[4], field(5));
        let framed = if field(0) & PART == 0 { Framed::Whole } else { Framed::Part };
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
        if whole { Ok(Some(framed(payload))) } else { Err(FrameError::Checksum) }
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
        let Some(framed) = FrameDecoder::default().next(bytes)? else { return Ok(None) };
        let payload = framed.payload();
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
            if let Some(framed) = decoder.next(&buffer).unwrap() {
                lengths.push(framed.payload().len());
                buffer.clear();
            }
        }
        assert_eq!(lengths, [1, STRANGER_BYTES_MAX + 3]);
        assert!(buffer.is_empty());
    }
}
