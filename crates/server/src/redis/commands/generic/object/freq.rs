//! OBJECT FREQ.

use super::OBJECT;
use crate::redis::prelude::*;

pub(super) static SPEC: Spec = Spec {
    name: "object|freq",
    arity: 3,
    flags: &["readonly"],
    keys: Keys::SECOND,
    family: Family::Get,
    since: "4.0.0",
    syntax: "key",
    summary: "Returns how often a value is used.",
    remark: "An error, as of a Redis that evicts by no frequency.",
    handler: Handler::Typed(Verb::Frequency),
    ..OBJECT
};
