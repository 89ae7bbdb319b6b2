//! Documents: sets of opaque updates, for clients that merge them (Yjs, Loro, Automerge).
//!
//! **Idea.** An update is an element that is named by the version that put it, so it is there once and never changes. A reader is
//! told what there is, with a [`Token`] of what that covers, and asks next time for what the token does not cover. A client
//! that has merged what it has read puts the result in the place of what its token covers: an update that came since, here or
//! in another region, stays.

mod token;

use crate::args::{SYNTAX, arity, is};
use crate::draft::{Answer, Draft};
use crate::effect::{Datum, Kind, Name};
use crate::rule;
use crate::series::TRIAL;
use crate::shape::Plain;
use bytes::Bytes;
use tidemark_core::{Reply, Stamp, Verb};
use token::Token;

/// Evaluates a command of documents; none if it is another's.
pub(crate) fn run(verb: Verb, draft: &mut Draft<'_>, args: &[Bytes]) -> Option<Answer> {
    Some(match verb {
        Verb::DocPut => put(draft, args),
        Verb::DocRead => read(draft, args),
        Verb::DocCompact => compact(draft, args),
        _ => return None,
    })
}

const NO_TOKEN: Reply = Reply::error("ERR that is not a token of TIDE.DOC READ");

/// The name of an update: the stamp of its version, and what tells the updates of one version apart. `seed` does that if one version
/// is made of several commands.
pub(crate) fn name(seed: u64, nth: usize) -> Name {
    let end = [&(seed as u32).to_be_bytes()[..], &(nth as u32).to_be_bytes()].concat();
    Name::New(Bytes::new(), end.into())
}

/// An update: the version that put it, its name, and what it says.
type Update<'a> = (Stamp, Vec<u8>, &'a [u8]);

/// The updates of the key, if it is there, in the order of their versions.
fn updates<'a>(draft: &Draft<'a>) -> Result<Option<Vec<Update<'a>>>, Reply> {
    let Some(Plain::Doc(updates)) = draft.of(Kind::Doc)? else { return Ok(None) };
    let all = updates.iter().filter_map(|(name, update)| {
        let name = name.to_vec();
        Some((token::stamp_of(&name)?, name, update))
    });
    let mut all: Vec<Update<'_>> = all.collect();
    all.sort_unstable();
    Ok(Some(all))
}

fn put(draft: &mut Draft<'_>, args: &[Bytes]) -> Answer {
    if args.is_empty() {
        return Err(arity(Verb::DocPut.name()));
    }
    draft.of(Kind::Doc)?;
    for (nth, update) in args.iter().enumerate() {
        draft.assign_new(Kind::Doc, name(draft.seed, nth), Datum::bytes(update));
    }
    Ok(Reply::Ok)
}

fn read(draft: &Draft<'_>, args: &[Bytes]) -> Answer {
    let seen = match args {
        [] => Token::default(),
        [word, token] if is(word, "since") => Token::parse(token).ok_or(NO_TOKEN)?,
        _ => return Err(SYNTAX),
    };
    // Of a key that is not there nothing was read. It may have expired here, and live on if that is taken back elsewhere.
    let Some(all) = updates(draft)? else {
        return Ok(Reply::Array(vec![Reply::Bulk(seen.encode()), Reply::Array(Vec::new())]));
    };
    let new = all.iter().filter(|(stamp, ..)| !seen.covers(*stamp));
    let new: Vec<Reply> = new.map(|(.., update)| Reply::bulk(update)).collect();
    // What the same script or transaction has put bears no stamp yet: a reader of its token is told of it once more.
    let stamps = all.iter().map(|(stamp, ..)| *stamp).filter(|stamp| stamp.ts < TRIAL);
    let token = seen.with(draft.moment.floor, stamps);
    Ok(Reply::Array(vec![Reply::Bulk(token.encode()), Reply::Array(new)]))
}

fn compact(draft: &mut Draft<'_>, args: &[Bytes]) -> Answer {
    let [merged, word, upto] = args else { return Err(SYNTAX) };
    if !is(word, "upto") {
        return Err(SYNTAX);
    }
    let upto = match &upto[..] {
        b"*" => None,
        token => Some(Token::parse(token).ok_or(NO_TOKEN)?),
    };
    let all = updates(draft)?.unwrap_or_default();
    let there = all.len();
    let covered = |stamp| upto.as_ref().is_none_or(|token| token.covers(stamp));
    let old: Vec<Vec<u8>> = all
        .into_iter()
        .filter(|(stamp, ..)| covered(*stamp) || !rule::COMPACTION_IS_COVERED.kept())
        .map(|(_, name, _)| name)
        .collect();
    // What was deleted, or compacted by another client, does not come back.
    if old.is_empty() {
        return Ok(Reply::Int(0));
    }
    let count = old.len();
    if count == there {
        // The effect names what was written lately, and not every update.
        draft.empty(Kind::Doc);
    } else {
        old.into_iter().for_each(|name| draft.take(Kind::Doc, name.into()));
    }
    draft.assign_new(Kind::Doc, name(draft.seed, 0), Datum::bytes(merged));
    Ok(Reply::count(count))
}
