//! OBJECT REFCOUNT.

use super::OBJECT;
use crate::redis::prelude::*;

pub(super) static SPEC: Spec = Spec {
    name: "object|refcount",
    arity: 3,
    flags: &["readonly"],
    keys: Keys::SECOND,
    family: Family::Get,
    syntax: "key",
    summary: "Returns how many references Redis would have to a value.",
    handler: Handler::Typed(Verb::References),
    ..OBJECT
};
