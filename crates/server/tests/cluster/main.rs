//! Nodes end to end: real sockets, real disks, clients that speak RESP.

mod administration;
mod blocking;
mod checking;
mod conflicts;
mod dates;
mod groups;
mod guarantees;
mod keys;
mod limits;
mod links;
mod notifications;
mod pausing;
mod placement;
mod publications;
mod pubsub;
mod scopes;
mod scripts;
mod spread;
mod streams;
mod strings;
mod support;
mod tokens;
mod transactions;
mod types;
mod waits;
mod watching;
