//! COMMAND GETKEYS.

use super::COMMAND;
use crate::redis::prelude::*;
use crate::redis::table::Table;

pub(super) static SPEC: Spec = Spec {
    name: "command|getkeys",
    arity: -4,
    syntax: "command [arg [arg ...]]",
    summary: "Returns the keys of a command.",
    handler: Handler::Local(answer),
    ..COMMAND
};

fn answer(_: &mut Connection, call: &Call, cx: &mut Context<'_>) -> Answer {
    let (_, keys) = keys(&call.arguments)?;
    cx.out.array(keys.len());
    keys.iter().for_each(|key| cx.out.bulk(key));
    Ok(Next::Continue)
}

/// The row of a command, and its keys.
pub(super) fn keys(arguments: &[Bytes]) -> Result<(&'static Spec, Vec<&Bytes>), ErrorReply> {
    let mut spec = Table::get().command(&arguments[0]);
    if let Some(container) = spec.filter(|spec| !spec.subcommands.is_empty()) {
        spec = container.subcommand(&arguments[1]);
    }
    let spec = spec.ok_or(ErrorReply::fixed("ERR Invalid command specified"))?;
    if spec.name.starts_with("eval") {
        return keys_of_script(spec, arguments);
    }
    if spec.keys == Keys::NONE {
        return Err(ErrorReply::fixed("ERR The command has no key arguments"));
    }
    if !spec.takes(arguments.len()) {
        return Err(ErrorReply::fixed("ERR Invalid number of arguments specified for command"));
    }
    let last = if spec.keys.last < 0 { arguments.len() as i32 + spec.keys.last } else { spec.keys.last };
    let keys =
        arguments[..=last as usize].iter().skip(spec.keys.first as usize).step_by(spec.keys.step as usize);
    Ok((spec, keys.collect()))
}

/// The keys behind the count of keys.
fn keys_of_script<'a>(
    spec: &'static Spec,
    arguments: &'a [Bytes],
) -> Result<(&'static Spec, Vec<&'a Bytes>), ErrorReply> {
    const INVALID: ErrorReply = ErrorReply::fixed("ERR Invalid arguments specified for command");
    let behind = arguments.get(3..).ok_or(INVALID)?;
    let count = integer(&arguments[2]).ok().and_then(|count| usize::try_from(count).ok()).ok_or(INVALID)?;
    let keys = behind.get(..count).ok_or(INVALID)?;
    if keys.is_empty() {
        return Err(ErrorReply::fixed("ERR The command has no key arguments"));
    }
    Ok((spec, keys.iter().collect()))
}
