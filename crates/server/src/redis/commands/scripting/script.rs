//! SCRIPT.

use super::SCRIPTING;
use crate::redis::prelude::*;

subcommands! { "script|help", load, exists, flush, kill }

const SCRIPT: Spec = Spec { flags: &["noscript"], ..SCRIPTING };

pub(super) static SPEC: Spec = Spec {
    name: "script",
    arity: -2,
    flags: &[],
    summary: "Shows and controls scripts.",
    subcommands: COMMANDS,
    ..SCRIPTING
};
