//! The load generator against real sockets: `redis-server`, and servers that stall, lie, fall silent and die.

mod command;
mod faults;
mod omission;
mod pairs;
mod rates;
mod redis;
mod servers;
mod visibility;
