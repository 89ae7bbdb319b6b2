//! What stands on the connections between nodes: frames, the handshake, messages, and replication streams.

pub mod frame;
pub mod hello;
pub mod message;
pub mod stream;
