//! Stabilisation by an aggregation tree: how servers that belong together learn what all of them have.
//!
//! Source: GentleRain (001) §4.5, used alike by CausalSpartanX (000 §5.2.2) and those that followed. The
//! servers of a data centre form a tree by partition number, `fan_out` children a node. Values travel up as
//! entry-wise minima; the root's value is the data centre's, and travels down.
//!
//! Where servers of several data centres belong together ([`Stabilisation::among`]; 000 §7.2.2 has all of them tell all),
//! each data centre has its tree, and the roots tell each other: a value crosses a link between data centres once.
//!
//! With a fan-out of 0 there is no tree: every server is a root, and tells all others, which §4.5 compares the tree with.
//!
//! Every value used is a lower bound of the true minimum at the moment it is used, because what it is the
//! minimum of only rises. So a lost or late message costs freshness and nothing else, and a receiver merges
//! with `max`, never by assignment (erratum E-2).

use crate::{Collector, Cx, Protocol, Topology};
use serde::{Deserialize, Serialize};
use tidemark_core::{ServerId, Vector};
use tidemark_store::{Collected, Version};

/// Two vectors that are minimised along the tree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// Upwards: what the sender's subtree has received. Downwards: the stable vector.
    pub stable: Vector,
    /// Below this no snapshot will be read again, as far as the subtree (downwards: the data centre) knows.
    pub safe: Vector,
}

impl Report {
    /// What one server says of itself: what it has received; and as safe the stable value that it will recover
    /// from a crash, or the oldest of the snapshots that it reads, if that is less (erratum E-12).
    pub fn new(received: Vector, durable: &Vector, snapshots: impl Iterator<Item = Vector>) -> Self {
        let mut safe = durable.clone();
        snapshots.for_each(|snapshot| safe.meet(&snapshot));
        Self { stable: received, safe }
    }
}

/// What the servers of a data centre say to each other along the tree, and roots to each other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub enum Tree {
    Up(Report),
    Down(Report),
    Across(Report),
}

/// Where one server stands in the tree of its data centre, what its children (and, of a root, the other roots) last said, and
/// the collection of what will not be read again.
pub struct Stabilisation {
    parent: Option<ServerId>,
    children: Vec<(ServerId, Option<Report>)>,
    roots: Vec<(ServerId, Option<Report>)>,
    heard_since_sent: usize,
    pub(crate) collector: Collector,
}

impl Stabilisation {
    /// The place of `me` in a tree of all servers of its data centre, of `fan_out` children a node.
    pub fn new(me: ServerId, topology: &Topology, fan_out: usize) -> Self {
        let all: Vec<ServerId> = topology.all_partitions().map(|n| ServerId::new(me.dc, n)).collect();
        Self::among(me, &all, fan_out)
    }

    /// The place of `me` among `servers`, of which it is one, in order.
    pub fn among(me: ServerId, servers: &[ServerId], fan_out: usize) -> Self {
        let near: Vec<ServerId> = servers.iter().copied().filter(|server| server.dc == me.dc).collect();
        let place = near.iter().position(|server| *server == me).expect("it is one of them");
        let unheard = |server: ServerId| (server, None);
        if fan_out == 0 {
            let roots = servers.iter().copied().filter(|server| *server != me).map(unheard).collect();
            return Self { roots, ..Self::alone() };
        }
        let children = near.iter().skip(place * fan_out + 1).take(fan_out);
        let first_of = servers.chunk_by(|a, b| a.dc == b.dc).map(|of_dc| of_dc[0]);
        Self {
            parent: (place > 0).then(|| near[(place - 1) / fan_out]),
            children: children.copied().map(unheard).collect(),
            roots: first_of.filter(|root| place == 0 && *root != me).map(unheard).collect(),
            ..Self::alone()
        }
    }

    /// Of a server that nobody belongs to.
    fn alone() -> Self {
        let (children, roots) = (Vec::new(), Vec::new());
        Self { parent: None, children, roots, heard_since_sent: 0, collector: Collector::default() }
    }

    /// At every θ: passes on the aggregate of `mine` and what the children last said. At the root that is, with what the
    /// other roots last said, the stable vector. The root tells itself as it tells its children: of what it has itself, too, nothing
    /// counts that could still be lost.
    ///
    /// `wrap` makes a message of the protocol, here and below.
    pub fn tick<P: Protocol>(
        &mut self,
        mine: Report,
        wrap: impl Fn(Tree) -> P::Peer + Copy,
        cx: &mut Cx<'_, P>,
    ) {
        let Some(mut report) = self.aggregate(mine) else { return };
        if let Some(parent) = self.parent {
            return cx.send(parent, wrap(Tree::Up(report)));
        }
        self.roots.iter().for_each(|(root, _)| cx.send(*root, wrap(Tree::Across(report.clone()))));
        if meet_all(&mut report, &self.roots).is_some() {
            self.tell_children(&report, wrap, cx);
            cx.send(cx.me, wrap(Tree::Down(report)));
        }
    }

    /// Takes a message. An inner node does not wait for its own θ once every child has reported again. Returns
    /// the stable vector if it learns of one; it is passed on already.
    pub fn on_message<P: Protocol>(
        &mut self,
        (from, message): (ServerId, Tree),
        mine: Report,
        wrap: impl Fn(Tree) -> P::Peer + Copy,
        cx: &mut Cx<'_, P>,
    ) -> Option<Vector> {
        match message {
            Tree::Up(report) => {
                if self.hear(from, report) {
                    self.tick(mine, wrap, cx);
                }
                None
            }
            Tree::Down(report) => {
                self.collector.raise(&report.safe, cx.store);
                if from != cx.me {
                    self.tell_children(&report, wrap, cx);
                }
                Some(report.stable)
            }
            Tree::Across(report) => {
                note(&mut self.roots, from, report);
                None
            }
        }
    }

    /// Collects a piece of what is safe to collect: `safe(point, version)` says whether a version is in the
    /// snapshot at `point`.
    pub fn collect<P: Protocol>(
        &mut self,
        cx: &mut Cx<'_, P>,
        safe: impl FnMut(&Vector, &Version<P::Meta>) -> bool,
    ) -> Collected {
        self.collector.work(cx, safe)
    }

    /// Below this nobody in the data centre reads any more.
    pub fn safe(&self) -> &Vector {
        self.collector.safe()
    }

    /// Takes a child's report; true if every child has now reported since the last aggregate was passed on.
    fn hear(&mut self, child: ServerId, report: Report) -> bool {
        if note(&mut self.children, child, report) {
            self.heard_since_sent += 1;
        }
        self.heard_since_sent >= self.children.len()
    }

    /// The aggregate of `mine` and the last report of every child; none while a child has never reported.
    fn aggregate(&mut self, mine: Report) -> Option<Report> {
        let mut report = mine;
        meet_all(&mut report, &self.children)?;
        self.heard_since_sent = 0;
        Some(report)
    }

    fn tell_children<P: Protocol>(
        &self,
        report: &Report,
        wrap: impl Fn(Tree) -> P::Peer + Copy,
        cx: &mut Cx<'_, P>,
    ) {
        self.children.iter().for_each(|(child, _)| cx.send(*child, wrap(Tree::Down(report.clone()))));
    }
}

/// Notes what `server` last said; false if it is none of `known`.
fn note(known: &mut [(ServerId, Option<Report>)], server: ServerId, report: Report) -> bool {
    let place = known.iter_mut().find(|(one, _)| *one == server);
    place.map(|(_, last)| *last = Some(report)).is_some()
}

/// Lowers `report` to what each of `known` last said; none while one has never said anything.
fn meet_all(report: &mut Report, known: &[(ServerId, Option<Report>)]) -> Option<()> {
    for (_, last) in known {
        let last = last.as_ref()?;
        report.stable.meet(&last.stable);
        report.safe.meet(&last.safe);
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidemark_core::{DcId, Hlc, PartitionId};

    fn server(n: u16) -> ServerId {
        ServerId::new(DcId(0), PartitionId(n))
    }

    fn report(entries: [u64; 2]) -> Report {
        let vector = Vector::from_entries(entries.map(Hlc));
        Report { stable: vector.clone(), safe: vector }
    }

    #[test]
    fn parents_and_children_agree_on_the_tree() {
        let topology = Topology::new(1, 12);
        for fan_out in 1..=5 {
            let nodes: Vec<_> = (0..12).map(|n| Stabilisation::new(server(n), &topology, fan_out)).collect();
            for (n, node) in nodes.iter().enumerate() {
                for (child, _) in &node.children {
                    assert_eq!(nodes[child.partition.index()].parent, Some(server(n as u16)));
                }
            }
            assert_eq!(nodes.iter().filter(|node| node.parent.is_none()).count(), 1);
            assert_eq!(nodes.iter().map(|node| node.children.len()).sum::<usize>(), 11);
        }
    }

    #[test]
    fn without_a_tree_each_tells_all() {
        let all: Vec<ServerId> = (0..3).map(server).collect();
        let mut one = Stabilisation::among(server(1), &all, 0);
        assert_eq!((one.parent, one.children.len(), one.roots.len()), (None, 0, 2));
        let mut mine = report([5, 5]);
        assert!(note(&mut one.roots, server(0), report([4, 6])));
        assert_eq!(meet_all(&mut mine, &one.roots), None, "one has never said anything");
        assert!(note(&mut one.roots, server(2), report([7, 3])));
        assert!(meet_all(&mut mine, &one.roots).is_some());
        assert_eq!(mine, report([4, 3]));
    }

    #[test]
    fn of_several_data_centres_each_has_a_tree_and_the_roots_know_each_other() {
        let of = |dc: u8, n: u16| ServerId::new(DcId(dc), PartitionId(n));
        let all = [of(0, 1), of(0, 3), of(1, 0), of(2, 0), of(2, 1), of(2, 2)];
        let told = |me: ServerId| {
            let Stabilisation { parent, children, roots, .. } = Stabilisation::among(me, &all, 2);
            let ids = |list: Vec<(ServerId, Option<Report>)>| list.into_iter().map(|(id, _)| id).collect();
            let (children, roots): (Vec<ServerId>, Vec<ServerId>) = (ids(children), ids(roots));
            (parent, children, roots)
        };
        assert_eq!(told(of(0, 1)), (None, vec![of(0, 3)], vec![of(1, 0), of(2, 0)]));
        assert_eq!(told(of(0, 3)), (Some(of(0, 1)), vec![], vec![]));
        assert_eq!(told(of(1, 0)), (None, vec![], vec![of(0, 1), of(2, 0)]));
        assert_eq!(told(of(2, 0)), (None, vec![of(2, 1), of(2, 2)], vec![of(0, 1), of(1, 0)]));
    }

    #[test]
    fn an_inner_node_passes_on_the_minimum_once_all_children_have_reported() {
        let mut root = Stabilisation::new(server(0), &Topology::new(1, 3), 2);
        assert_eq!(root.aggregate(report([5, 5])), None, "nothing is known of the children");
        assert!(!root.hear(server(1), report([3, 9])));
        assert!(root.hear(server(2), report([4, 8])));
        assert_eq!(root.aggregate(report([5, 5])), Some(report([3, 5])));
        assert!(!root.hear(server(2), report([5, 5])), "the other child has not reported again");
        let mut leaf = Stabilisation::new(server(2), &Topology::new(1, 3), 2);
        assert_eq!(leaf.aggregate(report([1, 2])), Some(report([1, 2])));
    }

    #[test]
    fn what_is_safe_is_durable_and_at_or_below_every_snapshot_in_use() {
        let at = |entries: [u64; 2]| Vector::from_entries(entries.map(Hlc));
        let mine = Report::new(at([9, 9]), &at([5, 6]), [at([7, 4]), at([5, 8])].into_iter());
        assert_eq!(mine, Report { stable: at([9, 9]), safe: at([5, 4]) });
    }
}
