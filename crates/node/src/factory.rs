//! Nodes of a protocol that is chosen by name while the program runs.

use crate::config::Config;
use crate::follow::FactoryGroups;
use crate::node::Node;
use serde_json::{Map, Value};
use std::sync::Arc;
use tidemark_contract::{Info, Topology};
use tidemark_replica::Now;
use tidemark_store::disk::Disk;

/// The node could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The configuration is wrong.
    #[error("{0}")]
    Config(String),
    /// The directory cannot be used.
    #[error("{0}")]
    Failed(String),
    /// The disk is full. What is there can be read: on a [`tidemark_store::disk::Overlay`] it opens.
    #[error("{0}")]
    Full(String),
}

/// What can be done with a protocol, without its type.
pub trait Factory: FactoryGroups + Sync {
    /// What the protocol says about itself.
    fn info(&self) -> &'static Info;

    /// The protocol's name.
    fn name(&self) -> &'static str {
        self.info().name
    }

    /// Whether its sessions remember anything that could be handed to another session.
    fn remembers(&self) -> bool;

    /// Whether keys can be of data types.
    fn has_types(&self) -> bool;

    /// Its parameters with their defaults; empty if it has none.
    fn default_params(&self) -> Map<String, Value>;

    /// Its parameters for one schedule of many: what should not be the same in all is chosen by `pick`, which returns a number
    /// below the one it is given.
    fn vary(&self, topology: &Topology, pick: &mut dyn FnMut(usize) -> usize) -> Map<String, Value>;

    /// Whether `params` are parameters of the protocol, and whether they fit `topology`, if one is given.
    ///
    /// # Errors
    /// What is wrong with them.
    fn check_params(&self, params: &Value, topology: Option<&Topology>) -> Result<(), String>;

    /// Opens a node: recovers what its directory holds. A member of a Raft group whose directory is empty waits for what
    /// the others say.
    ///
    /// # Errors
    /// See [`OpenError`].
    fn open(&self, config: Config, disk: Arc<dyn Disk>, now: Now) -> Result<Box<dyn Node>, OpenError>;
}
