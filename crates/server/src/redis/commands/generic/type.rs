//! TYPE.

use super::GENERIC;
use crate::redis::prelude::*;

pub(super) static SPEC: Spec = Spec {
    name: "type",
    arity: 2,
    flags: &["readonly", "fast"],
    keys: Keys::FIRST,
    family: Family::Get,
    syntax: "key",
    summary: "Returns the type of a key's value, or none.",
    handler: Handler::Typed(Verb::Type),
    ..GENERIC
};
