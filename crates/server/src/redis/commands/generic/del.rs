//! DEL.

use super::{GENERIC, for_each};
use crate::redis::prelude::*;

pub(super) static SPEC: Spec = Spec {
    name: "del",
    arity: -2,
    flags: &["write"],
    keys: Keys::ALL,
    family: Family::Del,
    syntax: "key [key ...]",
    summary: "Deletes keys and returns how many of them existed.",
    remark: "Of a DEL and a concurrent write in another region, the later one wins.",
    handler: Handler::Operations(parse),
    ..GENERIC
};

pub(super) fn parse(request: &mut Request<'_>) -> Parsed {
    Ok(for_each(request, remove, |outcome| Ok(written(outcome)?.0)))
}
