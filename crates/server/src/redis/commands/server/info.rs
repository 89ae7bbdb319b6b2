//! INFO.

mod sections;

use crate::redis::prelude::*;

pub(super) static SPEC: Spec = Spec {
    name: "info",
    arity: -1,
    flags: &["loading", "stale"],
    categories: &["@dangerous"],
    syntax: "[section [section ...]]",
    summary: "Returns figures about the server.",
    remark: "Figures of this node; used_memory is what the process has allocated. Figures that a node does not have are left out.",
    handler: Handler::Local(answer),
    ..Spec::DEFAULT
};

/// The sections in the order in which they are shown, and whether they are shown unless others are asked for.
const SECTIONS: &[(&str, bool)] = &[
    ("server", true),
    ("clients", true),
    ("memory", true),
    ("persistence", true),
    ("stats", true),
    ("replication", true),
    ("cpu", true),
    ("modules", true),
    ("commandstats", false),
    ("errorstats", true),
    ("latencystats", false),
    ("cluster", true),
    ("keyspace", true),
    ("tidemark", true),
];

fn answer(_: &mut Connection, call: &Call, cx: &mut Context<'_>) -> Answer {
    let asked = |name: &str| call.arguments.iter().any(|word| is(word, name));
    let all = asked("all") || asked("everything");
    let default = call.arguments.is_empty() || asked("default");
    let facts = cx.info.facts();
    let mut text = String::new();
    for (name, by_default) in SECTIONS {
        if all || asked(name) || (default && *by_default) {
            if !text.is_empty() {
                text.push_str("\r\n");
            }
            sections::write(&mut text, name, cx, &facts);
        }
    }
    cx.out.verbatim(*b"txt", text);
    Ok(Next::Continue)
}
