//! MODULE LOADEX.

use super::REFUSED;
use crate::redis::prelude::*;

pub(super) static SPEC: Spec = Spec {
    name: "module|loadex",
    arity: -3,
    since: "7.0.0",
    syntax: "path [CONFIG name value [CONFIG name value ...]] [ARGS args [args ...]]",
    summary: "Loads a module with settings.",
    ..REFUSED
};
