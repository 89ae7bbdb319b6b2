//! A Redis client over a plain socket: one request, one reply, and an honest account of what is not known.

use bytes::BytesMut;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use tidemark_patience::PATIENCE;
use tidemark_wire::resp::{Decoder, Reply, encode_request};

/// A connection.
pub(crate) struct Client {
    stream: TcpStream,
    decoder: Decoder,
    buffer: BytesMut,
    request: Vec<u8>,
}

/// The connection broke after the request may have left: whether it was executed is not known.
#[derive(Debug)]
pub(crate) struct Lost(pub(crate) String);

impl Client {
    /// Connects.
    pub(crate) fn connect(address: SocketAddr) -> std::io::Result<Self> {
        let stream = TcpStream::connect_timeout(&address, PATIENCE)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        let (decoder, buffer) = (Decoder::default(), BytesMut::new());
        Ok(Self { stream, decoder, buffer, request: Vec::new() })
    }

    /// Asks, and waits for the reply.
    pub(crate) fn call<A: AsRef<[u8]>>(&mut self, arguments: &[A]) -> Result<Reply, Lost> {
        self.request.clear();
        encode_request(&mut self.request, arguments);
        let request = std::mem::take(&mut self.request);
        let sent = self.stream.write_all(&request);
        self.request = request;
        sent.map_err(|error| Lost(error.to_string()))?;
        self.reply()
    }

    /// As [`Self::call`] in a test in which connections hold.
    pub(crate) fn ask<A: AsRef<[u8]>>(&mut self, arguments: &[A]) -> Reply {
        self.call(arguments).unwrap_or_else(|lost| panic!("the connection broke: {}", lost.0))
    }

    /// Sends bytes as they are.
    pub(crate) fn send_raw(&mut self, bytes: &[u8]) -> Result<(), Lost> {
        self.stream.write_all(bytes).map_err(|error| Lost(error.to_string()))
    }

    /// The next reply.
    pub(crate) fn reply(&mut self) -> Result<Reply, Lost> {
        loop {
            match self.decoder.decode(&mut self.buffer) {
                Ok(Some(reply)) => return Ok(reply),
                Ok(None) => self.fill()?,
                Err(error) => panic!("the server does not speak RESP: {error}"),
            }
        }
    }

    fn fill(&mut self) -> Result<(), Lost> {
        let mut chunk = [0; 16 << 10];
        match self.stream.read(&mut chunk) {
            Ok(0) => Err(Lost("closed by the server".into())),
            Ok(count) => {
                self.buffer.extend_from_slice(&chunk[..count]);
                Ok(())
            }
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                panic!("no answer within {PATIENCE:?}, which no operation may take")
            }
            Err(error) => Err(Lost(error.to_string())),
        }
    }
}

/// The text of a bulk or simple string.
pub(crate) fn text(reply: &Reply) -> String {
    match (reply.bytes(), reply.error()) {
        (Some(bytes), _) | (_, Some(bytes)) => String::from_utf8_lossy(bytes).into_owned(),
        _ => panic!("no text: {reply:?}"),
    }
}
