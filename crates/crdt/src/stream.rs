//! Streams: entries by id. An entry that is added in one region and removed in another stays only if the removal had not
//! observed it; entries that are added at once stand in the order of ids.
//!
//! **Idea.** An entry is an element that its id names. The ids and the number that Redis remembers beside the entries are elements,
//! too, with names that no entry has ([`log`]): ids of which the highest counts, and the number of entries ever added, a
//! counter. So all of it merges by the rules of elements, and a stream without entries is still there. Consumer groups are
//! elements, too ([`group`]).

mod add;
mod claim;
pub(crate) mod group;
pub(crate) mod id;
pub(crate) mod info;
pub(crate) mod log;
mod manage;
mod pending;
mod read;
mod trim;

use crate::args::{SYNTAX, arity, exactly, int, is};
use crate::draft::{Answer, Draft};
use crate::effect::{Datum, Kind};
use bytes::Bytes;
use id::Id;
use log::{Log, Mark};
use tidemark_core::{Reply, Verb};

/// Evaluates a command of streams; none if it is another's.
pub(crate) fn run(verb: Verb, draft: &mut Draft<'_>, args: &[Bytes]) -> Option<Answer> {
    Some(match verb {
        Verb::XAdd => add::run(draft, args),
        Verb::XLen => length(draft, args),
        Verb::XRange => range(draft, args, false),
        Verb::XRevRange => range(draft, args, true),
        Verb::XDel => delete(draft, args),
        Verb::XTrim => trim(draft, args),
        Verb::XSetId => set_id(draft, args),
        Verb::XRead => read::plainly(draft, args),
        Verb::XStart => read::start(draft, args),
        Verb::XReadGroup => read::for_consumer(draft, args),
        Verb::XAck => pending::acknowledge(draft, args),
        Verb::XPending => pending::show(draft, args),
        Verb::XClaim => claim::claim(draft, args),
        Verb::XAutoClaim => claim::claim_idle(draft, args),
        Verb::XGroupCreate => manage::create(draft, args),
        Verb::XGroupSetId => manage::set_id(draft, args),
        Verb::XGroupDestroy => manage::destroy(draft, args),
        Verb::XGroupCreateConsumer => manage::create_consumer(draft, args),
        Verb::XGroupDelConsumer => manage::delete_consumer(draft, args),
        Verb::XInfoStream => info::stream(draft, args),
        Verb::XInfoGroups => info::groups(draft, args),
        Verb::XInfoConsumers => info::consumers(draft, args),
        _ => return None,
    })
}

fn length(draft: &Draft<'_>, args: &[Bytes]) -> Answer {
    let [] = exactly(args, "xlen")?;
    Ok(Reply::count(Log::of(draft)?.map_or(0, |log| log.len())))
}

/// An end of a range; `(` means without it, and then it is moved by one.
fn bound(argument: &[u8], seq: u64, inner: fn(u128) -> Option<u128>, end: &str) -> Result<Id, Reply> {
    match argument {
        [b'(', id @ ..] if !id.is_empty() => {
            let invalid = || Reply::Error(format!("ERR invalid {end} ID for the interval").into());
            inner(Id::strict(id, seq)?.0).map(Id).ok_or_else(invalid)
        }
        _ => Id::parse(argument, seq),
    }
}

fn range(draft: &Draft<'_>, args: &[Bytes], reverse: bool) -> Answer {
    let [first, second, options @ ..] = args else {
        return Err(arity(if reverse { "xrevrange" } else { "xrange" }));
    };
    let (start, end) = if reverse { (second, first) } else { (first, second) };
    let start = bound(start, 0, |id| id.checked_add(1), "start")?;
    let end = bound(end, u64::MAX, |id| id.checked_sub(1), "end")?;
    let mut most = None;
    let mut options = options.iter();
    while let Some(option) = options.next() {
        let count = options.next().filter(|_| is(option, "count")).ok_or(SYNTAX)?;
        most = Some(usize::try_from(int(count)?).unwrap_or(0));
    }
    let Some(log) = Log::of(draft)? else { return Ok(Reply::Array(Vec::new())) };
    if most == Some(0) {
        return Ok(Reply::NullArray);
    }
    Ok(Reply::Array(log.read(start, end, most.unwrap_or(usize::MAX), reverse)))
}

fn delete(draft: &mut Draft<'_>, args: &[Bytes]) -> Answer {
    if args.is_empty() {
        return Err(arity("xdel"));
    }
    let Some(log) = Log::of(draft)? else { return Ok(Reply::Int(0)) };
    let ids = args.iter().map(|argument| Id::strict(argument, 0)).collect::<Result<Vec<Id>, Reply>>()?;
    let deleted: Vec<Id> = ids.into_iter().filter(|id| draft.remove(Kind::Stream, &id.name())).collect();
    if let Some(highest) = deleted.iter().max() {
        if log.mark(Mark::Deleted) < *highest {
            log.set_mark(draft, Mark::Deleted, *highest);
        }
        let left = log.ids().rev().find(|id| !draft.has_written(&id.name()));
        log.keep_last(draft, left);
    }
    Ok(Reply::count(deleted.len()))
}

fn trim(draft: &mut Draft<'_>, args: &[Bytes]) -> Answer {
    if args.len() < 2 {
        return Err(arity("xtrim"));
    }
    let mut trim = trim::Options::default();
    let mut rest = args;
    while !rest.is_empty() {
        rest = trim.option(rest)?.ok_or(SYNTAX)?;
    }
    let trim = trim.finish(true)?;
    let Some(log) = Log::of(draft)? else { return Ok(Reply::Int(0)) };
    let removed = trim.map_or(0, |trim| trim.count(log.len(), |at| log.id(at)));
    log.ids().take(removed).for_each(|id| {
        draft.remove(Kind::Stream, &id.name());
    });
    if removed > 0 {
        log.keep_last(draft, log.top().filter(|_| removed < log.len()));
    }
    Ok(Reply::count(removed))
}

fn set_id(draft: &mut Draft<'_>, args: &[Bytes]) -> Answer {
    let [id, options @ ..] = args else { return Err(arity("xsetid")) };
    let last = Id::strict(id, 0)?;
    let (mut added, mut deleted) = (None, Id(0));
    for option in options.chunks(2) {
        match option {
            [word, value] if is(word, "entriesadded") => {
                added = Some(
                    u64::try_from(int(value)?)
                        .map_err(|_| Reply::error("ERR entries_added must be positive"))?,
                );
            }
            [word, value] if is(word, "maxdeletedid") => {
                deleted = Id::strict(value, 0)?;
                if last < deleted {
                    return Err(Reply::error(
                        "ERR The ID specified in XSETID is smaller than the provided max_deleted_entry_id",
                    ));
                }
            }
            _ => return Err(SYNTAX),
        }
    }
    let log = Log::of(draft)?.ok_or(Reply::error("ERR no such key"))?;
    if log.top().is_some_and(|top| last < top) {
        return Err(Reply::error(
            "ERR The ID specified in XSETID is smaller than the target stream top item",
        ));
    }
    if added.is_some_and(|added| added < log.len() as u64) {
        return Err(Reply::error(
            "ERR The entries_added specified in XSETID is smaller than the target stream length",
        ));
    }
    log.set_mark(draft, Mark::Last, last);
    if deleted > Id(0) {
        log.set_mark(draft, Mark::Deleted, deleted);
    }
    if let Some(added) = added {
        draft.assign(Kind::Stream, log::ADDED, Datum::bytes(added.to_string().as_bytes()));
    }
    Ok(Reply::Ok)
}
