//! What one node needs to know to run: the cluster as all nodes see it, and its own share of it.
//!
//! These are plain values. They come from `cluster.toml`, from the environment and from flags; nothing here reads any
//! of them.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use tidemark_contract::Topology;
use tidemark_core::{DcId, Micros, PartitionId, ServerId};
use tidemark_store::log::Fsync;

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
pub(crate) struct Groups {
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
pub(crate) struct GroupId(pub(crate) u16);

impl GroupId {
    #[inline]
    pub(crate) fn index(self) -> usize {
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
                .position(|other| other.dc == node.dc && other.partitions == node.partitions);
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

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.members.len()
    }

    /// The nodes of a group.
    #[inline]
    pub(crate) fn members(&self, group: GroupId) -> &[NodeId] {
        &self.members[group.index()]
    }

    /// The group of a node.
    #[inline]
    pub(crate) fn of_node(&self, node: NodeId) -> GroupId {
        self.of_node[node.index()]
    }

    /// The group that runs `server`, which exists.
    #[inline]
    pub(crate) fn of_server(&self, server: ServerId) -> GroupId {
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
    /// The partitions that it holds there.
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

/// What one node needs to run.
#[derive(Clone, Debug)]
pub struct NodeConfig {
    /// The cluster.
    pub cluster: Arc<ClusterLayout>,
    /// Which of its nodes this is.
    pub me: NodeId,
    /// Where its log is kept.
    pub data_dir: PathBuf,
    /// Where Redis clients connect.
    pub redis_listen: SocketAddr,
    /// Where other nodes connect; none in a cluster of one node.
    pub peer_listen: Option<SocketAddr>,
    /// Where the admin HTTP server listens; none for no such server.
    pub admin_listen: Option<SocketAddr>,
    /// The clients' password. Required unless `redis_listen` and `admin_listen` are loopback addresses; at any other
    /// the admin server wants it as a bearer token.
    pub requirepass: Option<String>,
    /// The nodes' shared secret. Required unless `peer_listen` is a loopback address.
    pub peer_secret: Option<String>,
    /// When a write is durable.
    pub fsync: Fsync,
    /// How far ahead of physical time a stamp may lie.
    pub max_skew_us: Micros,
    /// The size of a log segment.
    pub log_segment_bytes: u64,
    /// How much log is kept for absent peers.
    pub log_retain_bytes: u64,
    /// How much log is written between two snapshots.
    pub snapshot_every_bytes: u64,
    /// At most so many clients at once.
    pub max_clients: usize,
    /// How long an operation may wait for answers.
    pub op_deadline_us: Micros,
    /// How long a follower of a group waits for its leader before it wants to lead; members wait up to 0.6 of it longer,
    /// each for another time.
    pub election_timeout_us: Micros,
    /// How long the data thread looks for work before it blocks; 0 blocks at once.
    pub spin_us: Micros,
    /// Written once the node serves: one line of JSON with its addresses.
    pub ready_file: Option<PathBuf>,
}

impl NodeConfig {
    /// Node `me` of `cluster` with default numbers, serving Redis clients at `redis_listen`.
    pub fn new(cluster: Arc<ClusterLayout>, me: NodeId, data_dir: PathBuf, redis_listen: SocketAddr) -> Self {
        Self {
            cluster,
            me,
            data_dir,
            redis_listen,
            peer_listen: None,
            admin_listen: None,
            requirepass: None,
            peer_secret: None,
            fsync: Fsync::EverySec,
            max_skew_us: 5_000_000,
            log_segment_bytes: 64 << 20,
            log_retain_bytes: 8 << 30,
            snapshot_every_bytes: 256 << 20,
            max_clients: 10_000,
            op_deadline_us: 5_000_000,
            election_timeout_us: 1_000_000,
            spin_us: 0,
            ready_file: None,
        }
    }

    /// This node as the others see it.
    pub fn layout(&self) -> &NodeLayout {
        &self.cluster.nodes[self.me.index()]
    }

    /// This node's region.
    pub fn dc(&self) -> DcId {
        self.layout().dc
    }

    /// Checks what no single value can tell.
    ///
    /// # Errors
    /// What is wrong, in words for whoever wrote the configuration.
    pub fn validate(&self) -> Result<(), String> {
        self.cluster.validate()?;
        if self.me.index() >= self.cluster.nodes.len() {
            return Err(format!("there is no node number {} in the cluster", self.me.0));
        }
        if !self.redis_listen.ip().is_loopback() && self.requirepass.is_none() {
            return Err(format!(
                "refusing to serve clients at {}: an address other than loopback needs a password (requirepass)",
                self.redis_listen
            ));
        }
        if let Some(listen) = self.peer_listen
            && !listen.ip().is_loopback()
            && self.peer_secret.is_none()
        {
            return Err(format!(
                "refusing to serve peers at {listen}: an address other than loopback needs a shared secret (peer_secret)"
            ));
        }
        if let Some(listen) = self.admin_listen
            && !listen.ip().is_loopback()
            && self.requirepass.is_none()
        {
            return Err(format!(
                "refusing to serve administrators at {listen}: an address other than loopback needs a password (requirepass)"
            ));
        }
        if self.cluster.nodes.len() > 1 && self.peer_listen.is_none() {
            return Err("a cluster of several nodes needs an address for peers (peer_listen)".to_string());
        }
        Ok(())
    }
}

impl ClusterLayout {
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
            if groups.members(groups.of_node(node)).len() != self.replicas {
                let name = &self.nodes[node.index()].name;
                return Err(format!(
                    "node {name} shares some of its partitions with others: share all, or none"
                ));
            }
        }
        Ok(())
    }

    /// Who holds the same as whom.
    pub(crate) fn groups(&self) -> Groups {
        Groups::of(self)
    }

    /// Who holds what, as a number: nodes that differ in it do not belong together.
    pub(crate) fn sum_of_homes(&self) -> u32 {
        let homes = |node: &NodeLayout| (node.dc, node.partitions.clone());
        let homes: Vec<_> = self.nodes.iter().map(homes).collect();
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
