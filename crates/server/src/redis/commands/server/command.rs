//! COMMAND.

use crate::redis::prelude::*;
use crate::redis::table::Table;

mod facts;

subcommands! { "command|help", count, info, docs, list, getkeys, getkeysandflags }

const COMMAND: Spec = Spec { flags: &["loading", "stale"], since: "2.8.13", ..Spec::DEFAULT };

pub(super) static SPEC: Spec = Spec {
    name: "command",
    arity: -1,
    summary: "Describes every command.",
    handler: Handler::Local(answer),
    subcommands: COMMANDS,
    ..COMMAND
};

fn answer(_: &mut Connection, _: &Call, cx: &mut Context<'_>) -> Answer {
    let table = Table::get();
    cx.out.array(table.iter().len());
    table.iter().for_each(|spec| info::describe(spec, &mut cx.out));
    Ok(Next::Continue)
}

/// The categories that Redis's access lists would put it in.
fn categories(spec: &Spec) -> Vec<&'static str> {
    let dangerous = (spec.has("admin") && !spec.categories.contains(&"@dangerous")).then_some("@dangerous");
    let flags = [("write", "@write"), ("readonly", "@read"), ("admin", "@admin")];
    let flags = flags.into_iter().filter(|(flag, _)| spec.has(flag)).map(|(_, category)| category);
    let speed = if spec.has("fast") { "@fast" } else { "@slow" };
    flags
        .chain(dangerous)
        .chain(spec.categories.iter().copied())
        .chain(spec.group.category())
        .chain([speed])
        .chain(spec.has("blocking").then_some("@blocking"))
        .collect()
}

/// A set of words.
fn words(out: &mut Encoder<'_>, words: &[&str]) {
    out.set(words.len());
    words.iter().for_each(|word| out.simple(word));
}
