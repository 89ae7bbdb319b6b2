//! FUNCTION.

use crate::redis::prelude::*;

subcommands! { "function|help", load, delete, list, dump, restore, flush, stats, kill }

const FUNCTION: Spec = Spec { group: Group::Scripting, since: "7.0.0", ..Spec::DEFAULT };

pub(super) static SPEC: Spec = Spec {
    name: "function",
    arity: -2,
    flags: &["admin", "loading", "stale"],
    summary: "Shows and controls functions.",
    subcommands: COMMANDS,
    ..FUNCTION
};
