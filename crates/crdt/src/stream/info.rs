//! XINFO, and how far a group has come.

use super::group::{self, Group};
use super::id::Id;
use super::log::{Log, Mark};
use crate::args::{exactly, int, is};
use crate::draft::{Answer, Draft};
use bytes::Bytes;
use tidemark_core::Reply;

const NO_KEY: Reply = Reply::error("ERR no such key");
const SYNTAX: Reply =
    Reply::error("ERR unknown subcommand or wrong number of arguments for 'STREAM'. Try XINFO HELP.");

/// How many of each are shown if nothing is said.
const COUNT: usize = 10;
/// Entries of a full node of Redis.
const NODE: usize = 100;

/// Whether an entry may have been deleted that is not before this id.
pub(super) fn has_tombstones(log: Log<'_>, start: Id) -> bool {
    let deleted = log.mark(Mark::Deleted);
    let first = log.id(0);
    deleted > Id(0) && start <= deleted && first.is_some_and(|first| first <= deleted)
}

/// What is known of a stream without looking at its entries.
pub(crate) struct Extent {
    pub(crate) len: u64,
    pub(crate) added: u64,
    pub(crate) first: Id,
    pub(crate) last: Id,
    pub(crate) deleted: Id,
}

impl Extent {
    /// How many entries were ever added up to this id, if that can be told.
    pub(crate) fn estimate(&self, id: Id) -> Option<u64> {
        let Self { len, added, first, last, deleted } = *self;
        if added == 0 {
            return Some(0);
        }
        if id == last || len == 0 && id < last {
            return Some(added);
        }
        if id > last || deleted > Id(0) && deleted >= first {
            return None;
        }
        match id.cmp(&first) {
            std::cmp::Ordering::Less => Some(added - len),
            std::cmp::Ordering::Equal => Some(added - len + 1),
            std::cmp::Ordering::Greater => None,
        }
    }
}

/// The same, of a stream that is there.
pub(super) fn estimate(log: Log<'_>, id: Id) -> Option<u64> {
    let extent = Extent {
        len: log.len() as u64,
        added: log.added(),
        first: log.id(0).unwrap_or(Id(0)),
        last: log.last(),
        deleted: log.mark(Mark::Deleted),
    };
    extent.estimate(id)
}

/// How many entries a group has not read, if that can be told.
fn lag(log: Log<'_>, group: &Group<'_>) -> Option<i64> {
    let added = log.added();
    if added == 0 {
        return Some(0);
    }
    let read = match group.at.read.filter(|_| !has_tombstones(log, group.at.last)) {
        Some(read) => read,
        None => estimate(log, group.at.last)?,
    };
    Some(added as i64 - read as i64)
}

fn named(pairs: Vec<(&'static str, Reply)>) -> Reply {
    Reply::Map(pairs.into_iter().map(|(name, value)| (Reply::bulk(name.as_bytes()), value)).collect())
}

fn maybe(number: Option<i64>) -> Reply {
    number.map_or(Reply::Null, Reply::Int)
}

fn time(ms: u64) -> Reply {
    Reply::Int(i64::try_from(ms).unwrap_or(i64::MAX))
}

fn found<'a>(draft: &Draft<'a>) -> Result<Log<'a>, Reply> {
    Log::of(draft)?.ok_or(NO_KEY)
}

pub(super) fn groups(draft: &Draft<'_>, args: &[Bytes]) -> Answer {
    let [] = exactly(args, "xinfo|groups")?;
    let log = found(draft)?;
    let shown = |name: Vec<u8>| {
        let group = Group::find(log, &name)?;
        Some(named(vec![
            ("name", Reply::bulk(&name)),
            ("consumers", Reply::count(group.consumers_len())),
            ("pending", Reply::count(group.pending_len())),
            ("last-delivered-id", group.at.last.reply()),
            ("entries-read", maybe(group.at.read.map(|read| read as i64))),
            ("lag", maybe(lag(log, &group))),
        ]))
    };
    Ok(Reply::Array(group::all(log).into_iter().filter_map(shown).collect()))
}

pub(super) fn consumers(draft: &Draft<'_>, args: &[Bytes]) -> Answer {
    let [key, name] = exactly(args, "xinfo|consumers")?;
    let log = found(draft)?;
    let group = group::of(log, key, name)?;
    let now = draft.now_ms();
    let counts = counts(&group);
    let shown = |(name, seen): (Vec<u8>, u64)| {
        named(vec![
            ("name", Reply::bulk(&name)),
            ("pending", Reply::count(counts.get(&name[..]).copied().unwrap_or(0))),
            ("idle", time(now.saturating_sub(seen))),
        ])
    };
    Ok(Reply::Array(group.consumers().map(shown).collect()))
}

/// How much is pending for each consumer.
fn counts(group: &Group<'_>) -> std::collections::BTreeMap<Bytes, usize> {
    let mut counts = std::collections::BTreeMap::new();
    for (_, pending) in group.pending(Id(0), Id::LAST) {
        *counts.entry(pending.consumer).or_default() += 1;
    }
    counts
}

/// FULL and its COUNT; 0 is no limit.
fn full(args: &[Bytes]) -> Result<Option<usize>, Reply> {
    let count = match args {
        [] => return Ok(None),
        [full] if is(full, "full") => COUNT,
        [full, word, count] if is(full, "full") && is(word, "count") => {
            usize::try_from(int(count)?).unwrap_or(COUNT)
        }
        _ => return Err(SYNTAX),
    };
    Ok(Some(if count == 0 { usize::MAX } else { count }))
}

pub(super) fn stream(draft: &Draft<'_>, args: &[Bytes]) -> Answer {
    let log = found(draft)?;
    let full = full(args)?;
    // There is no radix tree here: as many nodes as there would be if all were full.
    let nodes = log.len().div_ceil(NODE);
    let mut pairs = vec![
        ("length", Reply::count(log.len())),
        ("radix-tree-keys", Reply::count(nodes)),
        ("radix-tree-nodes", Reply::count(nodes + 1)),
        ("last-generated-id", log.last().reply()),
        ("max-deleted-entry-id", log.mark(Mark::Deleted).reply()),
        ("entries-added", Reply::Int(log.added() as i64)),
        ("recorded-first-entry-id", log.id(0).unwrap_or(Id(0)).reply()),
    ];
    let groups = group::all(log);
    match full {
        Some(most) => {
            let shown = |name: Vec<u8>| Some(in_full(log, &Group::find(log, &name)?, &name, most));
            pairs.push(("entries", Reply::Array(log.read(Id(0), Id::LAST, most, false))));
            pairs.push(("groups", Reply::Array(groups.into_iter().filter_map(shown).collect())));
        }
        None => {
            let end = |reverse| log.read(Id(0), Id::LAST, 1, reverse).pop().unwrap_or(Reply::Null);
            pairs.push(("groups", Reply::count(groups.len())));
            pairs.push(("first-entry", end(false)));
            pairs.push(("last-entry", end(true)));
        }
    }
    Ok(named(pairs))
}

/// A group with what is pending and its consumers, no more than `most` of the former for each.
fn in_full(log: Log<'_>, group: &Group<'_>, name: &[u8], most: usize) -> Reply {
    let counts = counts(group);
    let pending = group.pending(Id(0), Id::LAST).take(most).map(|(id, pending)| {
        let (at, count) = (time(pending.time), Reply::Int(pending.count as i64));
        Reply::Array(vec![id.reply(), Reply::Bulk(pending.consumer), at, count])
    });
    let consumer = |(name, seen): (Vec<u8>, u64)| {
        let own = group.pending(Id(0), Id::LAST).filter(|(_, pending)| pending.consumer[..] == name[..]);
        let own = own.take(most).map(|(id, pending)| {
            Reply::Array(vec![id.reply(), time(pending.time), Reply::Int(pending.count as i64)])
        });
        named(vec![
            ("name", Reply::bulk(&name)),
            ("seen-time", time(seen)),
            ("pel-count", Reply::count(counts.get(&name[..]).copied().unwrap_or(0))),
            ("pending", Reply::Array(own.collect())),
        ])
    };
    named(vec![
        ("name", Reply::bulk(name)),
        ("last-delivered-id", group.at.last.reply()),
        ("entries-read", maybe(group.at.read.map(|read| read as i64))),
        ("lag", maybe(lag(log, group))),
        ("pel-count", Reply::count(group.pending_len())),
        ("pending", Reply::Array(pending.collect())),
        ("consumers", Reply::Array(group.consumers().map(consumer).collect())),
    ])
}
