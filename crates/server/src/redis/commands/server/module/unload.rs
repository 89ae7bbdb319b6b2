//! MODULE UNLOAD.

use super::REFUSED;
use crate::redis::prelude::*;

pub(super) static SPEC: Spec = Spec {
    name: "module|unload",
    arity: 3,
    since: "4.0.0",
    syntax: "name",
    summary: "Unloads a module.",
    ..REFUSED
};
