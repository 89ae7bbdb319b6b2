//! XCLAIM and XAUTOCLAIM: pending entries go over to another consumer.

use super::group::{Group, Pending, Position, required, text};
use super::id::Id;
use super::log::{Log, shown};
use crate::args::{SYNTAX, arity, is};
use crate::draft::{Answer, Draft};
use crate::number::parse_int;
use bytes::Bytes;
use tidemark_core::Reply;

/// How many entries XAUTOCLAIM claims if nothing is said.
const COUNT: usize = 100;
/// How many it looks at for each that it may claim.
const ATTEMPTS: usize = 10;

/// A number of one of these commands.
fn number(argument: &[u8], what: &str, command: &str) -> Result<i64, Reply> {
    parse_int(argument)
        .ok_or_else(|| Reply::Error(format!("ERR Invalid {what} argument for {command}").into()))
}

/// What is written of an entry that is claimed.
struct Claim<'a> {
    consumer: &'a Bytes,
    /// How long it has to be pending, in milliseconds.
    idle: u64,
    /// From when on it is pending again.
    time: u64,
    count: Option<u64>,
    just_ids: bool,
}

impl Claim<'_> {
    /// Claims what is pending.
    fn take(
        &self,
        draft: &mut Draft<'_>,
        group: &Group<'_>,
        (id, fields): (Id, &[u8]),
        pending: &Pending,
    ) -> Reply {
        let deliveries = if self.just_ids { pending.count } else { pending.count.saturating_add(1) };
        let count = self.count.unwrap_or(deliveries);
        group.deliver(draft, id, &Pending { consumer: self.consumer.clone(), time: self.time, count });
        if self.just_ids { id.reply() } else { shown(id, fields) }
    }

    fn is_late_enough(&self, now: u64, pending: &Pending) -> bool {
        self.idle == 0 || now.saturating_sub(pending.time) >= self.idle
    }
}

/// Options of XCLAIM.
struct Options {
    force: bool,
    just_ids: bool,
    time: Option<i64>,
    count: Option<u64>,
    last: Id,
}

fn options(mut args: &[Bytes], now: i64) -> Result<Options, Reply> {
    let mut options = Options { force: false, just_ids: false, time: None, count: None, last: Id(0) };
    while !args.is_empty() {
        args = match args {
            [word, rest @ ..] if is(word, "force") => {
                options.force = true;
                rest
            }
            [word, rest @ ..] if is(word, "justid") => {
                options.just_ids = true;
                rest
            }
            [word, value, rest @ ..] if is(word, "idle") => {
                let idle = number(value, "IDLE option", "XCLAIM")?;
                options.time = Some(now.wrapping_sub(idle)).filter(|time| *time != -1);
                rest
            }
            [word, value, rest @ ..] if is(word, "time") => {
                options.time = Some(number(value, "TIME option", "XCLAIM")?).filter(|time| *time != -1);
                rest
            }
            [word, value, rest @ ..] if is(word, "retrycount") => {
                options.count = u64::try_from(number(value, "RETRYCOUNT option", "XCLAIM")?).ok();
                rest
            }
            [word, value, rest @ ..] if is(word, "lastid") => {
                options.last = Id::strict(value, 0)?;
                rest
            }
            [word, ..] => {
                let word = text(word);
                return Err(Reply::Error(format!("ERR Unrecognized XCLAIM option '{word}'").into()));
            }
            [] => args,
        };
    }
    Ok(options)
}

pub(super) fn claim(draft: &mut Draft<'_>, args: &[Bytes]) -> Answer {
    let [key, name, consumer, idle, rest @ ..] = args else { return Err(arity("xclaim")) };
    let (log, group) = required(draft, key, name, "")?;
    let idle = u64::try_from(number(idle, "min-idle-time", "XCLAIM")?).unwrap_or(0);
    let ids: Vec<Id> = rest.iter().map_while(|id| Id::strict(id, 0).ok()).collect();
    let now = draft.now_ms();
    let options = options(&rest[ids.len()..], now as i64)?;
    if options.last > group.at.last {
        group.advance(draft, Position { last: options.last, ..group.at });
    }
    let time =
        options.time.and_then(|time| u64::try_from(time).ok()).filter(|time| *time <= now).unwrap_or(now);
    let claim = Claim { consumer, idle, time, count: options.count, just_ids: options.just_ids };
    let mut claimed = Vec::new();
    for id in ids {
        let pending = group.pending_at(draft, id);
        let Some(fields) = log.get(id) else {
            group.acknowledge(draft, id);
            continue;
        };
        let pending = match pending {
            Some(pending) if claim.is_late_enough(now, &pending) => pending,
            // A new one has been delivered once.
            None if options.force => Pending { consumer: consumer.clone(), time: now, count: 1 },
            _ => continue,
        };
        claimed.push(claim.take(draft, &group, (id, fields), &pending));
    }
    if !claimed.is_empty() {
        group.hear(draft, consumer);
    }
    Ok(Reply::Array(claimed))
}

/// Options of XAUTOCLAIM: how many entries, and whether their ids alone.
fn idle_options(mut args: &[Bytes]) -> Result<(usize, bool), Reply> {
    let (mut count, mut just_ids) = (COUNT, false);
    while !args.is_empty() {
        args = match args {
            [word, value, rest @ ..] if is(word, "count") => {
                let most = i64::MAX / 16;
                let value = parse_int(value).filter(|count| (1..=most).contains(count));
                count = value.ok_or(Reply::error("ERR COUNT must be > 0"))? as usize;
                rest
            }
            [word, rest @ ..] if is(word, "justid") => {
                just_ids = true;
                rest
            }
            _ => return Err(SYNTAX),
        };
    }
    Ok((count, just_ids))
}

pub(super) fn claim_idle(draft: &mut Draft<'_>, args: &[Bytes]) -> Answer {
    let [key, name, consumer, idle, start, words @ ..] = args else { return Err(arity("xautoclaim")) };
    let idle = u64::try_from(number(idle, "min-idle-time", "XAUTOCLAIM")?).unwrap_or(0);
    let start = super::bound(start, 0, |id| id.checked_add(1), "start")?;
    let (count, just_ids) = idle_options(words)?;
    let (log, group): (Log<'_>, Group<'_>) = required(draft, key, name, "")?;
    let now = draft.now_ms();
    let claim = Claim { consumer, idle, time: now, count: None, just_ids };
    let (mut claimed, mut gone, mut left) = (Vec::new(), Vec::new(), count);
    let mut attempts = count.saturating_mul(ATTEMPTS);
    let mut pending = group.pending(start, Id::LAST).peekable();
    while attempts > 0 && left > 0 {
        let Some((id, pending)) = pending.next() else { break };
        attempts -= 1;
        let Some(fields) = log.get(id) else {
            group.acknowledge(draft, id);
            gone.push(id.reply());
            left -= 1;
            continue;
        };
        if claim.is_late_enough(now, &pending) {
            claimed.push(claim.take(draft, &group, (id, fields), &pending));
            left -= 1;
        }
    }
    let cursor = pending.peek().map_or(Id(0), |(id, _)| *id);
    if !claimed.is_empty() {
        group.hear(draft, consumer);
    }
    Ok(Reply::Array(vec![cursor.reply(), Reply::Array(claimed), Reply::Array(gone)]))
}
