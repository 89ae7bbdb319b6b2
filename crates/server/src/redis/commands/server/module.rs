//! MODULE.

use super::{ADMIN, EMPTY, empty};
use crate::redis::prelude::*;

subcommands! { "module|help", list }

const MODULE: Spec = Spec { flags: ADMIN, since: "4.0.0", ..Spec::DEFAULT };

pub(super) static SPEC: Spec =
    Spec { name: "module", arity: -2, summary: "Shows modules.", subcommands: COMMANDS, ..MODULE };
