//! Stabilisation by an aggregation tree: how the servers of a data centre learn what all of them have.
//!
//! Source: GentleRain (001) §4.5, used alike by CausalSpartanX (000 §5.2.2) and those that followed. The
//! servers of a data centre form a tree by partition number, `fan_out` children a node. Values travel up as
//! entry-wise minima; the root's value is the data centre's, and travels down.
//!
//! Every value used is a lower bound of the true minimum at the moment it is used, because what it is the
//! minimum of only rises. So a lost or late message costs freshness and nothing else, and a receiver merges
//! with `max`, never by assignment (erratum E-2).

use crate::{Collector, Cx, Protocol, Topology};
use serde::{Deserialize, Serialize};
use tidemark_core::{PartitionId, ServerId, Vector};
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

/// What the servers of a data centre say to each other along the tree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub enum Tree {
    Up(Report),
    Down(Report),
}

/// Where one server stands in the tree of its data centre, what its children last said, and the collection of
/// what the data centre will not read again.
pub struct Stabilisation {
    parent: Option<ServerId>,
    children: Vec<(ServerId, Option<Report>)>,
    heard_since_sent: usize,
    collector: Collector,
}

impl Stabilisation {
    /// The place of `me` in a tree of `fan_out` children a node.
    pub fn new(me: ServerId, topology: &Topology, fan_out: usize) -> Self {
        let (n, fan_out) = (me.partition.index(), fan_out.max(1));
        let server = |n: usize| ServerId::new(me.dc, PartitionId(n as u16));
        let children = (n * fan_out + 1..=n * fan_out + fan_out).filter(|child| *child < topology.partitions);
        Self {
            parent: (n > 0).then(|| server((n - 1) / fan_out)),
            children: children.map(|child| (server(child), None)).collect(),
            heard_since_sent: 0,
            collector: Collector::default(),
        }
    }

    /// At every θ: passes on the aggregate of `mine` and what the children last said. At the root that is the
    /// data centre's stable vector, which is returned.
    ///
    /// `wrap` makes a message of the protocol, here and below.
    pub fn tick<P: Protocol>(
        &mut self,
        mine: Report,
        wrap: fn(Tree) -> P::Peer,
        cx: &mut Cx<'_, P>,
    ) -> Option<Vector> {
        let report = self.aggregate(mine)?;
        match self.parent {
            Some(parent) => {
                cx.send(parent, wrap(Tree::Up(report)));
                None
            }
            None => Some(self.down(report, wrap, cx)),
        }
    }

    /// Takes a message. An inner node does not wait for its own θ once every child has reported again. Returns
    /// the data centre's stable vector whenever it learns of one; it is passed on already.
    pub fn on_message<P: Protocol>(
        &mut self,
        (from, message): (ServerId, Tree),
        mine: Report,
        wrap: fn(Tree) -> P::Peer,
        cx: &mut Cx<'_, P>,
    ) -> Option<Vector> {
        match message {
            Tree::Up(report) => {
                if self.hear(from, report) {
                    self.tick(mine, wrap, cx)
                } else {
                    None
                }
            }
            Tree::Down(report) => Some(self.down(report, wrap, cx)),
        }
    }

    /// Collects a piece of what is safe to collect: `safe(point, version)` says whether a version is in the
    /// snapshot at `point`.
    pub fn collect<P: Protocol>(
        &mut self,
        cx: &mut Cx<'_, P>,
        safe: impl FnMut(&Vector, &Version<P::Meta>) -> bool,
    ) -> Collected {
        self.collector.work(cx.store, safe)
    }

    /// Below this nobody in the data centre reads any more.
    pub fn safe(&self) -> &Vector {
        self.collector.safe()
    }

    /// Takes a child's report; true if every child has now reported since the last aggregate was passed on.
    fn hear(&mut self, child: ServerId, report: Report) -> bool {
        if let Some((_, last)) = self.children.iter_mut().find(|(server, _)| *server == child) {
            *last = Some(report);
            self.heard_since_sent += 1;
        }
        self.heard_since_sent >= self.children.len()
    }

    /// The aggregate of `mine` and the last report of every child; none while a child has never reported.
    fn aggregate(&mut self, mine: Report) -> Option<Report> {
        let mut report = mine;
        for (_, last) in &self.children {
            let last = last.as_ref()?;
            report.stable.meet(&last.stable);
            report.safe.meet(&last.safe);
        }
        self.heard_since_sent = 0;
        Some(report)
    }

    fn down<P: Protocol>(&mut self, report: Report, wrap: fn(Tree) -> P::Peer, cx: &mut Cx<'_, P>) -> Vector {
        self.collector.raise(&report.safe, cx.store);
        self.children.iter().for_each(|(child, _)| cx.send(*child, wrap(Tree::Down(report.clone()))));
        report.stable
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidemark_core::{DcId, Hlc};

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
