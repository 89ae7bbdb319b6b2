//! Reads frames from a socket.

use bytes::{Bytes, BytesMut};
use std::io;
use tidemark_node::link::frame::{FrameDecoder, FrameError};
use tokio::io::{AsyncRead, AsyncReadExt};

/// Why nothing more is read from a connection.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LinkError {
    /// The other side closed the connection, or it broke.
    #[error("the connection ended: {0}")]
    Ended(#[from] io::Error),
    /// What it says are no frames, or not what they should be.
    #[error(transparent)]
    Frame(#[from] FrameError),
}

/// Reads frames.
pub(crate) struct FrameReader<R> {
    read: R,
    buffer: BytesMut,
    decoder: FrameDecoder,
}

impl<R: AsyncRead + Unpin> FrameReader<R> {
    /// Over a connection whose other side is a stranger yet.
    pub(crate) fn new(read: R) -> Self {
        Self { read, buffer: BytesMut::new(), decoder: FrameDecoder::default() }
    }

    /// The other side is a peer: it may send large frames.
    pub(crate) fn trust(&mut self) {
        self.decoder.trust();
    }

    /// The next payload. Can be cancelled without losing anything.
    pub(crate) async fn next(&mut self) -> Result<Bytes, LinkError> {
        loop {
            if let Some(payload) = self.decoder.next(&mut self.buffer)? {
                return Ok(payload);
            }
            self.buffer.reserve(16 << 10);
            if self.read.read_buf(&mut self.buffer).await? == 0 {
                return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidemark_node::link::frame::{frame, value};

    #[test]
    fn a_connection_that_ends_within_a_frame_is_an_error_and_not_a_frame() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let bytes = [frame(&7_u32), frame(&8_u32)].concat();
        let mut reader = FrameReader::new(&bytes[..bytes.len() - 1]);
        let first = runtime.block_on(reader.next()).unwrap();
        assert_eq!(value::<u32>(&first).unwrap(), 7);
        assert!(matches!(runtime.block_on(reader.next()), Err(LinkError::Ended(_))));
    }
}
