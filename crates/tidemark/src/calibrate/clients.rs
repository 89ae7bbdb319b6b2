//! Clients in lockstep: each sends its request, then each takes its answer, again and again.

use crate::live::Live;
use anyhow::Context;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};
use tidemark_contract::core::Key;
use tidemark_wire::resp::encode_request;

/// Connections that all ask the same.
pub(super) struct Clients {
    connections: Vec<TcpStream>,
    request: Vec<u8>,
    answer: Vec<u8>,
}

impl Clients {
    /// They read a key that holds a value of `value_bytes` bytes.
    pub(super) fn getting(
        live: &Live,
        node: usize,
        count: usize,
        key: &Key,
        value_bytes: usize,
    ) -> anyhow::Result<Self> {
        let answer_bytes = format!("${value_bytes}\r\n").len() + value_bytes + 2;
        Self::new(live, node, count, &[b"GET", key], answer_bytes)
    }

    /// They write a key.
    pub(super) fn setting(
        live: &Live,
        node: usize,
        count: usize,
        key: &Key,
        value_bytes: usize,
    ) -> anyhow::Result<Self> {
        Self::new(live, node, count, &[b"SET", key, &vec![b'x'; value_bytes]], "+OK\r\n".len())
    }

    fn new(
        live: &Live,
        node: usize,
        count: usize,
        command: &[&[u8]],
        answer_bytes: usize,
    ) -> anyhow::Result<Self> {
        let address = &live.nodes[node].redis;
        let mut request = Vec::new();
        encode_request(&mut request, command);
        let connect = || -> anyhow::Result<TcpStream> {
            let stream =
                TcpStream::connect(address).with_context(|| format!("cannot connect to {address}"))?;
            stream.set_nodelay(true)?;
            stream.set_read_timeout(Some(Duration::from_secs(10)))?;
            Ok(stream)
        };
        let connections = (0..count).map(|_| connect()).collect::<Result<_, _>>()?;
        Ok(Self { connections, request, answer: vec![0; answer_bytes] })
    }

    /// Works for about `span`; how many requests were answered.
    pub(super) fn work(&mut self, span: Duration) -> anyhow::Result<u64> {
        let begin = Instant::now();
        let mut answered = 0;
        while begin.elapsed() < span {
            for connection in &mut self.connections {
                connection.write_all(&self.request)?;
            }
            for connection in &mut self.connections {
                connection.read_exact(&mut self.answer).context("an answer is missing")?;
                answered += 1;
            }
        }
        Ok(answered)
    }
}
