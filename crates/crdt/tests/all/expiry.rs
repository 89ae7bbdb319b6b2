//! Options of SET and GETEX, deadlines at the ends of what a number holds, and OBJECT answer as those of Redis 7.0.15.

use crate::harness::{Desk, transcript};
use tidemark_core::Reply;

#[test]
fn options_of_set_and_getex_are_those_of_redis() {
    transcript("set_options");
}

#[test]
fn deadlines_of_all_sizes_are_those_of_redis() {
    transcript("expiry");
}

/// Redis 7.0.15 replies so to `SET k <value>` and OBJECT.
#[test]
fn objects_are_described_as_redis_does() {
    let mut desk = Desk::new(1, false);
    for (value, references) in [("0", 2147483647), ("9999", 2147483647), ("10000", 1), ("-1", 1), ("v", 1)] {
        desk.run(&format!("set k {value}"));
        assert_eq!(desk.run("object|refcount k"), Reply::Int(references), "{value}");
    }
    assert_eq!(desk.run("object|idletime k"), Reply::Int(0));
    assert!(
        matches!(desk.run("object|freq k"), Reply::Error(text) if text.starts_with("ERR An LFU maxmemory"))
    );
    for command in ["object|refcount none", "object|idletime none", "object|freq none"] {
        assert_eq!(desk.run(command), Reply::Null, "{command}");
    }
}
