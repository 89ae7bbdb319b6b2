//! FUNCTION.

use crate::redis::prelude::*;

subcommands! { "function|help", load, delete, list, dump, restore, flush, stats, kill }

const FUNCTION: Spec = Spec { group: Group::Scripting, since: "7.0.0", ..Spec::DEFAULT };

/// There are too many arguments: as Redis says it, which repeats how the client wrote the subcommand.
fn too_many(request: &Request<'_>) -> ErrorReply {
    let given = String::from_utf8_lossy(&request[1]);
    ErrorReply::new(format!(
        "ERR unknown subcommand or wrong number of arguments for '{given}'. Try FUNCTION HELP."
    ))
}

pub(super) static SPEC: Spec = Spec {
    name: "function",
    arity: -2,
    flags: &["admin", "loading", "stale"],
    summary: "Shows and controls functions.",
    subcommands: COMMANDS,
    ..FUNCTION
};
