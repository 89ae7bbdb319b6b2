//! The steps of an interactive transaction: it begins, reads at one snapshot whenever it likes, and writes everything at once.

use super::edge::EdgeTransaction;
use crate::{Command, Hlc, Key, PartitionId, Vector, Write};
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Transact {
    /// It begins. It reads in the snapshot that [`Op::Rotx`](crate::Op::Rotx) would read in now, or in the newest one that so many
    /// regions have whole.
    Begin {
        /// The partition whose server holds the snapshot.
        partition: PartitionId,
        /// How many regions must have all of the snapshot: they may do so only a while after it was written, and the snapshot may miss
        /// what the session itself has read or written. At 0 it misses nothing of that.
        regions: u8,
    },
    /// What keys are in the snapshot.
    Read {
        /// Which.
        snapshot: Snapshot,
        /// The keys, in the order of the answer.
        keys: Vec<Key>,
        /// What is asked of each of them; their values, without.
        command: Option<Box<Command>>,
    },
    /// It commits: all of its writes, as [`Op::PutAll`](crate::Op::PutAll).
    Commit {
        /// The writes.
        writes: Vec<(Key, Write)>,
        /// Keys that must be in this region what they were when the snapshot was read, each with what told so. If one is not,
        /// nothing is written.
        watched: Vec<(Key, Bytes)>,
    },
    /// It has ended, and reads no more.
    End {
        /// Its snapshot.
        snapshot: Snapshot,
    },
    /// Which snapshots have several regions whole?
    Bases,
    /// What keys are in such a snapshot, which is a recent one.
    ReadBase {
        /// The snapshot.
        base: Vector,
        /// The keys, in the order of the answer.
        keys: Vec<Key>,
        /// What is asked of each of them; their values, without.
        command: Option<Box<Command>>,
    },
    /// Which keys may differ between two such snapshots?
    Changed {
        /// The older one.
        from: Vector,
        /// The newer one: everything in it is here.
        to: Vector,
    },
    /// A transaction of an edge client is accepted.
    Accept(Box<EdgeTransaction>),
}

/// A snapshot that a server holds for an interactive transaction, for a while.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Snapshot {
    /// The partition of the server.
    pub holder: PartitionId,
    /// Which life of it.
    pub life: u64,
    /// Its number in that life.
    pub number: u64,
    /// Everything is in the snapshot that has a time at or below.
    pub floor: Hlc,
    /// It is one that several regions have whole.
    pub base: bool,
}

impl fmt::Display for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "snapshot {}.{} of partition {}", self.life, self.number, self.holder.0)
    }
}

impl Transact {
    /// The keys that it reads or writes.
    pub fn keys(&self) -> Box<dyn Iterator<Item = &Key> + '_> {
        match self {
            Self::Begin { .. } | Self::End { .. } | Self::Bases | Self::Changed { .. } => {
                Box::new(std::iter::empty())
            }
            Self::Read { keys, .. } | Self::ReadBase { keys, .. } => Box::new(keys.iter()),
            Self::Accept(all) => Box::new(all.updates.iter().map(|(key, _)| key)),
            Self::Commit { writes, watched } => {
                Box::new(writes.iter().map(|(key, _)| key).chain(watched.iter().map(|(key, _)| key)))
            }
        }
    }
}
