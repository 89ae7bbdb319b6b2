//! Stabilisation by an aggregation tree: how the servers of a data centre learn what all of them have.
//!
//! Source: GentleRain (001) §4.5, used alike by CausalSpartanX (000 §5.2.2) and those that followed. The
//! servers of a data centre form a tree by partition number, `fan_out` children a node. Values travel up as
//! entry-wise minima; the root's value is the data centre's, and travels down.
//!
//! Every value used is a lower bound of the true minimum at the moment it is used, because what it is the
//! minimum of only rises. So a lost or late message costs freshness and nothing else, and a receiver merges
//! with `max`, never by assignment (erratum E-2).

use crate::Topology;
use serde::{Deserialize, Serialize};
use tidemark_core::{PartitionId, ServerId, Vector};

/// What travels: two vectors that are minimised along the tree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// Upwards: what the sender's subtree has received. Downwards: the stable vector.
    pub stable: Vector,
    /// Below this no snapshot will be read again, as far as the subtree (downwards: the data centre) knows.
    pub safe: Vector,
}

/// Where one server stands in the tree of its data centre, and what its children last said.
pub struct Stabilisation {
    parent: Option<ServerId>,
    children: Vec<(ServerId, Option<Report>)>,
    heard_since_sent: usize,
}

/// What to do with an aggregate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pass {
    /// Send it to the parent.
    Up(ServerId, Report),
    /// This server is the root: the aggregate is the data centre's value. Adopt it and send it to the children.
    Down(Report),
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
        }
    }

    /// The servers below this one.
    pub fn children(&self) -> impl Iterator<Item = ServerId> + '_ {
        self.children.iter().map(|(child, _)| *child)
    }

    /// Takes a child's report; true if every child has now reported since the last aggregate was passed on,
    /// so that it is time to pass on the next.
    pub fn on_report(&mut self, child: ServerId, report: Report) -> bool {
        if let Some((_, last)) = self.children.iter_mut().find(|(server, _)| *server == child) {
            *last = Some(report);
            self.heard_since_sent += 1;
        }
        self.heard_since_sent >= self.children.len()
    }

    /// The aggregate of `mine` and the last report of every child; none while a child has never reported.
    pub fn aggregate(&mut self, mine: Report) -> Option<Pass> {
        let mut report = mine;
        for (_, last) in &self.children {
            let last = last.as_ref()?;
            report.stable.meet(&last.stable);
            report.safe.meet(&last.safe);
        }
        self.heard_since_sent = 0;
        Some(match self.parent {
            Some(parent) => Pass::Up(parent, report),
            None => Pass::Down(report),
        })
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
                for child in node.children() {
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
        assert!(!root.on_report(server(1), report([3, 9])));
        assert!(root.on_report(server(2), report([4, 8])));
        assert_eq!(root.aggregate(report([5, 5])), Some(Pass::Down(report([3, 5]))));
        let mut leaf = Stabilisation::new(server(2), &Topology::new(1, 3), 2);
        assert_eq!(leaf.aggregate(report([1, 2])), Some(Pass::Up(server(0), report([1, 2]))));
    }
}
