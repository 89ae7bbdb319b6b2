//! The Redis gateway: a connection is a session, and its commands run in order.

pub(crate) mod client;
pub(crate) mod execute;
pub(crate) mod info;
pub(crate) mod serve;
