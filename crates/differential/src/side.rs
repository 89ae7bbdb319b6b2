//! A connection to one of the two servers: a command in, the bytes of its reply out.

use crate::Words;
use anyhow::{Context, Result, bail};
use bytes::BytesMut;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use tidemark_patience::PATIENCE;
use tidemark_wire::resp::{Decoder, Reply, encode_request};

/// A reply, as bytes and as a value.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// All bytes of it.
    pub raw: Vec<u8>,
    /// The same, decoded.
    pub reply: Reply,
}

impl Answer {
    /// The text of an error reply.
    pub fn error(&self) -> Option<String> {
        self.reply.error().map(|text| String::from_utf8_lossy(text).into_owned())
    }

    /// The elements of an array; none if it is something else.
    pub fn items(&self) -> Result<Option<Vec<Answer>>> {
        let (Reply::Array(items), Some(head)) =
            (&self.reply, self.raw.iter().position(|byte| *byte == b'\n'))
        else {
            return Ok(None);
        };
        let (mut decoder, mut buffer) = (Decoder::default(), BytesMut::from(&self.raw[head + 1..]));
        let mut answers = Vec::with_capacity(items.len());
        for _ in items {
            let all = buffer.clone();
            let reply = decoder.decode(&mut buffer)?.context("a whole reply")?;
            answers.push(Answer { raw: all[..all.len() - buffer.len()].to_vec(), reply });
        }
        Ok(Some(answers))
    }

    /// The bytes as text, cut if there are many.
    pub fn shown(&self) -> String {
        const MAX: usize = 600;
        let cut = if self.raw.len() > MAX { " …" } else { "" };
        format!("{}{cut}", self.raw[..self.raw.len().min(MAX)].escape_ascii())
    }
}

/// Changes replies before they are compared: how a test plants a difference.
pub type Alter = Box<dyn FnMut(&[Vec<u8>], &mut Vec<u8>)>;

/// One server, through one connection.
pub struct Side {
    address: SocketAddr,
    protocol: u8,
    stream: TcpStream,
    flushes: bool,
    alter: Option<Alter>,
}

impl Side {
    /// Connects, and asks for version `protocol` of RESP.
    pub fn connect(address: SocketAddr, protocol: u8) -> Result<Self> {
        let stream = connected(address)?;
        let mut side = Self { address, protocol, stream, flushes: true, alter: None };
        side.text(&["HELLO", &protocol.to_string()])?;
        side.flushes = side.text(&["FLUSHALL"])?.error().is_none();
        Ok(side)
    }

    /// The same server, whose replies `alter` changes.
    pub fn altered(mut self, alter: Alter) -> Self {
        self.alter = Some(alter);
        self
    }

    /// Where the server is.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The version of RESP that it speaks.
    pub fn protocol(&self) -> u8 {
        self.protocol
    }

    /// Sends a command and waits for its reply. A connection that breaks instead is a reply too, and is made anew.
    pub fn ask(&mut self, words: &[Vec<u8>]) -> Result<Answer> {
        let mut request = Vec::new();
        encode_request(&mut request, words);
        let mut answer = match self.exchange(&request, 1) {
            Ok(mut answers) => answers.remove(0),
            Err(error) => {
                let text = format!("NOREPLY {error:#}");
                self.stream = connected(self.address)?;
                let hello = format!("*2\r\n$5\r\nHELLO\r\n$1\r\n{}\r\n", self.protocol);
                self.exchange(hello.as_bytes(), 1)?;
                return Ok(Answer {
                    raw: format!("-{text}\r\n").into_bytes(),
                    reply: Reply::Error(text.into()),
                });
            }
        };
        if let Some(alter) = &mut self.alter {
            alter(words, &mut answer.raw);
            answer = decoded(answer.raw)?;
        }
        Ok(answer)
    }

    /// Sends commands at once, and waits for all replies.
    pub fn ask_all(&mut self, commands: &[Words]) -> Result<Vec<Answer>> {
        let mut answers = Vec::new();
        // So few that neither side waits for the other to read.
        for some in commands.chunks(50) {
            let mut request = Vec::new();
            some.iter().for_each(|words| encode_request(&mut request, words));
            answers.extend(self.exchange(&request, some.len())?);
        }
        if let Some(alter) = &mut self.alter {
            for (words, answer) in commands.iter().zip(&mut answers) {
                alter(words, &mut answer.raw);
                *answer = decoded(std::mem::take(&mut answer.raw))?;
            }
        }
        Ok(answers)
    }

    /// The same for words of text.
    pub fn text(&mut self, words: &[&str]) -> Result<Answer> {
        let words: Words = words.iter().map(|word| word.as_bytes().to_vec()).collect();
        self.ask(&words)
    }

    fn exchange(&mut self, request: &[u8], count: usize) -> Result<Vec<Answer>> {
        self.stream.write_all(request).context("the server has closed the connection")?;
        let (mut decoder, mut buffer) = (Decoder::default(), BytesMut::new());
        let (mut answers, mut raw, mut chunk) = (Vec::new(), Vec::new(), vec![0; 64 << 10]);
        while answers.len() < count {
            let length = match self.stream.read(&mut chunk) {
                // The program was stopped, and goes on.
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                length => length.context("no reply")?,
            };
            if length == 0 {
                bail!("the server closes the connection instead of replying");
            }
            raw.extend_from_slice(&chunk[..length]);
            buffer.extend_from_slice(&chunk[..length]);
            while let Some(reply) = decoder.decode(&mut buffer)? {
                let rest = raw.split_off(raw.len() - buffer.len());
                answers.push(Answer { raw: std::mem::replace(&mut raw, rest), reply });
            }
        }
        if answers.len() > count || !raw.is_empty() {
            bail!("more replies than requests: {}", raw.escape_ascii());
        }
        Ok(answers)
    }

    /// Empties the server; the connection is in no transaction afterwards.
    pub fn reset(&mut self) -> Result<()> {
        self.text(&["DISCARD"])?;
        self.text(&["UNWATCH"])?;
        self.text(&["CLIENT", "SETNAME", ""])?;
        if self.flushes {
            self.text(&["FLUSHALL"])?;
            return Ok(());
        }
        let keys = self.text(&["KEYS", "*"])?;
        for key in keys.reply.items().unwrap_or_default() {
            let key = key.bytes().context("a key is a string")?.to_vec();
            self.ask(&[b"DEL".to_vec(), key])?;
        }
        Ok(())
    }

    /// Whether the server knows a command, or a subcommand: without arguments it answers at most that some are missing.
    pub fn knows(&mut self, name: &str) -> Result<bool> {
        let words: Vec<&str> = name.split(' ').collect();
        let known = self.text(&words)?.error().is_none_or(|error| !is_unknown(&error));
        if name == "MULTI" {
            self.text(&["DISCARD"])?;
        }
        Ok(known)
    }
}

fn connected(address: SocketAddr) -> Result<TcpStream> {
    let stream = TcpStream::connect(address).with_context(|| format!("nothing serves {address}"))?;
    // No command of the table blocks.
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

/// Whether an error says that there is no such command.
pub fn is_unknown(error: &str) -> bool {
    error.starts_with("ERR unknown command") || error.starts_with("ERR unknown subcommand")
}

fn decoded(raw: Vec<u8>) -> Result<Answer> {
    let mut buffer = BytesMut::from(&raw[..]);
    let reply = Decoder::default().decode(&mut buffer)?.context("a whole reply")?;
    Ok(Answer { raw, reply })
}
