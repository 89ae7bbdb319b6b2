//! COMMAND GETKEYSANDFLAGS.

use super::facts::uses_of_key;
use super::getkeys::keys;
use super::{COMMAND, words};
use crate::redis::prelude::*;

pub(super) static SPEC: Spec = Spec {
    name: "command|getkeysandflags",
    arity: -4,
    since: "7.0.0",
    syntax: "command [arg [arg ...]]",
    summary: "Returns the keys of a command, and how it uses each.",
    handler: Handler::Local(answer),
    ..COMMAND
};

fn answer(_: &mut Connection, call: &Call, cx: &mut Context<'_>) -> Answer {
    let (spec, keys) = keys(&call.arguments)?;
    cx.out.array(keys.len());
    for (place, key) in keys.into_iter().enumerate() {
        cx.out.array(2);
        cx.out.bulk(key);
        words(&mut cx.out, uses_of_key(spec, &call.arguments, place));
    }
    Ok(Next::Continue)
}
