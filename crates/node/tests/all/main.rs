//! Nodes as their drivers see them: clusters in virtual time, over pipes of bytes.

mod broadcasts;
mod encoding;
mod findings;
mod harness;
mod leaders;
mod links;
mod operations;
mod shared;
