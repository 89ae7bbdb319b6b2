//! What happened: the events of a history, as every driver records them and the checker reads them.
//!
//! A history is what clients saw, session by session, and optionally what each replica returns for a key in
//! the end. In memory it is a [`History`]; in a file it is one JSON object a line ([`Line`]), described with
//! examples in `docs/history-format.md`. The checker crate reads and writes the files.
//!
//! **Invariants** of a history that a recorder has to keep:
//! - I1: the events of one session stand in its program order; sessions may be interleaved in any way.
//! - I2: what is not known is left out, never guessed: an operation without an answer is [`Fate::Unknown`].
//! - I3: times, where given, are readings of one clock that all sessions share.

use crate::{
    DcId, Failure, Found, Guarantees, Key, Micros, Op, Outcome, Promise, Stamp, Update, Value, Write,
};
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;
use std::fmt;

mod line;
pub use line::{FORMAT, Line};

/// A session: one sequence of operations, one at a time. Shown as `s3`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct SessionId(pub u64);

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "s{}", self.0)
    }
}

/// Whether an operation took effect.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fate {
    /// It did.
    #[default]
    Ok,
    /// It did, and wrote nothing: the condition of the update did not hold. What it observed counts.
    Skipped,
    /// It may or may not have: no answer came. Somebody may still read what it wrote.
    Unknown,
    /// It certainly did not.
    Failed,
}

/// Which read it was.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReadKind {
    /// Single reads, each on its own.
    #[default]
    Get,
    /// A read-only transaction: one causally consistent snapshot that includes the session's past.
    Rotx,
    /// A snapshot that is consistent in itself but may miss the session's own past.
    Snapshot,
}

/// What a read found for one key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Read {
    /// The key.
    pub key: Key,
    /// The version and its value; neither is the initial absence, or a tombstone that was collected.
    pub found: Found,
}

/// What one read operation found. One key needs no allocation.
pub type Reads = SmallVec<[Read; 1]>;

/// What a session did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// A write, or an update that looked at the key before it wrote.
    Write {
        /// The key.
        key: Key,
        /// The new value, or none for a delete.
        value: Option<Value>,
        /// The version, where the recorder knows it (white box).
        version: Option<Stamp>,
        /// What was visible before, if the update was told (`SETNX`, `GETSET`, `DEL` …).
        observed: Option<Found>,
    },
    /// A read of one or more keys. Empty if it failed.
    Read {
        /// Which.
        kind: ReadKind,
        /// What it found, in the order asked.
        reads: Reads,
    },
    /// The session takes over the causal past, and the reads and writes, of another one: a token was moved.
    Adopt {
        /// The session it came from.
        from: SessionId,
        /// How many events of that session had happened when the token was taken.
        events: u64,
    },
}

/// One operation of one session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// Whose.
    pub session: SessionId,
    /// The data centre that answered it.
    pub dc: DcId,
    /// Whether it took effect.
    pub fate: Fate,
    /// Consecutive events of a session with the same number are one atomic transaction.
    pub txn: Option<u64>,
    /// When it was asked.
    pub start_us: Option<Micros>,
    /// When it was answered.
    pub end_us: Option<Micros>,
    /// Which session guarantees it asked for; it is held to no others.
    pub asked: Guarantees,
    /// Of a read at a time: that time, by the clocks that stamp versions. Such a read is a [`ReadKind::Snapshot`].
    pub as_of_us: Option<Micros>,
    /// What it was and what it found.
    pub action: Action,
}

/// What the replica of `dc` returns for `key` after everything was exchanged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Final {
    /// The replica.
    pub dc: DcId,
    /// The key.
    pub key: Key,
    /// What it returns.
    pub found: Found,
}

/// A node lost what it had not synced: its power failed. What clients of its own region were told meanwhile may be gone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lost {
    /// The region of the node.
    pub dc: DcId,
    /// The node, for readers.
    pub node: Option<String>,
    /// Everything that was written before this was synced.
    pub from_us: Micros,
    /// When its power failed.
    pub to_us: Micros,
    /// The keys that it holds; all of its region if none are named.
    pub keys: Vec<Key>,
}

/// What a history is about. Nothing of it changes a verdict.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// The protocol, or the store.
    pub protocol: Option<String>,
    /// What it declares to promise.
    pub promise: Option<Promise>,
    /// How many data centres there are.
    pub dcs: Option<u32>,
    /// The simulator's seed.
    pub seed: Option<u64>,
    /// Whatever a reader should know: the command that recorded it, the version of the store.
    pub about: Option<String>,
}

/// A recorded history.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct History {
    /// What it is about.
    pub header: Header,
    /// The operations (invariant I1).
    pub events: Vec<Event>,
    /// The replicas' last words, in any order.
    pub finals: Vec<Final>,
    /// What nodes lost, in any order. REQUIRES: operations and these have times (I3).
    pub lost: Vec<Lost>,
}

impl Read {
    /// The pair.
    pub fn new(key: Key, found: Found) -> Self {
        Self { key, found }
    }
}

impl Event {
    fn new(session: SessionId, dc: DcId, action: Action) -> Self {
        let (fate, asked) = (Fate::Ok, Guarantees::ALL);
        Self { session, dc, fate, txn: None, start_us: None, end_us: None, asked, as_of_us: None, action }
    }

    /// A GET.
    pub fn get(session: SessionId, dc: DcId, key: Key, found: Found) -> Self {
        Self::read(session, dc, ReadKind::Get, [Read::new(key, found)])
    }

    /// A read of several keys.
    pub fn read(session: SessionId, dc: DcId, kind: ReadKind, reads: impl IntoIterator<Item = Read>) -> Self {
        Self::new(session, dc, Action::Read { kind, reads: reads.into_iter().collect() })
    }

    /// An acknowledged write; a delete if `value` is none.
    pub fn put(session: SessionId, dc: DcId, key: Key, value: Option<Value>, version: Option<Stamp>) -> Self {
        Self::new(session, dc, Action::Write { key, value, version, observed: None })
    }

    /// The session takes over what `from` had seen and done in its first `events` events.
    pub fn adopt(session: SessionId, dc: DcId, from: SessionId, events: u64) -> Self {
        Self::new(session, dc, Action::Adopt { from, events })
    }

    /// With the times it was asked and answered at.
    #[must_use]
    pub fn at(mut self, start_us: Micros, end_us: Micros) -> Self {
        (self.start_us, self.end_us) = (Some(start_us), Some(end_us));
        self
    }

    /// Of an operation that asked for these guarantees only.
    #[must_use]
    pub fn asking(mut self, asked: Guarantees) -> Self {
        self.asked = asked;
        self
    }

    /// As of this time, if it is a read at a time.
    #[must_use]
    pub fn as_of(mut self, time: Micros) -> Self {
        self.as_of_us = Some(time);
        self
    }

    /// With another fate than `Ok`.
    #[must_use]
    pub fn with_fate(mut self, fate: Fate) -> Self {
        self.fate = fate;
        self
    }

    /// The events of a write transaction, which all carry its `number` and its stamp, from what the session was asked and
    /// what it answered: one a key.
    pub fn transaction(
        session: SessionId,
        dc: DcId,
        times: (Micros, Micros),
        number: u64,
        writes: &[(Key, Write)],
        outcome: &Outcome,
    ) -> Vec<Self> {
        let counts = |at: usize| writes[at + 1..].iter().all(|(key, _)| *key != writes[at].0);
        let event = |at: usize| {
            let (key, write) = &writes[at];
            let op = Op::Put { key: key.clone(), update: Update::put(write.clone()) };
            Self::of(session, dc, times, &op, outcome).map(|event| Self { txn: Some(number), ..event })
        };
        (0..writes.len()).filter(|at| counts(*at)).filter_map(event).collect()
    }

    /// The event of an operation that a session was asked and what it answered; none for operations that a
    /// history does not record (SCAN, COUNT, queries), and for transactions: see [`Self::transaction`] and [`Self::read`]. An operation that never got an answer is
    /// `Outcome::Failed(Failure::Indefinite(…))`; its end time is left out.
    pub fn of(
        session: SessionId,
        dc: DcId,
        (start_us, end_us): (Micros, Micros),
        op: &Op,
        outcome: &Outcome,
    ) -> Option<Self> {
        let fate = match outcome {
            Outcome::Failed(failure) if failure.is_definite() => Fate::Failed,
            Outcome::Failed(_) => Fate::Unknown,
            Outcome::Written { stamp: None, .. } => Fate::Skipped,
            _ => Fate::Ok,
        };
        let action = match (op, outcome) {
            (Op::Get { key }, Outcome::Found(found)) => {
                let reads = SmallVec::from_iter([Read::new(key.clone(), found.clone())]);
                Action::Read { kind: ReadKind::Get, reads }
            }
            (Op::Get { .. }, _) => Action::Read { kind: ReadKind::Get, reads: Reads::new() },
            (Op::Rotx { keys }, _) => Self::read_all(ReadKind::Rotx, keys, outcome),
            (Op::Snapshot { keys } | Op::At { keys, .. }, _) => {
                Self::read_all(ReadKind::Snapshot, keys, outcome)
            }
            (Op::Put { update: Update { command: Some(_), .. }, .. }, _) => return None,
            (Op::Put { key, update }, _) => {
                let (version, observed) = match outcome {
                    Outcome::Written { stamp, previous } => (*stamp, previous.clone()),
                    _ => (None, None),
                };
                let value = update.write.value().cloned();
                Action::Write { key: key.clone(), value, version, observed }
            }
            (
                Op::Scan { .. }
                | Op::Count { .. }
                | Op::Conflicts { .. }
                | Op::PutAll { .. }
                | Op::Query { .. }
                | Op::Transact(_),
                _,
            ) => {
                return None;
            }
        };
        let end_us = (fate != Fate::Unknown).then_some(end_us);
        let as_of_us = if let Op::At { time, .. } = op { Some(*time) } else { None };
        Some(Self { fate, start_us: Some(start_us), end_us, as_of_us, ..Self::new(session, dc, action) })
    }

    fn read_all(kind: ReadKind, keys: &[Key], outcome: &Outcome) -> Action {
        let found: &[Found] = if let Outcome::FoundAll(found) = outcome { found } else { &[] };
        let reads = keys.iter().zip(found).map(|(key, found)| Read::new(key.clone(), found.clone()));
        Action::Read { kind, reads: reads.collect() }
    }
}

impl Failure {
    /// The fate of an operation that failed so.
    pub fn fate(&self) -> Fate {
        if self.is_definite() { Fate::Failed } else { Fate::Unknown }
    }
}
