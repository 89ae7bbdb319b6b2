//! What one node of a cluster is and says, without sockets, threads or the time of day: a driver brings them.

pub mod faults;
pub mod founding;
pub mod layout;
pub mod link;
pub mod token;

pub use layout::{ClusterLayout, GroupId, Groups, NodeId, NodeLayout, WanLink};
