//! The node of each protocol, by name.
//!
//! A node is a type for each protocol, and compiling one takes longer than all code that drives it. This crate has them
//! all, and nothing else: whoever needs one asks for it by name, and is compiled in seconds.

use tidemark_node::factory::Factory;
pub use tidemark_protocols::{CAUSAL, NAMES, resolve, variant};
use tidemark_protocols::{Protocol, with_protocol};

/// The nodes of the protocol called `name`; none if servers run no protocol of that name.
pub fn by_name(name: &str) -> Option<&'static dyn Factory> {
    with_protocol!(name, P => Some(tidemark_node::factory_of::<P>()), otherwise None)
}

/// The nodes of `P`, which servers run: compiled here, where [`tidemark_node::factory_of`] compiles them anew.
///
/// # Panics
/// Servers do not run it.
pub fn factory_of<P: Protocol>() -> &'static dyn Factory {
    by_name(P::INFO.name).expect("servers run it")
}
