//! XACK and XPENDING.

use super::group::{Group, required};
use super::id::Id;
use super::log::Log;
use crate::args::{SYNTAX, arity, int, is};
use crate::draft::{Answer, Draft};
use bytes::Bytes;
use std::collections::BTreeMap;
use tidemark_core::Reply;

pub(super) fn acknowledge(draft: &mut Draft<'_>, args: &[Bytes]) -> Answer {
    let [name, ids @ ..] = args else { return Err(arity("xack")) };
    let Some(group) = Log::of(draft)?.and_then(|log| Group::find(log, name)) else {
        return Ok(Reply::Int(0));
    };
    let ids = ids.iter().map(|id| Id::strict(id, 0)).collect::<Result<Vec<Id>, Reply>>()?;
    Ok(Reply::count(ids.into_iter().filter(|id| group.acknowledge(draft, *id)).count()))
}

/// Which pending entries XPENDING lists.
struct Wanted<'a> {
    start: Id,
    end: Id,
    count: usize,
    idle: u64,
    consumer: Option<&'a Bytes>,
}

fn wanted(args: &[Bytes]) -> Result<Wanted<'_>, Reply> {
    let (idle, rest) = match args {
        [word, idle, rest @ ..] if is(word, "idle") => {
            let idle = int(idle)?;
            if rest.len() < 3 {
                return Err(SYNTAX);
            }
            (u64::try_from(idle).unwrap_or(0), rest)
        }
        _ => (0, args),
    };
    let [start, end, count, consumer @ ..] = rest else { return Err(SYNTAX) };
    let count = usize::try_from(int(count)?).unwrap_or(0);
    let start = super::bound(start, 0, |id| id.checked_add(1), "start")?;
    let end = super::bound(end, u64::MAX, |id| id.checked_sub(1), "end")?;
    Ok(Wanted { start, end, count, idle, consumer: consumer.first() })
}

pub(super) fn show(draft: &Draft<'_>, args: &[Bytes]) -> Answer {
    let [key, name, rest @ ..] = args else { return Err(arity("xpending")) };
    if rest.is_empty() {
        let (_, group) = required(draft, key, name, "")?;
        return Ok(summary(&group));
    }
    if !(3..=6).contains(&rest.len()) {
        return Err(SYNTAX);
    }
    let wanted = wanted(rest)?;
    let (_, group) = required(draft, key, name, "")?;
    if wanted.consumer.is_some_and(|consumer| !group.has_consumer(draft, consumer)) {
        return Ok(Reply::Array(Vec::new()));
    }
    let now = draft.now_ms();
    let listed = group.pending(wanted.start, wanted.end).filter(|(_, pending)| {
        let idle = wanted.idle == 0 || now.saturating_sub(pending.time) >= wanted.idle;
        idle && wanted.consumer.is_none_or(|consumer| pending.consumer == *consumer)
    });
    let shown = listed.take(wanted.count).map(|(id, pending)| {
        let idle = i64::try_from(now.saturating_sub(pending.time)).unwrap_or(i64::MAX);
        let count = Reply::Int(pending.count as i64);
        Reply::Array(vec![id.reply(), Reply::Bulk(pending.consumer), Reply::Int(idle), count])
    });
    Ok(Reply::Array(shown.collect()))
}

/// How much is pending: in all, its first and last id, and for each consumer.
fn summary(group: &Group<'_>) -> Reply {
    let mut consumers: BTreeMap<Bytes, usize> = BTreeMap::new();
    let mut ends = None;
    for (id, pending) in group.pending(Id(0), Id::LAST) {
        ends = Some((ends.map_or(id, |(first, _)| first), id));
        *consumers.entry(pending.consumer).or_default() += 1;
    }
    let Some((first, last)) = ends else {
        return Reply::Array(vec![Reply::Int(0), Reply::Null, Reply::Null, Reply::NullArray]);
    };
    let total = Reply::count(consumers.values().sum());
    let consumers = consumers.into_iter().map(|(name, count)| {
        Reply::Array(vec![Reply::Bulk(name), Reply::bulk(count.to_string().as_bytes())])
    });
    Reply::Array(vec![total, first.reply(), last.reply(), Reply::Array(consumers.collect())])
}
