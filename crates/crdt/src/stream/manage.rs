//! XGROUP: groups and consumers come and go.

use super::group::{self, Group, Position};
use super::id::Id;
use super::log::{Log, Mark, remember};
use crate::args::{arity, exactly, int, is};
use crate::draft::{Answer, Draft};
use bytes::Bytes;
use tidemark_core::Reply;

const NO_KEY: Reply = Reply::error(
    "ERR The XGROUP subcommand requires the key to exist. Note that for CREATE you may want to use the MKSTREAM option to \
     create an empty stream automatically.",
);

fn syntax(subcommand: &str) -> Reply {
    let text = "unknown subcommand or wrong number of arguments for";
    Reply::Error(format!("ERR {text} '{subcommand}'. Try XGROUP HELP.").into())
}

/// MKSTREAM and ENTRIESREAD.
#[derive(Default)]
struct Options {
    make: bool,
    read: Option<u64>,
}

fn options(mut args: &[Bytes], subcommand: &str) -> Result<Options, Reply> {
    let mut options = Options::default();
    let creates = subcommand == "CREATE";
    while !args.is_empty() {
        args = match args {
            [word, rest @ ..] if creates && is(word, "mkstream") => {
                options.make = true;
                rest
            }
            [word, value, rest @ ..] if is(word, "entriesread") => {
                options.read = match int(value)? {
                    -1 => None,
                    read => Some(
                        u64::try_from(read)
                            .map_err(|_| Reply::error("ERR value for ENTRIESREAD must be positive or -1"))?,
                    ),
                };
                rest
            }
            _ => return Err(syntax(subcommand)),
        };
    }
    Ok(options)
}

fn begin(
    argument: &[u8],
    log: Option<Log<'_>>,
    parse: fn(&[u8], u64) -> Result<Id, Reply>,
) -> Result<Id, Reply> {
    if argument == b"$" { Ok(log.map_or(Id(0), Log::last)) } else { parse(argument, 0) }
}

pub(super) fn create(draft: &mut Draft<'_>, args: &[Bytes]) -> Answer {
    let [name, id, words @ ..] = args else { return Err(arity("xgroup|create")) };
    let options = options(words, "CREATE")?;
    let log = Log::of(draft)?;
    if log.is_none() && !options.make {
        return Err(NO_KEY);
    }
    if words.len() > 3 {
        return Err(syntax("CREATE"));
    }
    let last = begin(id, log, Id::strict)?;
    if log.is_some_and(|log| Group::find(log, name).is_some()) {
        return Err(Reply::error("BUSYGROUP Consumer Group name already exists"));
    }
    if log.is_none() {
        // The stream stays when its groups are gone.
        remember(draft, Mark::Last, Id(0));
    }
    group::create(draft, log, name, Position { last, read: options.read });
    Ok(Reply::Ok)
}

/// The stream, and the group in it.
fn present<'a>(draft: &Draft<'a>, key: &[u8], name: &[u8]) -> Result<(Log<'a>, Group<'a>), Reply> {
    let log = Log::of(draft)?.ok_or(NO_KEY)?;
    Ok((log, group::of(log, key, name)?))
}

pub(super) fn set_id(draft: &mut Draft<'_>, args: &[Bytes]) -> Answer {
    let [key, name, id, words @ ..] = args else { return Err(arity("xgroup|setid")) };
    let options = options(words, "SETID")?;
    let (log, group) = present(draft, key, name)?;
    if words.len() > 2 {
        return Err(syntax("SETID"));
    }
    let last = begin(id, Some(log), Id::parse)?;
    group.reset(draft, Position { last, read: options.read });
    Ok(Reply::Ok)
}

pub(super) fn destroy(draft: &mut Draft<'_>, args: &[Bytes]) -> Answer {
    let [_, name] = exactly(args, "xgroup|destroy")?;
    let log = Log::of(draft)?.ok_or(NO_KEY)?;
    if Group::find(log, name).is_none() {
        return Ok(Reply::Int(0));
    }
    group::remove_all(draft, log, name);
    Ok(Reply::Int(1))
}

pub(super) fn create_consumer(draft: &mut Draft<'_>, args: &[Bytes]) -> Answer {
    let [key, name, consumer] = exactly(args, "xgroup|createconsumer")?;
    let (_, group) = present(draft, key, name)?;
    let is_new = !group.has_consumer(draft, consumer);
    if is_new {
        group.hear(draft, consumer);
    }
    Ok(Reply::flag(is_new))
}

pub(super) fn delete_consumer(draft: &mut Draft<'_>, args: &[Bytes]) -> Answer {
    let [key, name, consumer] = exactly(args, "xgroup|delconsumer")?;
    let (_, group) = present(draft, key, name)?;
    if !group.has_consumer(draft, consumer) {
        return Ok(Reply::Int(0));
    }
    Ok(Reply::count(group.remove_consumer(draft, consumer)))
}
