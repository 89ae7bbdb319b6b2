//! XADD, and the ids that it gives.
//!
//! Where there are several regions, each gives ids with sequence numbers of its own, so that entries which regions add at once
//! never share an id: `n · 256 + region`. A region that is alone counts as Redis does. Who adds in a snapshot skips a number of `n` that nobody
//! else skips, since others may add behind the same entry.

use super::id::Id;
use super::log::{Log, Mark, count_added, encode, remember};
use super::trim::{Options, Trim};
use crate::args::{arity, is};
use crate::draft::{Answer, Draft, Moment};
use crate::effect::{Datum, Kind};
use bytes::Bytes;
use tidemark_core::Reply;

/// How many regions can share the sequence numbers of a millisecond.
const REGIONS: u64 = 256;
/// As many bytes as an entry can have.
const LARGEST: usize = 1 << 30;

const TOO_LARGE: Reply = Reply::error("ERR Elements are too large to be stored");
const TOO_SMALL: Reply =
    Reply::error("ERR The ID specified in XADD is equal or smaller than the target stream top item");
const EXHAUSTED: Reply =
    Reply::error("ERR The stream has exhausted the last possible ID, unable to add more items");

/// Which id an entry is to have.
#[derive(Clone, Copy)]
enum Wanted {
    /// Any.
    Any,
    /// Any of this time.
    At(u64),
    /// This one.
    Is(Id),
}

struct Arguments<'a> {
    wanted: Wanted,
    create: bool,
    trim: Option<Trim>,
    fields: &'a [Bytes],
}

fn parse(args: &[Bytes]) -> Result<Arguments<'_>, Reply> {
    let (mut trim, mut create, mut wanted, mut rest) = (Options::default(), true, Wanted::Any, args);
    while let [word, behind @ ..] = rest {
        if &word[..] == b"*" {
            rest = behind;
            break;
        }
        if let Some(behind) = trim.option(rest)? {
            rest = behind;
        } else if is(word, "nomkstream") {
            create = false;
            rest = behind;
        } else {
            wanted = match Id::wanted(word)? {
                (ms, None) => Wanted::At(ms),
                (ms, Some(seq)) => Wanted::Is(Id::new(ms, seq)),
            };
            rest = behind;
            break;
        }
    }
    let trim = trim.finish(false)?;
    if rest.is_empty() || !rest.len().is_multiple_of(2) {
        return Err(arity("xadd"));
    }
    Ok(Arguments { wanted, create, trim, fields: rest })
}

/// The next sequence number behind `last` that this region can give.
fn next_seq(last: u64, moment: Moment) -> Option<u64> {
    let skipped = skipped(moment);
    if moment.alone {
        return last.checked_add(1 + skipped);
    }
    (last / REGIONS + 1 + skipped).checked_mul(REGIONS)?.checked_add(u64::from(moment.origin.0))
}

/// How many sequence numbers of a region are left out.
fn skipped(moment: Moment) -> u64 {
    moment.past.map_or(0, |number| number >> 32)
}

/// The id of a new entry behind `last`.
fn give(wanted: Wanted, last: Id, now_ms: u64, moment: Moment) -> Result<Id, Reply> {
    let skipped = skipped(moment);
    let first_seq = if moment.alone { skipped } else { skipped * REGIONS + u64::from(moment.origin.0) };
    let id = match wanted {
        Wanted::Any if now_ms > last.ms() => Id::new(now_ms, first_seq),
        Wanted::Any => match next_seq(last.seq(), moment) {
            Some(seq) => Id::new(last.ms(), seq),
            None => Id::new(last.ms().checked_add(1).ok_or(EXHAUSTED)?, first_seq),
        },
        // Redis says this of a millisecond whose sequence numbers are used up.
        Wanted::At(ms) if ms == last.ms() => Id::new(ms, next_seq(last.seq(), moment).ok_or(TOO_LARGE)?),
        Wanted::At(ms) => Id::new(ms, first_seq),
        Wanted::Is(id) => id,
    };
    if id > last { Ok(id) } else { Err(TOO_SMALL) }
}

pub(super) fn run(draft: &mut Draft<'_>, args: &[Bytes]) -> Answer {
    if args.len() < 3 {
        return Err(arity("xadd"));
    }
    let Arguments { wanted, create, trim, fields } = parse(args)?;
    if matches!(wanted, Wanted::Is(Id(0))) {
        return Err(Reply::error("ERR The ID specified in XADD must be greater than 0-0"));
    }
    let log = Log::of(draft)?;
    if log.is_none() && !create {
        return Ok(Reply::Null);
    }
    let last = log.map_or(Id(0), Log::last);
    if last == Id::LAST {
        return Err(EXHAUSTED);
    }
    let id = give(wanted, last, draft.now_ms(), draft.moment)?;
    if fields.iter().map(Bytes::len).sum::<usize>() > LARGEST {
        return Err(TOO_LARGE);
    }
    insert(draft, log, id, trim, fields);
    Ok(id.reply())
}

/// Adds the entry and trims the stream; an entry that is trimmed at once is not written.
fn insert(draft: &mut Draft<'_>, log: Option<Log<'_>>, id: Id, trim: Option<Trim>, fields: &[Bytes]) {
    let before = log.map_or(0, Log::len);
    let id_at = |at: usize| if at == before { Some(id) } else { log?.id(at) };
    let removed = trim.map_or(0, |trim| trim.count(before + 1, id_at));
    count_added(draft);
    for old in log.iter().flat_map(|log| log.ids()).take(removed) {
        draft.remove(Kind::Stream, &old.name());
    }
    if removed <= before {
        draft.assign(Kind::Stream, &id.name(), Datum::Bytes(encode(fields)));
        return;
    }
    match log {
        Some(log) => log.set_mark(draft, Mark::Last, id),
        None => remember(draft, Mark::Last, id),
    }
}
