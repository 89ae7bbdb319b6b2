//! Kinds of faults, and sets of them.

use serde::Serialize;
use std::fmt;
use std::str::FromStr;

/// A kind of fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FaultKind {
    /// Links cut in both directions and healed: between data centres, of one partition, between siblings.
    Cuts,
    /// Links cut in one direction.
    OneWay,
    /// Slow links and slow servers.
    Slow,
    /// Clocks that run fast or slow.
    Drift,
    /// Clocks that jump, both ways.
    Jumps,
    /// Server processes killed and started again: what was written is kept.
    Crashes,
    /// Power failures: what was not synced is lost, in whole, in part, or torn.
    Power,
    /// Writes and syncs that fail, disks that are full for a while.
    Disk,
    /// Of whole nodes: links that an operator cuts, at the nodes that hear of it.
    OperatorCuts,
    /// Of whole nodes: handshakes that are lost, late, or arrive again.
    Handshakes,
    /// Of whole nodes: bytes that are damaged on a connection.
    Damage,
    /// Of whole nodes: connections of clients that break; the clients come back with a token.
    Clients,
}

impl FaultKind {
    /// Every kind.
    pub const ALL: [Self; 12] = [
        Self::Cuts,
        Self::OneWay,
        Self::Slow,
        Self::Drift,
        Self::Jumps,
        Self::Crashes,
        Self::Power,
        Self::Disk,
        Self::OperatorCuts,
        Self::Handshakes,
        Self::Damage,
        Self::Clients,
    ];

    /// The kinds that are drawn with the work of a schedule, in their order.
    pub(crate) fn first() -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().take(8)
    }

    /// The kinds that are drawn when all else is.
    pub(crate) fn last() -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().skip(8)
    }

    /// The name on command lines.
    pub fn name(self) -> &'static str {
        match self {
            Self::Cuts => "cuts",
            Self::OneWay => "one-way",
            Self::Slow => "slow",
            Self::Drift => "drift",
            Self::Jumps => "jumps",
            Self::Crashes => "crashes",
            Self::Power => "power",
            Self::Disk => "disk",
            Self::OperatorCuts => "operator-cuts",
            Self::Handshakes => "handshakes",
            Self::Damage => "damage",
            Self::Clients => "clients",
        }
    }
}

/// A set of kinds of faults.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Faults(u16);

impl Faults {
    /// No fault: messages are late, nothing else.
    pub const NONE: Self = Self(0);
    /// Every kind.
    pub const ALL: Self = Self((1 << FaultKind::ALL.len()) - 1);
    /// What happens to servers, clocks, disks and links; nothing to single connections and their bytes. A schedule in which
    /// connections break all the time seldom lives to see the interleaving that one rule of a protocol is for.
    pub const OF_SERVERS: Self = Self((1 << FaultKind::OperatorCuts as u8) - 1);

    /// The set with one more kind.
    #[must_use]
    pub fn with(self, kind: FaultKind) -> Self {
        Self(self.0 | 1 << kind as u8)
    }

    /// Whether `kind` is in the set.
    pub fn has(self, kind: FaultKind) -> bool {
        self.0 >> kind as u8 & 1 == 1
    }
}

impl FromStr for Faults {
    type Err = String;

    fn from_str(list: &str) -> Result<Self, String> {
        match list {
            "all" => return Ok(Self::ALL),
            "none" | "" => return Ok(Self::NONE),
            _ => {}
        }
        list.split(',').try_fold(Self::NONE, |set, name| {
            let kind = FaultKind::ALL.into_iter().find(|kind| kind.name() == name.trim());
            kind.map(|kind| set.with(kind)).ok_or_else(|| {
                let names: Vec<&str> = FaultKind::ALL.iter().map(|kind| kind.name()).collect();
                format!("no fault is called {name:?}; choose none, all, or some of {}", names.join(","))
            })
        })
    }
}

impl fmt::Display for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::ALL => f.write_str("all"),
            Self::NONE => f.write_str("none"),
            set => {
                let names = FaultKind::ALL.into_iter().filter(|kind| set.has(*kind)).map(FaultKind::name);
                f.write_str(&names.collect::<Vec<_>>().join(","))
            }
        }
    }
}
