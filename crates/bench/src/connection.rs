//! One connection: requests out, replies in.

use crate::commands;
use bytes::BytesMut;
use std::io;
use std::time::Duration;
use tidemark_core::Op;
use tidemark_wire::resp::{DecodeError, Decoder, Reply, encode_request};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// How much room a read has at least.
const READ_BYTES: usize = 16 << 10;

/// Why a connection cannot be used any more.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Broken {
    #[error("closed the connection")]
    Closed,
    #[error("broke the connection: {0}")]
    Io(#[from] io::Error),
    #[error("does not speak the Redis protocol: {0}")]
    Decode(#[from] DecodeError),
    #[error("did not answer for {}", humantime::format_duration(*.0))]
    Silent(Duration),
}

/// Who connects.
#[derive(Clone, Debug)]
pub(crate) struct Login {
    pub(crate) user: Option<String>,
    pub(crate) password: Option<String>,
    /// What the connection is called.
    pub(crate) name: Option<String>,
    pub(crate) timeout: Duration,
}

pub(crate) struct Connection {
    stream: TcpStream,
    /// What is to be sent.
    out: Vec<u8>,
    /// What has arrived and has not been understood.
    input: BytesMut,
    decoder: Decoder,
    timeout: Duration,
}

impl Connection {
    /// Connects, logs in, and hears that somebody answers. The error says what is wrong, after the address.
    pub(crate) async fn open(address: &str, login: &Login) -> Result<Self, String> {
        let stream = match timeout(login.timeout, TcpStream::connect(address)).await {
            Ok(Ok(stream)) => stream,
            Ok(Err(error)) => return Err(format!("cannot be reached ({error}): is a server running there?")),
            Err(_) => {
                let patience = humantime::format_duration(login.timeout);
                return Err(format!("cannot be reached within {patience}: is it the right address?"));
            }
        };
        stream.set_nodelay(true).map_err(|error| error.to_string())?;
        let (out, input, decoder) = (Vec::new(), BytesMut::new(), Decoder::default());
        let mut connection = Self { stream, out, input, decoder, timeout: login.timeout };
        connection.log_in(login).await?;
        Ok(connection)
    }

    async fn log_in(&mut self, login: &Login) -> Result<(), String> {
        if let Some(password) = &login.password {
            let user = login.user.iter().map(String::as_str);
            let words: Vec<&str> = ["AUTH"].into_iter().chain(user).chain([password.as_str()]).collect();
            let reply = self.ask(&words).await.map_err(|broken| broken.to_string())?;
            if let Some(error) = reply.error() {
                return Err(format!("refuses the password: {}", String::from_utf8_lossy(error)));
            }
        }
        let reply = self.ask(&["PING"]).await.map_err(|broken| broken.to_string())?;
        match reply.error() {
            Some(error) if error.starts_with(b"NOAUTH") => return Err("wants a password: --password".into()),
            Some(error) => return Err(format!("answers to PING: {}", String::from_utf8_lossy(error))),
            None => {}
        }
        if let Some(name) = &login.name {
            let reply = self.ask(&["CLIENT", "SETNAME", name]).await.map_err(|broken| broken.to_string())?;
            if let Some(error) = reply.error() {
                return Err(format!("refuses the name: {}", String::from_utf8_lossy(error)));
            }
        }
        Ok(())
    }

    /// Queues the command of an operation.
    pub(crate) fn queue(&mut self, op: &Op) {
        commands::encode(op, &mut self.out);
    }

    /// Queues a command.
    pub(crate) fn queue_words<A: AsRef<[u8]>>(&mut self, words: &[A]) {
        encode_request(&mut self.out, words);
    }

    /// Sends what is queued.
    pub(crate) async fn flush(&mut self) -> Result<(), Broken> {
        if self.out.is_empty() {
            return Ok(());
        }
        let sent = match self.stream.try_write(&self.out) {
            Ok(sent) => sent,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => 0,
            Err(error) => return Err(error.into()),
        };
        if sent < self.out.len() {
            let rest = self.stream.write_all(&self.out[sent..]);
            timeout(self.timeout, rest).await.map_err(|_| Broken::Silent(self.timeout))??;
        }
        self.out.clear();
        Ok(())
    }

    /// Waits until more has arrived. Whoever stops waiting loses nothing.
    pub(crate) async fn more(&mut self) -> Result<(), Broken> {
        self.input.reserve(READ_BYTES);
        match self.stream.read_buf(&mut self.input).await? {
            0 => Err(Broken::Closed),
            _ => Ok(()),
        }
    }

    /// The next reply, if it has arrived.
    pub(crate) fn reply(&mut self) -> Result<Option<Reply>, Broken> {
        Ok(self.decoder.decode(&mut self.input)?)
    }

    /// The next reply; waits for it.
    pub(crate) async fn next(&mut self) -> Result<Reply, Broken> {
        loop {
            if let Some(reply) = self.reply()? {
                return Ok(reply);
            }
            timeout(self.timeout, self.more()).await.map_err(|_| Broken::Silent(self.timeout))??;
        }
    }

    /// Sends one command, and waits for its reply.
    pub(crate) async fn ask<A: AsRef<[u8]>>(&mut self, words: &[A]) -> Result<Reply, Broken> {
        self.queue_words(words);
        self.flush().await?;
        self.next().await
    }
}
