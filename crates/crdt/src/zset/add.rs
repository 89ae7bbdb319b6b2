//! ZADD and ZINCRBY, and what GEOADD shares with them.

use crate::args::{SYNTAX, arity, exactly, float, is};
use crate::draft::{Answer, Draft};
use crate::effect::{Bound, Datum, Kind};
use bytes::Bytes;
use tidemark_core::Reply;

/// The options of ZADD.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Options {
    /// Only members that are not there.
    pub(crate) nx: bool,
    /// Only members that are there.
    pub(crate) xx: bool,
    gt: bool,
    lt: bool,
    /// Changed members are counted, too.
    pub(crate) ch: bool,
    incr: bool,
}

impl Options {
    /// Takes the options off the beginning of `args`.
    fn take(args: &[Bytes]) -> (Self, &[Bytes]) {
        let mut options = Self::default();
        for (at, word) in args.iter().enumerate() {
            match () {
                () if is(word, "nx") => options.nx = true,
                () if is(word, "xx") => options.xx = true,
                () if is(word, "gt") => options.gt = true,
                () if is(word, "lt") => options.lt = true,
                () if is(word, "ch") => options.ch = true,
                () if is(word, "incr") => options.incr = true,
                () => return (options, &args[at..]),
            }
        }
        (options, &[])
    }

    /// Whether they go together, and with so many pairs.
    fn check(self, pairs: usize) -> Result<(), Reply> {
        let Self { nx, xx, gt, lt, incr, .. } = self;
        if nx && xx {
            return Err(Reply::error("ERR XX and NX options at the same time are not compatible"));
        }
        if nx && (gt || lt) || gt && lt {
            return Err(Reply::error("ERR GT, LT, and/or NX options at the same time are not compatible"));
        }
        if incr && pairs > 1 {
            return Err(Reply::error("ERR INCR option supports a single increment-element pair"));
        }
        Ok(())
    }

    /// Whether a member with the score `there` may get `score`.
    fn allow(self, there: Option<f64>, score: f64) -> bool {
        match there {
            None => !self.xx,
            Some(there) => !(self.nx || self.gt && score <= there || self.lt && score >= there),
        }
    }

    /// How what they write merges.
    fn bound(self) -> Bound {
        match (self.gt, self.lt) {
            (true, _) => Bound::Least,
            (_, true) => Bound::Most,
            _ => Bound::None,
        }
    }
}

/// ZADD.
pub(super) fn add(draft: &mut Draft<'_>, args: &[Bytes]) -> Answer {
    if args.len() < 2 {
        return Err(arity("zadd"));
    }
    evaluate(draft, args, false)
}

/// ZINCRBY, which is ZADD with INCR.
pub(super) fn increment_by(draft: &mut Draft<'_>, args: &[Bytes]) -> Answer {
    let [_, _] = exactly(args, "zincrby")?;
    evaluate(draft, args, true)
}

fn evaluate(draft: &mut Draft<'_>, args: &[Bytes], incr: bool) -> Answer {
    let (mut options, args) = Options::take(args);
    options.incr |= incr;
    if args.is_empty() || !args.len().is_multiple_of(2) {
        return Err(SYNTAX);
    }
    options.check(args.len() / 2)?;
    let pair = |pair: &[Bytes]| Ok((float(&pair[0])?, pair[1].clone()));
    let pairs = args.chunks_exact(2).map(pair).collect::<Result<Vec<_>, Reply>>()?;
    match &pairs[..] {
        [(by, member)] if options.incr => increment(draft, options, member, *by),
        pairs => put_all(draft, options, pairs),
    }
}

/// Gives members scores.
///
/// # Errors
/// The key is of another type.
pub(crate) fn put_all(draft: &mut Draft<'_>, options: Options, pairs: &[(f64, Bytes)]) -> Answer {
    draft.of(Kind::Zset)?;
    let (mut added, mut changed) = (0, 0);
    for (score, member) in pairs {
        let there = score_of(draft, member);
        if options.allow(there, *score) {
            added += usize::from(there.is_none());
            changed += usize::from(there.is_some_and(|there| there != *score));
            // Setting the score that is there is a write, too, if there is another region: it survives a removal there.
            if there == Some(*score) && draft.is_certain(Kind::Zset, member) {
                continue;
            }
            draft.assign_shared(Kind::Zset, member.clone(), Datum::score(*score), options.bound());
        }
    }
    Ok(Reply::count(if options.ch { added + changed } else { added }))
}

fn increment(draft: &mut Draft<'_>, options: Options, member: &[u8], by: f64) -> Answer {
    draft.of(Kind::Zset)?;
    let there = score_of(draft, member);
    if there.is_some() && options.nx {
        return Ok(Reply::Null);
    }
    let sum = there.map_or(by, |there| there + by);
    if sum.is_nan() {
        return Err(Reply::error("ERR resulting score is not a number (NaN)"));
    }
    if !options.allow(there, sum) {
        return Ok(Reply::Null);
    }
    draft.count_score(member, there.unwrap_or(0.0), by);
    Ok(Reply::Double(sum))
}

fn score_of(draft: &Draft<'_>, member: &[u8]) -> Option<f64> {
    match draft.get(member)? {
        Datum::Score(score) => Some(score),
        _ => None,
    }
}
