//! What: keys, values, the operations that an application asks of a session, and their outcomes.

use crate::{Command, DcId, Micros, Reply};
use crate::{PartitionId, Slot, Stamp, Vector, slot::slot_of};
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use std::borrow::Borrow;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

/// A key: any bytes. Cloning shares them.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Key(pub Bytes);

impl Key {
    /// The slot that decides which partition holds the key.
    #[inline]
    pub fn slot(&self) -> Slot {
        slot_of(&self.0)
    }
}

impl Deref for Key {
    type Target = [u8];
    #[inline]
    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl Borrow<[u8]> for Key {
    fn borrow(&self) -> &[u8] {
        &self.0
    }
}

impl From<&str> for Key {
    fn from(key: &str) -> Self {
        Self(Bytes::copy_from_slice(key.as_bytes()))
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", String::from_utf8_lossy(&self.0).escape_debug())
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A value: any bytes, shared. (Sixteen bytes where it is stored, against thirty-two for `Bytes`.)
pub type Value = Arc<[u8]>;

/// What one version does to its key. A data type is the fold of the writes that a reader can see.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Write {
    /// The register takes this value.
    Assign(#[serde(with = "crate::op::shared_bytes")] Value),
    /// The key is deleted: a tombstone.
    Remove,
    /// Elements of a data type change: an effect, as `tidemark-crdt` encodes it.
    Apply(#[serde(with = "crate::op::shared_bytes")] Value),
    /// This key and others of its partition change at once: whoever sees one of these writes sees them all. A store keeps each
    /// under its own key.
    Group(Arc<Vec<(Key, Write)>>),
}

impl Write {
    /// The value that a register holds after this write.
    pub fn value(&self) -> Option<&Value> {
        match self {
            Self::Assign(value) => Some(value),
            Self::Remove | Self::Apply(_) | Self::Group(_) => None,
        }
    }

    /// The keys that a version of `key` with this write is of.
    pub fn keys<'k>(&'k self, key: &'k Key) -> impl Iterator<Item = &'k Key> {
        let (alone, group) = match self {
            Self::Group(writes) => (None, &writes[..]),
            _ => (Some(key), &[][..]),
        };
        alone.into_iter().chain(group.iter().map(|(key, _)| key))
    }

    /// How many bytes it brings.
    pub fn len(&self) -> usize {
        match self {
            Self::Assign(bytes) | Self::Apply(bytes) => bytes.len(),
            Self::Remove => 0,
            Self::Group(writes) => writes.iter().map(|(key, write)| key.len() + write.len()).sum(),
        }
    }

    /// Whether it brings none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl fmt::Debug for Write {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Assign(value) => write!(f, "{:?}", String::from_utf8_lossy(value)),
            Self::Remove => f.write_str("removed"),
            Self::Apply(effect) => write!(f, "effect of {} bytes", effect.len()),
            Self::Group(writes) => f.debug_list().entries(writes.iter()).finish(),
        }
    }
}

/// When an update takes effect, decided where the key lives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Condition {
    /// Unconditionally.
    #[default]
    Always,
    /// Only if the key holds nothing that is visible there (`SETNX`).
    IfAbsent,
    /// Only if the key holds something that is visible there (`SET … XX`, `DEL`).
    IfPresent,
}

/// An operation that may create a version: a write, perhaps conditional, perhaps telling what it replaced.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Update {
    /// What the version does if the condition holds. Nothing is read of it if there is a command.
    pub write: Write,
    /// When it takes effect.
    pub condition: Condition,
    /// Whether the outcome carries what was visible before (`SET … GET`, `GETSET`).
    pub returns_previous: bool,
    /// A command of a data type: evaluated where the key lives, it decides what is written and what is answered
    /// ([`Found::reply`] of what was there before). One that only reads writes nothing.
    pub command: Option<Box<Command>>,
}

impl Update {
    /// An unconditional, silent write: the papers' PUT.
    pub fn put(write: Write) -> Self {
        Self { write, condition: Condition::Always, returns_previous: false, command: None }
    }

    /// A command of a data type.
    pub fn call(command: Command) -> Self {
        Self { command: Some(Box::new(command)), ..Self::put(Write::Remove) }
    }

    /// Whether the update has to look at the key before it writes.
    #[inline]
    pub fn observes(&self) -> bool {
        self.returns_previous || self.condition != Condition::Always || self.command.is_some()
    }
}

/// What an application asks of its session, one at a time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Op {
    /// The value of one key.
    Get {
        /// The key.
        key: Key,
    },
    /// One update of one key.
    Put {
        /// The key.
        key: Key,
        /// What to do to it.
        update: Update,
    },
    /// One write transaction: all of these writes are one commit, and whoever sees one of them sees them all. Only for
    /// protocols that declare that they can (`Protocol::INFO.transactions`).
    PutAll {
        /// The writes. Of several writes of one key the last one counts.
        writes: Vec<(Key, Write)>,
    },
    /// The values of several keys from one causally consistent snapshot that includes the session's past.
    Rotx {
        /// The keys, in the order of the answer; repetitions are answered twice.
        keys: Vec<Key>,
    },
    /// As `Rotx`, but the snapshot may miss what the session itself read or wrote (GentleRain's
    /// GET-SNAPSHOT). Protocols without such an operation run `Rotx`.
    Snapshot {
        /// The keys, in the order of the answer.
        keys: Vec<Key>,
    },
    /// The values of several keys as of a physical time, wherever the session is: of each the newest version written up to
    /// then. Like a snapshot it may miss what the session itself read or wrote. Only for protocols that declare that
    /// they can (`Protocol::INFO.reads_at_a_time`).
    At {
        /// The keys, in the order of the answer.
        keys: Vec<Key>,
        /// The time.
        time: Micros,
    },
    /// What a command that only reads answers of each of several keys, from one snapshot as that of `Rotx`. Only for protocols
    /// that keep data types.
    Query {
        /// The keys, in the order of the answer.
        keys: Vec<Key>,
        /// The command, the same for all of them.
        command: Box<Command>,
    },
    /// Keys of one partition that GET would find, from `cursor` on.
    Scan {
        /// The partition to walk.
        partition: PartitionId,
        /// Where to go on: 0, then what the last outcome said.
        cursor: u64,
        /// How many keys to look at, about.
        limit: u32,
    },
    /// Keys of one partition whose versions are in conflict, with these. Only for protocols that leave conflicts to the
    /// application, or can.
    Conflicts {
        /// The partition.
        partition: PartitionId,
        /// How many keys at most.
        limit: u32,
    },
    /// How many keys of one partition GET would find.
    Count {
        /// The partition to count.
        partition: PartitionId,
    },
    /// A step of an interactive transaction. Only for protocols that declare that they have them
    /// (`Protocol::INFO.transactions`).
    Transact(Box<Transact>),
}

/// The names of the operations, for statistics, timelines and error messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs)]
pub enum OpKind {
    Get,
    Put,
    PutAll,
    Rotx,
    Snapshot,
    Scan,
    Count,
    At,
    Conflicts,
    Query,
    Transact,
}

impl Op {
    /// Which operation it is.
    pub fn kind(&self) -> OpKind {
        match self {
            Self::Get { .. } => OpKind::Get,
            Self::Put { .. } => OpKind::Put,
            Self::PutAll { .. } => OpKind::PutAll,
            Self::Rotx { .. } => OpKind::Rotx,
            Self::Snapshot { .. } => OpKind::Snapshot,
            Self::At { .. } => OpKind::At,
            Self::Scan { .. } => OpKind::Scan,
            Self::Count { .. } => OpKind::Count,
            Self::Conflicts { .. } => OpKind::Conflicts,
            Self::Query { .. } => OpKind::Query,
            Self::Transact(_) => OpKind::Transact,
        }
    }

    /// About how many bytes of keys and values it can write, if it can write.
    #[inline]
    pub fn writes(&self) -> Option<usize> {
        let bytes = |key: &Key, write: &Write| key.len() + write.len();
        match self {
            Self::Put { key, update: Update { command: Some(command), .. } } => {
                command.verb.writes().then(|| key.len() + command.len())
            }
            Self::Put { key, update } => Some(bytes(key, &update.write)),
            Self::PutAll { writes } => Some(writes.iter().map(|(key, write)| bytes(key, write)).sum()),
            Self::Transact(step) => match &**step {
                Transact::Commit { writes, .. } => {
                    Some(writes.iter().map(|(key, write)| bytes(key, write)).sum())
                }
                Transact::Accept(all) => Some(all.len()),
                _ => None,
            },
            _ => None,
        }
    }
}

/// What a read found: a version, or the initial absence of its key (`stamp` is none).
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Found {
    /// The version that was returned. A tombstone has a stamp and no value.
    pub stamp: Option<Stamp>,
    /// Its value.
    #[serde(with = "crate::op::optional_bytes")]
    pub value: Option<Value>,
    /// What a command of a data type answered, or GET on a key of another type.
    pub reply: Option<Box<Reply>>,
}

impl Found {
    /// A version of a register.
    pub fn new(stamp: Option<Stamp>, value: Option<Value>) -> Self {
        Self { stamp, value, reply: None }
    }
}

impl fmt::Debug for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.stamp, &self.value) {
            (Some(stamp), Some(value)) => write!(f, "{:?} {stamp}", String::from_utf8_lossy(value)),
            (Some(stamp), None) => write!(f, "removed {stamp}"),
            (None, Some(value)) => write!(f, "{:?} of unknown stamp", String::from_utf8_lossy(value)),
            (None, None) => f.write_str("nothing"),
        }
    }
}

/// What a session answers to an operation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Outcome {
    /// Of a GET.
    Found(Found),
    /// Of a PUT, or of a write transaction.
    Written {
        /// The new version (the stamp of all versions of a transaction), or none if the condition did not hold (nothing was written then).
        stamp: Option<Stamp>,
        /// What was visible before, if the update observed it.
        previous: Option<Found>,
    },
    /// Of a ROTX, a snapshot, a read at a time, or a query: one answer a key, in the order asked.
    FoundAll(Vec<Found>),
    /// Of a SCAN.
    Keys {
        /// Keys that GET would find.
        keys: Vec<Key>,
        /// Where to go on; 0 at the end.
        cursor: u64,
    },
    /// Of a COUNT.
    Count(u64),
    /// The session has taken over the past of a token.
    Adopted,
    /// The operation did not complete.
    Failed(Failure),
    /// An interactive transaction has begun, and reads in this snapshot.
    Begun(Snapshot),
    /// Of a CONFLICTS: keys, each with its versions that did not see each other, newest first.
    Conflicts(Vec<(Key, Vec<Found>)>),
    /// The snapshots that one region has whole, two have, and so on, as far as they are kept; and what each region has, as far as is known.
    Bases(Vec<Vector>, Vec<Vector>),
    /// Keys that may differ between two snapshots; none if any may.
    Changed(Option<Vec<Key>>),
    /// What became of a transaction of an edge client.
    Accepted(Box<Acceptance>),
}

/// Why an operation did not complete.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Failure {
    /// It certainly did not happen: a partition, or a region that it had to wait for, cannot be reached.
    Unavailable(String),
    /// It certainly did not happen: its stamp would lie too far ahead of physical time.
    ClockSkew {
        /// How far ahead of this server's clock it is.
        ahead_us: u64,
    },
    /// It certainly did not happen: this region does not cover the session's dependencies yet.
    StaleSession(String),
    /// It certainly did not happen: this region does not hold its keys, and asks no other. Those that hold all of them.
    Elsewhere(Vec<DcId>),
    /// It may or may not have happened: no answer will come.
    Indefinite(String),
    /// It certainly did not happen: the server takes no writes until somebody has put its data right.
    Misconfigured(String),
    /// It certainly did not happen, nor will it if it is tried again: what is asked for cannot be done here.
    Refused(String),
}

impl Failure {
    /// Whether the operation certainly did not take effect.
    pub fn is_definite(&self) -> bool {
        !matches!(self, Self::Indefinite(_))
    }
}

mod edge;
pub mod shared_bytes;
mod transact;

pub use edge::{Acceptance, ClientId, Digest, EdgeTransaction, GUARD_PREFIX, Guard, Shown, guard_of};
pub use transact::{Snapshot, Transact};

mod optional_bytes;
