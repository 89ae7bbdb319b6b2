//! The cluster as all nodes see it: regions, nodes, who holds what, and who holds the same as whom.
//!
//! These are plain values. They come from `cluster.toml`, from the environment and from flags; nothing here reads any
//! of them.

use tidemark_contract::Topology;
use tidemark_core::{DcId, Micros, PartitionId, ServerId};

/// A process of the cluster: its place in [`ClusterLayout::nodes`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
pub struct NodeId(pub u16);

impl NodeId {
    /// Position in [`ClusterLayout::nodes`].
    #[inline]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// The cluster as every node sees it: the same in all of them.
#[derive(Clone, Debug)]
pub struct ClusterLayout {
    /// Its name: nodes of different clusters refuse each other.
    pub name: String,
    /// The protocol's name, or `causal` for the default.
    pub protocol: String,
    /// The protocol's numbers as JSON; null for the paper's.
    pub params: serde_json::Value,
    /// How many regions and partitions there are.
    pub topology: Topology,
    /// How many nodes of a region hold the same: 1, or the size of each group.
    pub replicas: usize,
    /// The name of each region, by number.
    pub regions: Vec<String>,
    /// Every node.
    pub nodes: Vec<NodeLayout>,
    /// Emulated distances between regions.
    pub wan: Vec<WanLink>,
    /// Nodes watch where sessions read together, and give those that name no checking group the one that fits.
    pub adapts: bool,
}

/// The groups of a cluster: who holds the same as whom. Without replicas each node is a group of its own.
#[derive(Clone, Debug)]
pub struct Groups {
    /// The nodes of each, in the order in which they stand in the cluster file.
    members: Vec<Vec<NodeId>>,
    /// The group of each node.
    of_node: Vec<GroupId>,
    /// The group of each server: region by region, partition by partition.
    of_server: Vec<GroupId>,
    partitions: usize,
}

/// A group: its place in [`Groups`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupId(pub u16);

impl GroupId {
    /// Position in [`Groups`].
    #[inline]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl Groups {
    fn of(cluster: &ClusterLayout) -> Self {
        let Topology { dcs, partitions, .. } = cluster.topology;
        let mut groups = Self {
            members: Vec::new(),
            of_node: Vec::with_capacity(cluster.nodes.len()),
            of_server: vec![GroupId(0); dcs * partitions],
            partitions,
        };
        for (at, node) in cluster.nodes.iter().enumerate() {
            let first = cluster.nodes[..at]
                .iter()
                .position(|other| other.dc == node.dc && other.partitions == node.partitions)
                // A node without partitions is a client of the others.
                .filter(|_| !node.partitions.is_empty());
            let group = match first {
                Some(first) => groups.of_node[first],
                None => {
                    groups.members.push(Vec::new());
                    GroupId(groups.members.len() as u16 - 1)
                }
            };
            groups.members[group.index()].push(NodeId(at as u16));
            groups.of_node.push(group);
            for partition in &node.partitions {
                groups.of_server[node.dc.index() * partitions + partition.index()] = group;
            }
        }
        groups
    }

    /// How many there are: one at least, as no cluster is without nodes.
    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> usize {
        self.members.len()
    }

    /// The nodes of a group.
    #[inline]
    pub fn members(&self, group: GroupId) -> &[NodeId] {
        &self.members[group.index()]
    }

    /// The group of a node.
    #[inline]
    pub fn of_node(&self, node: NodeId) -> GroupId {
        self.of_node[node.index()]
    }

    /// The group that runs `server`, which exists.
    #[inline]
    pub fn of_server(&self, server: ServerId) -> GroupId {
        self.of_server[server.dc.index() * self.partitions + server.partition.index()]
    }
}

/// One node as the others see it.
#[derive(Clone, Debug)]
pub struct NodeLayout {
    /// Its name.
    pub name: String,
    /// Its region.
    pub dc: DcId,
    /// The partitions that it holds there. Without any it is a client of the others: it only has sessions.
    pub partitions: Vec<PartitionId>,
    /// Where other nodes reach it, as `host:port`.
    pub peer_address: String,
}

/// The emulated distance from one region to another; one entry a direction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WanLink {
    /// The sending region.
    pub from: DcId,
    /// The receiving region.
    pub to: DcId,
    /// One way, in microseconds: half of the round trip.
    pub delay_us: Micros,
    /// At most so much more, at random, in microseconds. Order is kept.
    pub jitter_us: Micros,
    /// In bytes a second; none for no limit.
    pub bytes_per_s: Option<u64>,
}

impl ClusterLayout {
    /// Whether clients of a region may be at one node, and what they ask for at another one. One that holds no partition counts.
    pub fn is_divided(&self, dc: DcId) -> bool {
        self.nodes.iter().filter(|node| node.dc == dc).count() > 1
    }

    /// A cluster of one node: one region that holds everything.
    pub fn single(protocol: &str, partitions: usize) -> Self {
        let node = NodeLayout {
            name: "node".to_string(),
            dc: DcId(0),
            partitions: (0..partitions as u16).map(PartitionId).collect(),
            peer_address: String::new(),
        };
        Self {
            name: "tidemark".to_string(),
            protocol: protocol.to_string(),
            params: serde_json::Value::Null,
            topology: Topology::new(1, partitions),
            replicas: 1,
            regions: vec!["A".to_string()],
            nodes: vec![node],
            wan: Vec::new(),
            adapts: false,
        }
    }

    /// Checks that every partition of every region lives on as many nodes as there are replicas, and that nodes which
    /// share one share all.
    ///
    /// # Errors
    /// What is wrong.
    pub fn validate(&self) -> Result<(), String> {
        let Topology { dcs, partitions, .. } = self.topology;
        if self.regions.len() != dcs {
            return Err(format!("{dcs} regions, but {} names for them", self.regions.len()));
        }
        let mut holders = vec![0; dcs * partitions];
        for node in &self.nodes {
            for partition in &node.partitions {
                if node.dc.index() >= dcs || partition.index() >= partitions {
                    let server = ServerId::new(node.dc, *partition);
                    return Err(format!("node {} holds {server}, which does not exist", node.name));
                }
                holders[node.dc.index() * partitions + partition.index()] += 1;
            }
        }
        if let Some(at) = holders.iter().position(|count| *count != self.replicas) {
            let (region, partition, count) = (&self.regions[at / partitions], at % partitions, holders[at]);
            let what = format!("partition {partition} of region {region} lives on {count} nodes");
            return Err(format!("{what}, not on {}", self.replicas));
        }
        let groups = self.groups();
        for node in (0..self.nodes.len()).map(|at| NodeId(at as u16)) {
            let holds = !self.nodes[node.index()].partitions.is_empty();
            if holds && groups.members(groups.of_node(node)).len() != self.replicas {
                let name = &self.nodes[node.index()].name;
                return Err(format!(
                    "node {name} shares some of its partitions with others: share all, or none"
                ));
            }
        }
        Ok(())
    }

    /// Who holds the same as whom.
    pub fn groups(&self) -> Groups {
        Groups::of(self)
    }

    /// Who holds what, as a number: nodes that differ in it do not belong together.
    pub fn sum_of_homes(&self) -> u32 {
        let homes: Vec<_> = self.nodes.iter().map(|node| (node.dc, &node.partitions)).collect();
        crc32fast::hash(&postcard::to_stdvec(&homes).expect("numbers can be encoded"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cluster(replicas: usize, nodes: &[(u8, &[u16])]) -> ClusterLayout {
        let node = |(at, (dc, held)): (usize, &(u8, &[u16]))| NodeLayout {
            name: format!("n{at}"),
            dc: DcId(*dc),
            partitions: held.iter().copied().map(PartitionId).collect(),
            peer_address: String::new(),
        };
        ClusterLayout {
            topology: Topology::new(2, 2),
            replicas,
            regions: vec!["a".into(), "b".into()],
            nodes: nodes.iter().enumerate().map(node).collect(),
            ..ClusterLayout::single("causal", 2)
        }
    }

    #[test]
    fn nodes_that_hold_the_same_are_a_group() {
        let cluster = cluster(2, &[(0, &[0]), (1, &[0, 1]), (0, &[1]), (0, &[0]), (1, &[0, 1]), (0, &[1])]);
        assert_eq!(cluster.validate(), Ok(()));
        let groups = cluster.groups();
        assert_eq!(groups.len(), 3);
        let of =
            |dc, partition| groups.members(groups.of_server(ServerId::new(DcId(dc), PartitionId(partition))));
        assert_eq!(of(0, 0), [NodeId(0), NodeId(3)]);
        assert_eq!(of(0, 1), [NodeId(2), NodeId(5)]);
        assert_eq!((of(1, 0), of(1, 1)), (&[NodeId(1), NodeId(4)][..], &[NodeId(1), NodeId(4)][..]));
        assert_eq!(groups.of_node(NodeId(3)), groups.of_node(NodeId(0)));
    }

    #[test]
    fn nodes_without_partitions_are_no_group() {
        let cluster =
            cluster(2, &[(0, &[0, 1]), (0, &[]), (0, &[0, 1]), (0, &[]), (1, &[0, 1]), (1, &[0, 1])]);
        assert_eq!(cluster.validate(), Ok(()));
        let groups = cluster.groups();
        assert_eq!(groups.members(groups.of_node(NodeId(1))), [NodeId(1)]);
        assert_eq!(groups.members(groups.of_node(NodeId(3))), [NodeId(3)]);
    }

    #[test]
    fn what_is_not_replicated_as_it_should_be_is_refused() {
        let wrong = |replicas, nodes: &[(u8, &[u16])]| cluster(replicas, nodes).validate().unwrap_err();
        assert!(wrong(1, &[(0, &[0, 1]), (1, &[0])]).contains("partition 1 of region b lives on 0 nodes"));
        assert!(
            wrong(2, &[(0, &[0, 1]), (1, &[0, 1]), (1, &[0, 1])])
                .contains("region a lives on 1 nodes, not on 2")
        );
        let crossed = [(0, &[0, 1][..]), (0, &[0]), (0, &[1]), (1, &[0, 1]), (1, &[0, 1])];
        assert!(wrong(2, &crossed).contains("share all, or none"));
    }
}
