//! OBJECT IDLETIME.

use super::OBJECT;
use crate::redis::prelude::*;

pub(super) static SPEC: Spec = Spec {
    name: "object|idletime",
    arity: 3,
    flags: &["readonly"],
    keys: Keys::SECOND,
    family: Family::Get,
    syntax: "key",
    summary: "Returns how long a value has not been used.",
    remark: "0: nothing is evicted by its use, so nobody counts.",
    handler: Handler::Typed(Verb::Idle),
    ..OBJECT
};
