//! COMMAND: the table for clients to read.

use super::super::command::Call;
use super::super::connection::{Connection, Context, Next};
use super::super::error::ErrorReply;
use super::super::glob::glob_matches;
use super::super::table::{Group, Handler, Keys, Spec, Table};
use super::help;
use bytes::Bytes;
use tidemark_wire::resp::Encoder;

type Answer = Result<Next, ErrorReply>;
type Filter = Box<dyn Fn(&Spec) -> bool>;

const COMMAND: Spec = Spec { flags: &["loading", "stale"], since: "2.8.13", ..Spec::DEFAULT };

pub(in super::super) const SPECS: &[Spec] = &[Spec {
    name: "command",
    arity: -1,
    summary: "Describes every command.",
    handler: Handler::Local(|_, _, _, out| {
        let table = Table::get();
        out.array(table.iter().len());
        table.iter().for_each(|spec| describe(spec, out));
        Ok(Next::Continue)
    }),
    subcommands: &[
        Spec {
            name: "command|count",
            arity: 2,
            summary: "Returns how many commands there are.",
            handler: Handler::Local(|_, _, _, out| {
                out.integer(Table::get().iter().len() as i64);
                Ok(Next::Continue)
            }),
            ..COMMAND
        },
        Spec {
            name: "command|info",
            arity: -2,
            syntax: "[command-name [command-name ...]]",
            summary: "Describes some commands.",
            handler: Handler::Local(info),
            ..COMMAND
        },
        Spec {
            name: "command|docs",
            arity: -2,
            since: "7.0.0",
            syntax: "[command-name [command-name ...]]",
            summary: "Documents some commands, or all.",
            remark: "Arguments as they are written, without their types.",
            handler: Handler::Local(docs),
            ..COMMAND
        },
        Spec {
            name: "command|list",
            arity: -2,
            since: "7.0.0",
            syntax: "[FILTERBY <MODULE name | ACLCAT category | PATTERN pattern>]",
            summary: "Returns the names of the commands.",
            handler: Handler::Local(list),
            ..COMMAND
        },
        Spec {
            name: "command|getkeys",
            arity: -4,
            syntax: "command [arg [arg ...]]",
            summary: "Returns the keys of a command.",
            handler: Handler::Local(get_keys),
            ..COMMAND
        },
        help::row("command|help"),
    ],
    ..COMMAND
}];

/// The categories that Redis's access lists would put it in.
fn categories(spec: &Spec) -> Vec<&'static str> {
    let mut found = Vec::new();
    let mut put = |condition: bool, category| {
        if condition {
            found.push(category);
        }
    };
    put(spec.has("write"), "@write");
    put(spec.has("readonly"), "@read");
    put(spec.has("admin"), "@admin");
    put(spec.has("admin") || matches!(spec.name, "keys" | "flushall" | "flushdb"), "@dangerous");
    put(spec.group == Group::Connection, "@connection");
    put(spec.group == Group::String, "@string");
    put(spec.group == Group::Generic, "@keyspace");
    put(spec.has("fast"), "@fast");
    put(!spec.has("fast"), "@slow");
    found
}

fn names(out: &mut Encoder<'_>, names: &[&str]) {
    out.set(names.len());
    names.iter().for_each(|name| out.simple(name));
}

/// One entry of COMMAND: ten elements.
fn describe(spec: &Spec, out: &mut Encoder<'_>) {
    out.array(10);
    out.bulk(spec.name);
    out.integer(i64::from(spec.arity));
    names(out, spec.flags);
    for position in [spec.keys.first, spec.keys.last, spec.keys.step] {
        out.integer(i64::from(position));
    }
    names(out, &categories(spec));
    // Tips.
    out.set(0);
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
    names(out, if spec.has("readonly") { &["RO", "access"] } else { &["RW", "access", "update"] });
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

fn info(_: &mut Connection, call: &Call, _: &mut Context<'_>, out: &mut Encoder<'_>) -> Answer {
    let table = Table::get();
    if call.arguments.is_empty() {
        out.array(table.iter().len());
        table.iter().for_each(|spec| describe(spec, out));
        return Ok(Next::Continue);
    }
    out.array(call.arguments.len());
    for name in &call.arguments {
        match table.any(name) {
            Some(spec) => describe(spec, out),
            None => out.null(),
        }
    }
    Ok(Next::Continue)
}

fn docs(_: &mut Connection, call: &Call, _: &mut Context<'_>, out: &mut Encoder<'_>) -> Answer {
    let table = Table::get();
    let specs: Vec<&Spec> = if call.arguments.is_empty() {
        table.iter().collect()
    } else {
        call.arguments.iter().filter_map(|name| table.any(name)).collect()
    };
    document(&specs, out);
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
            document(&spec.subcommands.iter().collect::<Vec<_>>(), out);
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
        names(out, &["optional"]);
    }
}

fn list(_: &mut Connection, call: &Call, _: &mut Context<'_>, out: &mut Encoder<'_>) -> Answer {
    let filter: Filter = match &call.arguments[..] {
        [] => Box::new(|_| true),
        [word, by, value] if word.eq_ignore_ascii_case(b"filterby") => filter(by, value.clone())?,
        _ => return Err(ErrorReply::SYNTAX),
    };
    let every = Table::get().iter().flat_map(|spec| std::iter::once(spec).chain(spec.subcommands));
    let found: Vec<&Spec> = every.filter(|spec| filter(spec)).collect();
    out.set(found.len());
    found.iter().for_each(|spec| out.bulk(spec.name));
    Ok(Next::Continue)
}

fn filter(by: &[u8], value: Bytes) -> Result<Filter, ErrorReply> {
    if by.eq_ignore_ascii_case(b"module") {
        Ok(Box::new(|_| false))
    } else if by.eq_ignore_ascii_case(b"aclcat") {
        Ok(Box::new(move |spec| {
            categories(spec).iter().any(|category| category.as_bytes()[1..].eq_ignore_ascii_case(&value))
        }))
    } else if by.eq_ignore_ascii_case(b"pattern") {
        Ok(Box::new(move |spec| glob_matches(&value, spec.name.as_bytes(), true)))
    } else {
        Err(ErrorReply::SYNTAX)
    }
}

fn get_keys(_: &mut Connection, call: &Call, _: &mut Context<'_>, out: &mut Encoder<'_>) -> Answer {
    let arguments = &call.arguments;
    let mut spec = Table::get().command(&arguments[0]);
    if let Some(container) = spec.filter(|spec| !spec.subcommands.is_empty()) {
        spec = container.subcommand(&arguments[1]);
    }
    let spec = spec.ok_or(ErrorReply::fixed("ERR Invalid command specified"))?;
    if spec.keys == Keys::NONE {
        return Err(ErrorReply::fixed("ERR The command has no key arguments"));
    }
    if !spec.takes(arguments.len()) {
        return Err(ErrorReply::fixed("ERR Invalid number of arguments specified for command"));
    }
    let last = if spec.keys.last < 0 { arguments.len() as i32 + spec.keys.last } else { spec.keys.last };
    let keys =
        arguments[..=last as usize].iter().skip(spec.keys.first as usize).step_by(spec.keys.step as usize);
    out.array(keys.len());
    keys.for_each(|key| out.bulk(key));
    Ok(Next::Continue)
}
