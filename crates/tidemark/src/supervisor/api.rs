//! What other terminals say to the supervisor of a running cluster, and what it answers: JSON over HTTP on
//! loopback, with the token that stands in `up.json`.

use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use tidemark_adapt::Account;
use tidemark_contract::grouping::Division;
pub(crate) use tidemark_server::LinkFault as Fault;

/// The words for a node that did not answer in time.
pub(crate) const NOT_TOLD: &str = "has not been told, and will be told once it answers";

/// `up.json`: where a running cluster is.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Running {
    /// The supervisor's process.
    pub(crate) pid: u32,
    /// Where it listens: `127.0.0.1:port`.
    pub(crate) control: String,
    /// What requests must bear.
    pub(crate) token: String,
    /// The cluster's directory.
    pub(crate) dir: PathBuf,
}

/// Something to be done to a running cluster.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) enum Action {
    /// Nothing passes between two places any more.
    Cut { from: String, to: String, one_way: bool },
    /// Everything passes again: between two places, or everywhere.
    Heal { between: Option<(String, String)> },
    /// What passes between two places takes longer, or what one node says to all others; zero ends it.
    Slow { from: String, to: Option<String>, by_us: u64, one_way: bool },
    /// The clocks of the nodes of a region, or of one node, are ahead of the machine's; zero ends it.
    Skew { target: String, by_us: i64 },
    /// Goes on without a region; for good, if the protocol excludes in no other way.
    Exclude { region: String, for_good: bool },
    /// Takes it back.
    Readmit { region: String },
    /// Takes a node out of its group.
    Remove { node: String },
    /// Changes groups of servers; their regions are named as users name them.
    Regroup { change: Regroup },
    /// Starts a node of a group with an empty directory.
    Replace { node: String },
    /// Kills the nodes of a region, one node, or the node that serves a partition, with SIGKILL.
    Kill { target: String },
    /// Starts them again; stops them cleanly before if they run.
    Restart { target: String },
}

/// A change of groups of servers, each of which is written `a/0`, `a/*`, `*/0` or `*`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) enum Regroup {
    /// A checking group comes.
    Add { name: String, servers: Vec<String> },
    /// One goes.
    Remove { name: String },
    /// Servers share entries of dependencies in one of the usual ways, or by groups.
    Track { division: Option<Division>, groups: Vec<(String, Vec<String>)> },
}

/// What became of an [`Action`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Done {
    /// In words: what was done, or why not.
    pub(crate) message: String,
}

/// `tidemark status`
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct ClusterStatus {
    /// The cluster's name.
    pub(crate) name: String,
    /// Its directory.
    pub(crate) dir: PathBuf,
    /// Its protocol.
    pub(crate) protocol: String,
    /// What the protocol promises.
    pub(crate) promise: String,
    /// Partitions a region.
    pub(crate) partitions: usize,
    /// Every node.
    pub(crate) nodes: Vec<NodeStatus>,
    /// Links that are cut or slow.
    pub(crate) faults: Vec<Fault>,
    /// Nodes that are slow, or whose clocks are wrong.
    pub(crate) node_faults: Vec<NodeFault>,
    /// Nodes that run and do not know of all that is ordered.
    pub(crate) untold: Vec<Untold>,
    /// An exclusion or a readmission that is carried out once all nodes answer.
    pub(crate) membership_waits: Option<String>,
    /// What became of checking groups that follow what clients do, if they are to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) adapts: Option<Account>,
}

/// One node.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct NodeStatus {
    /// Its name.
    pub(crate) name: String,
    /// Its region's letter.
    pub(crate) letter: String,
    /// Its region's name.
    pub(crate) region: String,
    /// The partitions it holds.
    pub(crate) partitions: Vec<u16>,
    /// Where Redis clients connect.
    pub(crate) redis: String,
    /// Where it serves HTTP.
    pub(crate) admin: String,
    /// Its process, while it runs.
    pub(crate) pid: Option<u32>,
    /// `running`, `starting`, `killed`, or how it died.
    pub(crate) state: String,
    /// Its log.
    pub(crate) log: PathBuf,
    /// What it says of itself, while it runs.
    pub(crate) detail: Option<serde_json::Value>,
}

/// What is wrong with a node, by order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct NodeFault {
    /// Its name.
    pub(crate) node: String,
    /// Whatever it says to other nodes leaves so much later.
    pub(crate) slow_us: u64,
    /// Its clock is so far ahead of the machine's.
    pub(crate) ahead_us: i64,
}

/// A node that has not heard of an order.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Untold {
    /// Its name.
    pub(crate) node: String,
    /// For how long it has not answered.
    pub(crate) since_s: u64,
    /// The failure that came instead of an answer.
    pub(crate) why: String,
}
