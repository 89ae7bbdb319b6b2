//! UNLINK.

use super::{GENERIC, del};
use crate::redis::prelude::*;

pub(super) static SPEC: Spec = Spec {
    name: "unlink",
    arity: -2,
    flags: &["write", "fast"],
    keys: Keys::ALL,
    family: Family::Del,
    since: "4.0.0",
    syntax: "key [key ...]",
    summary: "The same as DEL.",
    handler: Handler::Operations(del::parse),
    ..GENERIC
};
