//! Sockets: runtime, links between regions, Redis gateway, admin HTTP.

pub mod config;
pub mod node;
pub mod redis;

pub use node::{ClusterLayout, NodeConfig, NodeId, NodeLayout, WanLink};

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

/// Runs a node until it is told to stop (SIGTERM, SIGINT): blocks. `Ok` is a clean end.
///
/// # Errors
/// See [`ServeError`].
pub fn run_node(_config: NodeConfig) -> Result<(), ServeError> {
    Err(ServeError::Failed("under construction".to_string()))
}
