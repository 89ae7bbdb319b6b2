//! DUMP and RESTORE: values as Redis writes them into its snapshots, so that data moves in and out of Redis.
//!
//! A payload is a type, the value, the version of the format and a checksum. [`save`] writes the plain form of each type, of
//! which Redis makes the encoding that its own limits say; [`load`] reads every encoding that Redis 7 writes.
//!
//! **Bounds.** A payload comes from a client. Nothing is allocated by a length that it claims: every length is compared with the
//! bytes that are left, and all that compression and shared field names expand comes off one allowance ([`read::Reader`]).

mod crc64;
mod groups;
mod listpack;
mod load;
mod lzf;
mod read;
mod save;
mod stream;
mod ziplist;

use crate::args::{SYNTAX, arity, exactly, int, is};
use crate::draft::{Answer, Draft};
use crate::effect::{Datum, Kind};
use crate::generic::Expiry;
use crate::position::Run;
use crate::{bcounter, doc, string};
use bytes::Bytes;
use load::Content;
use tidemark_core::{Reply, Verb};

/// The version of the format that is written: that of Redis 7.0.
const WRITTEN: u16 = 10;
/// The latest version of the format that is read: that of Redis 7.2.
const READ: u16 = 11;
/// Bytes of the version and the checksum.
const FOOTER: usize = 10;

/// Evaluates DUMP and RESTORE; none if it is another command.
pub(crate) fn run(verb: Verb, draft: &mut Draft<'_>, args: &[Bytes]) -> Option<Answer> {
    Some(match verb {
        Verb::Dump => dump(draft, args),
        Verb::Restore => restore(draft, args),
        _ => return None,
    })
}

fn dump(draft: &Draft<'_>, args: &[Bytes]) -> Answer {
    let [] = exactly(args, "dump")?;
    let Some(plain) = draft.plain() else { return Ok(Reply::Null) };
    bcounter::may_move(plain)?;
    let mut payload = save::value(plain);
    payload.extend(WRITTEN.to_le_bytes());
    payload.extend(crc64::of(&payload).to_le_bytes());
    Ok(Reply::Bulk(payload.into()))
}

/// The value in a payload, if its version is known and its checksum right.
fn unsealed(payload: &[u8]) -> Option<&[u8]> {
    let (value, footer) = payload.split_at_checked(payload.len().checked_sub(FOOTER)?)?;
    let (version, sum) = footer.split_at(2);
    let known = u16::from_le_bytes(version.try_into().ok()?) <= READ;
    let right = crc64::of(&payload[..payload.len() - 8]).to_le_bytes() == sum;
    (known && right).then_some(value)
}

/// The options of RESTORE.
#[derive(Clone, Copy, Default)]
struct Options {
    replace: bool,
    absolute: bool,
}

fn options(args: &[Bytes]) -> Result<Options, Reply> {
    let mut options = Options::default();
    let (mut idle, mut frequency) = (false, false);
    let mut rest = args.iter();
    while let Some(word) = rest.next() {
        match () {
            () if is(word, "replace") => options.replace = true,
            () if is(word, "absttl") => options.absolute = true,
            () if is(word, "idletime") && !frequency && rest.len() > 0 => {
                idle = true;
                if int(rest.next().ok_or(SYNTAX)?)? < 0 {
                    return Err(Reply::error("ERR Invalid IDLETIME value, must be >= 0"));
                }
            }
            () if is(word, "freq") && !idle && rest.len() > 0 => {
                frequency = true;
                if !(0..=255).contains(&int(rest.next().ok_or(SYNTAX)?)?) {
                    return Err(Reply::error("ERR Invalid FREQ value, must be >= 0 and <= 255"));
                }
            }
            () => return Err(SYNTAX),
        }
    }
    Ok(options)
}

fn restore(draft: &mut Draft<'_>, args: &[Bytes]) -> Answer {
    let [time, payload, words @ ..] = args else { return Err(arity("restore")) };
    let options = options(words)?;
    let there = draft.kind().is_some();
    if there && !options.replace {
        return Err(Reply::error("BUSYKEY Target key name already exists."));
    }
    let negative = Reply::error("ERR Invalid TTL value, must be >= 0");
    let time = u64::try_from(int(time)?).map_err(|_| negative)?;
    let value = unsealed(payload).ok_or(Reply::error("ERR DUMP payload version or checksum are wrong"))?;
    let content = load::value(value).map_err(|load::Error::Malformed| Reply::error("ERR Bad data format"))?;
    let deadline = match (time, options.absolute) {
        (0, _) => None,
        (time, true) => Some(time),
        (time, false) => Some(time.saturating_add(draft.now_ms())),
    };
    if deadline.is_some_and(|deadline| deadline <= draft.now_ms()) {
        if there {
            draft.clear();
        }
        return Ok(Reply::Ok);
    }
    put(draft, &content, deadline);
    Ok(Reply::Ok)
}

/// Gives the key a content and a deadline; it loses its own.
fn put(draft: &mut Draft<'_>, content: &Content, deadline: Option<u64>) {
    if let Content::String(value) = content {
        return string::write(draft, value, deadline.map_or(Expiry::Unsaid, Expiry::At));
    }
    if draft.kind().is_some() {
        draft.clear();
    }
    match content {
        Content::String(_) => {}
        Content::List(values) => {
            let run = Run::between(None, None, draft.moment.origin);
            for (nth, value) in values.iter().enumerate() {
                draft.assign_new(Kind::List, run.name(nth, false), Datum::bytes(value));
            }
        }
        Content::Set(members) => {
            members.iter().for_each(|member| draft.assign(Kind::Set, member, Datum::Unit));
        }
        Content::Hash(fields) => {
            fields.iter().for_each(|(field, value)| draft.assign(Kind::Hash, field, Datum::bytes(value)));
        }
        Content::Zset(members) => {
            members.iter().for_each(|(member, score)| draft.assign(Kind::Zset, member, Datum::score(*score)));
        }
        Content::Doc(updates) => {
            for (nth, update) in (0..).zip(updates) {
                draft.assign_new(Kind::Doc, doc::name(draft.seed, nth), Datum::bytes(update));
            }
        }
        Content::Stream(elements) => {
            elements.iter().for_each(|(name, datum)| draft.assign(Kind::Stream, name, datum.clone()));
        }
    }
    draft.expire(deadline);
}
