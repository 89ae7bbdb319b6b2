//! The node of the default protocol, compiled by itself: `release` optimises this crate as a whole, which for the nodes of all
//! protocols would take the compiler twice as long.

use tidemark_node::factory::Factory;
use tidemark_protocols::Tidemark;

/// Makes nodes that run the default protocol.
pub fn factory() -> &'static dyn Factory {
    tidemark_node::factory_of::<Tidemark>()
}
