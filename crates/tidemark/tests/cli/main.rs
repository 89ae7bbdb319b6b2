//! The command line from outside: real processes, real sockets, `redis-cli`.
//!
//! `./x test` runs this with the release binary (`TIDEMARK_BIN`); without it, the one of this profile is used.

mod bench;
mod config;
mod experiments;
mod faults;
mod harness;
mod lists;
mod membership;
mod nodes;
mod table;
mod up;
