//! SLOWLOG.

use super::ADMIN;
use crate::redis::prelude::*;

subcommands! { "slowlog|help", get, len, reset }

const SLOWLOG: Spec = Spec { flags: ADMIN, since: "2.2.12", ..Spec::DEFAULT };
/// What is said of times.
const TIMES: &str = "The log of this node. The time of a command includes what it waits for other nodes.";

pub(super) static SPEC: Spec =
    Spec { name: "slowlog", arity: -2, summary: "Shows slow commands.", subcommands: COMMANDS, ..SLOWLOG };
