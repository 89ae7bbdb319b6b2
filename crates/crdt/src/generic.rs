//! Commands on keys of any type: whether they are there, DEL, and deadlines.

use crate::args::{SYNTAX, int, is};
use crate::draft::{Answer, Draft};
use crate::number::parse_int;
use crate::shape::Plain;
use bytes::Bytes;
use tidemark_core::{Reply, Verb};

/// Evaluates a command on keys of any type; none if it is another's.
pub(crate) fn run(verb: Verb, draft: &mut Draft<'_>, args: &[Bytes]) -> Option<Answer> {
    Some(match verb {
        Verb::Exists | Verb::Touch => Ok(Reply::flag(draft.kind().is_some())),
        Verb::Type => Ok(Reply::Simple(draft.kind().map_or("none", crate::Kind::name).into())),
        Verb::Del => Ok(delete(draft)),
        Verb::Encoding => Ok(crate::encoding::of(draft.plain())),
        Verb::References => Ok(references(draft)),
        // Nothing is evicted by its use, and so nobody counts.
        Verb::Idle => Ok(draft.kind().map_or(Reply::Null, |_| Reply::Int(0))),
        Verb::Frequency => draft.kind().map_or(Ok(Reply::Null), |_| Err(NOT_COUNTED)),
        Verb::Usage => Ok(draft.plain().map_or(Reply::Null, |plain| Reply::count(plain.memory()))),
        Verb::Expire => expire(draft, args, "expire", Unit::Seconds, true),
        Verb::PExpire => expire(draft, args, "pexpire", Unit::Millis, true),
        Verb::ExpireAt => expire(draft, args, "expireat", Unit::Seconds, false),
        Verb::PExpireAt => expire(draft, args, "pexpireat", Unit::Millis, false),
        Verb::Persist => Ok(persist(draft)),
        Verb::Purge => Ok(Reply::count(draft.purge(!args.is_empty()))),
        Verb::Ttl => Ok(left(draft, |deadline, now| (deadline.saturating_sub(now) + 500) / 1000)),
        Verb::PTtl => Ok(left(draft, u64::saturating_sub)),
        Verb::ExpireTime => Ok(left(draft, |deadline, _| (deadline + 500) / 1000)),
        Verb::PExpireTime => Ok(left(draft, |deadline, _| deadline)),
        _ => return None,
    })
}

const NOT_COUNTED: Reply = Reply::error(
    "ERR An LFU maxmemory policy is not selected, access frequency not tracked. Please note that when switching between \
     policies at runtime LRU and LFU data will take some time to adjust.",
);

/// How many references Redis has to a value: it shares small integers.
fn references(draft: &Draft<'_>) -> Reply {
    match draft.plain() {
        None => Reply::Null,
        Some(Plain::String(value))
            if parse_int(value).is_some_and(|number| (0..10_000).contains(&number)) =>
        {
            Reply::Int(i64::from(i32::MAX))
        }
        Some(_) => Reply::Int(1),
    }
}

fn delete(draft: &mut Draft<'_>) -> Reply {
    let there = draft.kind().is_some();
    if there {
        draft.clear();
    }
    Reply::flag(there)
}

/// In which unit a command counts time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    /// Seconds.
    Seconds,
    /// Milliseconds.
    Millis,
}

/// The deadline that an argument means, in milliseconds since 1970; `relative` ones count from `now_ms`. It may lie in the past,
/// and then is 0 or more. None if it is beyond what Redis can hold.
pub(crate) fn deadline(time: i64, unit: Unit, relative: bool, now_ms: u64) -> Option<u64> {
    let millis = if unit == Unit::Seconds { time.checked_mul(1000)? } else { time };
    let base = if relative { i64::try_from(now_ms).ok()? } else { 0 };
    Some(u64::try_from(millis.checked_add(base)?).unwrap_or(0))
}

#[derive(Clone, Copy, Default)]
struct Conditions {
    nx: bool,
    xx: bool,
    gt: bool,
    lt: bool,
}

fn conditions(args: &[Bytes]) -> Result<Conditions, Reply> {
    let mut all = Conditions::default();
    for option in args {
        let flag = if is(option, "nx") {
            &mut all.nx
        } else if is(option, "xx") {
            &mut all.xx
        } else if is(option, "gt") {
            &mut all.gt
        } else if is(option, "lt") {
            &mut all.lt
        } else {
            let option = String::from_utf8_lossy(option);
            return Err(Reply::Error(format!("ERR Unsupported option {option}").into()));
        };
        *flag = true;
    }
    if all.nx && (all.xx || all.gt || all.lt) {
        return Err(Reply::error("ERR NX and XX, GT or LT options at the same time are not compatible"));
    }
    if all.gt && all.lt {
        return Err(Reply::error("ERR GT and LT options at the same time are not compatible"));
    }
    Ok(all)
}

fn expire(draft: &mut Draft<'_>, args: &[Bytes], name: &str, unit: Unit, relative: bool) -> Answer {
    let [time, options @ ..] = args else { return Err(crate::args::arity(name)) };
    let conditions = conditions(options)?;
    let time = int(time)?;
    let invalid = || Reply::Error(format!("ERR invalid expire time in '{name}' command").into());
    let deadline = deadline(time, unit, relative, draft.now_ms()).ok_or_else(invalid)?;
    if draft.kind().is_none() {
        return Ok(Reply::Int(0));
    }
    let Conditions { nx, xx, gt, lt } = conditions;
    let holds = match draft.deadline() {
        None => !xx && !gt,
        Some(there) => !(nx || gt && deadline <= there || lt && deadline >= there),
    };
    if !holds {
        return Ok(Reply::Int(0));
    }
    if deadline <= draft.now_ms() {
        draft.clear();
    } else {
        draft.expire(Some(deadline));
    }
    Ok(Reply::Int(1))
}

fn persist(draft: &mut Draft<'_>) -> Reply {
    let had = draft.deadline().is_some();
    if had {
        draft.expire(None);
    }
    Reply::flag(had)
}

fn left(draft: &Draft<'_>, answer: fn(u64, u64) -> u64) -> Reply {
    match (draft.kind(), draft.deadline()) {
        (None, _) => Reply::Int(-2),
        (_, None) => Reply::Int(-1),
        (_, Some(deadline)) => Reply::Int(answer(deadline, draft.now_ms()) as i64),
    }
}

/// What SET and GETEX say of the deadline.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Expiry {
    /// Nothing.
    #[default]
    Unsaid,
    /// It stays.
    Keep,
    /// There is none any more.
    Persist,
    /// It becomes this, in milliseconds since 1970.
    At(u64),
}

impl Expiry {
    /// Reads an option that sets a deadline, `time` being the argument behind it; none if it is another option.
    ///
    /// # Errors
    /// The time is none, or not one that a key can have.
    pub(crate) fn option(
        word: &[u8],
        time: Option<&Bytes>,
        name: &str,
        now_ms: u64,
    ) -> Result<Option<Self>, Reply> {
        let (unit, relative) = match () {
            () if is(word, "ex") => (Unit::Seconds, true),
            () if is(word, "px") => (Unit::Millis, true),
            () if is(word, "exat") => (Unit::Seconds, false),
            () if is(word, "pxat") => (Unit::Millis, false),
            () => return Ok(None),
        };
        let time = int(time.ok_or(SYNTAX)?)?;
        Self::from_time(time, unit, relative, name, now_ms).map(Some)
    }

    /// A deadline that must lie after 1970, as those of SET do.
    ///
    /// # Errors
    /// It does not.
    pub(crate) fn from_time(
        time: i64,
        unit: Unit,
        relative: bool,
        name: &str,
        now_ms: u64,
    ) -> Result<Self, Reply> {
        let invalid = || Reply::Error(format!("ERR invalid expire time in '{name}' command").into());
        if time <= 0 {
            return Err(invalid());
        }
        deadline(time, unit, relative, now_ms).map(Self::At).ok_or_else(invalid)
    }
}
