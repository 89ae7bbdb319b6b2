//! Commands of one kind that a client has sent one behind the other, as pipelines bring them: they become one version, and answer what
//! they would have answered one by one.
//!
//! The first argument is the name of the kind. Then come the arguments of each command; one empty argument stands for a command that
//! has none.

use crate::args::SYNTAX;
use crate::draft::{Answer, Draft};
use crate::evaluate::{self, Keys};
use crate::list::{self, End};
use crate::zset;
use bytes::Bytes;
use tidemark_core::{Reply, Verb};

/// The kinds on one key. All commands fail, or none does: on a key of another type.
const ON_ONE: [Verb; 8] =
    [Verb::LPush, Verb::RPush, Verb::SAdd, Verb::HSet, Verb::LPop, Verb::RPop, Verb::ZPopMin, Verb::ZPopMax];

/// The kinds on a key each. A command that fails changes nothing.
const ON_EACH: [Verb; 4] = [Verb::Incr, Verb::Decr, Verb::IncrBy, Verb::DecrBy];

/// Evaluates commands on one key; none if it is another's.
pub(crate) fn run(verb: Verb, draft: &mut Draft<'_>, args: &[Bytes]) -> Option<Answer> {
    (verb == Verb::Together).then(|| on_one(draft, args))
}

/// The kind of some commands, how many words each of them has, and all of these.
fn parse<'a>(kinds: &[Verb], args: &'a [Bytes]) -> Result<(Verb, usize, &'a [Bytes]), Reply> {
    let [name, words @ ..] = args else { return Err(SYNTAX) };
    let kind = kinds.iter().find(|kind| kind.name().as_bytes() == &name[..]).ok_or(SYNTAX)?;
    let share = kind.joins().map_or(0, |(_, args)| args).max(1);
    if !words.len().is_multiple_of(share) {
        return Err(SYNTAX);
    }
    Ok((*kind, share, words))
}

fn on_one(draft: &mut Draft<'_>, args: &[Bytes]) -> Answer {
    let (kind, share, words) = parse(&ON_ONE, args)?;
    let count = words.len() / share;
    let replies = match kind {
        // A push does not see those before it: one command puts all.
        Verb::LPush | Verb::RPush => {
            let before = draft.len();
            evaluate::run(kind, draft, words)?;
            (1..=count).map(|nth| Reply::count(before + nth)).collect()
        }
        Verb::LPop => list::pop_each(draft, count, End::Head)?,
        Verb::RPop => list::pop_each(draft, count, End::Tail)?,
        Verb::ZPopMin => zset::pop_each(draft, count, false)?,
        Verb::ZPopMax => zset::pop_each(draft, count, true)?,
        _ => words
            .chunks_exact(share)
            .map(|args| evaluate::run(kind, draft, args))
            .collect::<Result<_, _>>()?,
    };
    Ok(Reply::Array(replies))
}

/// Evaluates commands on a key each, which are all different.
pub(crate) fn on_each(keys: &mut Keys<'_>, args: &[Bytes]) -> Answer {
    let (kind, share, words) = parse(&ON_EACH, args)?;
    if words.len() != keys.len() * share || !keys.differ() {
        return Err(SYNTAX);
    }
    let has_args = kind.joins().is_some_and(|(_, args)| args > 0);
    let one = |(nth, args): (usize, &[Bytes])| {
        let args = if has_args { args } else { &[] };
        evaluate::run(kind, keys.at(nth), args).unwrap_or_else(|error| error)
    };
    Ok(Reply::Array(words.chunks_exact(share).enumerate().map(one).collect()))
}
