//! Sorted sets: members with scores. A member that is added in one region and removed in another stays (add wins); of scores that
//! are set at once the later one shows; increments add up; what GT raises and LT lowers keeps the best score.

mod add;
mod select;
mod span;

use crate::args::{NEGATIVE, SYNTAX, arity, exactly, int, is};
use crate::draft::{Answer, Draft};
use crate::effect::Kind;
use crate::encoding;
use crate::number::show_double;
use crate::plain::Ranked;
use crate::scan::{Draw, Scan, draw_count};
use crate::shape::Plain;
pub(crate) use add::{Options, put_all};
use bytes::Bytes;
pub use select::Select;
use tidemark_core::{Reply, Verb};

/// Scores beyond it, on either side, Redis keeps as text: half of the largest integer of 64 bits.
const WHOLE_MAX: f64 = (1u64 << 62) as f64;

/// Evaluates a command of sorted sets; none if it is another's.
pub(crate) fn run(verb: Verb, draft: &mut Draft<'_>, args: &[Bytes]) -> Option<Answer> {
    Some(match verb {
        Verb::ZAdd => add::add(draft, args),
        Verb::ZIncrBy => add::increment_by(draft, args),
        Verb::ZRem => remove(draft, args),
        Verb::ZCard => card(draft, args),
        Verb::ZScore => score(draft, args),
        Verb::ZMScore => scores(draft, args),
        Verb::ZRank => rank(draft, args, "zrank", |rank, _| rank),
        Verb::ZRevRank => rank(draft, args, "zrevrank", |rank, len| len - 1 - rank),
        Verb::ZCount | Verb::ZLexCount => select::count(draft, verb, args),
        Verb::ZRange
        | Verb::ZRevRange
        | Verb::ZRangeByScore
        | Verb::ZRevRangeByScore
        | Verb::ZRangeByLex
        | Verb::ZRevRangeByLex => select::list(draft, verb, args),
        Verb::ZRemRangeByRank | Verb::ZRemRangeByScore | Verb::ZRemRangeByLex => {
            select::remove(draft, verb, args)
        }
        Verb::ZPopMin => pop(draft, args, false),
        Verb::ZPopMax => pop(draft, args, true),
        Verb::ZRandMember => random(draft, args),
        Verb::ZScan => scan(draft, args),
        _ => return None,
    })
}

/// The members, if the key is there.
///
/// # Errors
/// It is of another type.
pub(crate) fn members<'a>(draft: &Draft<'a>) -> Result<Option<&'a Ranked>, Reply> {
    Ok(match draft.of(Kind::Zset)? {
        Some(Plain::Zset(members)) => Some(members),
        _ => None,
    })
}

/// The answer of a command that lists members with their scores.
fn pairs(found: &[(&[u8], f64)]) -> Reply {
    Reply::Pairs(found.iter().map(|(member, score)| (Reply::bulk(member), Reply::Double(*score))).collect())
}

fn remove(draft: &mut Draft<'_>, args: &[Bytes]) -> Answer {
    if args.is_empty() {
        return Err(arity("zrem"));
    }
    draft.of(Kind::Zset)?;
    Ok(Reply::count(args.iter().filter(|member| draft.remove(Kind::Zset, member)).count()))
}

fn card(draft: &Draft<'_>, args: &[Bytes]) -> Answer {
    let [] = exactly(args, "zcard")?;
    Ok(Reply::count(members(draft)?.map_or(0, Ranked::len)))
}

fn score_or_null(members: Option<&Ranked>, member: &[u8]) -> Reply {
    members.and_then(|members| members.score(member)).map_or(Reply::Null, Reply::Double)
}

fn score(draft: &Draft<'_>, args: &[Bytes]) -> Answer {
    let [member] = exactly(args, "zscore")?;
    Ok(score_or_null(members(draft)?, member))
}

fn scores(draft: &Draft<'_>, args: &[Bytes]) -> Answer {
    if args.is_empty() {
        return Err(arity("zmscore"));
    }
    let members = members(draft)?;
    Ok(Reply::Array(args.iter().map(|member| score_or_null(members, member)).collect()))
}

fn rank(draft: &Draft<'_>, args: &[Bytes], name: &str, from: fn(usize, usize) -> usize) -> Answer {
    let (member, with_score) = match args {
        [member] => (member, false),
        [member, with] if is(with, "withscore") => (member, true),
        [_, _] => return Err(SYNTAX),
        _ => return Err(arity(name)),
    };
    let members = members(draft)?;
    let found = members.and_then(|members| Some((members, members.rank(member)?)));
    let Some((members, rank)) = found else {
        return Ok(if with_score { Reply::NullArray } else { Reply::Null });
    };
    let rank = Reply::count(from(rank, members.len()));
    Ok(if with_score { Reply::Array(vec![rank, score_or_null(Some(members), member)]) } else { rank })
}

/// ZPOPMIN, and ZPOPMAX, which takes from the upper end.
fn pop(draft: &mut Draft<'_>, args: &[Bytes], upper: bool) -> Answer {
    let count = match args {
        [] => return Ok(pop_each(draft, 1, upper)?.remove(0)),
        [count] => int(count).ok().and_then(|count| usize::try_from(count).ok()).ok_or(NEGATIVE)?,
        _ => return Err(SYNTAX),
    };
    Ok(pairs(&take(draft, count, upper)?))
}

/// Removes members at an end.
fn take<'a>(draft: &mut Draft<'a>, count: usize, upper: bool) -> Result<Vec<(&'a [u8], f64)>, Reply> {
    let Some(members) = members(draft)? else { return Ok(Vec::new()) };
    let count = count.min(members.len());
    let taken: Vec<_> = match upper {
        true => members.range(members.len() - count..members.len()).rev().collect(),
        false => members.range(0..count).collect(),
    };
    taken.iter().for_each(|(member, _)| draft.take(Kind::Zset, Bytes::copy_from_slice(member)));
    Ok(taken)
}

/// Removes members at an end, and answers what `count` commands would that remove one each.
pub(crate) fn pop_each(draft: &mut Draft<'_>, count: usize, upper: bool) -> Result<Vec<Reply>, Reply> {
    let taken = take(draft, count, upper)?;
    let one = |(member, score): &(&[u8], f64)| Reply::Array(vec![Reply::bulk(member), Reply::Double(*score)]);
    let mut replies: Vec<Reply> = taken.iter().map(one).collect();
    replies.resize(count, pairs(&[]));
    Ok(replies)
}

/// The arguments of ZRANDMEMBER: how many, and whether with scores.
fn random_options(args: &[Bytes]) -> Result<Option<(i64, bool)>, Reply> {
    let [count, options @ ..] = args else { return Ok(None) };
    let count = draw_count(count)?;
    let scores = match options {
        [] => false,
        [with] if is(with, "withscores") => true,
        _ => return Err(SYNTAX),
    };
    if scores && count.unsigned_abs() > i64::MAX.unsigned_abs() / 2 {
        return Err(Reply::error("ERR value is out of range"));
    }
    Ok(Some((count, scores)))
}

fn random(draft: &Draft<'_>, args: &[Bytes]) -> Answer {
    let options = random_options(args)?;
    let members = members(draft)?;
    let Some((count, scores)) = options else {
        let member = members.and_then(|members| members.sample(draft.seed));
        return Ok(member.map_or(Reply::Null, |(member, _)| Reply::bulk(member)));
    };
    let Some(members) = members else { return Ok(Reply::Array(Vec::new())) };
    let drawn = Draw::of(count, members.len()).run(
        members.len(),
        draft.seed,
        |random| members.sample(random),
        || members.iter().collect(),
        |(member, _)| member,
    );
    Ok(match scores {
        true => pairs(&drawn),
        false => Reply::Array(drawn.iter().map(|(member, _)| Reply::bulk(member)).collect()),
    })
}

fn scan(draft: &Draft<'_>, args: &[Bytes]) -> Answer {
    let (cursor, options) = Scan::cursor(args, "zscan")?;
    let Some(members) = members(draft)? else { return Ok(Scan::reply(0, Vec::new())) };
    let (scan, mut found) = (Scan::parse(cursor, options)?, Vec::new());
    // In a listpack Redis keeps whole scores as integers, and ZSCAN tells what it finds there.
    let packed = encoding::is_small(members.len(), members.longest());
    let whole = |score: f64| score.fract() == 0.0 && score.abs() <= WHOLE_MAX;
    let shown = |score| if packed && whole(score) { format!("{score}") } else { show_double(score) };
    let next = members.scan(scan.cursor, scan.count, |member, score| {
        if scan.matches(member) {
            found.extend([Reply::bulk(member), Reply::bulk(shown(score).as_bytes())]);
        }
    });
    Ok(Scan::reply(next, found))
}
