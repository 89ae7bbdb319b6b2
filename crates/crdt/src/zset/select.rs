//! Commands on ranges: ZRANGE and its older kin, counting, and removing.

use super::span::Span;
use super::{members, pairs};
use crate::args::{SYNTAX, arity, exactly, int, is};
use crate::draft::{Answer, Draft};
use crate::effect::Kind;
use crate::plain::Ranked;
use bytes::Bytes;
use tidemark_core::{Reply, Verb};

/// By what a range selects members.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum By {
    Rank,
    Score,
    Name,
}

impl By {
    fn span(self, from: &Bytes, to: &Bytes) -> Result<Span, Reply> {
        match self {
            Self::Rank => Span::ranks(from, to),
            Self::Score => Span::scores(from, to),
            Self::Name => Span::names(from, to),
        }
    }
}

/// The parts of a range that the name of a command decides already; options say the rest.
#[derive(Clone, Copy, Debug)]
struct Fixed {
    by: Option<By>,
    reverse: Option<bool>,
    /// Whether the client may ask for scores.
    scores: bool,
}

impl Fixed {
    fn of(verb: Verb) -> Self {
        let (by, reverse) = match verb {
            Verb::ZRevRange => (Some(By::Rank), Some(true)),
            Verb::ZRangeByScore => (Some(By::Score), Some(false)),
            Verb::ZRevRangeByScore => (Some(By::Score), Some(true)),
            Verb::ZRangeByLex => (Some(By::Name), Some(false)),
            Verb::ZRevRangeByLex => (Some(By::Name), Some(true)),
            _ => (None, None),
        };
        Self { by, reverse, scores: true }
    }
}

/// The arguments of ZRANGE and its kin.
#[derive(Clone, Debug)]
pub struct Select {
    span: Span,
    reverse: bool,
    offset: i64,
    limit: i64,
    scores: bool,
}

impl Select {
    /// Reads what stands behind the source of ZRANGESTORE: `min max [BYSCORE | BYLEX] [REV] [LIMIT offset count]`.
    ///
    /// # Errors
    /// It is something else.
    pub fn of_store(args: &[Bytes]) -> Result<Self, Reply> {
        Self::parse(args, "zrangestore", Fixed { by: None, reverse: None, scores: false })
    }

    fn parse(args: &[Bytes], name: &str, fixed: Fixed) -> Result<Self, Reply> {
        let [from, to, options @ ..] = args else { return Err(arity(name)) };
        let Fixed { mut by, mut reverse, .. } = fixed;
        let (mut offset, mut limit, mut scores) = (0, -1, false);
        let mut options = options.iter();
        while let Some(option) = options.next() {
            if fixed.scores && is(option, "withscores") {
                scores = true;
            } else if is(option, "limit") && options.len() >= 2 {
                let mut number = || options.next().map_or(Err(SYNTAX), |number| int(number));
                (offset, limit) = (number()?, number()?);
            } else if reverse.is_none() && is(option, "rev") {
                reverse = Some(true);
            } else if by.is_none() && is(option, "bylex") {
                by = Some(By::Name);
            } else if by.is_none() && is(option, "byscore") {
                by = Some(By::Score);
            } else {
                return Err(SYNTAX);
            }
        }
        let (by, reverse) = (by.unwrap_or(By::Rank), reverse.unwrap_or(false));
        Self::check(by, limit, scores)?;
        // In the reverse order the upper end is named first, unless ranks are meant.
        let (from, to) = if reverse && by != By::Rank { (to, from) } else { (from, to) };
        Ok(Self { span: by.span(from, to)?, reverse, offset, limit, scores })
    }

    fn check(by: By, limit: i64, scores: bool) -> Result<(), Reply> {
        if limit != -1 && by == By::Rank {
            return Err(Reply::error(
                "ERR syntax error, LIMIT is only supported in combination with either BYSCORE or BYLEX",
            ));
        }
        if scores && by == By::Name {
            return Err(Reply::error("ERR syntax error, WITHSCORES not supported in combination with BYLEX"));
        }
        Ok(())
    }

    /// The members that are asked for, in the order in which they are, with their scores. O(log n), and O(1) for each.
    pub fn find<'a>(&self, members: &'a Ranked) -> Vec<(&'a [u8], f64)> {
        let len = members.len();
        let (mut start, mut end) = match (self.span.of(members), &self.span) {
            // Ranks count in the direction of the command.
            (ranks, Span::Ranks(..)) if self.reverse => (len - ranks.end, len - ranks.start),
            (ranks, Span::Ranks(..)) => (ranks.start, ranks.end),
            (ranks, _) => {
                let skipped = usize::try_from(self.offset).unwrap_or(usize::MAX).min(ranks.len());
                let taken = usize::try_from(self.limit).unwrap_or(usize::MAX).min(ranks.len() - skipped);
                match self.reverse {
                    true => (ranks.end - skipped - taken, ranks.end - skipped),
                    false => (ranks.start + skipped, ranks.start + skipped + taken),
                }
            }
        };
        (start, end) = (start.min(len), end.min(len));
        match self.reverse {
            true => members.range(start..end).rev().collect(),
            false => members.range(start..end).collect(),
        }
    }
}

/// ZRANGE, ZREVRANGE, ZRANGEBYSCORE, ZREVRANGEBYSCORE, ZRANGEBYLEX, ZREVRANGEBYLEX.
pub(super) fn list(draft: &Draft<'_>, verb: Verb, args: &[Bytes]) -> Answer {
    let select = Select::parse(args, verb.name(), Fixed::of(verb))?;
    let found = members(draft)?.map_or_else(Vec::new, |members| select.find(members));
    Ok(match select.scores {
        true => pairs(&found),
        false => Reply::Strings(found.into_iter().map(|(member, _)| member).collect()),
    })
}

/// ZCOUNT and ZLEXCOUNT.
pub(super) fn count(draft: &Draft<'_>, verb: Verb, args: &[Bytes]) -> Answer {
    let [from, to] = exactly(args, verb.name())?;
    let by = if verb == Verb::ZCount { By::Score } else { By::Name };
    let span = by.span(from, to)?;
    Ok(Reply::count(members(draft)?.map_or(0, |members| span.of(members).len())))
}

/// ZREMRANGEBYRANK, ZREMRANGEBYSCORE and ZREMRANGEBYLEX: what is in the range and seen here goes.
pub(super) fn remove(draft: &mut Draft<'_>, verb: Verb, args: &[Bytes]) -> Answer {
    let [from, to] = exactly(args, verb.name())?;
    let by = match verb {
        Verb::ZRemRangeByRank => By::Rank,
        Verb::ZRemRangeByScore => By::Score,
        _ => By::Name,
    };
    let span = by.span(from, to)?;
    let Some(members) = members(draft)? else { return Ok(Reply::Int(0)) };
    let removed = members.range(span.of(members)).filter(|(member, _)| draft.remove(Kind::Zset, member));
    Ok(Reply::count(removed.count()))
}
