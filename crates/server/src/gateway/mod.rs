//! The Redis gateway: a connection is a session, and its commands run in order.

mod ahead;
mod blocked;
pub(crate) mod bus;
pub(crate) mod changes;
pub(crate) mod client;
pub(crate) mod confirming;
pub(crate) mod deliver;
pub(crate) mod desk;
mod ending;
pub(crate) mod execute;
mod held;
pub(crate) mod info;
mod interactive;
pub(crate) mod listening;
mod local;
mod machine;
pub(crate) mod memory;
mod notes;
pub(crate) mod rights;
pub(crate) mod serve;
mod tracked;
pub(crate) mod visible;
pub(crate) mod waiting;
