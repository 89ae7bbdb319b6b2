//! COMMAND INFO.

use super::facts::{flags, tips, uses};
use super::{COMMAND, categories, words};
use crate::redis::prelude::*;
use crate::redis::table::Table;

pub(super) static SPEC: Spec = Spec {
    name: "command|info",
    arity: -2,
    syntax: "[command-name [command-name ...]]",
    summary: "Describes the named commands, or all of them.",
    handler: Handler::Local(answer),
    ..COMMAND
};

fn answer(connection: &mut Connection, call: &Call, cx: &mut Context<'_>) -> Answer {
    if call.arguments.is_empty() {
        return super::answer(connection, call, cx);
    }
    cx.out.array(call.arguments.len());
    for name in &call.arguments {
        match Table::get().any(name) {
            Some(spec) => describe(spec, &mut cx.out),
            None => cx.out.null(),
        }
    }
    Ok(Next::Continue)
}

/// One entry of COMMAND: ten elements.
pub(super) fn describe(spec: &Spec, out: &mut Encoder<'_>) {
    out.array(10);
    out.bulk(spec.name);
    out.integer(i64::from(spec.arity));
    words(out, &flags(spec));
    for position in [spec.keys.first, spec.keys.last, spec.keys.step] {
        out.integer(i64::from(position));
    }
    words(out, &categories(spec));
    words(out, &tips(spec));
    if spec.keys == Keys::NONE {
        out.set(0);
    } else {
        out.set(1);
        describe_keys(spec, out);
    }
    out.set(spec.subcommands.len());
    spec.subcommands.iter().for_each(|subcommand| describe(subcommand, out));
}

fn describe_keys(spec: &Spec, out: &mut Encoder<'_>) {
    let Keys { first, last, step } = spec.keys;
    out.map(3);
    out.bulk("flags");
    words(out, uses(spec));
    out.bulk("begin_search");
    out.map(2);
    out.bulk("type");
    out.bulk("index");
    out.bulk("spec");
    out.map(1);
    out.bulk("index");
    out.integer(i64::from(first));
    out.bulk("find_keys");
    out.map(2);
    out.bulk("type");
    out.bulk("range");
    out.bulk("spec");
    out.map(3);
    out.bulk("lastkey");
    // Counted from the first key; from the end if negative.
    out.integer(i64::from(if last < 0 { last } else { last - first }));
    out.bulk("keystep");
    out.integer(i64::from(step));
    out.bulk("limit");
    out.integer(0);
}
