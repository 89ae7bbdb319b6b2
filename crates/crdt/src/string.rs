//! Strings, and the counters that they can be. The later SET wins; increments and changes of parts that it had not observed
//! survive it.

use crate::args::{SYNTAX, arity, exactly, int, is};
use crate::draft::{Answer, Draft};
use crate::effect::{Datum, Kind};
use crate::generic::{Expiry, Unit};
use crate::modifier::Modifier;
use crate::number::{Dd, Number, parse_int};
use crate::shape::Plain;
use bytes::Bytes;
use tidemark_core::{Reply, Value, Verb};

/// A string is one element.
const ONLY: &[u8] = b"";

/// Evaluates a command of strings; none if it is another's.
pub(crate) fn run(verb: Verb, draft: &mut Draft<'_>, args: &[Bytes]) -> Option<Answer> {
    Some(match verb {
        Verb::Set => set(draft, args),
        Verb::SetNx => set_new(draft, args),
        Verb::SetEx => set_with_time(draft, args, "setex", Unit::Seconds),
        Verb::PSetEx => set_with_time(draft, args, "psetex", Unit::Millis),
        Verb::GetSet => get_and_set(draft, args),
        Verb::Get => value(draft).map(bulk_or_null),
        Verb::GetDel => get_and_delete(draft),
        Verb::GetEx => get_and_expire(draft, args),
        Verb::StrLen => value(draft).map(|value| Reply::count(value.map_or(0, |value| value.len()))),
        Verb::GetRange | Verb::SubStr => get_range(draft, args),
        Verb::Append => append(draft, args),
        Verb::SetRange => set_range(draft, args),
        Verb::Incr => increment(draft, 1),
        Verb::Decr => increment(draft, -1),
        Verb::IncrBy => exactly(args, "incrby").and_then(|[by]| int(by)).and_then(|by| increment(draft, by)),
        Verb::DecrBy => decrement_by(draft, args),
        Verb::IncrByFloat => increment_float(draft, args),
        _ => return None,
    })
}

/// The value, if the key is there.
pub(crate) fn value(draft: &Draft<'_>) -> Result<Option<Value>, Reply> {
    Ok(match draft.of(Kind::String)? {
        Some(Plain::String(value)) => Some(value.clone()),
        _ => None,
    })
}

fn bulk_or_null(value: Option<Value>) -> Reply {
    value.map_or(Reply::Null, |value| Reply::bulk(&value))
}

/// Overwrites the key, whatever its type, as SET does.
pub(crate) fn write(draft: &mut Draft<'_>, value: &[u8], expiry: Expiry) {
    draft.clear_others(Kind::String);
    draft.assign(Kind::String, ONLY, Datum::bytes(value));
    match expiry {
        Expiry::Keep => {}
        Expiry::At(deadline) => draft.expire(Some(deadline)),
        // A SET brings its own deadline, or none: an EXPIRE of the old value that it has not seen does not count (E3).
        Expiry::Unsaid | Expiry::Persist => draft.expire(None),
    }
}

/// The options of SET and GETEX.
#[derive(Default)]
struct Options<'a> {
    nx: bool,
    xx: bool,
    get: bool,
    keep: bool,
    persist: bool,
    /// When the key expires: the option, and the argument behind it. Of one option that comes twice the last counts.
    time: Option<(&'static str, &'a Bytes)>,
}

impl<'a> Options<'a> {
    /// Reads them; `sets` tells whether they are those of SET.
    fn parse(args: &'a [Bytes], sets: bool) -> Result<Self, Reply> {
        let mut all = Self::default();
        let mut rest = args.iter();
        while let Some(word) = rest.next() {
            let named = ["ex", "px", "exat", "pxat"].into_iter().find(|name| is(word, name));
            match named {
                Some(name)
                    if !all.keep && !all.persist && all.time.is_none_or(|(other, _)| other == name) =>
                {
                    all.time = Some((name, rest.next().ok_or(SYNTAX)?));
                }
                None if sets && is(word, "nx") && !all.xx => all.nx = true,
                None if sets && is(word, "xx") && !all.nx => all.xx = true,
                None if sets && is(word, "get") => all.get = true,
                None if sets && is(word, "keepttl") && all.time.is_none() => all.keep = true,
                None if !sets && is(word, "persist") && all.time.is_none() => all.persist = true,
                _ => return Err(SYNTAX),
            }
        }
        Ok(all)
    }

    /// What they say of the deadline.
    fn expiry(&self, name: &str, now_ms: u64) -> Result<Expiry, Reply> {
        Ok(match self.time {
            Some((word, time)) => Expiry::option(word.as_bytes(), Some(time), name, now_ms)?.ok_or(SYNTAX)?,
            None if self.keep => Expiry::Keep,
            None if self.persist => Expiry::Persist,
            None => Expiry::Unsaid,
        })
    }
}

fn set(draft: &mut Draft<'_>, args: &[Bytes]) -> Answer {
    let [value, options @ ..] = args else { return Err(arity("set")) };
    let options = Options::parse(options, true)?;
    let expiry = options.expiry("set", draft.now_ms())?;
    let previous = if options.get { bulk_or_null(self::value(draft)?) } else { Reply::Null };
    let there = draft.kind().is_some();
    if options.nx && there || options.xx && !there {
        return Ok(previous);
    }
    write(draft, value, expiry);
    Ok(if options.get { previous } else { Reply::Ok })
}

fn set_new(draft: &mut Draft<'_>, args: &[Bytes]) -> Answer {
    let [value] = exactly(args, "setnx")?;
    let new = draft.kind().is_none();
    if new {
        write(draft, value, Expiry::Unsaid);
    }
    Ok(Reply::flag(new))
}

fn set_with_time(draft: &mut Draft<'_>, args: &[Bytes], name: &str, unit: Unit) -> Answer {
    let [time, value] = exactly(args, name)?;
    let expiry = Expiry::from_time(int(time)?, unit, true, name, draft.now_ms())?;
    write(draft, value, expiry);
    Ok(Reply::Ok)
}

fn get_and_set(draft: &mut Draft<'_>, args: &[Bytes]) -> Answer {
    let [new] = exactly(args, "getset")?;
    let previous = bulk_or_null(value(draft)?);
    write(draft, new, Expiry::Unsaid);
    Ok(previous)
}

fn get_and_delete(draft: &mut Draft<'_>) -> Answer {
    let value = value(draft)?;
    if value.is_some() {
        draft.clear();
    }
    Ok(bulk_or_null(value))
}

fn get_and_expire(draft: &mut Draft<'_>, args: &[Bytes]) -> Answer {
    let now = draft.now_ms();
    let options = Options::parse(args, false)?;
    let Some(value) = value(draft)? else { return Ok(Reply::Null) };
    // Redis looks at the time only if the key is there.
    match options.expiry("getex", now)? {
        Expiry::At(deadline) if deadline <= now => draft.clear(),
        Expiry::At(deadline) => draft.expire(Some(deadline)),
        Expiry::Persist if draft.deadline().is_some() => draft.expire(None),
        _ => {}
    }
    Ok(Reply::bulk(&value))
}

/// The part of `len` bytes that two offsets mean, of which negative ones count from the end.
pub(crate) fn range(start: i64, end: i64, len: usize) -> std::ops::Range<usize> {
    let len = i64::try_from(len).unwrap_or(i64::MAX);
    if start < 0 && end < 0 && start > end {
        return 0..0;
    }
    let absolute = |at: i64| if at < 0 { (len + at).max(0) } else { at };
    let (start, end) = (absolute(start), absolute(end).min(len - 1));
    if len == 0 || start > end { 0..0 } else { start as usize..end as usize + 1 }
}

fn get_range(draft: &Draft<'_>, args: &[Bytes]) -> Answer {
    let [start, end] = exactly(args, "getrange")?;
    let (start, end) = (int(start)?, int(end)?);
    let value = value(draft)?.unwrap_or_else(|| Value::from(&b""[..]));
    Ok(Reply::bulk(&value[range(start, end, value.len())]))
}

const TOO_LONG: Reply = Reply::error("ERR string exceeds maximum allowed size (proto-max-bulk-len)");

fn append(draft: &mut Draft<'_>, args: &[Bytes]) -> Answer {
    let [more] = exactly(args, "append")?;
    let before = value(draft)?.unwrap_or_else(|| Value::from(&b""[..]));
    if before.len() + more.len() > draft.moment.longest {
        return Err(TOO_LONG);
    }
    draft.modify(vec![Modifier::Tail(more.clone())]);
    Ok(Reply::count(before.len() + more.len()))
}

fn set_range(draft: &mut Draft<'_>, args: &[Bytes]) -> Answer {
    let [offset, part] = exactly(args, "setrange")?;
    let offset = int(offset)?;
    let offset = usize::try_from(offset).map_err(|_| Reply::error("ERR offset is out of range"))?;
    let before = value(draft)?;
    if part.is_empty() {
        return Ok(Reply::count(before.map_or(0, |value| value.len())));
    }
    let end = offset.checked_add(part.len()).filter(|end| *end <= draft.moment.longest).ok_or(TOO_LONG)?;
    draft.modify(vec![Modifier::Patch { offset: offset as u64, bytes: part.clone() }]);
    Ok(Reply::count(before.map_or(0, |value| value.len()).max(end)))
}

const OVERFLOW: Reply = Reply::error("ERR increment or decrement would overflow");

fn increment(draft: &mut Draft<'_>, by: i64) -> Answer {
    let before = match value(draft)? {
        Some(value) => parse_int(&value).ok_or(crate::args::NOT_AN_INTEGER)?,
        None => 0,
    };
    let sum = before.checked_add(by).ok_or(OVERFLOW)?;
    draft.count(Kind::String, ONLY, Number::int(by));
    Ok(Reply::Int(sum))
}

fn decrement_by(draft: &mut Draft<'_>, args: &[Bytes]) -> Answer {
    let [by] = exactly(args, "decrby")?;
    let by = int(by)?.checked_neg().ok_or(Reply::error("ERR decrement would overflow"))?;
    increment(draft, by)
}

fn increment_float(draft: &mut Draft<'_>, args: &[Bytes]) -> Answer {
    let [by] = exactly(args, "incrbyfloat")?;
    let before = match value(draft)? {
        Some(value) => Dd::parse(&value).ok_or(crate::args::NOT_A_FLOAT)?,
        None => Dd::default(),
    };
    let by = Dd::parse(by).ok_or(crate::args::NOT_A_FLOAT)?;
    draft.count_float(Kind::String, ONLY, before, by)
}
