//! What one node needs to know to run: the cluster as all nodes see it, and its own share of it.
//!
//! These are plain values. They come from `cluster.toml`, from the environment and from flags; nothing here reads any
//! of them.

use crate::FaultOrder;
use crate::config::{MemoryPolicy, SessionScope};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use tidemark_core::{DcId, Micros, SharedLimit};
pub use tidemark_node::{ClusterLayout, NodeId, NodeLayout, WanLink};
use tidemark_store::log::Fsync;

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
    /// Where edge clients connect; none for no such clients.
    pub edge_listen: Option<SocketAddr>,
    /// The clients' password. Required unless `redis_listen` and `admin_listen` are loopback addresses; at any other
    /// the admin server wants it as a bearer token.
    pub requirepass: Option<String>,
    /// The nodes' shared secret. Required unless `peer_listen` is a loopback address.
    pub peer_secret: Option<String>,
    /// When a write is durable.
    pub fsync: Fsync,
    /// Which connections share one causal past.
    pub session_scope: SessionScope,
    /// How far ahead of physical time a stamp may lie.
    pub max_skew_us: Micros,
    /// The limit of values and records: CONFIG SET changes it.
    pub limit: SharedLimit,
    /// The size of a log segment.
    pub log_segment_bytes: u64,
    /// How much log is kept for absent peers.
    pub log_retain_bytes: u64,
    /// How much log is written between two snapshots.
    pub snapshot_every_bytes: u64,
    /// How much memory may be used before commands that may add data are refused; 0 for no limit.
    pub max_memory_bytes: u64,
    /// Whether keys with deadlines are evicted before that.
    pub max_memory_policy: MemoryPolicy,
    /// So long after their deadlines keys are purged that a cut keeps from being dropped. A region waits 1/60 of it longer than the one before it.
    pub expire_grace_us: Micros,
    /// At most so many clients at once.
    pub max_clients: usize,
    /// How long an operation may wait for answers.
    pub op_deadline_us: Micros,
    /// How long a follower of a group waits for its leader before it wants to lead; members wait up to 0.6 of it longer,
    /// each for another time.
    pub election_timeout_us: Micros,
    /// How long no stream comes from a region before its records are asked for in a third one; 0 is never.
    pub relay_after_us: Micros,
    /// How long the data thread looks for work before it blocks; 0 blocks at once.
    pub spin_us: Micros,
    /// Written once the node serves: one line of JSON with its addresses.
    pub ready_file: Option<PathBuf>,
    /// Faults that hold from the first connection on.
    pub faults: Vec<FaultOrder>,
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
            edge_listen: None,
            requirepass: None,
            peer_secret: None,
            fsync: Fsync::EverySec,
            session_scope: SessionScope::default(),
            max_skew_us: 5_000_000,
            limit: SharedLimit::default(),
            log_segment_bytes: 64 << 20,
            log_retain_bytes: 8 << 30,
            snapshot_every_bytes: 256 << 20,
            max_memory_bytes: 0,
            max_memory_policy: MemoryPolicy::default(),
            expire_grace_us: 600_000_000,
            max_clients: 10_000,
            op_deadline_us: 5_000_000,
            election_timeout_us: 1_000_000,
            relay_after_us: 2_000_000,
            spin_us: 0,
            ready_file: None,
            faults: Vec::new(),
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
        self.session_scope.check(&self.cluster.protocol)?;
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
        if let Some(listen) = self.edge_listen
            && !listen.ip().is_loopback()
            && self.requirepass.is_none()
        {
            return Err(format!(
                "refusing to serve edge clients at {listen}: an address other than loopback needs a password (requirepass)"
            ));
        }
        if self.cluster.nodes.len() > 1 && self.peer_listen.is_none() {
            return Err("a cluster of several nodes needs an address for peers (peer_listen)".to_string());
        }
        Ok(())
    }
}
