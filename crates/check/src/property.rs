//! The properties that histories are checked for, and which of them a promise consists of.

use serde::{Deserialize, Serialize};
use std::fmt;
use tidemark_core::Promise;

/// One property of histories; its file under `properties/` states it and names its source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Property {
    /// Every version read was written by somebody, once, and before it was read.
    WellFormed,
    /// A session's read of a key returns its own last write of it, or a newer version.
    ReadYourWrites,
    /// A session's read of a key returns what it read of it before, or a newer version.
    MonotonicReads,
    /// A session's write of a key is newer than its earlier writes of it.
    MonotonicWrites,
    /// A session's write of a key is newer than what it had read of it.
    WritesFollowReads,
    /// Who has read a write of any key reads nothing older than what its writer had written before it.
    MonotonicWritesGlobal,
    /// Who has read a write of any key reads nothing older than what its writer had read before it.
    WritesFollowReadsGlobal,
    /// A read returns the newest version of its key in the session's causal past, or a newer one.
    Causal,
    /// A version is newer than every version of its key in its own causal past.
    OverwriteOrder,
    /// What a read-only transaction returns is causally consistent among itself (and with its session).
    Snapshot,
    /// Who has seen one write of a transaction sees nothing older than any of its writes.
    AtomicWrites,
    /// An acknowledged write is visible at once to every later GET in its data centre.
    Immediate,
    /// In the end all replicas return the same version of a key: the newest one.
    Convergence,
    /// In each data centre one order of the writes explains all reads: of the keys of one partition.
    Sequential,
}

impl Property {
    /// Every property.
    pub const ALL: [Self; 14] = [
        Self::WellFormed,
        Self::ReadYourWrites,
        Self::MonotonicReads,
        Self::MonotonicWrites,
        Self::WritesFollowReads,
        Self::MonotonicWritesGlobal,
        Self::WritesFollowReadsGlobal,
        Self::Causal,
        Self::OverwriteOrder,
        Self::Snapshot,
        Self::AtomicWrites,
        Self::Immediate,
        Self::Convergence,
        Self::Sequential,
    ];

    /// The name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::WellFormed => "well-formed",
            Self::ReadYourWrites => "read-your-writes",
            Self::MonotonicReads => "monotonic-reads",
            Self::MonotonicWrites => "monotonic-writes",
            Self::WritesFollowReads => "writes-follow-reads",
            Self::MonotonicWritesGlobal => "monotonic-writes-global",
            Self::WritesFollowReadsGlobal => "writes-follow-reads-global",
            Self::Causal => "causal",
            Self::OverwriteOrder => "overwrite-order",
            Self::Snapshot => "snapshot",
            Self::AtomicWrites => "atomic-writes",
            Self::Immediate => "immediate",
            Self::Convergence => "convergence",
            Self::Sequential => "sequential",
        }
    }

    /// What it says, in one line.
    pub fn about(self) -> &'static str {
        match self {
            Self::WellFormed => "whatever is read was written, once, and before it was read",
            Self::ReadYourWrites => "a session's read of a key returns its own last write or a newer one",
            Self::MonotonicReads => "a session's reads of a key never go back",
            Self::MonotonicWrites => "a session's later write of a key wins over its earlier ones",
            Self::WritesFollowReads => "a session's write of a key wins over what it had read of that key",
            Self::MonotonicWritesGlobal => {
                "who sees a write sees what its session had written before, of any key"
            }
            Self::WritesFollowReadsGlobal => {
                "who sees a write sees what its session had read before, of any key"
            }
            Self::Causal => "no effect is seen without its cause (single reads)",
            Self::OverwriteOrder => "a write wins over everything in its causal past",
            Self::Snapshot => "a read-only transaction returns a causally consistent snapshot",
            Self::AtomicWrites => "who sees one write of a transaction sees nothing older than any of them",
            Self::Immediate => "an acknowledged write is visible at once in its own data centre",
            Self::Convergence => "in the end all replicas return the newest version",
            Self::Sequential => {
                "in each data centre one order of the writes explains all reads (keys of one partition)"
            }
        }
    }

    /// The properties that `promise` consists of.
    pub fn of(promise: Promise) -> Properties {
        use Property::*;
        let own: &[Self] = match promise {
            Promise::Eventual => &[],
            Promise::ReadYourWrites => &[ReadYourWrites],
            Promise::MonotonicReads => &[MonotonicReads],
            Promise::MonotonicWrites => &[MonotonicWrites],
            Promise::WritesFollowReads => &[WritesFollowReads],
            Promise::Session => &[ReadYourWrites, MonotonicReads, MonotonicWrites, WritesFollowReads],
            Promise::Sequential => {
                &[ReadYourWrites, MonotonicReads, MonotonicWrites, WritesFollowReads, Sequential]
            }
            Promise::Causal => &[Causal, OverwriteOrder],
            Promise::CausalSnapshot => &[Causal, OverwriteOrder, Snapshot, AtomicWrites],
            Promise::CausalImmediate => &[Causal, OverwriteOrder, Snapshot, AtomicWrites, Immediate],
        };
        own.iter().fold(Properties::default().with(WellFormed).with(Convergence), |set, p| set.with(*p))
    }
}

impl fmt::Display for Property {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A set of properties.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Properties(u16);

impl Properties {
    /// Every property there is.
    pub fn all() -> Self {
        Property::ALL.into_iter().fold(Self::default(), Self::with)
    }

    /// The set with one more.
    #[must_use]
    pub fn with(self, property: Property) -> Self {
        Self(self.0 | 1 << property as u16)
    }

    /// The set with one fewer.
    #[must_use]
    pub fn without(self, property: Property) -> Self {
        Self(self.0 & !(1 << property as u16))
    }

    /// Whether `property` is in the set.
    #[inline]
    pub fn contains(self, property: Property) -> bool {
        self.0 >> property as u16 & 1 == 1
    }

    /// Whether every one of `others` is in the set.
    pub fn includes(self, others: Self) -> bool {
        self.0 & others.0 == others.0
    }

    /// The properties in the set.
    pub fn iter(self) -> impl Iterator<Item = Property> {
        Property::ALL.into_iter().filter(move |p| self.contains(*p))
    }
}
