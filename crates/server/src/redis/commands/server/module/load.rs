//! MODULE LOAD.

use super::REFUSED;
use crate::redis::prelude::*;

pub(super) static SPEC: Spec = Spec {
    name: "module|load",
    arity: -3,
    since: "4.0.0",
    syntax: "path [arg [arg ...]]",
    summary: "Loads a module.",
    ..REFUSED
};
