//! Nodes as their drivers see them: clusters in virtual time, over pipes of bytes.

mod harness;
mod leaders;
mod links;
mod operations;
