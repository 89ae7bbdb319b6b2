//! Sockets: runtime, links between regions, Redis gateway, admin HTTP.

mod admin;
mod allocated;
mod clock;
pub mod config;
mod edge;
mod gateway;
mod net;
pub mod node;
pub mod redis;
mod run;
mod stats;

pub use admin::{FaultOrder, LinkFault, Waiting, Wanted};
pub use allocated::Counting;
pub use node::{ClusterLayout, NodeConfig, NodeId, NodeLayout, WanLink};
pub use run::{Hooks, Ready, run_node, run_node_with};

/// Why a node does not start, or stopped.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The configuration contradicts itself.
    #[error("{0}")]
    Config(String),
    /// The node cannot be set up, or cannot go on. Says what to do.
    #[error("{0}")]
    Failed(String),
}
