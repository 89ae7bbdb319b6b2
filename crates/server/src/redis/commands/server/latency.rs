//! LATENCY.

use super::{ADMIN, EMPTY, empty, zero};
use crate::redis::prelude::*;

subcommands! { "latency|help", latest, history, histogram, reset }

const LATENCY: Spec = Spec { flags: ADMIN, since: "2.8.13", ..Spec::DEFAULT };

pub(super) static SPEC: Spec =
    Spec { name: "latency", arity: -2, summary: "Shows latency spikes.", subcommands: COMMANDS, ..LATENCY };
