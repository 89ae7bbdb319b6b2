//! The nodes by their names.

use tidemark_protocols::variants;
use tidemark_registry::{CAUSAL, NAMES, by_name};

#[test]
fn every_protocol_that_servers_run_has_a_node_of_its_name() {
    for name in NAMES {
        assert_eq!(by_name(name).map(|factory| factory.name()), Some(*name));
    }
    assert_eq!(by_name("causal").map(|factory| factory.name()), Some(CAUSAL));
    assert!(variants().all(|(_, variant)| by_name(variant.name).is_none()), "they serve nobody");
}
