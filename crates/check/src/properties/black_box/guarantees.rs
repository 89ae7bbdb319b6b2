//! The session guarantees and immediate visibility, from values alone: a history keeps a guarantee if *some* order of
//! each key's writes makes it true, as its own file states it; several together, if one order does for all of them.
//!
//! Every one of them says of two versions of a key that the one is not newer than the other, whatever the order: what
//! a session wrote before it read, what it had read before, what was acknowledged where it reads. So there is an
//! order if and only if these demands have no circle of two versions or more, and initial absence, the oldest of all,
//! is asked of nobody who is owed a version. Demands are edges of a graph, one for each key, since no demand spans
//! two. Where several versions are owed at once, a node stands for all of them, and each read adds to it: the
//! graphs are as large as the history, times the sessions that use a key for the guarantees that span keys.
//!
//! Source: the definitions of the properties, in their files. That nothing is lost or made up on the way is checked
//! against a search through all orders (`tests/all/oracle_black_box.rs`).
//!
//! **Blind**: absence of a key that was ever deleted, and values written twice. On its own, neither `monotonic-writes`
//! nor `writes-follow-reads` (per key) can be seen to be violated: their demands follow what happened.

use super::super::ledger::Ledger;
use super::super::reach::{Owed, Reach};
use super::super::{Findings, immediate};
use crate::hash::Map;
use crate::index::{ABSENT, Ref, UNCHECKED};
use crate::property::Property;
use crate::walk::{Observer, Past};
use tidemark_core::history::ReadKind;

mod circles;
use circles::{Demand, Why};

/// What is demanded of the versions of one key. A node is a version, by its number, or stands for several: those are
/// numbered after all versions, in each key anew.
#[derive(Default)]
struct Nodes {
    /// Per node that stands for several: the version that was added last.
    added: Vec<u32>,
    edges: Vec<Demand>,
    /// Reads, where what is owed to them is found at the end.
    reads: Vec<(u32, u32)>,
}

impl Nodes {
    /// The version that was added to `node` last.
    fn last_of(&self, versions: u32, node: u32) -> u32 {
        node.checked_sub(versions).map_or(node, |n| self.added[n as usize])
    }

    /// A node for all that `known` stands for, and all that `more` does.
    fn join(&mut self, versions: u32, known: Option<u32>, more: u32) -> u32 {
        let Some(known) = known else { return more };
        if known == more || more < versions && self.last_of(versions, known) == more {
            return known;
        }
        let node = versions + self.added.len() as u32;
        self.added.push(self.last_of(versions, more));
        self.edges.extend([(known, node, Why::Among), (more, node, Why::Among)]);
        node
    }
}

pub(crate) struct Guarantees<'f, 'i> {
    findings: &'f mut Findings<'i>,
    versions: u32,
    nodes: Vec<Nodes>,
    read: Ledger,
    written: Ledger,
    reach: Reach,
    across: bool,
}

impl<'f, 'i> Guarantees<'f, 'i> {
    /// What this can check.
    pub(crate) const PROPERTIES: [Property; 7] = [
        Property::ReadYourWrites,
        Property::MonotonicReads,
        Property::MonotonicWrites,
        Property::WritesFollowReads,
        Property::MonotonicWritesGlobal,
        Property::WritesFollowReadsGlobal,
        Property::Immediate,
    ];

    pub(crate) fn new(findings: &'f mut Findings<'i>) -> Self {
        let index = findings.index;
        let sessions = index.session_ids.len();
        let across =
            findings.checks_any(&[Property::MonotonicWritesGlobal, Property::WritesFollowReadsGlobal]);
        Self {
            findings,
            versions: index.versions.len() as u32,
            nodes: index.keys.iter().map(|_| Nodes::default()).collect(),
            read: Ledger::new(sessions),
            written: Ledger::new(sessions),
            reach: Reach::new(sessions),
            across,
        }
    }

    /// `property` demands of event `e` that what it returned or wrote is not older than what `owed` stands for.
    fn demand(&mut self, property: Property, e: u32, at: Ref, owed: u32) {
        let nodes = &mut self.nodes[at.key as usize];
        if at.version != ABSENT {
            if owed != at.version {
                nodes.edges.push((owed, at.version, Why::Demands(property, e)));
            }
        } else if !self.findings.index.ever_deleted(at.key) {
            let newer = nodes.last_of(self.versions, owed);
            self.findings.found(property, e, at, newer);
        }
    }

    /// What the session itself had written and read is owed to its read.
    fn demands_of_read(&mut self, e: u32, read: Ref) {
        let index = self.findings.index;
        let (session, asked) = (index.session_of[e as usize], index.asked(e));
        let own = [
            (Property::ReadYourWrites, asked.read_your_writes, &self.written),
            (Property::MonotonicReads, asked.monotonic_reads, &self.read),
        ]
        .map(|(property, is_asked, known)| (property, known.latest(session, read.key).filter(|_| is_asked)));
        for (property, owed) in own {
            if let Some(owed) = owed.filter(|_| self.findings.checks(property)) {
                self.demand(property, e, read, owed);
            }
        }
        if self.across {
            self.nodes[read.key as usize].reads.push((e, read.version));
        }
    }

    /// What the writers of what a session had read had written and read is owed to its reads of `key`.
    fn demands_across(&mut self, key: u32) {
        let index = self.findings.index;
        for (property, owed) in [
            (Property::MonotonicWritesGlobal, Owed::Written),
            (Property::WritesFollowReadsGlobal, Owed::Read),
        ] {
            if !self.findings.checks(property) {
                continue;
            }
            let mut all = Vec::new();
            for (e, version) in std::mem::take(&mut self.nodes[key as usize].reads) {
                let known = if owed == Owed::Read { &self.read } else { &self.written };
                let at = (index.session_of[e as usize], index.began(e));
                all.extend(self.reach.owed(known, owed, at, key));
                for owed in all.drain(..) {
                    self.demand(property, e, Ref { key, version }, owed);
                }
                self.nodes[key as usize].reads.push((e, version));
            }
        }
    }

    /// Immediate visibility; returns how many GETs have no start time.
    pub(crate) fn immediate(&mut self) -> u64 {
        let index = self.findings.index;
        let mut acknowledged = immediate::acknowledged(index);
        // tidy: allowed, because what the numbers of nodes are changes nothing.
        for ((_, key), list) in &mut acknowledged {
            let mut known = None;
            for (_, version) in list {
                let node = self.nodes[*key as usize].join(self.versions, known, *version);
                (*version, known) = (node, Some(node));
            }
        }
        immediate::look(index, &acknowledged, |e, read, owed| self.demand(Property::Immediate, e, read, owed))
    }

    /// What the replicas' last words demand, if they agree.
    fn last_words(&mut self) {
        let index = self.findings.index;
        let mut last: Map<u32, u32> = Map::default();
        for read in &index.finals {
            let same = |v: &mut u32| *v = if *v == read.version { *v } else { UNCHECKED };
            last.entry(read.key).and_modify(same).or_insert(read.version);
        }
        for version in 1..self.versions {
            let key = index.version(version).key;
            if let Some(last) = last.get(&key)
                && ![ABSENT, UNCHECKED, version].contains(last)
            {
                self.nodes[key as usize].edges.push((version, *last, Why::Last));
            }
        }
    }

    /// Looks for circles, key by key.
    pub(crate) fn finish(mut self) {
        if self.findings.checks(Property::Convergence) {
            self.last_words();
        }
        for key in 0..self.nodes.len() as u32 {
            self.demands_across(key);
            let nodes = std::mem::take(&mut self.nodes[key as usize]);
            for round in circles::circles(self.findings.index, key, nodes.added.len(), nodes.edges) {
                let property = circles::property_of(&round);
                if self.findings.checks(property) {
                    self.findings.told(property, |index| circles::tell(index, property, &round));
                }
            }
        }
    }

    fn join(&mut self, key: u32, known: Option<u32>, more: u32) -> u32 {
        self.nodes[key as usize].join(self.versions, known, more)
    }
}

impl Observer for Guarantees<'_, '_> {
    fn on_reads(&mut self, e: u32, kind: ReadKind, reads: &[Ref], _past: &Past<'_>, _joint: &Past<'_>) {
        if kind != ReadKind::Snapshot {
            let known = reads.iter().filter(|r| r.version != UNCHECKED);
            known.for_each(|read| self.demands_of_read(e, *read));
        }
    }

    fn after_reads(&mut self, e: u32, reads: &[Ref]) {
        let index = self.findings.index;
        let (session, seat) = (index.session_of[e as usize], index.seat[e as usize]);
        for read in reads.iter().filter(|r| r.version != UNCHECKED && r.version != ABSENT) {
            let node = self.join(read.key, self.read.latest(session, read.key), read.version);
            self.read.push(session, read.key, seat, node);
            if self.across {
                self.reach.after_read(index, e, *read);
            }
        }
    }

    fn on_write(&mut self, e: u32, version: u32, _past: &Past<'_>) {
        let index = self.findings.index;
        let (session, at) = (index.session_of[e as usize], Ref { key: index.version(version).key, version });
        let asked = index.asked(e);
        let own = [
            (Property::MonotonicWrites, asked.monotonic_writes, &self.written),
            (Property::WritesFollowReads, asked.writes_follow_reads, &self.read),
        ]
        .map(|(property, is_asked, known)| (property, known.latest(session, at.key).filter(|_| is_asked)));
        for (property, known) in own {
            if let Some(owed) = known.filter(|_| self.findings.checks(property)) {
                self.demand(property, e, at, owed);
            }
        }
        // A write without an answer is not owed to its session.
        if index.version(version).column == session {
            let node = self.join(at.key, self.written.latest(session, at.key), version);
            self.written.push(session, at.key, index.seat[e as usize], node);
        }
    }

    fn on_adopt(&mut self, e: u32, from: u32, events: u32) {
        let index = self.findings.index;
        let (session, seat) = (index.session_of[e as usize], index.seat[e as usize]);
        for (key, more) in self.read.known(from, events) {
            let node = self.join(key, self.read.latest(session, key), more);
            self.read.push(session, key, seat, node);
        }
        for (key, more) in self.written.known(from, events) {
            let node = self.join(key, self.written.latest(session, key), more);
            self.written.push(session, key, seat, node);
        }
        if self.across {
            self.reach.adopt((session, seat), from, events);
        }
    }
}
