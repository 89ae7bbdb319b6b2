//! EXISTS.

use super::{GENERIC, for_each};
use crate::redis::prelude::*;

pub(super) static SPEC: Spec = Spec {
    name: "exists",
    arity: -2,
    flags: &["readonly", "fast"],
    keys: Keys::ALL,
    family: Family::Exists,
    syntax: "key [key ...]",
    summary: "Returns how many of the keys exist.",
    handler: Handler::Operations(parse),
    ..GENERIC
};

fn parse(request: &mut Request<'_>) -> Parsed {
    let exists = |outcome| Ok(typed::answer(outcome)? == Reply::Int(1));
    Ok(for_each(request, |key| typed::call(key, Command::new(Verb::Exists, Vec::new())), exists))
}
