//! The gateway of edge clients: events in, effects out. A node has one for all of its connections.
//!
//! **Idea.** Clients that ask for the same K go from base to base together, as one *channel*. What has changed between two bases is
//! read and compared once for all of them; each client is sent what it watches of that. So the work of the region's
//! partitions does not grow with the number of clients. How far the transactions of a client are in a base is one more key that it
//! watches: its guard.
//!
//! A driver tells the gateway of connections, frames and time, and asks the region what [`Ask`] says.
//!
//! **Invariants**
//! - I1 What was sent to a client whose opening has ended is what its channel has at its base: of what it watches, nothing has changed
//!   since the last tick that it was sent.
//! - I2 A channel goes on to a new base only with the values there of all watched keys that the region says may differ.
//! - I3 One transaction of a connection is asked for at a time, in the order in which they came.

mod ask;
mod channel;
mod connection;
mod isolation;
mod opening;
mod transfers;

use crate::frames::{Base, ToClient, Value, Written};
use crate::rule::TIES_ARE_TOLD;
use bytes::Bytes;
use channel::Channel;
use connection::Connection;
use std::collections::BTreeMap;
use tidemark_core::{Acceptance, ClientId, EdgeTransaction, Failure, Guard, Stamp};

/// Names a connection, as its driver does.
pub type ConnectionId = u64;

/// Names a question.
pub type AskId = u64;

/// What a gateway says of itself, and its limits.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The number of its region.
    pub region: u8,
    /// How many regions there are.
    pub regions: u8,
    /// The name of its region.
    pub name: Bytes,
    /// How often it looks for a new base, in milliseconds: so often, at most, clients are sent ticks.
    pub period_ms: u64,
    /// How often a client whose keys do not change is told of a new base, in milliseconds.
    pub idle_ms: u64,
    /// How long a transaction can be accepted, in milliseconds.
    pub retain_ms: u64,
    /// A region that is so much ahead of what others have of it is isolated, in milliseconds: much longer than it takes to tell them.
    pub isolated_ms: u64,
    /// What a client's Hello has to carry, if anything.
    pub token: Option<Bytes>,
}

/// What is asked of the region.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ask {
    /// Which bases have several regions, and what has each?
    Bases,
    /// How far were the transactions of a client accepted?
    Guard(ClientId),
    /// Which keys may differ between two bases?
    Changed(Base, Base),
    /// What are these keys at a base?
    Read(Base, Vec<Bytes>),
    /// Accept a transaction.
    Accept(Box<EdgeTransaction>),
}

/// Bytes, and the version that wrote them; the stamp of zeros: it is not known any more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stamped {
    /// The version.
    pub by: Stamp,
    /// What it wrote.
    pub bytes: Bytes,
}

impl Stamped {
    /// As a client is told it.
    fn told(&self, client: ClientId) -> Written {
        let at_us = if TIES_ARE_TOLD.kept() { client.told(self.by) } else { self.by.ts.micros() };
        Written { at_us, bytes: self.bytes.clone() }
    }
}

/// What the region answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The bases of one region, of two, and so on; and what each region has.
    Bases(Vec<Base>, Vec<Base>),
    /// See [`Ask::Guard`].
    Guard(Guard),
    /// Those that may differ; all may, if none are given.
    Changed(Option<Vec<Bytes>>),
    /// In the order of the keys.
    Values(Vec<Value<Stamped>>),
    /// See [`Ask::Accept`].
    Accepted(Acceptance),
    /// It cannot be said.
    Failed(Failure),
}

/// What a gateway wants done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Output {
    /// To send a frame.
    Send(ConnectionId, Vec<u8>),
    /// To close a connection once everything is sent.
    Close(ConnectionId),
    /// To ask the region.
    Ask(AskId, Ask),
}

/// Why something was asked.
#[derive(Clone, Debug)]
enum Why {
    Bases,
    Welcome(ConnectionId),
    /// The guard of a client whose earlier transactions were not here.
    Catch(ConnectionId),
    Accept(ConnectionId),
    /// For the channel of this K, and its reading of this number.
    Changed(u64, u64),
    /// The same: these keys.
    Read(u64, u64, Vec<Bytes>),
}

/// See above.
pub struct Gateway {
    settings: Settings,
    connections: BTreeMap<ConnectionId, Connection>,
    channels: BTreeMap<u64, Channel>,
    bases: Vec<Base>,
    told: Vec<Base>,
    /// So many regions share what is new here, and since when that is looked at.
    shared: u64,
    since_us: Option<u64>,
    asked: BTreeMap<AskId, Why>,
    last_ask: AskId,
    /// In microseconds since 1970.
    now_us: u64,
    asks_for_bases: bool,
    outputs: Vec<Output>,
}

impl Gateway {
    /// Without connections.
    pub fn new(settings: Settings) -> Self {
        Self {
            settings,
            connections: BTreeMap::new(),
            channels: BTreeMap::new(),
            bases: Vec::new(),
            told: Vec::new(),
            shared: u64::MAX,
            since_us: None,
            asked: BTreeMap::new(),
            last_ask: 0,
            now_us: 0,
            asks_for_bases: false,
            outputs: Vec::new(),
        }
    }

    /// What is to be done, in order.
    pub fn outputs(&mut self) -> Vec<Output> {
        std::mem::take(&mut self.outputs)
    }

    /// How many connections there are.
    pub fn connections(&self) -> usize {
        self.connections.len()
    }

    /// A client has connected.
    pub fn opened(&mut self, id: ConnectionId) {
        self.connections.insert(id, Connection::default());
    }

    /// It is gone.
    pub fn closed(&mut self, id: ConnectionId) {
        if let Some(connection) = self.connections.remove(&id) {
            self.leave(id, &connection);
        }
    }

    /// The time is this, in microseconds since 1970; once a period.
    pub fn tick(&mut self, now_us: u64) {
        self.now_us = now_us;
        if !self.connections.is_empty() {
            self.ask_for_bases();
        }
    }

    fn ask_for_bases(&mut self) {
        if !std::mem::replace(&mut self.asks_for_bases, true) {
            self.ask(Why::Bases, Ask::Bases);
        }
    }

    fn ask(&mut self, why: Why, ask: Ask) {
        self.last_ask += 1;
        self.asked.insert(self.last_ask, why);
        self.outputs.push(Output::Ask(self.last_ask, ask));
    }

    /// The region has answered.
    pub fn answered(&mut self, ask: AskId, answer: Answer, now_us: u64) {
        self.now_us = self.now_us.max(now_us);
        match (self.asked.remove(&ask), answer) {
            (Some(Why::Bases), answer) => {
                self.asks_for_bases = false;
                if let Answer::Bases(bases, told) = answer {
                    let as_many = self.bases.len() == bases.len();
                    (self.bases, self.told) = (bases, told);
                    let opening = self.see_isolation();
                    if !as_many {
                        // K is as much as that at most.
                        let all: Vec<ConnectionId> = self.connections.keys().copied().collect();
                        all.into_iter().for_each(|id| self.join(id));
                    }
                    self.advance();
                    opening.into_iter().for_each(|id| self.open_if_ready(id));
                }
            }
            (Some(Why::Welcome(id)), Answer::Guard(guard)) => self.welcome(id, guard),
            (Some(Why::Welcome(id)), _) => {
                self.refuse(
                    id,
                    "UNAVAILABLE",
                    "this region cannot say how far it has your transactions: try again",
                );
            }
            (Some(Why::Catch(id)), answer) => self.caught_up(id, &answer),
            (Some(Why::Accept(id)), answer) => self.accepted(id, answer),
            (Some(Why::Changed(regions, number)), answer) => self.changed(regions, number, answer),
            (Some(Why::Read(regions, number, keys)), answer) => self.read(regions, number, keys, answer),
            (None, _) => {}
        }
    }

    /// Takes a frame.
    pub fn frame(&mut self, id: ConnectionId, frame: &[u8], now_us: u64) {
        self.now_us = self.now_us.max(now_us);
        let Some(connection) = self.connections.get_mut(&id).filter(|connection| !connection.refused) else {
            return;
        };
        match connection.link.decode(frame) {
            Ok(frame) => self.take(id, frame),
            Err(malformed) => self.refuse(id, "MALFORMED", malformed.0),
        }
    }

    /// Tells a client why it is disconnected.
    fn refuse(&mut self, id: ConnectionId, code: &'static str, text: &'static str) {
        let (code, text) = (Bytes::from_static(code.as_bytes()), Bytes::from_static(text.as_bytes()));
        self.send(id, &ToClient::Error { code, text });
        if let Some(connection) = self.connections.get_mut(&id) {
            connection.refused = true;
            self.outputs.push(Output::Close(id));
        }
    }

    fn send(&mut self, id: ConnectionId, frame: &ToClient) {
        let Some(connection) = self.connections.get_mut(&id).filter(|connection| !connection.refused) else {
            return;
        };
        match connection.link.encode(frame) {
            Ok(frame) => self.outputs.push(Output::Send(id, frame)),
            // Values are too large together: it cannot be served.
            Err(_) => {
                connection.refused = true;
                self.outputs.push(Output::Close(id));
            }
        }
    }
}
