//! Eventual consistency: the last writer wins, and nothing else is promised.
//!
//! **Idea.** Every server takes writes at once and sends them to its peers; whoever has the larger stamp wins
//! everywhere. The upper bound of what a store without guarantees can do, and the first thing that a checker
//! must be able to convict of causal violations.
//!
//! **Source.** Folklore; the baseline of GentleRain (001 §6) and of the dissertation (000 §3.4).
//!
//! **Names.** `hlc` the server's clock · `ut` the time of a version.
//!
//! **Deviations**
//! - D1 A multi-read is GETs to all partitions at once: values side by side, no snapshot.
//!
//! **Invariants**
//! - I1 A chain holds one version, the newest received; tombstones stay.
//! - I2 `hlc` is at or above the time of every version stored here, so a write wins over all it could replace.

use serde::{Deserialize, Serialize};
use tidemark_contract::core::promise::Promise;
use tidemark_contract::core::{DcId, Found, Hlc, Key, Op, Outcome, ServerId, Stamp, Update};
use tidemark_contract::cx::found_of;
use tidemark_contract::protocol::Received;
use tidemark_contract::{AskId, Cx, Draft, Info, Protocol, Recovered, Session, SessionCx, Ticket, Walk};

/// A server.
pub struct Eventual {
    hlc: Hlc,
}

/// What a session asks.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[allow(missing_docs)]
pub enum Request {
    Get(Key),
    Put(Key, Update),
    Walk(Walk),
}

/// What a server answers.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[allow(missing_docs)]
pub enum Reply {
    Got(Found),
    Put(Outcome),
    Walked(Outcome),
}

/// Servers say nothing to each other.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Peer {}

/// There is no timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Timer {}

const ABOUT: &str = "last writer wins on arrival; nothing else is promised";

impl Protocol for Eventual {
    const INFO: Info = Info::new("eventual", ABOUT, Promise::Eventual).partial().newest_only(); // I1

    type Meta = ();
    type Request = Request;
    type Reply = Reply;
    type Peer = Peer;
    type Hard = ();
    type Timer = Timer;
    type View = ();
    type Session = Client;
    type Params = ();
    type Component = ();

    fn start(recovered: Recovered<()>, _cx: &mut Cx<'_, Self>) -> Self {
        Self { hlc: recovered.received.max() } // I2
    }

    fn on_request(&mut self, ticket: Ticket, request: Request, cx: &mut Cx<'_, Self>) {
        let reply = match request {
            Request::Get(key) => Reply::Got(found_of(cx.latest(&key, &()))),
            Request::Put(key, update) => Reply::Put(self.put(key, update, cx)),
            Request::Walk(walk) => Reply::Walked(cx.walk(&walk, &(), |_| ())),
        };
        cx.reply(ticket, reply);
    }

    fn on_replicate(&mut self, _from: ServerId, item: Received<'_, ()>, cx: &mut Cx<'_, Self>) {
        for (_, version) in item.versions {
            self.hlc = self.hlc.observe(cx.now, version.stamp.ts);
        }
    }

    fn visible(_view: &(), _stamp: Stamp, _meta: &()) -> bool {
        true
    }
}

impl Eventual {
    fn put(&mut self, key: Key, update: Update, cx: &mut Cx<'_, Self>) -> Outcome {
        let (outcome, ()) = cx.update(
            &key,
            update,
            &(),
            (),
            |_, _| (),
            |_, cx| {
                let new = cx.stamp_above(self.hlc, Hlc::ZERO)?;
                self.hlc = new.ts;
                Ok(Draft::new(new, ()))
            },
        );
        outcome
    }
}

/// A session: it remembers nothing but what it is still waiting for.
pub struct Client {
    parts: Vec<(AskId, Option<Found>)>,
}

impl Session<Eventual> for Client {
    type Token = ();

    fn open(_dc: DcId) -> Self {
        Self { parts: Vec::new() }
    }

    fn begin(&mut self, op: Op, cx: &mut SessionCx<'_, Eventual>) {
        let Some(server) = cx.begin(&op) else { return };
        let request = match op {
            Op::Get { key } => Request::Get(key),
            Op::Put { key, update } => Request::Put(key, update),
            Op::Rotx { keys } | Op::Snapshot { keys } => {
                let ask = |key: Key| (cx.ask_owner(&key.clone(), Request::Get(key)), None);
                self.parts = keys.into_iter().map(ask).collect(); // D1
                return;
            }
            walk => Request::Walk(Walk::of(&walk)),
        };
        cx.ask(server, request);
    }

    fn on_reply(&mut self, ask: AskId, _from: ServerId, reply: Reply, cx: &mut SessionCx<'_, Eventual>) {
        match reply {
            Reply::Got(found) if self.parts.is_empty() => cx.done(Outcome::Found(found)),
            Reply::Got(found) => {
                self.parts
                    .iter_mut()
                    .filter(|(id, _)| *id == ask)
                    .for_each(|(_, part)| *part = Some(found.clone()));
                if self.parts.iter().all(|(_, part)| part.is_some()) {
                    let parts = std::mem::take(&mut self.parts);
                    cx.done(Outcome::FoundAll(parts.into_iter().filter_map(|(_, part)| part).collect()));
                }
            }
            Reply::Put(outcome) | Reply::Walked(outcome) => cx.done(outcome),
        }
    }

    fn on_lost(&mut self, _ask: AskId, cx: &mut SessionCx<'_, Eventual>) {
        self.parts.clear();
        cx.lost();
    }

    fn token(&self) {}

    fn adopt(&mut self, _token: (), cx: &mut SessionCx<'_, Eventual>) {
        cx.done(Outcome::Adopted);
    }
}
