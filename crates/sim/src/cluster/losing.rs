//! A data centre is lost for good, and excluded by the others. What it had acknowledged may be lost with it, unless somebody elsewhere has seen it.

use super::Cluster;
use crate::outcome::ProblemKind;
use crate::plan::Plan;
use crate::rng::mix;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use tidemark_core::history::{Action, Fate, Final};
use tidemark_core::{DcId, Failure, Key, Micros, Outcome, Stamp};

/// What an operation in `dc` has come to: if that may be lost, what was acknowledged happened or not.
pub(super) fn as_far_as_is_left<'o>(plan: &Plan, dc: DcId, outcome: &'o Outcome) -> Cow<'o, Outcome> {
    match outcome {
        Outcome::Written { stamp: Some(_), .. } if plan.loses() == Some(dc) => {
            Cow::Owned(Outcome::Failed(Failure::Indefinite("its region is lost".into())))
        }
        outcome => Cow::Borrowed(outcome),
    }
}

impl Cluster<'_> {
    /// All processes of a data centre are gone, with their disks.
    pub(super) fn lose(&mut self, dc: DcId) {
        self.is_gone(dc);
        for at in 0..self.processes.len() {
            if self.processes[at].dc == dc {
                self.processes[at].kept_down += 1;
                self.crash(at, mix(self.plan.seed, at as u64).is_multiple_of(2));
            }
        }
    }

    /// Whether a data centre is lost.
    pub(super) fn is_lost(&self, dc: DcId) -> bool {
        self.operator.lost() == Some(dc)
    }

    /// Whether no server of a data centre has run since then without an end. What is stable elsewhere they are told by heartbeats, and
    /// forget: if nobody else knows it, only sessions do, and they are refused (docs/tidemark-protocol.md).
    fn may_have_forgotten(&self, dc: DcId, since: Option<Micros>) -> bool {
        let of_it = self.processes.iter().filter(|process| process.dc == dc);
        let mut servers = of_it.filter(|process| !process.partitions.is_empty());
        servers.all(|process| process.node.is_none() || since.is_some_and(|since| since <= process.began_at))
    }

    /// Once a data centre was lost, the checker is not asked whether all converges: the survivors have to return the same, and nothing
    /// older than what sessions of theirs have written, or seen and their servers have not forgotten.
    pub(super) fn judge_survivors(&mut self) {
        let Some(lost) = self.operator.lost() else { return };
        let history = tidemark_check::without_lost(&self.history).into_owned();
        let finals = std::mem::take(&mut self.history.finals);
        let mut newest: BTreeMap<&Key, Stamp> = BTreeMap::new();
        let mut deleted = BTreeSet::new();
        for event in &history.events {
            let mut knows = |key, stamp: Option<Stamp>| {
                let known = newest.entry(key).or_default();
                *known = (*known).max(stamp.unwrap_or_default());
            };
            let of_survivor = event.dc != lost && event.fate == Fate::Ok;
            match &event.action {
                // It may have happened, whatever its client was told.
                Action::Write { key, value: None, .. } => _ = deleted.insert(key),
                Action::Write { key, version, .. } if of_survivor => knows(key, *version),
                Action::Read { reads, .. } if of_survivor => {
                    let forgotten = self.may_have_forgotten(event.dc, event.end_us);
                    let counts = |stamp: &Stamp| stamp.origin != lost || !forgotten;
                    reads.iter().for_each(|read| knows(&read.key, read.found.stamp.filter(counts)));
                }
                _ => {}
            }
        }
        let mut first: BTreeMap<&Key, &Final> = BTreeMap::new();
        let mut wrong = Vec::new();
        for last in &finals {
            let (dc, key, found) = (last.dc, &last.key, &last.found);
            let other = first.entry(key).or_insert(last);
            let stamps = other.found.stamp.zip(found.stamp).filter(|_| found.value.is_some());
            if other.found.value != found.value || stamps.is_some_and(|(one, other)| one != other) {
                wrong.push(format!("{key} is {:?} in {}, and {found:?} in {dc}", other.found, other.dc));
            }
            let newest = newest.get(key).copied().unwrap_or_default();
            let older = match found.stamp {
                Some(stamp) => stamp < newest,
                // Of data types there are no stamps.
                None => found.value.is_none() && newest > Stamp::default() && !deleted.contains(key),
            };
            if older {
                wrong.push(format!("{key} is {found:?} in {dc}, where {newest} is known"));
            }
        }
        for what in wrong {
            self.problem(ProblemKind::Liveness, format!("in the end {what}"));
        }
    }
}
