//! Nodes end to end: real sockets, real disks, clients that speak RESP.

mod checking;
mod conflicts;
mod dates;
mod groups;
mod guarantees;
mod limits;
mod links;
mod placement;
mod spread;
mod strings;
mod support;
mod tokens;
