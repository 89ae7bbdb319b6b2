//! Clients of the torture test: each a thread, whose connections are sessions, and which records what it saw.
//!
//! The operations go over few keys, with values that nobody writes twice; beside them each client writes keys of its
//! own, once each: those prove that no acknowledged write is lost. What a client cannot know it does not claim: a
//! request without an answer has [`Fate::Unknown`], and a broken connection ends its session.

use crate::harness::resp::{Client, Lost, text};
use crate::harness::wait_for;
use crate::shared::{Expected, Log, Shared};
use fastrand::Rng;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tidemark_core::history::{Action, Event, Fate, Read, ReadKind, SessionId};
use tidemark_core::{DcId, Found, Guarantees, Key, Op, Value};
use tidemark_wire::resp::Reply;

/// One client.
pub(crate) struct Worker {
    shared: Arc<Shared>,
    number: usize,
    rng: Rng,
    region: usize,
    client: Option<Client>,
    session: SessionId,
    /// Events of this session so far.
    done: u64,
    /// Values and unique keys written so far.
    written: u64,
    log: Log,
}

/// How a request ended.
enum Answer {
    Reply(Reply),
    /// A definite error.
    Refused,
    /// Nobody knows.
    Unknown,
}

impl Worker {
    /// Client `number`, at home in a region of its own choice.
    pub(crate) fn new(shared: Arc<Shared>, number: usize, seed: u64) -> Self {
        let region = number % shared.addresses.len();
        let rng = Rng::with_seed(seed ^ (number as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let (session, log) = (SessionId(0), Log::default());
        Self { shared, number, rng, region, client: None, session, done: 0, written: 0, log }
    }

    /// Works until it is told to stop.
    pub(crate) fn run(mut self) -> Log {
        while !self.shared.stop.load(Ordering::Relaxed) {
            if self.client.is_none() && !self.connect() {
                continue;
            }
            self.step();
            std::thread::sleep(Duration::from_micros(self.rng.u64(100..2_000)));
        }
        self.log
    }

    fn count(&mut self, what: &str) {
        *self.log.tally.entry(what.to_string()).or_default() += 1;
    }

    /// What it saw.
    pub(crate) fn into_log(self) -> Log {
        self.log
    }

    /// Half of the sessions have themselves answered by one checking group, where a protocol has some; it may be about to go.
    fn choose_group(&mut self) {
        let Some(client) = self.client.as_mut().filter(|_| self.rng.bool()) else { return };
        let told = client.call(&["TIDE.CHECKING"]).ok();
        let groups = told.as_ref().and_then(Reply::items).and_then(|told| told.get(3)?.items());
        if let Some(group) = groups.and_then(|groups| self.rng.choice(groups)) {
            let _ = client.call(&["TIDE.CHECKING", &text(group)]);
            self.count("groups chosen");
        }
    }

    /// A new connection is a new session. A region that is down is left for another one now and then.
    pub(crate) fn connect(&mut self) -> bool {
        let nodes = &self.shared.addresses[self.region];
        let node = nodes[self.rng.usize(0..nodes.len())];
        match Client::connect(node) {
            Ok(client) => {
                self.client = Some(client);
                self.session = SessionId(self.shared.sessions.fetch_add(1, Ordering::Relaxed));
                self.done = 0;
                self.count("sessions");
                self.choose_group();
                true
            }
            Err(_) => {
                self.count("connections refused");
                if self.rng.u8(0..20) == 0 {
                    self.region = self.rng.usize(0..self.shared.addresses.len());
                }
                std::thread::sleep(Duration::from_millis(20));
                false
            }
        }
    }

    fn step(&mut self) {
        let key = self.shared.keys[self.rng.usize(0..self.shared.keys.len())].clone();
        match self.rng.u8(0..100) {
            0..28 => drop(self.get(&key)),
            28..42 => self.set(&key),
            42..46 => self.set_many(),
            46..52 => self.set_if_absent(&key),
            52..58 => self.get_set(&key),
            58..62 => drop(self.delete(&key)),
            62..71 => self.read_many(),
            71..79 => self.write_once(),
            79..81 => self.delete_unique(),
            81..89 => self.cause_and_effect(),
            89..98 => self.effect_and_cause(),
            _ => self.travel(),
        }
    }

    /// A value that nobody else writes, of any size that fills a log within a test.
    fn value(&mut self) -> String {
        self.written += 1;
        format!("v{}.{}{}", self.number, self.written, ".".repeat(self.rng.usize(0..256)))
    }

    /// Asks, and tells certainty from doubt. Any error that is not one of ours is a failure of the test.
    fn ask(&mut self, arguments: &[&str]) -> Answer {
        let Some(client) = &mut self.client else { return Answer::Refused };
        match client.call(arguments) {
            Ok(Reply::Error(error)) => {
                let error = String::from_utf8_lossy(&error).into_owned();
                let kind = error.split(' ').next().unwrap_or_default().to_string();
                self.count(&kind);
                match kind.as_str() {
                    "UNAVAILABLE" | "CLOCKSKEW" | "STALESESSION" | "ELSEWHERE" => Answer::Refused,
                    "INDEFINITE" => Answer::Unknown,
                    _ => panic!("{arguments:?} was answered {error}"),
                }
            }
            Ok(reply) => Answer::Reply(reply),
            Err(Lost(_)) => {
                self.client = None;
                self.count("connections lost");
                Answer::Unknown
            }
        }
    }

    /// Adds an event of this session.
    fn note(&mut self, began: u64, fate: Fate, action: Action) {
        let (session, dc) = (self.session, DcId(self.region as u8));
        let end_us = (fate != Fate::Unknown).then(|| self.shared.now());
        let asked = Guarantees::ALL;
        let (txn, start_us, as_of_us) = (None, Some(began), None);
        let event = Event { session, dc, fate, txn, start_us, end_us, asked, as_of_us, action };
        self.log.events.push(event);
        self.done += 1;
        self.count(match fate {
            Fate::Ok => "ok",
            Fate::Skipped => "skipped",
            Fate::Unknown => "unknown",
            Fate::Failed => "failed",
        });
    }

    fn note_write(
        &mut self,
        began: u64,
        fate: Fate,
        key: &str,
        value: Option<&str>,
        observed: Option<Found>,
    ) {
        let value = value.map(|value| Value::from(value.as_bytes()));
        let action = Action::Write { key: Key::from(key), value, version: None, observed };
        self.note(began, fate, action);
    }

    /// GET; what it found, if there was an answer.
    pub(crate) fn get(&mut self, key: &str) -> Found {
        let began = self.shared.now();
        let (fate, reads) = match self.ask(&["GET", key]) {
            Answer::Reply(reply) => (Fate::Ok, vec![Read::new(Key::from(key), found(&reply))]),
            Answer::Refused => (Fate::Failed, Vec::new()),
            Answer::Unknown => (Fate::Unknown, Vec::new()),
        };
        let found = reads.first().map(|read| read.found.clone()).unwrap_or_default();
        self.note(began, fate, Action::Read { kind: ReadKind::Get, reads: reads.into() });
        found
    }

    fn read_many(&mut self) {
        let pool = self.shared.all_keys();
        let keys = self.rng.choose_multiple(pool.iter(), 4);
        let keys: Vec<&str> = keys.into_iter().map(String::as_str).collect();
        self.read_snapshot(&keys);
    }

    fn read_snapshot(&mut self, keys: &[&str]) {
        let began = self.shared.now();
        let (fate, reads) = match self.ask(&[&["MGET"], keys].concat()) {
            Answer::Reply(reply) => {
                let items = reply.items().expect("MGET answers a list");
                assert_eq!(items.len(), keys.len(), "MGET answers every key");
                let reads = keys.iter().zip(items).map(|(key, item)| Read::new(Key::from(*key), found(item)));
                (Fate::Ok, reads.collect())
            }
            Answer::Refused => (Fate::Failed, Vec::new()),
            Answer::Unknown => (Fate::Unknown, Vec::new()),
        };
        self.note_snapshots(began, fate, keys, reads);
    }

    /// What no region holds together is read region by region: each part is one snapshot, and they are none together.
    fn note_snapshots(&mut self, began: u64, fate: Fate, keys: &[&str], reads: Vec<Read>) {
        let asked = Op::Rotx { keys: keys.iter().map(|key| Key::from(*key)).collect() };
        let parts = self.shared.topology.parts_of(&asked);
        if fate != Fate::Ok || parts.len() < 2 {
            return self.note(began, fate, Action::Read { kind: ReadKind::Rotx, reads: reads.into() });
        }
        for part in parts {
            let reads: Vec<Read> = part.places.iter().map(|place| reads[*place].clone()).collect();
            self.note(began, fate, Action::Read { kind: ReadKind::Rotx, reads: reads.into() });
        }
    }

    /// SET to a value that nobody else writes.
    pub(crate) fn set(&mut self, key: &str) {
        let value = self.value();
        self.set_to(key, &value);
    }

    fn set_to(&mut self, key: &str, value: &str) -> Fate {
        let began = self.shared.now();
        let fate = match self.ask(&["SET", key, value]) {
            Answer::Reply(reply) => {
                assert_eq!(text(&reply), "OK", "SET answers OK");
                Fate::Ok
            }
            Answer::Refused => Fate::Failed,
            Answer::Unknown => Fate::Unknown,
        };
        self.note_write(began, fate, key, Some(value), None);
        fate
    }

    /// MSET is one transaction, or several writes, one after the other: it either happened as a whole, or not at all, or
    /// nobody knows.
    fn set_many(&mut self) {
        let keys: Vec<String> = self.rng.choose_multiple(self.shared.all_keys(), 3);
        let pairs: Vec<(String, String)> = keys.into_iter().map(|key| (key, self.value())).collect();
        let arguments = pairs.iter().flat_map(|(key, value)| [&**key, &**value]);
        let arguments: Vec<&str> = std::iter::once("MSET").chain(arguments).collect();
        let began = self.shared.now();
        let fate = match self.ask(&arguments) {
            Answer::Reply(_) => Fate::Ok,
            Answer::Refused => Fate::Failed,
            Answer::Unknown => Fate::Unknown,
        };
        let txn = self.shared.transactions.then_some(self.done);
        for (key, value) in &pairs {
            self.note_write(began, fate, key, Some(value), None);
        }
        self.log.events.iter_mut().rev().take(pairs.len()).for_each(|event| event.txn = txn);
    }

    fn set_if_absent(&mut self, key: &str) {
        let (value, began) = (self.value(), self.shared.now());
        let (fate, observed) = match self.ask(&["SETNX", key, &value]) {
            Answer::Reply(Reply::Integer(1)) => (Fate::Ok, Some(Found::default())),
            Answer::Reply(Reply::Integer(0)) => (Fate::Skipped, None),
            Answer::Reply(other) => panic!("SETNX answered {other:?}"),
            Answer::Refused => (Fate::Failed, None),
            Answer::Unknown => (Fate::Unknown, None),
        };
        self.note_write(began, fate, key, Some(&value), observed);
    }

    fn get_set(&mut self, key: &str) {
        let (value, began) = (self.value(), self.shared.now());
        let (fate, observed) = match self.ask(&["GETSET", key, &value]) {
            Answer::Reply(reply) => (Fate::Ok, Some(found(&reply))),
            Answer::Refused => (Fate::Failed, None),
            Answer::Unknown => (Fate::Unknown, None),
        };
        self.note_write(began, fate, key, Some(&value), observed);
    }

    /// What a delete replaced is told only if it was nothing.
    fn delete(&mut self, key: &str) -> Fate {
        let began = self.shared.now();
        let (fate, observed) = match self.ask(&["DEL", key]) {
            Answer::Reply(Reply::Integer(1)) => (Fate::Ok, None),
            Answer::Reply(Reply::Integer(0)) => (Fate::Skipped, Some(Found::default())),
            Answer::Reply(other) => panic!("DEL answered {other:?}"),
            Answer::Refused => (Fate::Failed, None),
            Answer::Unknown => (Fate::Unknown, None),
        };
        self.note_write(began, fate, key, None, observed);
        fate
    }

    fn write_once(&mut self) {
        let value = self.value();
        let key = format!("once:{}:{}", self.number, self.written);
        let expected = match self.set_to(&key, &value) {
            Fate::Ok | Fate::Skipped => Expected::Value(value),
            Fate::Failed => Expected::Nothing,
            Fate::Unknown => Expected::Unknown(value),
        };
        self.log.unique.insert(key, expected);
    }

    /// Deletes an own key that this session can see: DEL looks before it deletes.
    fn delete_unique(&mut self) {
        let seen = |(_, expected): &(&String, &Expected)| matches!(expected, Expected::Value(_));
        let Some((key, _)) = self.log.unique.iter().rfind(seen) else { return };
        let key = key.clone();
        let fate = self.delete(&key);
        let Some(expected) = self.log.unique.get_mut(&key) else { return };
        *expected = match (fate, &*expected) {
            (Fate::Ok, _) => Expected::Nothing,
            (Fate::Unknown, Expected::Value(value)) => Expected::Unknown(value.clone()),
            (_, before) => before.clone(),
        };
    }

    /// The motif that finds what random operations miss: a cause, then its effect on another partition …
    fn cause_and_effect(&mut self) {
        let (cause, effect) = self.pair();
        self.set(&cause);
        if self.client.is_some() {
            self.set(&effect);
        }
    }

    /// … and somebody who sees the effect, and asks for the cause; or for both at once.
    fn effect_and_cause(&mut self) {
        let (cause, effect) = self.pair();
        if self.rng.bool() {
            return self.read_snapshot(&[&cause, &effect]);
        }
        self.get(&effect);
        if self.client.is_some() {
            self.get(&cause);
        }
    }

    fn pair(&mut self) -> (String, String) {
        self.shared.pair(self.rng.usize(0..self.shared.pairs.len()))
    }

    /// The session moves to another region, where a new connection takes over its past.
    fn travel(&mut self) {
        let Answer::Reply(token) = self.ask(&["TIDE.SESSION", "EXPORT"]) else { return };
        let (token, from, events) = (text(&token), self.session, self.done);
        self.region = self.rng.usize(0..self.shared.addresses.len());
        self.client = None;
        if !self.connect() {
            return;
        }
        let began = self.shared.now();
        let fate = match self.ask(&["TIDE.SESSION", "IMPORT", &token]) {
            Answer::Reply(_) => Fate::Ok,
            Answer::Refused => Fate::Failed,
            Answer::Unknown => Fate::Unknown,
        };
        // A session that has done nothing has no past to take over.
        if fate == Fate::Ok && events > 0 {
            self.count("sessions moved");
            self.note(began, fate, Action::Adopt { from, events });
        }
    }
}

/// What a reply to a read says.
fn found(reply: &Reply) -> Found {
    match reply {
        Reply::Null => Found::default(),
        Reply::Bulk(bytes) => Found::new(None, Some(Value::from(&bytes[..]))),
        other => panic!("a read was answered {other:?}"),
    }
}

/// Reads keys in one region for the last time, through a connection that waits for nobody.
pub(crate) fn read_all(address: SocketAddr, keys: &[String]) -> Vec<Found> {
    let mut client = wait_for("a connection", || Client::connect(address).ok());
    // Nodes of a region may have to find each other again.
    let refused = |reply: &Reply| reply.error().is_some_and(|error| error.starts_with(b"UNAVAILABLE"));
    let mut ask = |key: &String| Some(client.ask(&["GET", key])).filter(|reply| !refused(reply));
    keys.iter().map(|key| found(&wait_for("an answer", || ask(key)))).collect()
}
