//! COMMAND DOCS.

use super::{COMMAND, words};
use crate::redis::prelude::*;
use crate::redis::table::Table;

pub(super) static SPEC: Spec = Spec {
    name: "command|docs",
    arity: -2,
    since: "7.0.0",
    syntax: "[command-name [command-name ...]]",
    summary: "Returns the documentation of the named commands, or of all of them.",
    remark: "Arguments are listed as their syntax writes them, without types.",
    handler: Handler::Local(answer),
    ..COMMAND
};

fn answer(_: &mut Connection, call: &Call, cx: &mut Context<'_>) -> Answer {
    let table = Table::get();
    let specs: Vec<&Spec> = if call.arguments.is_empty() {
        table.iter().collect()
    } else {
        call.arguments.iter().filter_map(|name| table.any(name)).collect()
    };
    document(&specs, &mut cx.out);
    Ok(Next::Continue)
}

fn document(specs: &[&Spec], out: &mut Encoder<'_>) {
    out.map(specs.len());
    for spec in specs {
        out.bulk(spec.name);
        let arguments = arguments(spec.syntax);
        out.map(3 + usize::from(!arguments.is_empty()) + usize::from(!spec.subcommands.is_empty()));
        for (key, value) in [("summary", spec.summary), ("since", spec.since), ("group", spec.group.name())] {
            out.bulk(key);
            out.bulk(value);
        }
        if !arguments.is_empty() {
            out.bulk("arguments");
            out.array(arguments.len());
            arguments.iter().for_each(|argument| document_argument(argument, out));
        }
        if !spec.subcommands.is_empty() {
            out.bulk("subcommands");
            document(spec.subcommands, out);
        }
    }
}

/// The words of a syntax, what stands in brackets being one word.
fn arguments(syntax: &str) -> Vec<&str> {
    let (mut found, mut depth, mut start) = (Vec::new(), 0, 0);
    for (at, letter) in syntax.char_indices() {
        match letter {
            '[' | '<' => depth += 1,
            ']' | '>' => depth -= 1,
            ' ' if depth == 0 => {
                found.push(&syntax[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    found.push(&syntax[start..]);
    found.retain(|argument| !argument.is_empty());
    found
}

fn document_argument(argument: &str, out: &mut Encoder<'_>) {
    let optional = argument.strip_prefix('[').and_then(|inner| inner.strip_suffix(']'));
    out.map(2 + usize::from(optional.is_some()));
    out.bulk("name");
    out.bulk(optional.unwrap_or(argument));
    out.bulk("type");
    out.bulk("string");
    if optional.is_some() {
        out.bulk("flags");
        words(out, &["optional"]);
    }
}
