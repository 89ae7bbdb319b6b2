//! A cluster file that has been checked, and what follows from it: who is who, who holds what.

use super::adapt::Adapt;
use super::file::{Fsync, Limits, Secret};
use super::scope::SessionScope;
use super::units::Address;
use super::wan::Wan;
use crate::NodeId;
use std::path::PathBuf;
use std::time::Duration;
use tidemark_contract::Topology;
use tidemark_core::{DcId, PartitionId};

/// A cluster, checked: what is said here holds.
#[derive(Clone, Debug)]
pub struct Cluster {
    /// Its name.
    pub name: String,
    /// The protocol's name in the registry.
    pub protocol: &'static str,
    /// The protocol's numbers, all of them; null if it has none.
    pub params: serde_json::Value,
    /// How many regions and partitions there are.
    pub topology: Topology,
    /// How many nodes of a region hold the same: 1, or the size of each group.
    pub replicas: u8,
    /// When a write is made durable.
    pub fsync: Fsync,
    /// Which connections share one causal past.
    pub session_scope: SessionScope,
    /// What nodes prove to each other.
    pub peer_secret: Option<Secret>,
    /// The password of Redis clients.
    pub requirepass: Option<Secret>,
    /// How far ahead of its clock a server may stamp a write.
    pub max_skew: Duration,
    /// Bounds.
    pub limits: Limits,
    /// The names of the regions: the index is the [`DcId`].
    pub regions: Vec<String>,
    /// The nodes: the index is the [`NodeId`].
    pub nodes: Vec<Node>,
    /// Delays between regions, if they are emulated.
    pub wan: Option<Wan>,
    /// Whether checking groups follow what clients do, and how.
    pub adapt: Option<Adapt>,
}

/// One process of the cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Its name.
    pub name: String,
    /// Its region.
    pub region: DcId,
    /// Where Redis clients connect.
    pub listen: Address,
    /// Where it listens for other nodes.
    pub peer_listen: Address,
    /// Where other nodes dial it.
    pub peer_address: Address,
    /// Where it serves HTTP.
    pub admin_listen: Address,
    /// Where edge clients connect.
    pub edge_listen: Option<Address>,
    /// Its data directory.
    pub dir: PathBuf,
    /// The partitions it holds, in ascending order: at least one.
    pub partitions: Vec<PartitionId>,
}

impl Cluster {
    /// The node called `name`.
    pub fn find_node(&self, name: &str) -> Option<NodeId> {
        self.nodes.iter().position(|node| node.name == name).map(|place| NodeId(place as u16))
    }

    /// The region called `name`, or with that letter.
    pub fn find_region(&self, name: &str) -> Option<DcId> {
        let by_name = self.regions.iter().position(|region| region.eq_ignore_ascii_case(name));
        let by_name = by_name.map(|place| DcId(place as u8));
        by_name.or_else(|| self.topology.all_dcs().find(|dc| dc.to_string().eq_ignore_ascii_case(name)))
    }

    /// The nodes of a region.
    pub fn nodes_in(&self, region: DcId) -> impl Iterator<Item = (NodeId, &Node)> {
        let numbered = self.nodes.iter().enumerate().map(|(place, node)| (NodeId(place as u16), node));
        numbered.filter(move |(_, node)| node.region == region)
    }

    /// Every node with its id.
    pub fn all_nodes(&self) -> impl Iterator<Item = (NodeId, &Node)> {
        self.nodes.iter().enumerate().map(|(place, node)| (NodeId(place as u16), node))
    }

    /// What nodes and data directories must agree on to belong together: the cluster's name, its protocol,
    /// the number of partitions, and the regions in order. Which node holds what may change.
    pub fn fingerprint(&self) -> u64 {
        let partitions = self.topology.partitions.to_string();
        let words = [self.name.as_str(), self.protocol, &partitions];
        let words = words.into_iter().chain(self.regions.iter().map(String::as_str));
        let mut hash = 0xcbf2_9ce4_8422_2325; // FNV-1a, which no version of anything will change
        for byte in words.flat_map(|word| word.bytes().chain([0])) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
        hash
    }
}
