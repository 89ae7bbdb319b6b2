//! TOUCH.

use super::{GENERIC, for_each};
use crate::redis::prelude::*;

pub(super) static SPEC: Spec = Spec {
    name: "touch",
    arity: -2,
    flags: &["readonly", "fast"],
    keys: Keys::ALL,
    family: Family::Exists,
    since: "3.2.1",
    syntax: "key [key ...]",
    summary: "Returns how many of the keys exist.",
    remark: "Nothing counts when a key was used, so nothing changes.",
    handler: Handler::Operations(parse),
    ..GENERIC
};

fn parse(request: &mut Request<'_>) -> Parsed {
    let exists = |outcome| Ok(typed::answer(outcome)? == Reply::Int(1));
    Ok(for_each(request, |key| typed::call(key, Command::new(Verb::Touch, Vec::new())), exists))
}
