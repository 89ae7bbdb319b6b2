//! OBJECT.

use super::GENERIC;
use crate::redis::prelude::*;

subcommands! { "object|help", encoding, freq, idletime, refcount }

const OBJECT: Spec = Spec { since: "2.2.3", ..GENERIC };

pub(super) static SPEC: Spec = Spec {
    name: "object",
    arity: -2,
    summary: "Shows how a value is stored.",
    subcommands: COMMANDS,
    ..OBJECT
};
