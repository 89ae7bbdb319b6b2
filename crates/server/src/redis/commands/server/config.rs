//! CONFIG.

use crate::redis::prelude::*;

subcommands! { "config|help", get, set, resetstat, rewrite }

const CONFIG: Spec = Spec { since: "2.0.0", ..Spec::DEFAULT };
const FLAGS: &[&str] = &["admin", "noscript", "loading", "stale"];

pub(super) static SPEC: Spec = Spec {
    name: "config",
    arity: -2,
    summary: "Shows and changes the settings of the server.",
    subcommands: COMMANDS,
    ..CONFIG
};
