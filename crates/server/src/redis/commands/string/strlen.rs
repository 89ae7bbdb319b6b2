//! STRLEN.

use super::STRING;
use crate::redis::commands::flags::FAST_READ;
use crate::redis::prelude::*;

pub(super) static SPEC: Spec = Spec {
    name: "strlen",
    arity: 2,
    flags: FAST_READ,
    family: Family::Get,
    since: "2.2.0",
    syntax: "key",
    summary: "Returns the length of a value.",
    handler: Handler::Typed(Verb::StrLen),
    ..STRING
};
