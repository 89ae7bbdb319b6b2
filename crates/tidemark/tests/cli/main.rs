//! The command line from outside: real processes, real sockets, `redis-cli`.
//!
//! The binary is that of this profile, unless `TIDEMARK_BIN` names another one.

mod adapt;
mod bench;
mod bound;
mod compare;
mod config;
mod costs;
mod demo;
mod documents;
mod edge;
mod edge_bench;
mod experiments;
mod faults;
mod harness;
mod lists;
mod map;
mod membership;
mod memory;
mod nodes;
mod orders;
mod rates;
mod readme;
mod searches;
mod sentences;
mod table;
mod up;
