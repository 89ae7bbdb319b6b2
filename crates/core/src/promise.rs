//! What a protocol promises: the line that each protocol file declares, and that the checker holds it to.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// A promise about every history that a protocol can produce. Each is a fixed list of properties, one file
/// each in the checker; every promise includes that histories are well formed (nothing out of thin air, no
/// version written twice).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Promise {
    /// Convergence only.
    Eventual,
    /// A session reads its own writes (per key), and convergence.
    ReadYourWrites,
    /// A session's reads of a key never go back, and convergence.
    MonotonicReads,
    /// A session's writes of a key win over its earlier ones, and convergence.
    MonotonicWrites,
    /// A session's writes of a key win over what it had read of that key, and convergence.
    WritesFollowReads,
    /// All four session guarantees (per key), and convergence.
    Session,
    /// `Session`, and in each data centre one order of a partition's writes explains all reads of it.
    Sequential,
    /// Causal+ for single reads, and convergence.
    Causal,
    /// `Causal`, and read-only transactions return causally consistent snapshots.
    CausalSnapshot,
    /// `CausalSnapshot`, and an acknowledged write is visible at once in its own data centre (causal++).
    CausalImmediate,
}

impl Promise {
    /// Every promise, the weakest first.
    pub const ALL: [Self; 10] = [
        Self::Eventual,
        Self::ReadYourWrites,
        Self::MonotonicReads,
        Self::MonotonicWrites,
        Self::WritesFollowReads,
        Self::Session,
        Self::Sequential,
        Self::Causal,
        Self::CausalSnapshot,
        Self::CausalImmediate,
    ];

    /// The name on command lines and in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Eventual => "eventual",
            Self::ReadYourWrites => "read-your-writes",
            Self::MonotonicReads => "monotonic-reads",
            Self::MonotonicWrites => "monotonic-writes",
            Self::WritesFollowReads => "writes-follow-reads",
            Self::Session => "session",
            Self::Sequential => "sequential",
            Self::Causal => "causal",
            Self::CausalSnapshot => "causal-snapshot",
            Self::CausalImmediate => "causal-immediate",
        }
    }

    /// Whether a multi-read is one snapshot; else it is as good as several reads.
    pub fn snapshots(self) -> bool {
        matches!(self, Self::CausalSnapshot | Self::CausalImmediate)
    }

    /// Whether an acknowledged write is visible at once in its own data centre.
    pub fn is_immediate(self) -> bool {
        self == Self::CausalImmediate
    }

    /// What it means, in one line.
    pub fn description(self) -> &'static str {
        match self {
            Self::Eventual => "replicas that have exchanged everything agree on the last writer",
            Self::ReadYourWrites => "a session's reads of a key return its own last write or a newer one",
            Self::MonotonicReads => "a session's reads of a key never go back",
            Self::MonotonicWrites => "a session's later write of a key wins over its earlier ones",
            Self::WritesFollowReads => "a session's write of a key wins over what it had read of that key",
            Self::Session => "all four session guarantees, key by key",
            Self::Sequential => {
                "session, and in each data centre one order of a partition's writes explains all reads of it"
            }
            Self::Causal => "causal+: no effect is seen without its cause (single reads)",
            Self::CausalSnapshot => "causal+, and read-only transactions are causally consistent snapshots",
            Self::CausalImmediate => {
                "causal-snapshot, and acknowledged writes are visible at once in their data centre"
            }
        }
    }
}

impl fmt::Display for Promise {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The name of a promise was not one of [`Promise::ALL`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownPromise(pub String);

impl fmt::Display for UnknownPromise {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = Promise::ALL.iter().map(|p| p.name()).collect();
        write!(f, "no promise is called {:?}; choose one of {}", self.0, names.join(", "))
    }
}

impl std::error::Error for UnknownPromise {}

impl FromStr for Promise {
    type Err = UnknownPromise;

    fn from_str(name: &str) -> Result<Self, UnknownPromise> {
        Self::ALL.into_iter().find(|p| p.name() == name).ok_or_else(|| UnknownPromise(name.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_parse_back() {
        for promise in Promise::ALL {
            assert_eq!(promise.to_string().parse(), Ok(promise));
        }
        let error = "linearizable".parse::<Promise>().unwrap_err().to_string();
        assert!(error.contains("causal-snapshot"), "{error}");
    }
}
