//! What stands on a connection between two nodes: frames, each checked, each holding values back to back.
//!
//! ```text
//! frame  := length:u32le version:u8 crc32(payload):u32le payload
//! payload := values in postcard, one after the other; which type, the channel says
//! ```

use bytes::{Buf, Bytes, BytesMut};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::io;
use tokio::io::{AsyncRead, AsyncReadExt};

/// The version of frames and of everything in them: nodes of different versions refuse each other.
pub(crate) const VERSION: u8 = 4;
/// Bytes before a payload.
const HEADER: usize = 9;
/// The largest payload before the other side has proved who it is.
pub(crate) const STRANGER_BYTES_MAX: usize = 16 << 10;
/// The largest payload from a peer: a little above the largest value.
pub(crate) const PEER_BYTES_MAX: usize = 768 << 20;

/// Values on their way into one frame.
#[derive(Debug, Default)]
pub(crate) struct Batch(Vec<u8>);

impl Batch {
    /// Whether nothing was added.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.len() <= HEADER
    }

    /// Bytes so far.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Appends a value.
    pub(crate) fn push<T: Serialize>(&mut self, value: &T) {
        if self.0.is_empty() {
            self.0.resize(HEADER, 0);
        }
        let bytes = std::mem::take(&mut self.0);
        self.0 = postcard::to_extend(value, bytes).expect("what servers exchange can be encoded");
    }

    /// Appends what another batch holds.
    pub(crate) fn append(&mut self, other: Batch) {
        if self.is_empty() {
            *self = other;
        } else if !other.is_empty() {
            self.0.extend_from_slice(&other.0[HEADER..]);
        }
    }

    /// The frame; the batch is empty afterwards.
    pub(crate) fn take(&mut self) -> Vec<u8> {
        let mut bytes = std::mem::take(&mut self.0);
        if bytes.is_empty() {
            bytes.resize(HEADER, 0);
        }
        let (header, payload) = bytes.split_at_mut(HEADER);
        header[..4].copy_from_slice(&(payload.len() as u32).to_le_bytes());
        header[4] = VERSION;
        header[5..].copy_from_slice(&crc32fast::hash(payload).to_le_bytes());
        bytes
    }
}

/// A frame that holds one value.
pub(crate) fn frame<T: Serialize>(value: &T) -> Vec<u8> {
    let mut batch = Batch::default();
    batch.push(value);
    batch.take()
}

/// The bytes are no frames, or not what they should be: the connection is useless.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FrameError {
    /// The other side closed the connection, or it broke.
    #[error("the connection ended: {0}")]
    Ended(#[from] io::Error),
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

/// Reads frames.
pub(crate) struct FrameReader<R> {
    read: R,
    buffer: BytesMut,
    limit: usize,
}

impl<R: AsyncRead + Unpin> FrameReader<R> {
    /// Over a connection whose other side is a stranger yet.
    pub(crate) fn new(read: R) -> Self {
        Self { read, buffer: BytesMut::new(), limit: STRANGER_BYTES_MAX }
    }

    /// The other side is a peer: it may send large frames.
    pub(crate) fn trust(&mut self) {
        self.limit = PEER_BYTES_MAX;
    }

    /// The next payload. Can be cancelled without losing anything.
    pub(crate) async fn next(&mut self) -> Result<Bytes, FrameError> {
        loop {
            if let Some(payload) = self.whole()? {
                return Ok(payload);
            }
            self.buffer.reserve(16 << 10);
            if self.read.read_buf(&mut self.buffer).await? == 0 {
                return Err(FrameError::Ended(io::ErrorKind::UnexpectedEof.into()));
            }
        }
    }

    fn whole(&mut self) -> Result<Option<Bytes>, FrameError> {
        if self.buffer.len() < HEADER {
            return Ok(None);
        }
        let field = |at: usize| u32::from_le_bytes(self.buffer[at..at + 4].try_into().expect("four bytes"));
        let (length, version, sum) = (field(0) as usize, self.buffer[4], field(5));
        if version != VERSION {
            return Err(FrameError::Version(version));
        }
        if length > self.limit {
            return Err(FrameError::Length(length));
        }
        if self.buffer.len() < HEADER + length {
            return Ok(None);
        }
        self.buffer.advance(HEADER);
        let payload = self.buffer.split_to(length).freeze();
        if crc32fast::hash(&payload) == sum { Ok(Some(payload)) } else { Err(FrameError::Checksum) }
    }
}

/// The values of a payload, one after the other.
pub(crate) fn values<'a, T: Deserialize<'a>>(
    payload: &'a [u8],
    mut each: impl FnMut(T),
) -> Result<(), FrameError> {
    let mut rest = payload;
    while !rest.is_empty() {
        let (value, after) = postcard::take_from_bytes(rest).map_err(FrameError::Meaning)?;
        each(value);
        rest = after;
    }
    Ok(())
}

/// The one value of a payload.
pub(crate) fn value<T: DeserializeOwned>(payload: &[u8]) -> Result<T, FrameError> {
    postcard::from_bytes(payload).map_err(FrameError::Meaning)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8]) -> Result<Vec<u32>, FrameError> {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let payload = runtime.block_on(FrameReader::new(bytes).next())?;
        let mut out = Vec::new();
        values(&payload, |value| out.push(value))?;
        Ok(out)
    }

    #[test]
    fn values_come_back_in_order_from_batches_that_were_joined() {
        let (mut first, mut second) = (Batch::default(), Batch::default());
        first.append(Batch::default());
        assert!(first.is_empty());
        (0..3_u32).for_each(|value| first.push(&value));
        (3..5_u32).for_each(|value| second.push(&value));
        first.append(second);
        assert_eq!(read(&first.take()).unwrap(), [0, 1, 2, 3, 4]);
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
        assert!(matches!(read(&whole[..whole.len() - 1]), Err(FrameError::Ended(_))));
    }
}
