//! Sets: members. A member that is added in one region and removed in another stays (add wins): a removal takes what its region
//! had seen, and no later or concurrent addition.

use crate::args::{NEGATIVE, SYNTAX, arity, exactly, int};
use crate::draft::{Answer, Draft};
use crate::effect::{Bound, Datum, Kind};
use crate::plain::Table;
use crate::scan::{Draw, Scan, draw_count};
use crate::shape::Plain;
use bytes::Bytes;
use tidemark_core::{Reply, Verb};

/// Evaluates a command of sets; none if it is another's.
pub(crate) fn run(verb: Verb, draft: &mut Draft<'_>, args: &[Bytes]) -> Option<Answer> {
    Some(match verb {
        Verb::SAdd => add(draft, args),
        Verb::SRem => remove(draft, args),
        Verb::SCard => members(draft).map(|members| Reply::count(members.map_or(0, Table::len))),
        Verb::SIsMember => is_member(draft, args),
        Verb::SMIsMember => are_members(draft, args),
        Verb::SMembers => list(draft),
        Verb::SPop => pop(draft, args),
        Verb::SRandMember => random(draft, args),
        Verb::SScan => scan(draft, args),
        _ => return None,
    })
}

fn members<'a>(draft: &Draft<'a>) -> Result<Option<&'a Table<()>>, Reply> {
    Ok(match draft.of(Kind::Set)? {
        Some(Plain::Set(members)) => Some(members),
        _ => None,
    })
}

fn add(draft: &mut Draft<'_>, args: &[Bytes]) -> Answer {
    if args.is_empty() {
        return Err(arity("sadd"));
    }
    draft.of(Kind::Set)?;
    let mut new = 0;
    for member in args {
        // Adding what is there is a write, too, if there is another region: it survives a removal there (H6).
        if draft.is_certain(Kind::Set, member) && draft.contains(member) {
            continue;
        }
        new += usize::from(draft.assign_shared(Kind::Set, member.clone(), Datum::Unit, Bound::None));
    }
    Ok(Reply::count(new))
}

fn remove(draft: &mut Draft<'_>, args: &[Bytes]) -> Answer {
    if args.is_empty() {
        return Err(arity("srem"));
    }
    draft.of(Kind::Set)?;
    Ok(Reply::count(args.iter().filter(|member| draft.remove(Kind::Set, member)).count()))
}

fn is_member(draft: &Draft<'_>, args: &[Bytes]) -> Answer {
    let [member] = exactly(args, "sismember")?;
    Ok(Reply::flag(members(draft)?.is_some_and(|members| members.get(member).is_some())))
}

fn are_members(draft: &Draft<'_>, args: &[Bytes]) -> Answer {
    if args.is_empty() {
        return Err(arity("smismember"));
    }
    let members = members(draft)?;
    let there = |member: &Bytes| members.is_some_and(|members| members.get(member).is_some());
    Ok(Reply::Array(args.iter().map(|member| Reply::flag(there(member))).collect()))
}

fn names(members: &Table<()>) -> impl Iterator<Item = &[u8]> {
    members.iter().map(|(name, ())| name)
}

fn list(draft: &Draft<'_>) -> Answer {
    let all = members(draft)?.map_or_else(Vec::new, |members| names(members).map(Reply::bulk).collect());
    Ok(Reply::Set(all))
}

fn draw(members: &Table<()>, draw: Draw, seed: u64) -> Vec<&[u8]> {
    let sample = |random| members.sample(random).map(|(name, ())| name);
    draw.run(members.len(), seed, sample, || names(members).collect(), |name| name)
}

fn pop(draft: &mut Draft<'_>, args: &[Bytes]) -> Answer {
    let count = match args {
        [] => None,
        [count] => Some(int(count).ok().and_then(|count| usize::try_from(count).ok()).ok_or(NEGATIVE)?),
        _ => return Err(SYNTAX),
    };
    let Some(members) = members(draft)? else {
        return Ok(if count.is_some() { Reply::Set(Vec::new()) } else { Reply::Null });
    };
    let popped = draw(members, Draw::Distinct(count.unwrap_or(1).min(members.len())), draft.seed);
    for member in &popped {
        draft.take(Kind::Set, Bytes::copy_from_slice(member));
    }
    Ok(match count {
        Some(_) => Reply::Set(popped.into_iter().map(Reply::bulk).collect()),
        None => popped.first().map_or(Reply::Null, |member| Reply::bulk(member)),
    })
}

fn random(draft: &Draft<'_>, args: &[Bytes]) -> Answer {
    let count = match args {
        [] => {
            let member = members(draft)?.and_then(|members| members.sample(draft.seed));
            return Ok(member.map_or(Reply::Null, |(name, ())| Reply::bulk(name)));
        }
        [count] => draw_count(count)?,
        _ => return Err(SYNTAX),
    };
    let Some(members) = members(draft)? else { return Ok(Reply::Array(Vec::new())) };
    let drawn = draw(members, Draw::of(count, members.len()), draft.seed);
    Ok(Reply::Array(drawn.into_iter().map(Reply::bulk).collect()))
}

fn scan(draft: &Draft<'_>, args: &[Bytes]) -> Answer {
    let (cursor, options) = Scan::cursor(args, "sscan")?;
    let Some(members) = members(draft)? else { return Ok(Scan::reply(0, Vec::new())) };
    let (scan, mut found) = (Scan::parse(cursor, options)?, Vec::new());
    let next = members.scan(scan.cursor, scan.count, |name, ()| {
        if scan.matches(name) {
            found.push(Reply::bulk(name));
        }
    });
    Ok(Scan::reply(next, found))
}
