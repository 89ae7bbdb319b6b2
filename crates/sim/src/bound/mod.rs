//! The cost of latency-optimal reads: which side of a lower bound a protocol stands on, found by running it.
//!
//! **Idea.** Two partitions of one data centre hold x and y. A client writes x0, y0, x1 and y1, one after the other, so that y1
//! depends on x1. Other clients read x and y in a transaction. A transaction whose read of x came before x1 and whose read
//! of y comes after y1 is an *old reader*: it must not be shown y1. If the read of y is answered at once, with one version, and nothing
//! else is asked, then the server of y has to know by then which clients are old readers, while every other client
//! is to see y1. Any set of clients may be the old readers. So no two sets may come with the same messages before y1 is visible:
//! 2^N sets of N clients are 2^N different communications, and one of them has N bits at least.
//!
//! **Source.** Theorem 1 of D. Didona et al., *Causal consistency and latency optimality*, VLDB 2018 (002), §6. Nothing here knows a
//! protocol: whole nodes run, and an observer reads their messages.
//!
//! **Executions.** Each set R of readers is run twice.
//! - E(R), the paper's: the transactions of R are over before x1 is written. The messages of this execution are the communication.
//! - E*(R), the paper's execution with old readers (with R for R₁, and R₂ empty): as E(R), but the half of each transaction that
//!   asks for y arrives when the write of y1 has been answered.
//!
//! In both, the clients that are not in R read once y1 is to be visible. That is when the *dangerous PUT* completes: it was answered,
//! and who comes new sees it.
//!
//! **Communication** is everything that servers send to anybody but the readers, from the transactions of R until the others read:
//! sender, receiver and content, in order, without the times. Times, delays and clocks are the same for each R, so
//! that two sets of readers differ in nothing but messages that depend on them. If a transaction is answered by way of messages between
//! servers, then those are not counted: they are the price of the read, and show as hops.
//!
//! **Deviation** D1. The paper lets message schedules of sets differ where their messages do. Here delays do not depend on
//! messages, which is one of those schedules.

mod schedule;
#[cfg(test)]
mod tests;

use crate::meter::{Measured, value};
use crate::options::name_of;
use schedule::{Communication, Executed, Schedule, WRITTEN, old_readers};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use tidemark_check::{Options as Checked, Properties, Property, check_with};
use tidemark_contract::Rule;
use tidemark_core::Found;
use tidemark_core::history::{Action, Event};
use tidemark_node::Factory;

/// The most readers for which all sets are run: 1024 of them, twice.
pub const MOST_READERS: usize = 10;

/// The largest difference of clocks: transactions that wait for a clock are over before y1 is written.
const MOST_SKEW_US: i64 = 5_000;

/// What is run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Bound {
    /// Clients that may read, N: 1 to [`MOST_READERS`].
    pub readers: usize,
    /// How far the clock of the server of x is ahead of that of y, in microseconds.
    pub skew_us: i64,
    /// Numbers of the protocol that are not to be its defaults.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub params: BTreeMap<String, serde_json::Value>,
    /// Rules of the protocol that are not kept.
    #[serde(skip)]
    pub without: Vec<Rule>,
}

impl Default for Bound {
    fn default() -> Self {
        Self { readers: 4, skew_us: 1_000, params: BTreeMap::new(), without: Vec::new() }
    }
}

impl Bound {
    /// Says what is wrong with the numbers, if something is.
    ///
    /// # Errors
    /// A sentence for the user.
    pub fn validate(&self) -> Result<(), String> {
        let Self { readers, skew_us, .. } = self;
        if !(1..=MOST_READERS).contains(readers) {
            return Err(format!("--readers is 1 to {MOST_READERS}, not {readers}"));
        }
        match skew_us.abs() <= MOST_SKEW_US {
            true => Ok(()),
            false => Err(format!("--skew-us is {MOST_SKEW_US} at most, either way, not {skew_us}")),
        }
    }
}

/// Something that a protocol does not have, for which the bound does not hold it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum GivesUp {
    /// A client asks each server once, itself, and each answers without asking another.
    OneRound,
    /// A client gets one version of each key.
    OneVersion,
    /// A server answers at once.
    Nonblocking,
    /// Who reads once y1 is to be visible sees it.
    Visibility,
    /// A transaction returns a causally consistent snapshot.
    Snapshot,
}

/// Where a protocol stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Side {
    /// Its reads have everything, and its writes tell all sets of readers apart.
    Pays,
    /// Its reads lack something.
    GivesUp,
    /// Its reads have everything in these executions, and its writes do not tell all sets apart. The theorem says that there is none.
    Contradicts,
}

/// What the executions of a protocol showed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Bounded {
    /// The protocol, or the variant.
    pub protocol: &'static str,
    /// Rules that it did not keep.
    pub without: Vec<&'static str>,
    /// The most rounds of requests and replies between a client and servers that a transaction took.
    pub rounds: u32,
    /// The longest chain of messages between servers before a reply.
    pub hops: u32,
    /// The most versions of one key that a client got.
    pub versions: u32,
    /// A server blocked a transaction for something other than messages of its own.
    pub blocks: bool,
    /// Every transaction returned a causally consistent snapshot, says the checker.
    pub snapshot: bool,
    /// The checker's explanation of the first that did not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub torn: Option<String>,
    /// Everybody who read once y1 was to be visible saw x1 and y1.
    pub visible: bool,
    /// The most transactions of one execution that began before the write of x1 and ended after that of y1.
    pub old_readers: usize,
    /// The snapshots that those returned, such as `x0 y0`.
    pub old_reads: BTreeSet<String>,
    /// Sets of readers.
    pub reader_sets: usize,
    /// Different communications among them.
    pub distinct: usize,
    /// The same, if only what was said until the write of y1 was answered counts.
    pub distinct_answered: usize,
    /// The logarithm of `distinct`: the bits that one of them has at least.
    pub bits: f64,
    /// The shortest communication, in bytes.
    pub bytes_least: usize,
    /// The longest, in bytes.
    pub bytes_most: usize,
    /// Operations that failed.
    pub failed: u64,
    /// The histories keep the protocol's own promise.
    pub kept: bool,
    /// What it gives up.
    pub gives_up: Vec<GivesUp>,
    /// Where that leaves it.
    pub side: Side,
}

/// Runs every set of readers, twice. REQUIRES: `what` is valid, and its rules are the protocol's.
pub fn bound(factory: &'static dyn Factory, what: &Bound) -> Bounded {
    let schedule = Schedule::new(factory, what);
    let sets = 0..1u32 << what.readers;
    let everybody = schedule.run(sets.end - 1, None);
    // The servers that a transaction goes through decide what has to be late for its reader to be an old one.
    let relayed = everybody.measured.transaction.hops_max > 0;
    let mut sum = Sum::new(name_of(factory.info(), &what.without), what);
    let (mut distinct, mut answered) = (BTreeSet::new(), BTreeSet::new());
    for readers in sets {
        let paper = schedule.run(readers, None);
        let Communication { said, answered: until } = schedule.communication(&paper.tape, relayed);
        let bytes: usize = said.iter().map(|(.., bytes)| bytes.len()).sum();
        sum.bytes_least = bytes.min(sum.bytes_least);
        sum.bytes_most = bytes.max(sum.bytes_most);
        answered.insert(said[..until].to_vec());
        distinct.insert(said);
        sum.add(&paper, readers);
        sum.add(&schedule.run(readers, Some(schedule.late(relayed))), readers);
    }
    (sum.distinct, sum.distinct_answered) = (distinct.len(), answered.len());
    sum.concluded()
}

type Sum = Bounded;

impl Sum {
    fn new(protocol: &'static str, what: &Bound) -> Self {
        Self {
            protocol,
            without: what.without.iter().map(|rule| rule.name).collect(),
            rounds: 0,
            hops: 0,
            versions: 0,
            blocks: false,
            snapshot: true,
            torn: None,
            visible: true,
            old_readers: 0,
            old_reads: BTreeSet::new(),
            reader_sets: 1 << what.readers,
            distinct: 0,
            distinct_answered: 0,
            bits: 0.0,
            bytes_least: usize::MAX,
            bytes_most: 0,
            failed: 0,
            kept: true,
            gives_up: Vec::new(),
            side: Side::Pays,
        }
    }

    /// Adds what one execution showed.
    fn add(&mut self, Executed { measured, history, .. }: &Executed, readers: u32) {
        let Measured { transaction, .. } = measured;
        self.rounds = self.rounds.max(transaction.rounds_max);
        self.hops = self.hops.max(transaction.hops_max);
        self.versions = self.versions.max(transaction.versions_max);
        self.blocks |= transaction.waited_share > 0.0;
        self.failed += measured.failed;
        self.kept &= measured.kept;
        let report = check_with(history, Checked::new(Properties::default().with(Property::Snapshot)));
        self.snapshot &= report.ok();
        if let (None, Some(violation)) = (&self.torn, report.violations.first()) {
            self.torn = Some(violation.explanation.clone());
        }
        let old = old_readers(history);
        self.old_readers = self.old_readers.max(old.len());
        self.old_reads.extend(old.into_iter().filter_map(found));
        let others = history.events.iter().filter(|event| readers >> event.session.0 & 1 == 0);
        self.visible &= others.filter_map(found).all(|found| found == "x1 y1");
    }

    /// Says where it stands.
    fn concluded(mut self) -> Self {
        self.bits = (self.distinct as f64).log2();
        let lacks = [
            (GivesUp::OneRound, self.rounds > 1 || self.hops > 0),
            (GivesUp::OneVersion, self.versions > 1),
            (GivesUp::Nonblocking, self.blocks),
            (GivesUp::Visibility, !self.visible),
            (GivesUp::Snapshot, !self.snapshot),
        ];
        self.gives_up = lacks.iter().filter(|(_, lacks)| *lacks).map(|(what, _)| *what).collect();
        self.side = match self.distinct == self.reader_sets {
            _ if !self.gives_up.is_empty() => Side::GivesUp,
            true => Side::Pays,
            false => Side::Contradicts,
        };
        self
    }
}

/// The versions that a transaction found; none if this is something else.
fn found(event: &Event) -> Option<String> {
    let Action::Read { reads, .. } = &event.action else { return None };
    let name = |found: &Found| {
        let number = (1..=WRITTEN.len()).find(|n| found.value.as_ref() == Some(&value(*n)));
        number.map_or("-", |n| WRITTEN[n - 1])
    };
    Some(reads.iter().map(|read| name(&read.found)).collect::<Vec<_>>().join(" "))
}
