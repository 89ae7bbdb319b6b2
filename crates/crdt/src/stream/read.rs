//! XREAD and XREADGROUP of one stream. The gateway reads their options, goes through their keys and waits.

use super::group::{Group, Pending, Position, required};
use super::id::Id;
use super::info::{estimate, has_tombstones};
use super::log::{Log, shown};
use crate::args::{arity, exactly, int};
use crate::draft::{Answer, Draft};
use bytes::Bytes;
use tidemark_core::Reply;

const MEANINGLESS: Reply = Reply::error(
    "ERR The $ ID is meaningless in the context of XREADGROUP: you want to read the history of this consumer by specifying a \
     proper ID, or use the > ID to get new messages. The $ ID would just return an empty result set.",
);
const ONLY_IN_GROUPS: Reply = Reply::error(
    "ERR The > ID can be specified only when calling XREADGROUP using the GROUP <group> <consumer> option.",
);
const IN_GROUP: &str = " in XREADGROUP with GROUP option";
const GONE: Reply = Reply::error("NOGROUP the consumer group this client was blocked on no longer exists");
const DELETED: Reply = Reply::error("UNBLOCKED the stream key no longer exists");

/// A count of entries; 0 is no limit.
fn most(argument: &[u8]) -> Result<usize, Reply> {
    Ok(match usize::try_from(int(argument)?) {
        Ok(0) | Err(_) => usize::MAX,
        Ok(count) => count,
    })
}

/// Checks an id of XREAD, or with a group one of XREADGROUP, and says from where on it reads. Reads nothing.
pub(super) fn start(draft: &Draft<'_>, args: &[Bytes]) -> Answer {
    let [key, id, group @ ..] = args else { return Err(arity("xread")) };
    let log = Log::of(draft)?;
    if let [group] = group {
        required(draft, key, group, IN_GROUP)?;
        consumed(id)?;
        return Ok(Reply::bulk(id));
    }
    Ok(behind(log, id)?.reply())
}

/// Behind which entry XREAD begins.
fn behind(log: Option<Log<'_>>, id: &[u8]) -> Result<Id, Reply> {
    match id {
        b"$" => Ok(log.map_or(Id(0), Log::last)),
        b">" => Err(ONLY_IN_GROUPS),
        id => Id::strict(id, 0),
    }
}

/// Behind which entry of its own a consumer begins; none if it wants new ones.
fn consumed(id: &[u8]) -> Result<Option<Id>, Reply> {
    match id {
        b"$" => Err(MEANINGLESS),
        b">" => Ok(None),
        id => Ok(Some(Id::strict(id, 0)?).filter(|id| *id < Id::LAST)),
    }
}

/// XREAD: an id, and how many entries at most.
pub(super) fn plainly(draft: &Draft<'_>, args: &[Bytes]) -> Answer {
    let [id, count] = exactly(args, "xread")?;
    let log = Log::of(draft)?;
    let (behind, most) = (behind(log, id)?, most(count)?);
    let next = behind.0.checked_add(1).map(Id);
    match (log, next) {
        (Some(log), Some(next)) if log.top().is_some_and(|top| top >= next) => {
            Ok(Reply::Array(log.read(next, Id::LAST, most, false)))
        }
        _ => Ok(Reply::NullArray),
    }
}

/// XREADGROUP: the key, the group, the consumer, an id, how many entries at most, whether nothing becomes pending, and whether
/// the consumer has waited.
pub(super) fn for_consumer(draft: &mut Draft<'_>, args: &[Bytes]) -> Answer {
    let [key, name, consumer, id, count, no_ack, waited] = exactly(args, "xreadgroup")?;
    let (log, group) = if &waited[..] == b"1" {
        // A key that has another type now was deleted, too.
        let log = Log::of(draft).ok().flatten().ok_or(DELETED)?;
        (log, Group::find(log, name).ok_or(GONE)?)
    } else {
        required(draft, key, name, IN_GROUP)?
    };
    let (behind, most) = (consumed(id)?, most(count)?);
    match behind {
        Some(behind) => Ok(history(draft, log, &group, consumer, behind, most)),
        None => Ok(news(draft, log, &group, consumer, most, &no_ack[..] == b"1")),
    }
}

/// Entries that were delivered to the consumer before: they are delivered again.
fn history(
    draft: &mut Draft<'_>,
    log: Log<'_>,
    group: &Group<'_>,
    consumer: &Bytes,
    behind: Id,
    most: usize,
) -> Reply {
    let own = group.pending(Id(behind.0 + 1), Id::LAST).filter(|(_, pending)| pending.consumer == *consumer);
    let now = draft.now_ms();
    let mut entries = Vec::new();
    for (id, pending) in own.take(most) {
        entries.push(match log.get(id) {
            Some(fields) => {
                group.deliver(
                    draft,
                    id,
                    &Pending { time: now, count: pending.count.saturating_add(1), ..pending },
                );
                shown(id, fields)
            }
            None => Reply::Array(vec![id.reply(), Reply::NullArray]),
        });
    }
    group.hear(draft, consumer);
    Reply::Array(entries)
}

/// Entries that were delivered to no consumer of the group.
fn news(
    draft: &mut Draft<'_>,
    log: Log<'_>,
    group: &Group<'_>,
    consumer: &Bytes,
    most: usize,
    no_ack: bool,
) -> Reply {
    let Position { last, mut read } = group.at;
    let Some(top) = log.top().filter(|top| *top > last) else { return Reply::NullArray };
    let delivered = Pending { consumer: consumer.clone(), time: draft.now_ms(), count: 1 };
    let (mut entries, mut at) = (Vec::new(), last);
    for (id, fields) in log.entries_from(Id(last.0 + 1)).take(most) {
        read = match read {
            Some(read) if !has_tombstones(log, id) => Some((read + 1).min(i64::MAX as u64)),
            before if log.added() == 0 => before,
            _ => estimate(log, id),
        };
        at = id;
        if !no_ack {
            group.deliver(draft, id, &delivered);
        }
        entries.push(shown(id, fields));
    }
    debug_assert!(at <= top);
    group.hear(draft, consumer);
    group.advance(draft, Position { last: at, read });
    Reply::Array(entries)
}
