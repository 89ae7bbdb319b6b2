//! Hashes: fields with values. A field that is set in one region and deleted in another stays (add wins); fields that are set at
//! once show the later value; increments add up.

use crate::args::{NOT_A_FLOAT, SYNTAX, arity, exactly, int, is};
use crate::draft::{Answer, Draft};
use crate::effect::{Bound, Datum, Kind};
use crate::number::{Dd, Number, parse_int};
use crate::plain::{ShortBytes, Table};
use crate::scan::{Draw, Scan, draw_count};
use crate::shape::Plain;
use bytes::Bytes;
use tidemark_core::{Reply, Verb};

type Fields = Table<ShortBytes>;

/// Evaluates a command of hashes; none if it is another's.
pub(crate) fn run(verb: Verb, draft: &mut Draft<'_>, args: &[Bytes]) -> Option<Answer> {
    Some(match verb {
        Verb::HSet => set(draft, args, "hset").map(Reply::Int),
        Verb::HMSet => set(draft, args, "hmset").map(|_| Reply::Ok),
        Verb::HSetNx => set_new(draft, args),
        Verb::HGet => get(draft, args),
        Verb::HMGet => get_many(draft, args),
        Verb::HGetAll => get_all(draft, args),
        Verb::HKeys => list(draft, args, |name, _| name),
        Verb::HVals => list(draft, args, |_, value| value),
        Verb::HLen => fields(draft).map(|fields| Reply::count(fields.map_or(0, Table::len))),
        Verb::HExists => one(draft, args, "hexists", |value| Reply::flag(value.is_some())),
        Verb::HStrLen => one(draft, args, "hstrlen", |value| Reply::count(value.map_or(0, <[u8]>::len))),
        Verb::HDel => delete(draft, args),
        Verb::HIncrBy => increment(draft, args),
        Verb::HIncrByFloat => increment_float(draft, args),
        Verb::HRandField => random(draft, args),
        Verb::HScan => scan(draft, args),
        _ => return None,
    })
}

fn fields<'a>(draft: &Draft<'a>) -> Result<Option<&'a Fields>, Reply> {
    Ok(match draft.of(Kind::Hash)? {
        Some(Plain::Hash(fields)) => Some(fields),
        _ => None,
    })
}

fn set(draft: &mut Draft<'_>, args: &[Bytes], name: &str) -> Result<i64, Reply> {
    if args.is_empty() || !args.len().is_multiple_of(2) {
        return Err(arity(name));
    }
    draft.of(Kind::Hash)?;
    let mut new = 0;
    for pair in args.chunks_exact(2) {
        let (field, value) = (pair[0].clone(), Datum::bytes(&pair[1]));
        new += i64::from(draft.assign_shared(Kind::Hash, field, value, Bound::None));
    }
    Ok(new)
}

fn set_new(draft: &mut Draft<'_>, args: &[Bytes]) -> Answer {
    let [field, value] = exactly(args, "hsetnx")?;
    draft.of(Kind::Hash)?;
    let new = !draft.contains(field);
    if new {
        draft.assign(Kind::Hash, field, Datum::bytes(value));
    }
    Ok(Reply::flag(new))
}

fn one(draft: &Draft<'_>, args: &[Bytes], name: &str, reply: fn(Option<&[u8]>) -> Reply) -> Answer {
    let [field] = exactly(args, name)?;
    Ok(reply(fields(draft)?.and_then(|fields| fields.get(field))))
}

fn bulk_or_null(value: Option<&[u8]>) -> Reply {
    value.map_or(Reply::Null, Reply::bulk)
}

fn get(draft: &Draft<'_>, args: &[Bytes]) -> Answer {
    one(draft, args, "hget", bulk_or_null)
}

fn get_many(draft: &Draft<'_>, args: &[Bytes]) -> Answer {
    if args.is_empty() {
        return Err(arity("hmget"));
    }
    let fields = fields(draft)?;
    let found = |name: &Bytes| bulk_or_null(fields.and_then(|fields| fields.get(name)));
    Ok(Reply::Array(args.iter().map(found).collect()))
}

fn get_all(draft: &Draft<'_>, args: &[Bytes]) -> Answer {
    let [] = exactly(args, "hgetall")?;
    let pair = |(name, value): (&[u8], &[u8])| (Reply::bulk(name), Reply::bulk(value));
    Ok(Reply::Map(fields(draft)?.map_or_else(Vec::new, |fields| fields.iter().map(pair).collect())))
}

fn list(draft: &Draft<'_>, args: &[Bytes], which: for<'a> fn(&'a [u8], &'a [u8]) -> &'a [u8]) -> Answer {
    let [] = exactly(args, "hkeys")?;
    let all = fields(draft)?.map_or_else(Vec::new, |fields| {
        fields.iter().map(|(name, value)| Reply::bulk(which(name, value))).collect()
    });
    Ok(Reply::Array(all))
}

fn delete(draft: &mut Draft<'_>, args: &[Bytes]) -> Answer {
    if args.is_empty() {
        return Err(arity("hdel"));
    }
    draft.of(Kind::Hash)?;
    Ok(Reply::count(args.iter().filter(|field| draft.remove(Kind::Hash, field)).count()))
}

fn increment(draft: &mut Draft<'_>, args: &[Bytes]) -> Answer {
    let [field, by] = exactly(args, "hincrby")?;
    let by = int(by)?;
    draft.of(Kind::Hash)?;
    let sum = match draft.get(field) {
        Some(Datum::Bytes(value)) => {
            parse_int(&value).ok_or(Reply::error("ERR hash value is not an integer"))?
        }
        _ => 0,
    };
    let overflow = Reply::error("ERR increment or decrement would overflow");
    let sum = sum.checked_add(by).ok_or(overflow)?;
    draft.count(Kind::Hash, field, Number::int(by));
    Ok(Reply::Int(sum))
}

fn increment_float(draft: &mut Draft<'_>, args: &[Bytes]) -> Answer {
    let [field, by_text] = exactly(args, "hincrbyfloat")?;
    let by = Dd::parse(by_text).ok_or(NOT_A_FLOAT)?;
    // A number that is only too large is told of behind what is wrong with the key.
    if !by.is_finite() && !by_text.iter().any(u8::is_ascii_digit) {
        return Err(Reply::error("ERR value is NaN or Infinity"));
    }
    draft.of(Kind::Hash)?;
    let before = match draft.get(field) {
        Some(Datum::Bytes(value)) => {
            Dd::parse(&value).ok_or(Reply::error("ERR hash value is not a float"))?
        }
        _ => Dd::default(),
    };
    draft.count_float(Kind::Hash, field, before, by)
}

fn random(draft: &Draft<'_>, args: &[Bytes]) -> Answer {
    let (count, values) = match args {
        [] => {
            let field = fields(draft)?.and_then(|fields| fields.sample(draft.seed));
            return Ok(field.map_or(Reply::Null, |(name, _)| Reply::bulk(name)));
        }
        [count, options @ ..] => {
            let count = draw_count(count)?;
            match options {
                [] => (count, false),
                [with] if is(with, "withvalues") => (count, true),
                _ => return Err(SYNTAX),
            }
        }
    };
    if values && count.unsigned_abs() > i64::MAX.unsigned_abs() / 2 {
        return Err(Reply::error("ERR value is out of range"));
    }
    let Some(fields) = fields(draft)? else { return Ok(Reply::Array(Vec::new())) };
    let picked = Draw::of(count, fields.len()).run(
        fields.len(),
        draft.seed,
        |random| fields.sample(random),
        || fields.iter().collect(),
        |(name, _)| name,
    );
    let pair = |(name, value): &(&[u8], &[u8])| (Reply::bulk(name), Reply::bulk(value));
    Ok(match values {
        true => Reply::Pairs(picked.iter().map(pair).collect()),
        false => Reply::Array(picked.iter().map(|(name, _)| Reply::bulk(name)).collect()),
    })
}

fn scan(draft: &Draft<'_>, args: &[Bytes]) -> Answer {
    let (cursor, options) = Scan::cursor(args, "hscan")?;
    let Some(fields) = fields(draft)? else { return Ok(Scan::reply(0, Vec::new())) };
    let (scan, mut found) = (Scan::parse(cursor, options)?, Vec::new());
    let next = fields.scan(scan.cursor, scan.count, |name, value| {
        if scan.matches(name) {
            found.extend([Reply::bulk(name), Reply::bulk(value)]);
        }
    });
    Ok(Scan::reply(next, found))
}
