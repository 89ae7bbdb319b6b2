//! MEMORY.

use crate::redis::prelude::*;

subcommands! { "memory|help", doctor, malloc_stats, purge, stats, usage }

const MEMORY: Spec = Spec { since: "4.0.0", ..Spec::DEFAULT };

pub(super) static SPEC: Spec = Spec {
    name: "memory",
    arity: -2,
    summary: "Shows how much memory is used.",
    subcommands: COMMANDS,
    ..MEMORY
};
