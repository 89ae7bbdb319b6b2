//! The black box: values say who wrote what was read, and nothing says which of two writes is newer. A history
//! is causally convergent if *some* total order of the writes, an arbitration, explains it.
//!
//! Source: Biswas and Enea, *On the complexity of checking transactional consistency* (OOPSLA 2019): if `t3`
//! reads a key from `t1`, and `t2` writes that key in `t3`'s causal past, then `t2` comes before `t1` in every
//! arbitration; the history is (transactionally) causally consistent if these edges, with session order and
//! reads-from, have no cycle. In the words of Bouajjani et al. (POPL 2017) a cycle with one such edge is
//! WriteCORead, one with several is CyclicCF, and a `t1` that is the initial absence is WriteCOInitRead;
//! ThinAirRead and CyclicCO are found as ill-formedness. A read-only transaction is one `t3`; single reads are
//! one each. A replica's last word has every write in its past.
//!
//! It is enough to take, of each session, the last write of the key in the past (as Plume and AWDIT do).
//! **Blind**: an absent key that was ever deleted, values written twice, writes that nobody read and no answer
//! came for; and whatever some arbitration explains although the store's own stamps say otherwise.

use super::Findings;
use crate::hash::Map;
use crate::index::{ABSENT, Index, NONE, Ref, UNCHECKED, Version};
use crate::property::Property;
use crate::report::{Link, Step, Violation};
use crate::story::read_words;
use crate::walk::{Cycle, Observer, Past};
use tidemark_core::history::{Fate, ReadKind};

mod graph;
pub(crate) mod guarantees;
use graph::Graph;

/// In every arbitration the write `from` comes before the write `to`, because of the read `reader`.
#[derive(Clone, Copy)]
struct Before {
    from: u32,
    to: u32,
    reader: u32,
}

pub(crate) struct BlackBox<'f, 'i> {
    findings: &'f mut Findings<'i>,
    before: Vec<Before>,
    /// Per version and writing session (or write without an answer): up to where its writes are known to come before
    /// the version.
    known: Map<(u32, u32), u32>,
    causal: bool,
    snapshot: bool,
}

impl<'f, 'i> BlackBox<'f, 'i> {
    pub(crate) fn new(findings: &'f mut Findings<'i>) -> Self {
        let (causal, snapshot) = (findings.checks(Property::Causal), findings.checks(Property::Snapshot));
        Self { findings, before: Vec::new(), known: Map::default(), causal, snapshot }
    }

    /// What a read from `read.version` says about the writes of its key in the `past`.
    fn infer(&mut self, e: u32, property: Property, read: Ref, past: &Past<'_>) {
        let index = self.findings.index;
        for last in past.last_writes(read.key) {
            if last == read.version || past.follows(read.version, last) {
                continue;
            }
            if read.version == ABSENT {
                if !index.ever_deleted(read.key) {
                    self.findings.found(property, e, read, last);
                }
                return;
            }
            let Version { column, pos, .. } = *index.version(last);
            let sessions = index.session_ids.len() as u32;
            let writer = if column == NONE { sessions + last } else { column };
            let known = self.known.entry((read.version, writer)).or_default();
            if *known < pos.max(1) {
                *known = pos.max(1);
                self.before.push(Before { from: last, to: read.version, reader: e });
            }
        }
    }

    /// Of each session the last write of a key comes before the replicas' last word.
    fn before_last(&mut self, last: Ref) {
        let index = self.findings.index;
        let mut writers: Map<u32, ()> = Map::default();
        for from in index.versions_of(last.key).iter().rev().copied().filter(|v| *v != last.version) {
            let column = index.version(from).column;
            if column == NONE || writers.insert(column, ()).is_none() {
                self.before.push(Before { from, to: last.version, reader: NONE });
            }
        }
    }

    /// Adds what the replicas' last words say, and looks for cycles.
    pub(crate) fn finish(mut self, cuts: &[Cycle]) {
        let index = self.findings.index;
        if self.causal {
            let mut told: Map<u32, ()> = Map::default();
            for last in index.finals.iter().filter(|last| ![ABSENT, UNCHECKED].contains(&last.version)) {
                if told.insert(last.version, ()).is_none() {
                    self.before_last(*last);
                }
            }
        }
        self.before.retain(|b| index.version(b.from).writer != NONE && index.version(b.to).writer != NONE);
        if self.before.is_empty() {
            return;
        }
        let graph = graph(index, &self.before, cuts);
        for cycle in graph.shortest_cycles(|edge| matches!(edge, Edge::Before(_))) {
            let property = match property_of(index, &self.before, &cycle) {
                Property::Snapshot if !self.snapshot => Property::Causal,
                property => property,
            };
            if self.findings.checks(property) {
                let before = &self.before;
                self.findings.told(property, |index| tell(index, property, before, &cycle));
            }
        }
    }
}

impl Observer for BlackBox<'_, '_> {
    fn on_reads(&mut self, e: u32, kind: ReadKind, reads: &[Ref], past: &Past<'_>, joint: &Past<'_>) {
        for read in reads.iter().filter(|r| r.version != UNCHECKED) {
            match kind {
                ReadKind::Get if self.causal => self.infer(e, Property::Causal, *read, past),
                ReadKind::Rotx | ReadKind::Snapshot if self.snapshot => {
                    self.infer(e, Property::Snapshot, *read, joint);
                }
                // Whoever asks for no snapshot takes it for several reads.
                ReadKind::Rotx if self.causal => self.infer(e, Property::Causal, *read, past),
                _ => {}
            }
        }
    }

    fn on_write(&mut self, _e: u32, _version: u32, _past: &Past<'_>) {}
}

/// Why one event comes before another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Edge {
    Session,
    Reads,
    Adopts,
    /// In every arbitration, because of this numbered reason.
    Before(u32),
}

/// The node of a transaction is its last event.
fn node(index: &Index<'_>, e: u32) -> u32 {
    if index.event(e).fate == Fate::Unknown {
        return e;
    }
    index.events_of(index.session_of[e as usize])[index.pos[e as usize] as usize - 1]
}

/// Session order, reads-from and adoption, and what must come before what.
fn graph(index: &Index<'_>, before: &[Before], cuts: &[Cycle]) -> Graph<Edge> {
    let mut edges = Vec::with_capacity(index.history.events.len() * 2 + before.len());
    let mut edge = |from: u32, to: u32, label: Edge| {
        if from != to {
            edges.push((from, to, label));
        }
    };
    let mut cut: Vec<u32> = cuts.iter().map(|c| c.waits[0].0).collect();
    cut.sort_unstable();
    for session in 0..index.session_ids.len() as u32 {
        let mut last = None;
        for e in index.events_of(session) {
            let here = node(index, *e);
            if let Some(last) = last {
                edge(last, here, Edge::Session);
            }
            if index.event(*e).fate != Fate::Unknown {
                last = Some(here);
            }
            if cut.binary_search(e).is_ok() {
                continue;
            }
            for read in index.reads_of(*e).iter().filter(|r| r.version != UNCHECKED) {
                let writer = index.version(read.version).writer;
                if writer != NONE {
                    edge(node(index, writer), here, Edge::Reads);
                }
            }
            if let Some((from, n)) = index.adopts(*e) {
                edge(node(index, index.events_of(from)[n as usize - 1]), here, Edge::Adopts);
            }
        }
    }
    for (i, b) in before.iter().enumerate() {
        let writer = |version: u32| node(index, index.version(version).writer);
        edge(writer(b.from), writer(b.to), Edge::Before(i as u32));
    }
    Graph::new(index.history.events.len(), edges)
}

fn reasons(cycle: &[(u32, Edge)]) -> impl Iterator<Item = usize> + '_ {
    cycle.iter().filter_map(|(_, edge)| if let Edge::Before(i) = edge { Some(*i as usize) } else { None })
}

/// A cycle that rests on a transaction's read violates its snapshot; one that rests on last words, convergence.
fn property_of(index: &Index<'_>, before: &[Before], cycle: &[(u32, Edge)]) -> Property {
    let readers: Vec<u32> = reasons(cycle).map(|i| before[i].reader).collect();
    if readers.contains(&NONE) {
        return Property::Convergence;
    }
    let in_transaction = |e: &u32| {
        index.kind(*e) != ReadKind::Get
            || node(index, *e) != *e
            || index.seat[*e as usize] > 0 && {
                let previous =
                    index.events_of(index.session_of[*e as usize])[index.seat[*e as usize] as usize - 1];
                index.pos[previous as usize] == index.pos[*e as usize]
            }
    };
    if readers.iter().any(in_transaction) { Property::Snapshot } else { Property::Causal }
}

fn tell(index: &Index<'_>, property: Property, before: &[Before], cycle: &[(u32, Edge)]) -> Violation {
    let why: Vec<String> = reasons(cycle).map(|i| reason(index, before[i])).collect();
    let pattern = if why.len() == 1 { "WriteCORead" } else { "CyclicCF" };
    let explanation =
        format!("no order of the writes explains what was read ({pattern}): {}", why.join("; "));
    let mut steps = Vec::new();
    let mut link = Link::Beside;
    for (e, edge) in cycle {
        steps.push(index.step(*e, link));
        link = match edge {
            Edge::Session => Link::SessionOrder,
            Edge::Reads => Link::ReadsFrom,
            Edge::Adopts => Link::Adopts,
            Edge::Before(_) => Link::Overwrites,
        };
    }
    steps.push(index.step(cycle[0].0, link));
    for e in reasons(cycle).map(|i| before[i].reader).filter(|e| *e != NONE) {
        match steps.iter_mut().find(|step| step.event == Some(u64::from(e))) {
            Some(known) => known.shows = true,
            None => steps.push(Step { shows: true, ..index.step(e, Link::Beside) }),
        }
    }
    Violation { property, explanation, steps }
}

fn reason(index: &Index<'_>, b: Before) -> String {
    let key = index.version(b.to).key;
    let read = read_words(index, Ref { key, version: b.to });
    let other = index.version_words(b.from);
    match b.reader {
        NONE => format!("in the end {read}, which must be newer than {other}"),
        e => format!("{} (#{e}) reads {read} with {other} in its past", index.actor(e)),
    }
}
