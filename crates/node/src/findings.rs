//! Findings, for operators: each is one condition that holds, with its cause and its end.
//!
//! Once a second ([`look_us`](crate::Pace::look_us)) a node looks at itself and lists the conditions that hold. A condition becomes a
//! finding once it has held for five ([`hold_us`](crate::Pace::hold_us)), and the finding goes at the first look at which the condition
//! does not hold any more. Health pages, `tidemark status`, INFO, metrics and the log all show this one list.
//!
//! To add a code: a variant of [`Code`] and its row in [`Code::ALL`]; a [`Condition`] where the node looks; a row in
//! `docs/monitoring.md`.

mod disk;
mod look;
mod streams;
#[cfg(test)]
mod tests;

use crate::config::Pace;
use crate::notice::Level;
use serde::{Serialize, Serializer};
use std::collections::BTreeMap;
use std::fmt;
use tidemark_core::Micros;
use tidemark_replica::Now;

pub(crate) use disk::Syncs;
pub(crate) use streams::Progress;

/// Which condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Code {
    /// The node takes no writes.
    WritesRefused,
    /// This node's Raft group has no leader.
    QuorumLost,
    /// Partitions of this region cannot be read or written through this node.
    ReadsRefused,
    /// No segment of the log fits on the disk.
    DiskFull,
    /// A sync of the log takes longer than a second.
    DiskSlow,
    /// A peer has confirmed nothing of what waits for it, or this node does not take what a peer sends.
    FeedHeld,
    /// Records that a peer needs are gone, or its log is not the one that it was.
    FeedNeedsSeeding,
    /// A connection that is expected does not stand.
    NoLink,
    /// Records come over a third region.
    Relayed,
    /// Half of `log_retain` is kept for a peer.
    LogFills,
    /// Deletions are kept, because a region has not told for long how far it is.
    FloorStands,
    /// The disk is so full that the log does not open: reads are answered alone.
    Mute,
    /// Nobody has renewed what was ordered for a time.
    ToldLate,
    /// Another node does not know yet of an order.
    OrderWaits,
}

impl Code {
    /// All of them, and their names.
    pub const ALL: [(Self, &'static str); 14] = [
        (Self::WritesRefused, "writes_refused"),
        (Self::QuorumLost, "quorum_lost"),
        (Self::ReadsRefused, "reads_refused"),
        (Self::DiskFull, "disk_full"),
        (Self::DiskSlow, "disk_slow"),
        (Self::FeedHeld, "feed_held"),
        (Self::FeedNeedsSeeding, "feed_needs_seeding"),
        (Self::NoLink, "no_link"),
        (Self::Relayed, "relayed"),
        (Self::LogFills, "log_fills"),
        (Self::FloorStands, "floor_stands"),
        (Self::Mute, "mute"),
        (Self::ToldLate, "told_late"),
        (Self::OrderWaits, "order_waits"),
    ];

    /// Its name, as every surface shows it.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(code, _)| *code == self).map_or("", |(_, name)| name)
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl Serialize for Code {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

/// How much an operator should care.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Grade {
    /// All works; it is good to know.
    Note,
    /// Something waits, and goes on once its cause has ended.
    Degraded,
    /// Something does not work, and needs an operator.
    Stuck,
}

impl fmt::Display for Grade {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Note => "note",
            Self::Degraded => "degraded",
            Self::Stuck => "stuck",
        })
    }
}

/// A condition that has held for long enough.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// Which condition.
    pub code: Code,
    /// Where: a node's name, or a replication stream (`A/0->B/0`).
    pub place: String,
    /// How much an operator should care.
    pub grade: Grade,
    /// Since when, by the wall clock: microseconds since 1970.
    pub since_us: Micros,
    /// The condition, in words.
    pub what: String,
    /// What would end it.
    pub waits_for: String,
    /// What an operator can do.
    pub remedy: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { code, place, what, waits_for, remedy, .. } = self;
        write!(f, "{code} {place}: {what}; waits for {waits_for}. {remedy}")
    }
}

/// A condition that holds now. The fields are those of [`Finding`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Condition {
    pub code: Code,
    pub place: String,
    pub grade: Grade,
    /// Since when, on the clock that does not jump; none if it is known by looking alone.
    pub since: Option<Micros>,
    pub what: String,
    pub waits_for: String,
    pub remedy: String,
}

/// The conditions that held at the last look.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    known: BTreeMap<(Code, String), Known>,
    /// When the next look is due.
    next: Micros,
    /// Conditions that the driver knows of.
    pub(crate) driver: Vec<Condition>,
    pub(crate) syncs: Syncs,
    pub(crate) progress: Progress,
}

#[derive(Debug)]
struct Known {
    since: Micros,
    shown: Option<Finding>,
}

/// A finding has come, or gone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    Appears(Finding),
    Goes(Finding),
}

impl Change {
    pub(crate) fn level(&self) -> Level {
        match self {
            Self::Goes(_) => Level::Info,
            Self::Appears(finding) => match finding.grade {
                Grade::Note => Level::Info,
                Grade::Degraded => Level::Warn,
                Grade::Stuck => Level::Error,
            },
        }
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Appears(finding) => write!(f, "finding: {finding}"),
            Self::Goes(Finding { code, place, .. }) => write!(f, "finding ended: {code} {place}"),
        }
    }
}

impl Findings {
    /// Whether it is time to look; the next time is a while after this.
    fn is_due(&mut self, now: Micros, pace: &Pace) -> bool {
        let due = self.next <= now;
        if due {
            self.next = now + pace.look_us;
        }
        due
    }

    /// Takes over the conditions that hold at this look. What has come and gone, in order.
    pub(crate) fn take(&mut self, now: Now, pace: &Pace, conditions: Vec<Condition>) -> Vec<Change> {
        let mut before = std::mem::take(&mut self.known);
        let mut changes = Vec::new();
        for condition in conditions {
            let Condition { code, place, grade, since, what, waits_for, remedy } = condition;
            let known = before.remove(&(code, place.clone()));
            let since = since.or(known.as_ref().map(|known| known.since)).unwrap_or(now.mono);
            let held = now.mono.saturating_sub(since);
            let mut earlier = known.and_then(|known| known.shown);
            let shown = (held >= pace.hold_us).then(|| Finding {
                code,
                place: place.clone(),
                grade,
                since_us: earlier.as_ref().map_or(now.wall.saturating_sub(held), |finding| finding.since_us),
                what,
                waits_for,
                remedy,
            });
            match (&shown, earlier.take()) {
                (Some(finding), None) => changes.push(Change::Appears(finding.clone())),
                // It ended between two looks, and came again.
                (None, Some(finding)) => changes.push(Change::Goes(finding)),
                _ => {}
            }
            self.known.insert((code, place), Known { since, shown });
        }
        let gone = before.into_values().filter_map(|known| known.shown);
        changes.extend(gone.map(Change::Goes));
        changes
    }

    /// All findings, what needs an operator first.
    pub(crate) fn all(&self) -> Vec<Finding> {
        let mut all: Vec<Finding> = self.known.values().filter_map(|known| known.shown.clone()).collect();
        all.sort_by_key(|finding| std::cmp::Reverse(finding.grade));
        all
    }
}
