//! Edge clients: they keep a cache and a log of their own transactions, and read and commit without the network.
//!
//! - [`frames`] is what a client and its gateway send each other, byte by byte.
//! - [`client`] is the client: events in, effects out.
//! - [`durable`] is what a client keeps on disk, as rows.
//! - [`file`](mod@file) is a file for that.
//! - [`value`] is what it caches, and what its own operations make of that.
//! - [`position`] is where elements of lists stand.
//!
//! But for `file`, nothing here does input or output, reads a clock or draws a random number: bytes, times and seeds are arguments.

pub mod client;
pub mod durable;
pub mod file;
pub mod frames;
pub mod gateway;
pub mod rule;
pub mod transcript;
pub mod value;

pub use tidemark_crdt::position;
