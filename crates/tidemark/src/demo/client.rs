//! A plain Redis client: one connection, one request at a time.

use crate::live::PATIENCE;
use anyhow::{Context, bail};
use bytes::BytesMut;
use std::io::{Read, Write};
use std::net::TcpStream;
use tidemark_wire::resp::{Decoder, Reply, encode_request};

/// A connection to one region: a session there.
pub(crate) struct Client {
    stream: TcpStream,
    decoder: Decoder,
    buffer: BytesMut,
}

impl Client {
    pub(crate) fn connect(address: &str) -> anyhow::Result<Self> {
        let stream = TcpStream::connect(address).with_context(|| address.to_string())?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, decoder: Decoder::default(), buffer: BytesMut::new() })
    }

    /// Sends a command and returns its reply; an error reply is an error.
    pub(crate) fn call(&mut self, command: &[&str]) -> anyhow::Result<Reply> {
        let mut request = Vec::new();
        encode_request(&mut request, command);
        self.stream.write_all(&request)?;
        loop {
            if let Some(reply) = self.decoder.decode(&mut self.buffer)? {
                if let Some(error) = reply.error() {
                    bail!("{}: {}", command[0], String::from_utf8_lossy(error));
                }
                return Ok(reply);
            }
            let mut chunk = [0; 4096];
            match self.stream.read(&mut chunk)? {
                0 => bail!("the server closed the connection"),
                n => self.buffer.extend_from_slice(&chunk[..n]),
            }
        }
    }

    pub(crate) fn set(&mut self, key: &str, value: &str) -> anyhow::Result<()> {
        self.call(&["SET", key, value]).map(drop)
    }

    pub(crate) fn get(&mut self, key: &str) -> anyhow::Result<Option<String>> {
        Ok(text(&self.call(&["GET", key])?))
    }

    pub(crate) fn mget(&mut self, keys: &[&str]) -> anyhow::Result<Vec<Option<String>>> {
        let reply = self.call(&[&["MGET"], keys].concat())?;
        Ok(reply.items().unwrap_or_default().iter().map(text).collect())
    }
}

fn text(reply: &Reply) -> Option<String> {
    reply.bytes().map(|bytes| String::from_utf8_lossy(bytes).into_owned())
}
