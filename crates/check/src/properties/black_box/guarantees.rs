//! The session guarantees and immediate visibility, from values alone: a history keeps a guarantee if *some* order of
//! each key's writes makes it true, as its own file states it; several together, if one order does for all of them.
//!
//! Every one of them says of two versions of a key that the one is not newer than the other, whatever the order: what
//! a session wrote before it read, what it had read before, what was acknowledged where it reads. So there is an
//! order if and only if these demands have no circle of two versions or more, and initial absence, the oldest of all,
//! is asked of nobody who is owed a version. Demands are edges of a graph. Where several versions are owed at
//! once, a node stands for all of them, and each read adds to it: the graph is as large as the history.
//!
//! Source: the definitions of the properties, in their files. That nothing is lost or made up on the way is checked
//! against a search through all orders (`tests/oracle_black_box.rs`).
//!
//! **Blind**: absence of a key that was ever deleted, and values written twice. On its own, neither `monotonic-writes`
//! nor `writes-follow-reads` (per key) can be seen to be violated: their demands follow what happened.

use super::super::ledger::Ledger;
use super::super::reach::{Owed, Reach};
use super::super::{Findings, immediate, monotonic_writes_global, writes_follow_reads_global};
use super::graph::{Circle, Graph, cyclic};
use crate::hash::Map;
use crate::index::{ABSENT, Index, Ref, UNCHECKED};
use crate::property::{Properties, Property};
use crate::report::{Link, Step, Violation};
use crate::story::{last_word, read_words};
use crate::walk::{Observer, Past};
use tidemark_core::history::ReadKind;

/// Why the version that an edge leads to is not older than where it comes from.
#[derive(Clone, Copy, Debug)]
enum Why {
    /// It leads to a node that stands for this version, or these, among others.
    Among,
    /// A property demands it of an event.
    Demands(Property, u32),
    /// In the end every replica returns it.
    Last,
}

/// Versions by their numbers, and after them the nodes that stand for several.
struct Nodes {
    versions: u32,
    /// Per node that stands for several: the version that was added last.
    added: Vec<u32>,
    edges: Vec<(u32, u32, Why)>,
}

impl Nodes {
    /// The version that was added to `node` last.
    fn last_of(&self, node: u32) -> u32 {
        node.checked_sub(self.versions).map_or(node, |n| self.added[n as usize])
    }

    /// A node for all that `known` stands for, and all that `more` does.
    fn join(&mut self, known: Option<u32>, more: u32) -> u32 {
        let Some(known) = known else { return more };
        if known == more || more < self.versions && self.last_of(known) == more {
            return known;
        }
        let node = self.versions + self.added.len() as u32;
        self.added.push(self.last_of(more));
        self.edges.extend([(known, node, Why::Among), (more, node, Why::Among)]);
        node
    }
}

pub(crate) struct Guarantees<'f, 'i> {
    findings: &'f mut Findings<'i>,
    nodes: Nodes,
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
        let (sessions, versions) = (findings.index.session_ids.len(), findings.index.versions.len() as u32);
        let across = findings.checks(Property::MonotonicWritesGlobal)
            || findings.checks(Property::WritesFollowReadsGlobal);
        Self {
            findings,
            nodes: Nodes { versions, added: Vec::new(), edges: Vec::new() },
            read: Ledger::new(sessions),
            written: Ledger::new(sessions),
            reach: Reach::new(sessions),
            across,
        }
    }

    /// `property` demands of event `e` that what it returned or wrote is not older than what `owed` stands for.
    fn demand(&mut self, property: Property, e: u32, at: Ref, owed: u32) {
        if at.version != ABSENT {
            if owed != at.version {
                self.nodes.edges.push((owed, at.version, Why::Demands(property, e)));
            }
        } else if !self.findings.index.ever_deleted(at.key) {
            let newer = self.nodes.last_of(owed);
            self.findings.found(property, e, at, newer);
        }
    }

    fn demands_of_read(&mut self, e: u32, read: Ref) {
        let session = self.findings.index.session_of[e as usize];
        let own = [(Property::ReadYourWrites, &self.written), (Property::MonotonicReads, &self.read)]
            .map(|(property, known)| (property, known.latest(session, read.key)));
        for (property, owed) in own {
            if let Some(owed) = owed.filter(|_| self.findings.checks(property)) {
                self.demand(property, e, read, owed);
            }
        }
        for (property, owed) in [
            (Property::MonotonicWritesGlobal, Owed::Written),
            (Property::WritesFollowReadsGlobal, Owed::Read),
        ] {
            if self.findings.checks(property) {
                let known = if owed == Owed::Read { &self.read } else { &self.written };
                let all: Vec<u32> = self.reach.owed(known, owed, session, read.key).map(|o| o.1).collect();
                all.into_iter().for_each(|owed| self.demand(property, e, read, owed));
            }
        }
    }

    /// Immediate visibility; returns how many GETs have no start time.
    pub(crate) fn immediate(&mut self) -> u64 {
        let index = self.findings.index;
        let mut acknowledged = immediate::acknowledged(index);
        // tidy: allowed, because what the numbers of nodes are changes nothing.
        for list in acknowledged.values_mut() {
            let mut known = None;
            for (_, version) in list {
                let node = self.nodes.join(known, *version);
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
            last.entry(read.key)
                .and_modify(|v| *v = if *v == read.version { *v } else { UNCHECKED })
                .or_insert(read.version);
        }
        for version in 1..index.versions.len() as u32 {
            if let Some(last) = last.get(&index.version(version).key)
                && ![ABSENT, UNCHECKED, version].contains(last)
            {
                self.nodes.edges.push((version, *last, Why::Last));
            }
        }
    }

    /// Looks for circles.
    pub(crate) fn finish(mut self) {
        if self.findings.checks(Property::Convergence) {
            self.last_words();
        }
        let Nodes { versions, added, edges } = self.nodes;
        let graph = Graph::new(versions as usize + added.len(), edges);
        let component = graph.components();
        for members in cyclic(&component) {
            let real: Vec<u32> = members.into_iter().filter(|node| *node < versions).collect();
            if real.len() > 1 {
                let round = real.iter().take(TRIED).filter_map(|start| {
                    circle(
                        &graph,
                        *start,
                        &|node| component[node as usize] == component[*start as usize],
                        versions,
                    )
                });
                let Some(round) = round.min_by_key(Vec::len) else { continue };
                let property = property_of(&round);
                if self.findings.checks(property) {
                    self.findings.told(property, |index| tell(index, property, &round));
                }
            }
        }
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
            let node = self.nodes.join(self.read.latest(session, read.key), read.version);
            self.read.push(session, read.key, seat, node);
            if self.across {
                self.reach.after_read(index, e, *read);
            }
        }
    }

    fn on_write(&mut self, e: u32, version: u32, _past: &Past<'_>) {
        let index = self.findings.index;
        let (session, at) = (index.session_of[e as usize], Ref { key: index.version(version).key, version });
        for (property, known) in
            [(Property::MonotonicWrites, &self.written), (Property::WritesFollowReads, &self.read)]
                .map(|(property, known)| (property, known.latest(session, at.key)))
        {
            if let Some(owed) = known.filter(|_| self.findings.checks(property)) {
                self.demand(property, e, at, owed);
            }
        }
        // A write without an answer is not owed to its session.
        if index.version(version).column == session {
            let node = self.nodes.join(self.written.latest(session, at.key), version);
            self.written.push(session, at.key, index.seat[e as usize], node);
        }
    }

    fn on_adopt(&mut self, e: u32, from: u32, events: u32) {
        let index = self.findings.index;
        let (session, seat) = (index.session_of[e as usize], index.seat[e as usize]);
        for ledger in [&mut self.read, &mut self.written] {
            for (key, more) in ledger.known(from, events) {
                let node = self.nodes.join(ledger.latest(session, key), more);
                ledger.push(session, key, seat, node);
            }
        }
        if self.across {
            self.reach.adopt((session, seat), from, events);
        }
    }
}

/// How many versions of a component are tried as the start of a shortest circle.
const TRIED: usize = 16;

/// That one version is not newer than another, and why.
type Demand = (u32, u32, Why);

/// The shortest circle of demands from `start` through some other version.
fn circle(
    graph: &Graph<Why>,
    start: u32,
    inside: &impl Fn(u32) -> bool,
    versions: u32,
) -> Option<Vec<Demand>> {
    // A state is a node, and whether another version was met on the way there.
    type State = (u32, bool);
    let mut came: Map<State, (State, Why)> = Map::default();
    let mut queue = std::collections::VecDeque::from([(start, false)]);
    while let Some(at) = queue.pop_front() {
        for (next, why) in graph.of(at.0).iter().filter(|(next, _)| inside(*next)) {
            if *next == start {
                if at.1 {
                    let mut path: Circle<Why> = vec![(at.0, *why)];
                    let mut back = at;
                    while let Some((from, why)) = came.get(&back) {
                        path.push((from.0, *why));
                        back = *from;
                    }
                    path.reverse();
                    return Some(demands(&path, start, versions));
                }
                continue;
            }
            let state = (*next, at.1 || *next < versions);
            if !came.contains_key(&state) {
                came.insert(state, (at, *why));
                queue.push_back(state);
            }
        }
    }
    None
}

/// A circle without the nodes that stand for several.
fn demands(circle: &Circle<Why>, start: u32, versions: u32) -> Vec<Demand> {
    let ends = circle[1..].iter().map(|(node, _)| *node).chain([start]);
    let mut from = start;
    let mut demands = Vec::new();
    for ((_, why), to) in circle.iter().zip(ends) {
        if to < versions {
            demands.push((from, to, *why));
            from = to;
        }
    }
    demands
}

fn properties(demands: &[Demand]) -> Properties {
    demands.iter().fold(Properties::default(), |all, (_, _, why)| match why {
        Why::Demands(property, _) => all.with(*property),
        Why::Last => all.with(Property::Convergence),
        Why::Among => all,
    })
}

/// What rests on last words violates convergence; otherwise the first of the properties is named.
fn property_of(demands: &[Demand]) -> Property {
    let all = properties(demands);
    if all.contains(Property::Convergence) {
        return Property::Convergence;
    }
    all.iter().next().expect("a circle rests on some property")
}

fn tell(index: &Index<'_>, property: Property, demands: &[Demand]) -> Violation {
    let key = index.key_words(index.version(demands[0].0).key);
    let names: Vec<&str> = properties(demands).iter().map(Property::name).collect();
    let reasons: Vec<String> = demands.iter().map(|demand| reason(index, demand)).collect();
    let explanation =
        format!("no order of the writes of {key} keeps {}: {}", names.join(" and "), reasons.join("; "));
    let mut steps: Vec<Step> = Vec::new();
    let shown = |demand: &Demand| {
        let mut steps = story(index, demand);
        steps.last_mut().into_iter().for_each(|step| step.shows = true);
        steps
    };
    for step in demands.iter().flat_map(shown) {
        match steps.last_mut() {
            Some(last) if last.event.is_some() && last.event == step.event => last.shows |= step.shows,
            _ => steps.push(step),
        }
    }
    Violation { property, explanation, steps }
}

fn reason(index: &Index<'_>, (from, to, why): &Demand) -> String {
    let read = read_words(index, Ref { key: index.version(*to).key, version: *to });
    let owed = index.version_words(*from);
    let Why::Demands(property, e) = why else { return format!("in the end {read}, and {owed} was written") };
    let what = match property {
        Property::ReadYourWrites => format!("reads {read} after its own write of {owed}"),
        Property::MonotonicReads => format!("reads {read} after it had read {owed}"),
        Property::MonotonicWrites => format!("writes {read} after its own write of {owed}"),
        Property::WritesFollowReads => format!("writes {read} after it had read {owed}"),
        Property::MonotonicWritesGlobal => {
            format!("reads {read} after a write whose session had written {owed} before")
        }
        Property::WritesFollowReadsGlobal => {
            format!("reads {read} after a write whose session had read {owed} before")
        }
        _ => format!("reads {read} after {owed} was acknowledged there"),
    };
    format!("{} (#{e}) {what}", index.actor(*e))
}

/// The events behind one demand.
fn story(index: &Index<'_>, (from, to, why): &Demand) -> Vec<Step> {
    let wrote = index.version(*from).writer;
    let Why::Demands(property, e) = why else {
        let version = |last: &Ref| last.version == *to;
        let at = index.finals.iter().position(version).map(|at| last_word(&index.history.finals[at]));
        return index.story([(wrote, Link::Beside)]).into_iter().chain(at).collect();
    };
    let own = |first: Option<u32>| index.story(index.own_story(first.unwrap_or(*e), *e));
    let across = match property {
        Property::MonotonicReads | Property::WritesFollowReads => return own(index.earlier_read(*e, *from)),
        Property::MonotonicWritesGlobal => monotonic_writes_global::witness(index, *e, *from),
        Property::WritesFollowReadsGlobal => writes_follow_reads_global::witness(index, *e, *from),
        Property::Immediate => return index.story([(wrote, Link::Beside), (*e, Link::Later)]),
        _ => None,
    };
    across.unwrap_or_else(|| own(Some(wrote)))
}
