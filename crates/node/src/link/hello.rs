//! The first frame of a connection between nodes, and the answer: whether they belong together.

use crate::founding::Standing;
use crate::layout::{ClusterLayout, NodeId};
use serde::{Deserialize, Serialize};
use tidemark_contract::Topology;

/// What a connection is for. Encoded by position: the order is part of the wire format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum LinkKind {
    /// The caller says things.
    Messages,
    /// The caller wants records.
    Stream,
    /// The caller says things to another of its group, about their agreement.
    Raft,
    /// The caller leads the group of the other, and has a copy of everything for it.
    Copy,
}

/// One start of a server: of a node that holds its partitions alone, or of a group, which starts anew with each leader.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Epoch {
    /// The name of its log.
    pub incarnation: u64,
    /// The number of this start.
    pub number: u64,
}

/// Who speaks.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Speaker {
    /// This start of its process: a random number.
    pub start: u64,
    /// It serves its partitions: it holds them alone, or leads its group.
    pub serves: Option<Epoch>,
    /// How it stands in its group. A caller cannot tell yet whether it founded it with whom it calls: only an answer says so.
    pub standing: Standing,
}

/// The caller introduces itself.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Hello {
    cluster: String,
    secret: String,
    protocol: String,
    topology: Topology,
    /// How many nodes of a region hold the same, and a sum of who lives where, as the caller has it.
    replicas: usize,
    homes: u32,
    /// Who calls.
    pub from: NodeId,
    to: NodeId,
    /// The caller, as it stands.
    pub speaker: Speaker,
    /// What the connection is for.
    pub kind: LinkKind,
}

/// The answer.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Welcome {
    /// They do, and this is who answers.
    Accepted(Speaker),
    /// Why not, in words for the caller's log.
    Refused(String),
}

impl Hello {
    /// What node `from` says to node `to` of `cluster`.
    pub fn new(
        cluster: &ClusterLayout,
        secret: Option<&str>,
        protocol: &str,
        (from, to): (NodeId, NodeId),
        speaker: Speaker,
        kind: LinkKind,
    ) -> Self {
        Self {
            cluster: cluster.name.clone(),
            secret: secret.unwrap_or_default().to_string(),
            protocol: protocol.to_string(),
            topology: cluster.topology.clone(),
            replicas: cluster.replicas,
            homes: cluster.sum_of_homes(),
            from,
            to,
            speaker,
            kind,
        }
    }

    /// Whether the caller belongs to `cluster`, of which this is node `me`; if not, why not. A caller without the
    /// secret learns nothing else.
    ///
    /// # Errors
    /// What is different, in words for the caller's log.
    pub fn check(
        &self,
        cluster: &ClusterLayout,
        secret: Option<&str>,
        protocol: &str,
        me: NodeId,
    ) -> Result<(), String> {
        if !same(self.secret.as_bytes(), secret.unwrap_or_default().as_bytes()) {
            return Err("the shared secret (peer_secret) is another one".to_string());
        }
        if self.cluster != cluster.name {
            return Err(format!("this is cluster '{}', not '{}'", cluster.name, self.cluster));
        }
        if self.protocol != protocol {
            return Err(format!("this cluster runs protocol {protocol}, not {}", self.protocol));
        }
        if self.topology != cluster.topology {
            let (mine, theirs) = (&cluster.topology, &self.topology);
            if mine.placement != theirs.placement {
                return Err("the two cluster files place keys in different regions".to_string());
            }
            return Err(format!(
                "this cluster has {} regions of {} partitions, the caller's {} of {}",
                mine.dcs, mine.partitions, theirs.dcs, theirs.partitions
            ));
        }
        if self.replicas != cluster.replicas {
            let (mine, theirs) = (cluster.replicas, self.replicas);
            return Err(format!("this cluster keeps {mine} replicas, the caller's {theirs}"));
        }
        if self.homes != cluster.sum_of_homes() {
            return Err("the two cluster files place partitions on different nodes".to_string());
        }
        let name = |node: NodeId| cluster.nodes.get(node.index()).map_or("?", |node| node.name.as_str());
        if self.to != me {
            return Err(format!("this is node {}, not {}: check the addresses", name(me), name(self.to)));
        }
        if self.from == me || self.from.index() >= cluster.nodes.len() {
            return Err(format!("node {} calls itself", name(me)));
        }
        if matches!(self.kind, LinkKind::Raft | LinkKind::Copy) {
            let groups = cluster.groups();
            if groups.of_node(self.from) != groups.of_node(me) {
                let (from, me) = (name(self.from), name(me));
                return Err(format!("node {from} is not a member of the Raft group of node {me}"));
            }
        }
        Ok(())
    }
}

/// Compares without telling by its duration where two secrets differ.
fn same(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a.iter().zip(b).fold(0, |differs, (x, y)| differs | (x ^ y)) == 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::NodeLayout;
    use tidemark_core::DcId;

    #[test]
    fn nodes_that_do_not_belong_together_are_told_why() {
        let mut cluster = ClusterLayout::single("causal", 2);
        cluster.nodes.push(cluster.nodes[0].clone());
        let speaker = Speaker { start: 1, serves: None, standing: Standing::default() };
        let hello = |cluster: &ClusterLayout, secret, protocol, to| {
            let nodes = (NodeId(0), NodeId(to));
            Hello::new(cluster, secret, protocol, nodes, speaker, LinkKind::Stream)
        };
        let check = |hello: Hello| hello.check(&cluster, Some("s"), "p", NodeId(1)).err().unwrap_or_default();
        assert_eq!(check(hello(&cluster, Some("s"), "p", 1)), "");
        assert!(check(hello(&cluster, Some("t"), "p", 1)).contains("secret"));
        assert!(check(hello(&cluster, None, "p", 1)).contains("secret"));
        assert!(check(hello(&cluster, Some("s"), "q", 1)).contains("protocol"));
        assert!(check(hello(&cluster, Some("s"), "p", 0)).contains("addresses"));
        let other = ClusterLayout { name: "other".into(), ..cluster.clone() };
        assert!(check(hello(&other, Some("s"), "p", 1)).contains("other"));
        let more = ClusterLayout { replicas: 3, ..cluster.clone() };
        assert!(check(hello(&more, Some("s"), "p", 1)).contains("the caller's 3"));
        let larger = ClusterLayout { topology: Topology::new(1, 3), ..cluster.clone() };
        assert!(check(hello(&larger, Some("s"), "p", 1)).contains("partitions"));
    }

    /// Nodes 0 and 1 are a Raft group, and so are 2 and 3.
    #[test]
    fn raft_messages_and_copies_come_from_members_of_the_raft_group_alone() {
        let mut cluster = ClusterLayout::single("causal", 1);
        let node = cluster.nodes[0].clone();
        cluster.nodes = [0, 0, 1, 1].map(|dc| NodeLayout { dc: DcId(dc), ..node.clone() }).to_vec();
        (cluster.topology, cluster.replicas) = (Topology::new(2, 1), 2);
        let speaker = Speaker { start: 1, serves: None, standing: Standing::default() };
        let check = |from, kind| {
            let nodes = (NodeId(from), NodeId(0));
            let hello = Hello::new(&cluster, None, "p", nodes, speaker, kind);
            hello.check(&cluster, None, "p", NodeId(0)).err().unwrap_or_default()
        };
        for kind in [LinkKind::Raft, LinkKind::Copy] {
            assert_eq!(check(1, kind), "");
            assert!(check(2, kind).contains("not a member of the Raft group"), "{kind:?}");
        }
        for kind in [LinkKind::Messages, LinkKind::Stream] {
            assert_eq!((check(1, kind), check(2, kind)), (String::new(), String::new()));
        }
    }
}
