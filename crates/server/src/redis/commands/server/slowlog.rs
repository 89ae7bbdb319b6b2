//! SLOWLOG.

use super::{ADMIN, EMPTY, zero};
use crate::redis::prelude::*;

subcommands! { "slowlog|help", get, len, reset }

const SLOWLOG: Spec = Spec { flags: ADMIN, since: "2.2.12", ..Spec::DEFAULT };

pub(super) static SPEC: Spec =
    Spec { name: "slowlog", arity: -2, summary: "Shows slow commands.", subcommands: COMMANDS, ..SLOWLOG };
