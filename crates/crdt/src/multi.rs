//! Commands on several keys of one partition. What they read is one view, and what they write is one version of all keys.

use crate::args::{SYNTAX, exactly, int, is};
use crate::draft::{Answer, Draft};
use crate::effect::{Datum, Kind};
use crate::evaluate::Keys;
use crate::generic::Expiry;
use crate::list::End;
use crate::plain::Table;
use crate::position::Run;
use crate::shape::Plain;
use crate::{bcounter, doc, list, string};
use bytes::Bytes;
use std::collections::BTreeSet;
use tidemark_core::{Reply, Verb};

mod sort;
mod zsets;

/// Evaluates a command on several keys.
pub(crate) fn run(verb: Verb, keys: &mut Keys<'_>, args: &[Bytes]) -> Answer {
    match verb {
        Verb::Rename => rename(keys),
        Verb::RenameNx => rename_new(keys),
        Verb::Copy => copy(keys, args),
        Verb::MSetNx => set_all_new(keys, args),
        Verb::SMove => move_member(keys, args),
        Verb::SInter | Verb::SUnion | Verb::SDiff => {
            Ok(Reply::Set(combine(verb, keys, 0)?.iter().map(|member| Reply::bulk(member)).collect()))
        }
        Verb::SInterCard => intersection_size(keys, args),
        Verb::SInterStore | Verb::SUnionStore | Verb::SDiffStore => store(verb, keys),
        Verb::LMove => move_element(keys, args),
        Verb::RPopLPush => move_between(keys, End::Tail, End::Head),
        Verb::LMPop => pop_first_list(keys, args),
        Verb::ZMPop => zsets::pop_first(keys, args),
        Verb::ZInter | Verb::ZUnion | Verb::ZDiff | Verb::ZInterCard => zsets::combine(verb, keys, args),
        Verb::ZInterStore | Verb::ZUnionStore | Verb::ZDiffStore => zsets::store(verb, keys, args),
        Verb::ZRangeStore => zsets::store_range(keys, args),
        Verb::GeoSearchStore | Verb::GeoRadius | Verb::GeoRadiusByMember => {
            zsets::store_places(verb, keys, args)
        }
        Verb::PfCount | Verb::PfMerge => sketches(verb, keys),
        Verb::BitOp => combine_bits(keys, args),
        Verb::Sort | Verb::SortRo => sort::run(verb, keys, args),
        Verb::Lcs => crate::lcs::run(keys, args),
        Verb::Each => crate::together::on_each(keys, args),
        _ => Err(Reply::Error(format!("ERR {} is not supported yet", verb.name().to_uppercase()).into())),
    }
}

const NO_SUCH_KEY: Reply = Reply::error("ERR no such key");

/// Gives a key the content and the deadline of another; it has lost its own.
fn give(to: &mut Draft<'_>, content: &Plain, deadline: Option<u64>) {
    let kind = content.kind();
    if let Plain::String(value) = content {
        return string::write(to, value, deadline.map_or(Expiry::Unsaid, Expiry::At));
    }
    if to.kind().is_some() {
        to.clear();
    }
    let run = Run::between(None, None, to.moment.origin);
    let mut nth = 0;
    content.each(|name, datum| match kind {
        // Nobody else may have the name of a position: a copy of a list has its own.
        Kind::List => {
            to.assign_new(Kind::List, run.name(nth, false), datum);
            nth += 1;
        }
        // A token that covers an update where it comes from covers nothing here.
        Kind::Doc => {
            to.assign_new(Kind::Doc, doc::name(to.seed, nth), datum);
            nth += 1;
        }
        _ => to.assign(kind, name, datum),
    });
    to.expire(deadline);
}

fn rename(keys: &mut Keys<'_>) -> Answer {
    let Some(content) = keys.at(0).plain() else { return Err(NO_SUCH_KEY) };
    bcounter::may_move(content)?;
    if !keys.same(0, 1) {
        let deadline = keys.at(0).deadline();
        give(keys.at(1), content, deadline);
        keys.at(0).clear();
    }
    Ok(Reply::Ok)
}

fn rename_new(keys: &mut Keys<'_>) -> Answer {
    if keys.at(0).kind().is_none() {
        return Err(NO_SUCH_KEY);
    }
    if keys.at(1).kind().is_some() {
        return Ok(Reply::Int(0));
    }
    rename(keys).map(|_| Reply::Int(1))
}

fn copy(keys: &mut Keys<'_>, args: &[Bytes]) -> Answer {
    let mut replace = false;
    let mut options = args.iter();
    while let Some(option) = options.next() {
        if is(option, "replace") {
            replace = true;
        } else if is(option, "db") {
            if int(options.next().ok_or(SYNTAX)?)? != 0 {
                return Err(Reply::error("ERR DB index is out of range"));
            }
        } else {
            return Err(SYNTAX);
        }
    }
    if keys.same(0, 1) {
        return Err(Reply::error("ERR source and destination objects are the same"));
    }
    let Some(content) = keys.at(0).plain() else { return Ok(Reply::Int(0)) };
    bcounter::may_move(content)?;
    if keys.at(1).kind().is_some() && !replace {
        return Ok(Reply::Int(0));
    }
    let deadline = keys.at(0).deadline();
    give(keys.at(1), content, deadline);
    Ok(Reply::Int(1))
}

fn set_all_new(keys: &mut Keys<'_>, args: &[Bytes]) -> Answer {
    if (0..keys.len()).any(|key| keys.at(key).kind().is_some()) {
        return Ok(Reply::Int(0));
    }
    for (key, value) in args.iter().enumerate() {
        string::write(keys.at(key), value, Expiry::Unsaid);
    }
    Ok(Reply::Int(1))
}

fn move_member(keys: &mut Keys<'_>, args: &[Bytes]) -> Answer {
    let [member] = exactly(args, "smove")?;
    if keys.at(0).of(Kind::Set)?.is_none() {
        return Ok(Reply::Int(0));
    }
    keys.at(1).of(Kind::Set)?;
    if keys.at(0).get(member).is_none() {
        return Ok(Reply::Int(0));
    }
    if !keys.same(0, 1) {
        keys.at(1).assign(Kind::Set, member, Datum::Unit);
        keys.at(0).remove(Kind::Set, member);
    }
    Ok(Reply::Int(1))
}

fn members<'a>(draft: &Draft<'a>) -> Result<Option<&'a Table<()>>, Reply> {
    Ok(match draft.of(Kind::Set)? {
        Some(Plain::Set(members)) => Some(members),
        _ => None,
    })
}

/// The members that the sets from key `first` on have together, by the command's rule; in order.
fn combine(verb: Verb, keys: &mut Keys<'_>, first: usize) -> Result<BTreeSet<Vec<u8>>, Reply> {
    let sets = (first..keys.len()).map(|key| members(keys.at(key))).collect::<Result<Vec<_>, _>>()?;
    let has = |set: &Option<&Table<()>>, member: &[u8]| set.is_some_and(|set| set.get(member).is_some());
    let all = |set: &Option<&Table<()>>| -> Vec<Vec<u8>> {
        set.map_or_else(Vec::new, |set| set.iter().map(|(member, ())| member.to_vec()).collect())
    };
    Ok(match verb {
        Verb::SUnion | Verb::SUnionStore => sets.iter().flat_map(all).collect(),
        Verb::SDiff | Verb::SDiffStore => {
            let stays = |member: &Vec<u8>| !sets[1..].iter().any(|set| has(set, member));
            all(&sets[0]).into_iter().filter(stays).collect()
        }
        _ => {
            let size = |set: &&Option<&Table<()>>| set.map_or(0, Table::len);
            let smallest = sets.iter().min_by_key(size).expect("there is a key");
            let everywhere = |member: &Vec<u8>| sets.iter().all(|set| has(set, member));
            all(smallest).into_iter().filter(everywhere).collect()
        }
    })
}

fn intersection_size(keys: &mut Keys<'_>, args: &[Bytes]) -> Answer {
    let mut limit = 0;
    for option in args.chunks(2) {
        match option {
            [word, number] if is(word, "limit") => limit = limit_option(number)?,
            _ => return Err(SYNTAX),
        }
    }
    let size = combine(Verb::SInter, keys, 0)?.len();
    Ok(Reply::count(if limit == 0 { size } else { size.min(limit) }))
}

/// The number behind LIMIT.
fn limit_option(number: &[u8]) -> Result<usize, Reply> {
    let limit = int(number).ok().and_then(|limit| usize::try_from(limit).ok());
    limit.ok_or(Reply::error("ERR LIMIT can't be negative"))
}

fn store(verb: Verb, keys: &mut Keys<'_>) -> Answer {
    let members = combine(verb, keys, 1)?;
    let to = keys.at(0);
    if to.kind().is_some() {
        to.clear();
    }
    members.iter().for_each(|member| to.assign(Kind::Set, member, Datum::Unit));
    if !members.is_empty() {
        to.expire(None);
    }
    Ok(Reply::count(members.len()))
}

fn end(word: &[u8]) -> Result<End, Reply> {
    match () {
        () if is(word, "left") => Ok(End::Head),
        () if is(word, "right") => Ok(End::Tail),
        () => Err(SYNTAX),
    }
}

fn move_element(keys: &mut Keys<'_>, args: &[Bytes]) -> Answer {
    let [from, to] = exactly(args, "lmove")?;
    let (from, to) = (end(from)?, end(to)?);
    move_between(keys, from, to)
}

fn move_between(keys: &mut Keys<'_>, from: End, to: End) -> Answer {
    if keys.at(0).of(Kind::List)?.is_none() {
        return Ok(Reply::Null);
    }
    keys.at(1).of(Kind::List)?;
    let Some(value) = list::peek(keys.at(0), from)? else { return Ok(Reply::Null) };
    // A list of one element that is moved within itself stays as it is, and is written all the same.
    list::push_one(keys.at(1), &value, to)?;
    list::pop_one(keys.at(0), from)?;
    Ok(Reply::Bulk(value))
}

/// The count behind COUNT, if it is there.
fn count_option(options: &[Bytes]) -> Result<usize, Reply> {
    match options {
        [] => Ok(1),
        [word, count, rest @ ..] if is(word, "count") => match int(count).map(usize::try_from) {
            Ok(Ok(count @ 1..)) if rest.is_empty() => Ok(count),
            Ok(Ok(1..)) => Err(SYNTAX),
            _ => Err(Reply::error("ERR count should be greater than 0")),
        },
        _ => Err(SYNTAX),
    }
}

fn pop_first_list(keys: &mut Keys<'_>, args: &[Bytes]) -> Answer {
    let [word, options @ ..] = args else { return Err(SYNTAX) };
    let (from, count) = (end(word)?, count_option(options)?);
    for key in 0..keys.len() {
        if keys.at(key).of(Kind::List)?.is_some() {
            let popped = list::pop_many(keys.at(key), from, count)?;
            return Ok(Reply::Array(vec![Reply::bulk(keys.name(key)), popped]));
        }
    }
    Ok(Reply::NullArray)
}

fn strings(keys: &mut Keys<'_>, first: usize) -> Result<Vec<Option<tidemark_core::Value>>, Reply> {
    (first..keys.len()).map(|key| string::value(keys.at(key))).collect()
}

/// PFCOUNT and PFMERGE. The first key of the wrong kind decides the error.
fn sketches(verb: Verb, keys: &mut Keys<'_>) -> Answer {
    let mut values = Vec::new();
    for key in 0..keys.len() {
        let value = string::value(keys.at(key))?;
        value.as_deref().map_or(Ok(()), crate::hll::check)?;
        values.push(value);
    }
    let sources: Vec<&[u8]> = values.iter().flatten().map(|value| &value[..]).collect();
    if verb == Verb::PfMerge { crate::hll::merge(keys.at(0), &sources) } else { crate::hll::count(&sources) }
}

fn combine_bits(keys: &mut Keys<'_>, args: &[Bytes]) -> Answer {
    let [operation] = exactly(args, "bitop")?;
    crate::bitmap::check(operation, keys.len() - 1)?;
    let values = strings(keys, 1)?;
    let values: Vec<&[u8]> = values.iter().map(|value| value.as_deref().unwrap_or_default()).collect();
    let result = crate::bitmap::combine(operation, &values)?;
    let to = keys.at(0);
    if !result.is_empty() {
        string::write(to, &result, Expiry::Unsaid);
    } else if to.kind().is_some() {
        to.clear();
    }
    Ok(Reply::count(result.len()))
}
