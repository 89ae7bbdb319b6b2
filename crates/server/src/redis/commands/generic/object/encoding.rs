//! OBJECT ENCODING.

use super::OBJECT;
use crate::redis::prelude::*;

pub(super) static SPEC: Spec = Spec {
    name: "object|encoding",
    arity: 3,
    flags: &["readonly"],
    keys: Keys::SECOND,
    family: Family::Get,
    syntax: "key",
    summary: "Returns how Redis would encode a value.",
    remark: "With the default limits of Redis; nothing is stored so.",
    handler: Handler::Typed(Verb::Encoding),
    ..OBJECT
};
