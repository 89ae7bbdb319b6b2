//! Links between nodes: frames, handshakes, messages, replication streams, Raft, copies.

mod copy;
mod ends;
pub mod frame;
mod handshake;
pub mod hello;
pub mod message;
pub(crate) mod parts;
mod raft;
pub(crate) mod relays;
pub mod stream;
mod stream_in;
mod stream_out;
pub(crate) mod table;
mod transmit;
