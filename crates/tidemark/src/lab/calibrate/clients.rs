//! Clients in lockstep: each sends its request, then each takes its answer, again and again.

use crate::live::Live;
use anyhow::{Context, bail};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::str::FromStr;
use std::time::{Duration, Instant};
use tidemark_contract::core::Key;
use tidemark_wire::resp::encode_request;

/// What they ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Command {
    Echo,
    Get,
    Set,
}

impl FromStr for Command {
    type Err = anyhow::Error;

    fn from_str(name: &str) -> anyhow::Result<Self> {
        match name {
            "echo" => Ok(Self::Echo),
            "get" => Ok(Self::Get),
            "set" => Ok(Self::Set),
            _ => bail!("{name:?} is none of the commands echo, get, set"),
        }
    }
}

/// Connections that all ask the same.
pub(crate) struct Clients {
    connections: Vec<TcpStream>,
    request: Vec<u8>,
    answer: Vec<u8>,
}

impl Clients {
    /// So many connections to a node, whose commands are about a value of `value_bytes` bytes. Whoever reads finds it there.
    pub(crate) fn new(
        live: &Live,
        node: usize,
        count: usize,
        command: Command,
        value_bytes: usize,
    ) -> anyhow::Result<Self> {
        Self::about(live, node, count, command, (&Key::from("k"), value_bytes))
    }

    /// As [`Self::new`], about a key of one's own.
    pub(super) fn about(
        live: &Live,
        node: usize,
        count: usize,
        command: Command,
        (key, value_bytes): (&Key, usize),
    ) -> anyhow::Result<Self> {
        let value = vec![b'x'; value_bytes];
        let bulk_bytes = format!("${value_bytes}\r\n").len() + value_bytes + 2;
        match command {
            Command::Echo => Self::connect(live, node, count, &[b"ECHO", &value], bulk_bytes),
            Command::Set => Self::connect(live, node, count, &[b"SET", key, &value], "+OK\r\n".len()),
            Command::Get => {
                Self::about(live, node, 1, Command::Set, (key, value_bytes))?
                    .work(Duration::from_millis(1))?;
                Self::connect(live, node, count, &[b"GET", key], bulk_bytes)
            }
        }
    }

    fn connect(
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
