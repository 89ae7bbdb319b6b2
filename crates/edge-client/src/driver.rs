//! The driver of one client: it does what the [client](tidemark_edge::client) asks for, and tells it what has happened.
//!
//! **Invariants** (what the client is owed, O1 to O3 there)
//! - I1 Effects are carried out in their order. The disk is written at once, in the same call.
//! - I2 Frames of a connection are sent and taken in order, and none is taken after it was closed.
//! - I3 Time is that of a monotonic clock, since the driver was made.

use crate::socket::{Happens, SILENCE, Socket};
use crate::{Disk, Endpoint};
use bytes::Bytes;
use std::collections::VecDeque;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};
use tidemark_edge::client::{Client, Config, Effect, Event, Timing, Transaction};
use tidemark_edge::frames::Secret;
use tokio::time::Sleep;

/// How a client is set up.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Gateways, in the order of preference; at least one.
    pub endpoints: Arc<[Endpoint]>,
    /// What authenticates the user: the password of the nodes, or nothing.
    pub token: Bytes,
    /// Whether it lowers K while all regions that it reaches are isolated.
    pub lowers: bool,
    /// Whether the disk keeps the values of watched keys, so that the next process can read them offline.
    pub keep_values: bool,
}

/// Frames, and the bytes in them, in both directions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Frames from gateways.
    pub frames_in: u64,
    /// Bytes of these.
    pub bytes_in: u64,
    /// Frames to gateways.
    pub frames_out: u64,
    /// Bytes of these.
    pub bytes_out: u64,
}

/// A client with its disk and its connection. Within a tokio runtime.
pub struct Driver<D> {
    client: Client,
    disk: D,
    endpoints: Arc<[Endpoint]>,
    started: Instant,
    socket: Option<Socket>,
    wake: Option<Pin<Box<Sleep>>>,
    commits: u64,
    news: Vec<Effect>,
    traffic: Traffic,
}

/// A random secret for a new client, from the system.
///
/// # Panics
/// The system has no random numbers.
pub fn draw_secret() -> Secret {
    let mut secret = [0; 32];
    // No client without one, and nothing that its caller could do.
    getrandom::fill(&mut secret).expect("the system has random numbers");
    Secret(secret)
}

impl<D: Disk> Driver<D> {
    /// The client of this disk. It stays offline until [`Event::Start`].
    ///
    /// # Panics
    /// There is no endpoint, or the system has no random numbers.
    pub fn new(disk: D, setup: Setup) -> Self {
        let (Secret(drawn), state) = (draw_secret(), disk.state().clone());
        let seed = u64::from_be_bytes(drawn[..8].try_into().expect("8 of 32 bytes"));
        let config = Config {
            endpoints: setup.endpoints.len(),
            seed,
            token: setup.token,
            lowers: setup.lowers,
            timing: Timing::DEFAULT,
        };
        let client = match setup.keep_values {
            true => Client::with_values(state, config),
            false => Client::new(state, config),
        };
        Self {
            client,
            disk,
            endpoints: setup.endpoints,
            started: Instant::now(),
            socket: None,
            wake: None,
            commits: 0,
            news: Vec::new(),
            traffic: Traffic::default(),
        }
    }

    /// The client, to read from.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// Its disk.
    pub fn disk(&self) -> &D {
        &self.disk
    }

    /// The gateway that it is connected to, or tries now or next.
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoints[self.client.endpoint()]
    }

    /// What has passed so far.
    pub fn traffic(&self) -> Traffic {
        self.traffic
    }

    /// What the application is to know since the last call: effects that are neither frames nor writes nor timers, in their order.
    pub fn news(&mut self) -> Vec<Effect> {
        std::mem::take(&mut self.news)
    }

    /// Commits a transaction. Returns the name that [`Effect::Committed`] has for it, which is among the news when this returns: the disk
    /// is written at once.
    pub fn commit(&mut self, transaction: Transaction) -> u64 {
        self.commits += 1;
        self.tell(Event::Commit { id: self.commits, transaction });
        self.commits
    }

    /// Tells the client what has happened, or what the application wants, and does what it says then.
    pub fn tell(&mut self, event: Event) {
        let mut events = VecDeque::from([event]);
        while let Some(event) = events.pop_front() {
            let now_us = self.started.elapsed().as_micros() as u64;
            for effect in self.client.handle(now_us, event) {
                events.extend(self.carry_out(effect, now_us));
            }
        }
    }

    fn carry_out(&mut self, effect: Effect, now_us: u64) -> Option<Event> {
        match effect {
            Effect::Persist { id, rows } => Some(match self.disk.append(&rows) {
                Ok(()) => Event::Persisted { id },
                Err(_) => Event::PersistFailed { id },
            }),
            Effect::Connect { endpoint, connection } => {
                self.socket = Some(Socket::connect(connection, &self.endpoints[endpoint], SILENCE));
                None
            }
            Effect::Send { connection, bytes } => {
                let socket = self.socket.as_mut().filter(|socket| socket.connection == connection)?;
                self.traffic.frames_out += 1;
                self.traffic.bytes_out += bytes.len() as u64;
                socket.send(bytes);
                None
            }
            Effect::Close { connection } => {
                self.socket.take_if(|socket| socket.connection == connection);
                None
            }
            Effect::WakeAt { at_us } => {
                let after = Duration::from_micros(at_us.saturating_sub(now_us));
                let at = tokio::time::Instant::now() + after;
                match &mut self.wake {
                    Some(sleep) => sleep.as_mut().reset(at),
                    None => self.wake = Some(Box::pin(tokio::time::sleep_until(at))),
                }
                None
            }
            Effect::DrawSecret => Some(Event::Secret(draw_secret())),
            told => {
                self.news.push(told);
                None
            }
        }
    }

    /// Waits for the next thing that happens, and handles it. May be dropped at any time: nothing is lost.
    pub async fn step(&mut self) {
        poll_fn(|cx| self.poll(cx)).await;
    }

    /// Does what is due within `time`.
    pub async fn run(&mut self, time: Duration) {
        let _ = tokio::time::timeout(time, async {
            loop {
                self.step().await;
            }
        })
        .await;
    }

    /// Waits until all that was to be sent is with the system, or the connection has ended.
    pub async fn flush(&mut self) {
        poll_fn(|cx| match &mut self.socket {
            Some(socket) => socket.poll_flush(cx).map(|_| ()),
            None => Poll::Ready(()),
        })
        .await;
    }

    /// The connection breaks, as if the network had gone.
    pub fn break_off(&mut self) {
        if let Some(socket) = self.socket.take() {
            self.tell(Event::Disconnected { connection: socket.connection });
        }
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if let Some(wake) = &mut self.wake
            && wake.as_mut().poll(cx).is_ready()
        {
            self.wake = None;
            self.tell(Event::Timer);
            return Poll::Ready(());
        }
        let Some(socket) = &mut self.socket else { return Poll::Pending };
        let connection = socket.connection;
        match std::task::ready!(socket.poll(cx)) {
            Happens::Opened => self.tell(Event::Connected { connection }),
            Happens::Received(frame) => {
                self.traffic.frames_in += 1;
                self.traffic.bytes_in += frame.len() as u64;
                self.tell(Event::Frame { connection, bytes: frame.into() });
            }
            Happens::Ended => {
                self.socket = None;
                self.tell(Event::Disconnected { connection });
            }
        }
        Poll::Ready(())
    }
}
