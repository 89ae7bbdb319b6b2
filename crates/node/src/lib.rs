//! A node as a state machine: sessions, requests, links, leadership and replication streams, without sockets, threads or
//! clocks. The server and the simulator drive the same code.

pub mod config;
pub mod cuts;
pub mod factory;
pub mod founding;
pub mod gate;
pub mod job;
pub mod layout;
pub mod link;
pub mod node;
pub mod notice;
pub mod status;
pub mod token;
