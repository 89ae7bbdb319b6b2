//! Orders of the supervisor of `tidemark up` to a node: all of its faults, for as long as it goes on saying so.

use super::faults::{Faults, between};
use serde::{Deserialize, Serialize};
use std::fmt;
use tidemark_core::Micros;
use tidemark_node::ClusterLayout;
use tidemark_node::cuts::CutOrder;
use tidemark_replica::Now;

/// A fault of the way from one place to another; a place is a region (`A`) or a server (`A/0`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinkFault {
    /// Where it leads from.
    pub from: String,
    /// Where it leads to.
    pub to: String,
    /// Nothing passes.
    pub cut: bool,
    /// Added delay, in microseconds.
    pub slow_us: Micros,
}

/// An order that a node does not know yet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Waiting {
    /// As an operator gives it.
    pub order: String,
    /// Which node.
    pub node: String,
    /// Since when it does not answer, in microseconds since 1970.
    pub since_us: Micros,
    /// The failure that came instead of its answer.
    pub why: String,
}

/// All faults that are wanted of one node, and what its operators should know of orders.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wanted {
    /// Rises with each change: what comes late is not taken for what is wanted now.
    pub version: u64,
    /// They end when this is not said again for so long.
    pub lease_us: Micros,
    /// Links that are cut or slow.
    pub links: Vec<LinkFault>,
    /// Whatever the node sends to others leaves so much later.
    pub late_us: Micros,
    /// Its clock is so far ahead of the machine's.
    pub ahead_us: i64,
    /// Orders that nodes do not know yet.
    pub waiting: Vec<Waiting>,
}

impl Wanted {
    /// Whether nothing is wrong, and nothing has to be renewed.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.links.is_empty() && self.late_us == 0 && self.ahead_us == 0 && self.waiting.is_empty()
    }

    fn faults(&self, cluster: &ClusterLayout) -> Result<Faults, String> {
        let mut faults = Faults::default();
        for LinkFault { from, to, cut, slow_us } in &self.links {
            let (from, to) = between(cluster, from, to)?;
            if *cut {
                faults.cuts.change(CutOrder::Cut(from, to));
            }
            if *slow_us > 0 {
                faults.slow(from, to, *slow_us)?;
            }
        }
        faults.slowed.late_us = self.late_us;
        faults.ahead_us = self.ahead_us;
        Ok(faults)
    }
}

impl fmt::Display for Wanted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { version, links, late_us, ahead_us, .. } = self;
        write!(f, "Faults {version} (")?;
        for LinkFault { from, to, cut, slow_us } in links {
            let cut = if *cut { "cut, " } else { "" };
            write!(f, "{from} to {to}: {cut}slower by {slow_us} us; ")?;
        }
        write!(f, "late by {late_us} us; clock ahead by {ahead_us} us)")
    }
}

/// The orders that this node was told of.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Told {
    #[serde(flatten)]
    pub(super) wanted: Wanted,
    /// Time for which its faults go on unless they are said again.
    left_us: Micros,
    /// Since when faults have ended that were not said again, in microseconds since 1970.
    pub(super) lapsed_since_us: Option<Micros>,
}

/// Time counts up to this from one look to the next: a process that stood still could not be told anything.
const LOOK_US_MAX: Micros = 1_000_000;

/// Faults that end by themselves.
#[derive(Debug, Default)]
pub(super) struct Leased {
    told: Option<Told>,
    faults: Faults,
    looked: Micros,
}

impl Leased {
    /// Those that hold.
    pub(super) fn faults(&self) -> &Faults {
        &self.faults
    }

    /// Returns the orders that were said last.
    pub(super) fn told(&self) -> Option<&Told> {
        self.told.as_ref()
    }

    /// Takes what is wanted; returns whether that is something else than what holds.
    pub(super) fn renew(
        &mut self,
        cluster: &ClusterLayout,
        wanted: &Wanted,
        mono: Micros,
    ) -> Result<bool, String> {
        if let Some(told) = self.told.as_ref().filter(|told| told.wanted.version > wanted.version) {
            return Err(format!("version {} is known here", told.wanted.version));
        }
        let faults = wanted.faults(cluster)?;
        let changed = faults != self.faults;
        self.told = Some(Told { wanted: wanted.clone(), left_us: wanted.lease_us, lapsed_since_us: None });
        self.faults = faults;
        self.looked = mono;
        Ok(changed)
    }

    /// Counts the time since the last look; returns whether faults have ended by that.
    pub(super) fn lapse(&mut self, now: Now) -> bool {
        let passed = now.mono.saturating_sub(std::mem::replace(&mut self.looked, now.mono));
        let Some(told) = self.told.as_mut().filter(|told| !told.wanted.is_whole()) else { return false };
        told.left_us = told.left_us.saturating_sub(passed.min(LOOK_US_MAX));
        if told.left_us > 0 {
            return false;
        }
        told.wanted =
            Wanted { version: told.wanted.version, lease_us: told.wanted.lease_us, ..Wanted::default() };
        told.lapsed_since_us = Some(now.wall);
        self.faults = Faults::default();
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(version: u64, ahead_us: i64) -> Wanted {
        Wanted { version, lease_us: 3_000_000, ahead_us, ..Wanted::default() }
    }

    #[test]
    fn faults_end_that_are_not_renewed_and_a_process_that_stood_still_has_its_time() {
        let (cluster, mut leased) = (ClusterLayout::single("causal", 1), Leased::default());
        let look = |leased: &mut Leased, mono| leased.lapse(Now { wall: 7, mono });
        assert_eq!(leased.renew(&cluster, &wanted(1, 5), 0), Ok(true));
        assert_eq!(leased.renew(&cluster, &wanted(2, 5), 500_000), Ok(false), "nothing else holds");
        assert!(
            !look(&mut leased, 1_000_000) && !look(&mut leased, 60_000_000) && !look(&mut leased, 61_000_000)
        );
        assert_eq!(leased.faults().ahead_us, 5);
        assert!(look(&mut leased, 61_500_000), "half a second, a second, a second, half a second");
        assert_eq!((leased.faults().ahead_us, leased.told().unwrap().lapsed_since_us), (0, Some(7)));
        assert!(!look(&mut leased, 99_000_000), "once");
        assert_eq!(leased.renew(&cluster, &wanted(2, 5), 100_000_000), Ok(true), "it is said again");
        assert_eq!(leased.told().unwrap().lapsed_since_us, None);
    }

    #[test]
    fn what_comes_late_is_not_taken() {
        let (cluster, mut leased) = (ClusterLayout::single("causal", 1), Leased::default());
        leased.renew(&cluster, &wanted(2, 0), 0).unwrap();
        assert!(leased.renew(&cluster, &wanted(1, 5), 0).is_err());
        assert_eq!(leased.faults().ahead_us, 0);
        let link =
            |from: &str, to: &str| LinkFault { from: from.into(), to: to.into(), cut: true, slow_us: 0 };
        let nonsense = Wanted { links: vec![link("A", "Z")], ..wanted(3, 0) };
        assert!(leased.renew(&cluster, &nonsense, 0).is_err());
    }
}
