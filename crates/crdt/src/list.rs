//! Lists: values at positions that never change ([`crate::position`]). Elements that are pushed or inserted in several regions at
//! once are all there, each region's run together; an element that is removed in one region and set in another stays; a removed
//! element leaves nothing behind.

use crate::args::{NEGATIVE, SYNTAX, arity, exactly, int, is};
use crate::draft::{Answer, Draft};
use crate::effect::{Datum, Kind};
use crate::plain::{Position, Sequence};
use crate::position::{self, Run};
use crate::shape::Plain;
use bytes::Bytes;
use std::ops::Range;
use tidemark_core::{Reply, Verb};

/// An end of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Head,
    Tail,
}

/// Evaluates a command of lists; none if it is another's.
pub(crate) fn run(verb: Verb, draft: &mut Draft<'_>, args: &[Bytes]) -> Option<Answer> {
    Some(match verb {
        Verb::LPush | Verb::LPushX => push(draft, args, verb, End::Head),
        Verb::RPush | Verb::RPushX => push(draft, args, verb, End::Tail),
        Verb::LPop => pop(draft, args, verb, End::Head),
        Verb::RPop => pop(draft, args, verb, End::Tail),
        Verb::LLen => len(draft, args),
        Verb::LIndex => index(draft, args),
        Verb::LRange => range(draft, args),
        Verb::LSet => set(draft, args),
        Verb::LInsert => insert(draft, args),
        Verb::LRem => remove(draft, args),
        Verb::LTrim => trim(draft, args),
        Verb::LPos => find(draft, args),
        Verb::ReplaceList => Ok(replace(draft, args)),
        Verb::PutAt => put_at(draft, args),
        Verb::TakeAt => take_at(draft, args),
        _ => return None,
    })
}

fn values<'a>(draft: &Draft<'a>) -> Result<Option<&'a Sequence>, Reply> {
    Ok(match draft.of(Kind::List)? {
        Some(Plain::List(values)) => Some(values),
        _ => None,
    })
}

/// Puts values between two neighbours, each behind the last one, or before it if `backward`.
fn put(
    draft: &mut Draft<'_>,
    (left, right): (Option<Position<'_>>, Option<Position<'_>>),
    values: &[Bytes],
    backward: bool,
) {
    let (left, right) = (left.map(|left| left.to_bytes()), right.map(|right| right.to_bytes()));
    let run = Run::between(left.as_deref(), right.as_deref(), draft.moment.origin);
    if let [value] = values {
        return draft.assign_new(Kind::List, run.into_name(backward), Datum::bytes(value));
    }
    for (nth, value) in values.iter().enumerate() {
        draft.assign_new(Kind::List, run.name(nth, backward), Datum::bytes(value));
    }
}

fn push(draft: &mut Draft<'_>, args: &[Bytes], verb: Verb, end: End) -> Answer {
    if args.is_empty() {
        return Err(arity(verb.name()));
    }
    let there = values(draft)?;
    if there.is_none() && matches!(verb, Verb::LPushX | Verb::RPushX) {
        return Ok(Reply::Int(0));
    }
    match end {
        End::Head => {
            let first = there.and_then(Sequence::first).map(|(position, _)| position);
            put(draft, (None, first), args, true);
        }
        End::Tail => {
            let last = there.and_then(Sequence::last).map(|(position, _)| position);
            put(draft, (last, None), args, false);
        }
    }
    Ok(Reply::count(draft.len()))
}

/// Removes values of a list of `len`.
fn take<'a>(draft: &mut Draft<'_>, len: usize, positions: impl ExactSizeIterator<Item = Position<'a>>) {
    if positions.len() > 1 && positions.len() == len {
        // The key goes, and need not name what it held.
        return draft.clear();
    }
    positions.for_each(|position| draft.take(Kind::List, position.to_vec().into()));
}

/// Removes values by index.
fn take_range(draft: &mut Draft<'_>, values: &Sequence, indices: Range<usize>) {
    take(draft, values.len(), values.range(indices).map(|(position, _)| position));
}

fn pop(draft: &mut Draft<'_>, args: &[Bytes], verb: Verb, end: End) -> Answer {
    let count = match args {
        [] => None,
        [count] => Some(int(count).ok().and_then(|count| usize::try_from(count).ok()).ok_or(NEGATIVE)?),
        _ => return Err(arity(verb.name())),
    };
    let Some(values) = values(draft)? else {
        return Ok(if count.is_some() { Reply::NullArray } else { Reply::Null });
    };
    let popped = count.unwrap_or(1).min(values.len());
    let indices = match end {
        End::Head => 0..popped,
        End::Tail => values.len() - popped..values.len(),
    };
    let mut found = values.range(indices.clone()).map(|(_, value)| Reply::bulk(value));
    let reply = match (count, end) {
        (None, _) => found.next().unwrap_or(Reply::Null),
        (Some(_), End::Head) => Reply::Array(found.collect()),
        (Some(_), End::Tail) => Reply::Array(found.rev().collect()),
    };
    take_range(draft, values, indices);
    Ok(reply)
}

/// Gives a list these values, whatever it held; it has no deadline any more. Answers how many they are, and without any the key
/// goes.
pub(crate) fn replace(draft: &mut Draft<'_>, values: &[Bytes]) -> Reply {
    if draft.kind().is_some() {
        draft.clear();
    }
    if !values.is_empty() {
        put(draft, (None, None), values, false);
        draft.expire(None);
    }
    Reply::count(values.len())
}

/// The value at an end.
pub(crate) fn peek(draft: &Draft<'_>, end: End) -> Result<Option<Bytes>, Reply> {
    let found = values(draft)?.and_then(|values| match end {
        End::Head => values.first(),
        End::Tail => values.last(),
    });
    Ok(found.map(|(_, value)| Bytes::copy_from_slice(value)))
}

/// Adds one value at an end.
pub(crate) fn push_one(draft: &mut Draft<'_>, value: &Bytes, end: End) -> Result<(), Reply> {
    let verb = if end == End::Head { Verb::LPush } else { Verb::RPush };
    push(draft, std::slice::from_ref(value), verb, end).map(|_| ())
}

/// Removes the value at an end.
pub(crate) fn pop_one(draft: &mut Draft<'_>, end: End) -> Result<(), Reply> {
    pop(draft, &[], Verb::LPop, end).map(|_| ())
}

/// Removes and answers up to `count` values at an end.
pub(crate) fn pop_many(draft: &mut Draft<'_>, end: End, count: usize) -> Answer {
    pop(draft, &[Bytes::from(count.to_string())], Verb::LPop, end)
}

/// Removes values at an end, and answers what `count` commands would that remove one each.
pub(crate) fn pop_each(draft: &mut Draft<'_>, count: usize, end: End) -> Result<Vec<Reply>, Reply> {
    let mut replies = match pop_many(draft, end, count)? {
        Reply::Array(popped) => popped,
        _ => Vec::new(),
    };
    replies.resize(count, Reply::Null);
    Ok(replies)
}

fn len(draft: &Draft<'_>, args: &[Bytes]) -> Answer {
    let [] = exactly(args, "llen")?;
    Ok(Reply::count(values(draft)?.map_or(0, Sequence::len)))
}

/// The index that an argument means in a list of `len` values; none if there is no such value.
fn place(index: i64, len: usize) -> Option<usize> {
    let index = if index < 0 { index.saturating_add_unsigned(len as u64) } else { index };
    usize::try_from(index).ok().filter(|index| *index < len)
}

fn index(draft: &Draft<'_>, args: &[Bytes]) -> Answer {
    let [index] = exactly(args, "lindex")?;
    let Some(values) = values(draft)? else { return Ok(Reply::Null) };
    let found = place(int(index)?, values.len()).and_then(|index| values.at(index));
    Ok(found.map_or(Reply::Null, |(_, value)| Reply::bulk(value)))
}

/// The indices between two arguments, both of which are meant.
fn indices(start: i64, end: i64, len: usize) -> Range<usize> {
    let end = if end < 0 { end.saturating_add_unsigned(len as u64) } else { end };
    let start = if start < 0 { start.saturating_add_unsigned(len as u64).max(0) } else { start };
    if start > end {
        return 0..0;
    }
    let clamped = |index: i64| usize::try_from(index).unwrap_or(0).min(len);
    clamped(start)..clamped(end.saturating_add(1))
}

fn range(draft: &Draft<'_>, args: &[Bytes]) -> Answer {
    let [start, end] = exactly(args, "lrange")?;
    let (start, end) = (int(start)?, int(end)?);
    let found = values(draft)?
        .map(|values| values.range(indices(start, end, values.len())).map(|(_, value)| value).collect());
    Ok(Reply::Strings(found.unwrap_or_default()))
}

fn set(draft: &mut Draft<'_>, args: &[Bytes]) -> Answer {
    let [index, value] = exactly(args, "lset")?;
    let Some(values) = values(draft)? else { return Err(Reply::error("ERR no such key")) };
    let found = place(int(index)?, values.len()).and_then(|index| values.at(index));
    let (position, _) = found.ok_or(Reply::error("ERR index out of range"))?;
    draft.assign(Kind::List, &position.to_vec(), Datum::bytes(value));
    Ok(Reply::Ok)
}

fn insert(draft: &mut Draft<'_>, args: &[Bytes]) -> Answer {
    let [side, pivot, value] = exactly(args, "linsert")?;
    let behind = match () {
        () if is(side, "after") => true,
        () if is(side, "before") => false,
        () => return Err(SYNTAX),
    };
    let Some(values) = values(draft)? else { return Ok(Reply::Int(0)) };
    let Some(at) = values.iter().position(|(_, value)| value == pivot) else { return Ok(Reply::Int(-1)) };
    let right = at + usize::from(behind);
    let position = |index: usize| values.at(index).map(|(position, _)| position);
    let left = right.checked_sub(1).and_then(position);
    put(draft, (left, position(right)), std::slice::from_ref(value), false);
    Ok(Reply::count(draft.len()))
}

/// Gives a value to the element at a position, which may be new.
fn put_at(draft: &mut Draft<'_>, args: &[Bytes]) -> Answer {
    let [position, value] = exactly(args, "tidemark|putat")?;
    values(draft)?;
    if !position::is_possible(position, draft.moment.time.micros()) {
        return Err(Reply::error("ERR no client can have given this position in a list"));
    }
    draft.assign(Kind::List, position, Datum::bytes(value));
    Ok(Reply::Ok)
}

/// Removes the element at a position, if it is there.
fn take_at(draft: &mut Draft<'_>, args: &[Bytes]) -> Answer {
    let [position] = exactly(args, "tidemark|takeat")?;
    values(draft)?;
    Ok(Reply::flag(draft.remove(Kind::List, position)))
}

fn remove(draft: &mut Draft<'_>, args: &[Bytes]) -> Answer {
    let [count, value] = exactly(args, "lrem")?;
    let count = int(count)?;
    let Some(values) = values(draft)? else { return Ok(Reply::Int(0)) };
    let most =
        if count == 0 { usize::MAX } else { usize::try_from(count.unsigned_abs()).unwrap_or(usize::MAX) };
    let matches = values.iter().filter(|(_, there)| there == value).map(|(position, _)| position);
    let found: Vec<_> =
        if count < 0 { matches.rev().take(most).collect() } else { matches.take(most).collect() };
    take(draft, values.len(), found.iter().copied());
    Ok(Reply::count(found.len()))
}

fn trim(draft: &mut Draft<'_>, args: &[Bytes]) -> Answer {
    let [start, end] = exactly(args, "ltrim")?;
    let (start, end) = (int(start)?, int(end)?);
    let Some(values) = values(draft)? else { return Ok(Reply::Ok) };
    let kept = indices(start, end, values.len());
    if kept.is_empty() {
        take_range(draft, values, 0..values.len());
    } else {
        take_range(draft, values, 0..kept.start);
        take_range(draft, values, kept.end..values.len());
    }
    Ok(Reply::Ok)
}

/// The matches that LPOS is asked for.
struct Search {
    /// Which match is the first one that counts.
    rank: i64,
    /// How many, 0 being all; none if only the first one.
    count: Option<i64>,
    /// How many values are looked at, 0 being all.
    most: i64,
    from_tail: bool,
}

impl Search {
    fn parse(options: &[Bytes]) -> Result<Self, Reply> {
        let mut search = Self { rank: 1, count: None, most: 0, from_tail: false };
        let positive =
            |argument: &[u8], error| int(argument).ok().filter(|int| *int >= 0).ok_or(Reply::error(error));
        for option in options.chunks(2) {
            let [word, argument] = option else { return Err(SYNTAX) };
            match () {
                () if is(word, "rank") => search.rank = rank(argument)?,
                () if is(word, "count") => {
                    search.count = Some(positive(argument, "ERR COUNT can't be negative")?)
                }
                () if is(word, "maxlen") => search.most = positive(argument, "ERR MAXLEN can't be negative")?,
                () => return Err(SYNTAX),
            }
        }
        search.from_tail = search.rank < 0;
        search.rank = search.rank.saturating_abs();
        Ok(search)
    }

    /// The indices of the matches, given the values in the order in which they are looked at.
    fn run<'a>(&self, values: impl Iterator<Item = &'a [u8]>, sought: &[u8], len: usize) -> Vec<Reply> {
        let limit =
            |limit: i64| if limit == 0 { usize::MAX } else { usize::try_from(limit).unwrap_or(usize::MAX) };
        let looked_at = values.take(limit(self.most)).enumerate();
        let matches = looked_at.filter(|(_, value)| *value == sought).map(|(index, _)| index);
        let index = |index: usize| Reply::count(if self.from_tail { len - 1 - index } else { index });
        let skipped = usize::try_from(self.rank - 1).unwrap_or(usize::MAX);
        matches.skip(skipped).take(limit(self.count.unwrap_or(1))).map(index).collect()
    }
}

fn rank(argument: &[u8]) -> Result<i64, Reply> {
    match int(argument)? {
        0 => Err(Reply::error(
            "ERR RANK can't be zero: use 1 to start from the first match, 2 from the second ... or use negative to start \
             from the end of the list",
        )),
        rank => Ok(rank),
    }
}

fn find(draft: &Draft<'_>, args: &[Bytes]) -> Answer {
    let [sought, options @ ..] = args else { return Err(arity("lpos")) };
    let search = Search::parse(options)?;
    let found = values(draft)?.map_or_else(Vec::new, |values| {
        let all = values.iter().map(|(_, value)| value);
        match search.from_tail {
            false => search.run(all, sought, values.len()),
            true => search.run(all.rev(), sought, values.len()),
        }
    });
    Ok(match search.count {
        Some(_) => Reply::Array(found),
        None => found.into_iter().next().unwrap_or(Reply::Null),
    })
}
