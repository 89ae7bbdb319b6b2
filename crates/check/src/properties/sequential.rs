//! **Sequential consistency within a data centre**: in each data centre there is one order of the writes that it shows, and
//! every session's operations there take place along that order: a read returns the newest version of its key up to its place.
//!
//! Source: NuKV (ICDCN 2019), section 5.1, which promises it for the keys of each partition, since Raft has all replicas in a data
//! centre apply all updates in one order. It says nothing across partitions, so the keys of a history have to be those of one.
//!
//! To find an order is hard in general (Gibbons and Korach, SIAM J. Comput. 1997). Versions say which of two of a key is
//! newer, and then it is a topological order of a graph, which exists unless there is a cycle. Its nodes are what happened
//! in the data centre, and the *end* of each version: the moment before the first newer one. A version comes before
//! whoever returns it, and they before its end.
//!
//! - What comes from elsewhere and is not read here may never have been the newest: it has no place. Nor has a
//!   write without an answer that nobody reads here.
//! - The reads of a transaction come in any order: that they are a snapshot is another property.
//! - A read that did not ask for its session's past, and a `snapshot`, may go back; later reads do not go back behind it.
//! - Absence has no place where a delete of the key may have been collected. Reads at a time are not held to it.
//! - Which is the newer is not known in a black box. It is not checked there.

use super::Findings;
use crate::hash::Map;
use crate::index::{ABSENT, Index, NONE, Ref, UNCHECKED};
use crate::property::Property;
use crate::report::{Link, Violation};
use tidemark_core::DcId;
use tidemark_core::history::{Fate, ReadKind};

mod graph;
use graph::Graph;

/// White box: a violation for each tangle of cycles of each data centre.
pub(crate) fn check(findings: &mut Findings<'_>) {
    let index = findings.index;
    let mut centres: Vec<DcId> = index.history.events.iter().map(|event| event.dc).collect();
    centres.sort_unstable();
    centres.dedup();
    for dc in centres {
        let order = Order::new(index, dc);
        for cycle in order.graph.cycles() {
            findings.told(Property::Sequential, |index| tell(index, dc, &order, &cycle));
        }
    }
}

/// What comes before what in one data centre.
struct Order<'i> {
    index: &'i Index<'i>,
    dc: DcId,
    graph: Graph,
    /// Per node: the event that it stands for, or that wrote the version. NONE: the end of a version, or what a session has
    /// seen (unless an event adopts it).
    events: Vec<u32>,
    /// The nodes of versions.
    versions: Map<u32, u32>,
    /// The nodes of the ends of versions, by key and version.
    ends: Map<(u32, u32), u32>,
}

impl<'i> Order<'i> {
    fn new(index: &'i Index<'i>, dc: DcId) -> Self {
        let (graph, events) = (Graph::default(), Vec::new());
        let mut order = Self { index, dc, graph, events, versions: Map::default(), ends: Map::default() };
        order.versions();
        order.sessions();
        order.graph.close(order.events.len());
        order
    }

    fn node(&mut self, event: u32) -> u32 {
        self.events.push(event);
        self.events.len() as u32 - 1
    }

    /// Whether event `e` has a place here.
    fn counts(&self, e: u32) -> bool {
        let event = self.index.event(e);
        event.dc == self.dc && event.as_of_us.is_none()
    }

    fn reads(&self, e: u32) -> impl Iterator<Item = Ref> + use<'i> {
        let index = self.index;
        let known = move |read: &&Ref| match read.version {
            UNCHECKED => false,
            ABSENT => !index.ever_deleted(read.key),
            _ => true,
        };
        index.reads_of(e).iter().filter(known).copied()
    }

    fn wrote(&self, e: u32) -> Option<u32> {
        let wrote = self.index.wrote[e as usize];
        (wrote != ABSENT && self.index.event(e).fate == Fate::Ok).then_some(wrote)
    }

    /// The versions that are read or acknowledged here: each after the end of the newest older one that is read.
    fn versions(&mut self) {
        let index = self.index;
        // Key, rank, version, and whether it is read.
        let mut known: Vec<(u32, u32, u32, bool)> = Vec::new();
        for e in (0..index.history.events.len() as u32).filter(|e| self.counts(*e)) {
            known.extend(self.reads(e).map(|r| (r.key, index.rank(r.version), r.version, true)));
            known.extend(self.wrote(e).map(|v| (index.version(v).key, index.rank(v), v, false)));
        }
        known.sort_unstable();
        for of_key in known.chunk_by(|a, b| a.0 == b.0) {
            let mut end = None;
            for same in of_key.chunk_by(|a, b| a.2 == b.2) {
                let (key, _, version, _) = same[0];
                let node = (version != ABSENT).then(|| self.node(index.version(version).writer));
                if let Some(node) = node {
                    self.versions.insert(version, node);
                    end.inspect(|end| self.graph.edge(*end, node));
                }
                if same.iter().any(|(_, _, _, read)| *read) {
                    let own = self.node(NONE);
                    node.inspect(|node| self.graph.edge(*node, own));
                    self.ends.insert((key, version), own);
                    end = Some(own);
                }
            }
        }
    }

    /// The events of each session, and between them a node for what it has seen by then.
    fn sessions(&mut self) {
        let index = self.index;
        let seen = self.events.len() as u32;
        self.events.resize(self.events.len() + index.history.events.len(), NONE);
        for session in 0..index.session_ids.len() as u32 {
            let mut past = None;
            for e in index.events_of(session).iter().copied() {
                past.inspect(|past| self.graph.edge(*past, seen + e));
                if let Some((from, events)) = index.adopts(e) {
                    self.events[(seen + e) as usize] = e;
                    self.graph.edge(seen + index.events_of(from)[events as usize - 1], seen + e);
                }
                if self.counts(e) {
                    self.place(e, past, seen + e);
                }
                past = Some(seen + e);
            }
        }
    }

    /// Places event `e` between what its session has seen before it and what it has seen by then.
    fn place(&mut self, e: u32, past: Option<u32>, seen: u32) {
        let (index, asked) = (self.index, self.index.asked(e));
        let goes_on = asked.read_your_writes && asked.monotonic_reads && index.kind(e) != ReadKind::Snapshot;
        let mut observed = None;
        for read in self.reads(e) {
            let node = self.node(e);
            self.versions.get(&read.version).inspect(|version| self.graph.edge(**version, node));
            self.graph.edge(node, self.ends[&(read.key, read.version)]);
            past.filter(|_| goes_on).inspect(|past| self.graph.edge(*past, node));
            self.graph.edge(node, seen);
            observed = Some(node);
        }
        if let Some(version) = self.wrote(e) {
            let (node, follows) =
                (self.versions[&version], asked.monotonic_writes && asked.writes_follow_reads);
            past.filter(|_| follows).inspect(|past| self.graph.edge(*past, node));
            observed.inspect(|observed| self.graph.edge(*observed, node));
            self.graph.edge(node, seen);
        }
    }
}

/// The events of a cycle, from the first read on.
fn tell(index: &Index<'_>, dc: DcId, order: &Order<'_>, cycle: &[u32]) -> Violation {
    let mut events: Vec<u32> =
        cycle.iter().map(|n| order.events[*n as usize]).filter(|e| *e != NONE).collect();
    events.dedup();
    let first = events.iter().position(|e| !index.reads_of(*e).is_empty()).unwrap_or(0);
    events.rotate_left(first);
    events.extend(events.first().copied());
    let link = |before: u32, e: u32| {
        if index.session_of[before as usize] == index.session_of[e as usize]
            && index.seat[before as usize] < index.seat[e as usize]
        {
            Link::SessionOrder
        } else if index.written(e).any(|writer| writer == before) {
            Link::ReadsFrom
        } else if index.adopts(e).is_some() {
            Link::Adopts
        } else {
            Link::NotYet
        }
    };
    let mut story = vec![(events[0], Link::Beside)];
    story.extend(events.windows(2).map(|pair| (pair[1], link(pair[0], pair[1]))));
    let explanation =
        format!("in {dc} there is no order of the writes in which each of these events has its place");
    Violation { property: Property::Sequential, explanation, steps: index.story(story) }
}
