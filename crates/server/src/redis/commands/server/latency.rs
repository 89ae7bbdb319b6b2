//! LATENCY.

use super::ADMIN;
use crate::redis::prelude::*;

subcommands! { "latency|help", doctor, graph, histogram, history, latest, reset }

const LATENCY: Spec = Spec { flags: ADMIN, since: "2.8.13", ..Spec::DEFAULT };
/// What is said of events.
const EVENTS: &str = "The events of a node are `command` and `fast-command`.";

pub(super) static SPEC: Spec =
    Spec { name: "latency", arity: -2, summary: "Shows latency spikes.", subcommands: COMMANDS, ..LATENCY };
