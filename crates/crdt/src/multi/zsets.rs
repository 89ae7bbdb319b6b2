//! Commands on several sorted sets, or sets, whose members then have the score 1.

use super::{Keys, count_option, limit_option};
use crate::args::{SYNTAX, float, is};
use crate::draft::{Answer, Draft};
use crate::effect::{Datum, Kind};
use crate::geo::{self, Form, Search, Target};
use crate::plain::Ranked;
use crate::shape::Plain;
use crate::zset::Select;
use bytes::Bytes;
use std::collections::BTreeMap;
use tidemark_core::{Reply, Verb};

/// How the scores of one member are combined.
#[derive(Clone, Copy, Default)]
enum Aggregate {
    #[default]
    Sum,
    Min,
    Max,
}

impl Aggregate {
    fn of(self, one: f64, other: f64) -> f64 {
        match self {
            // Opposite infinities make 0, as in Redis, and so does what is no number in an intersection.
            Self::Sum => number(one + other),
            // The one that is a number.
            Self::Min => one.min(other),
            Self::Max => one.max(other),
        }
    }
}

struct Options {
    weights: Vec<f64>,
    aggregate: Aggregate,
    scores: bool,
    limit: usize,
}

fn options(verb: Verb, keys: usize, args: &[Bytes]) -> Result<Options, Reply> {
    let mut all = Options { weights: vec![1.0; keys], aggregate: Aggregate::Sum, scores: false, limit: 0 };
    let stores = matches!(verb, Verb::ZInterStore | Verb::ZUnionStore | Verb::ZDiffStore);
    let weighs = !matches!(verb, Verb::ZDiff | Verb::ZDiffStore | Verb::ZInterCard);
    let mut args = args.iter();
    while let Some(option) = args.next() {
        if weighs && is(option, "weights") && args.len() >= keys {
            let weight = |_| match args.next().map(|weight| float(weight)) {
                Some(Ok(weight)) => Ok(weight),
                _ => Err(Reply::error("ERR weight value is not a float")),
            };
            all.weights = (0..keys).map(weight).collect::<Result<_, _>>()?;
        } else if weighs && is(option, "aggregate") && args.len() >= 1 {
            all.aggregate = match args.next() {
                Some(word) if is(word, "sum") => Aggregate::Sum,
                Some(word) if is(word, "min") => Aggregate::Min,
                Some(word) if is(word, "max") => Aggregate::Max,
                _ => return Err(SYNTAX),
            };
        } else if !stores && verb != Verb::ZInterCard && is(option, "withscores") {
            all.scores = true;
        } else if verb == Verb::ZInterCard && is(option, "limit") && args.len() >= 1 {
            all.limit = limit_option(args.next().ok_or(SYNTAX)?)?;
        } else {
            return Err(SYNTAX);
        }
    }
    Ok(all)
}

/// Members with their scores.
type Scored = Vec<(Vec<u8>, f64)>;

/// An infinity times 0, as Redis takes it.
fn number(product: f64) -> f64 {
    if product.is_nan() { 0.0 } else { product }
}

/// The members of a key, which is a set or a sorted set, with their scores times `weight`, which may be no number.
fn members(draft: &Draft<'_>, weight: f64) -> Result<Scored, Reply> {
    let weighed = |score: f64| score * weight;
    match draft.plain() {
        None => Ok(Vec::new()),
        Some(Plain::Zset(ranked)) => {
            Ok(ranked.iter().map(|(member, score)| (member.to_vec(), weighed(score))).collect())
        }
        Some(Plain::Set(table)) => {
            Ok(table.iter().map(|(member, ())| (member.to_vec(), weighed(1.0))).collect())
        }
        Some(_) => Err(Reply::WRONG_TYPE),
    }
}

/// The options, and the members that the keys from `first` on have together, in the order of a sorted set. Redis looks at the types
/// of the keys first.
fn result(verb: Verb, keys: &mut Keys<'_>, first: usize, args: &[Bytes]) -> Result<(Options, Scored), Reply> {
    for key in first..keys.len() {
        if !matches!(keys.at(key).plain(), None | Some(Plain::Zset(_) | Plain::Set(_))) {
            return Err(Reply::WRONG_TYPE);
        }
    }
    let options = options(verb, keys.len() - first, args)?;
    let mut sets = Vec::new();
    for (key, weight) in (first..keys.len()).zip(&options.weights) {
        sets.push(members(keys.at(key), *weight)?);
    }
    if !matches!(verb, Verb::ZDiff | Verb::ZDiffStore) {
        // As Redis does, which matters to sums of infinities.
        sets.sort_by_key(Vec::len);
    }
    let mut sets = sets.into_iter();
    let smallest = sets.next().unwrap_or_default();
    let mut all: BTreeMap<Vec<u8>, f64> =
        smallest.into_iter().map(|(member, score)| (member, number(score))).collect();
    for set in sets {
        match verb {
            Verb::ZUnion | Verb::ZUnionStore => {
                for (member, score) in set {
                    let score = number(score);
                    let sum = |there: &mut f64| *there = options.aggregate.of(*there, score);
                    all.entry(member).and_modify(sum).or_insert(score);
                }
            }
            Verb::ZDiff | Verb::ZDiffStore => set.iter().for_each(|(member, _)| {
                all.remove(member);
            }),
            _ => {
                let there: BTreeMap<Vec<u8>, f64> = set.into_iter().collect();
                all.retain(|member, score| match there.get(member) {
                    Some(other) => {
                        *score = options.aggregate.of(*score, *other);
                        true
                    }
                    None => false,
                });
            }
        }
    }
    let mut sorted: Scored = all.into_iter().collect();
    sorted.sort_by(|(a, one), (b, other)| {
        one.partial_cmp(other).expect("no score is NaN").then_with(|| a.cmp(b))
    });
    Ok((options, sorted))
}

/// ZUNION, ZINTER, ZDIFF and ZINTERCARD.
pub(super) fn combine(verb: Verb, keys: &mut Keys<'_>, args: &[Bytes]) -> Answer {
    let (options, found) = result(verb, keys, 0, args)?;
    if verb == Verb::ZInterCard {
        let limit = if options.limit == 0 { found.len() } else { options.limit };
        return Ok(Reply::count(found.len().min(limit)));
    }
    Ok(match options.scores {
        true => {
            let pair = |(member, score): &(Vec<u8>, f64)| (Reply::bulk(member), Reply::Double(*score));
            Reply::Pairs(found.iter().map(pair).collect())
        }
        false => Reply::Array(found.iter().map(|(member, _)| Reply::bulk(member)).collect()),
    })
}

/// Overwrites a key with a sorted set; without members it goes.
fn overwrite<'a>(to: &mut Draft<'_>, members: impl ExactSizeIterator<Item = (&'a [u8], f64)>) -> Reply {
    let count = members.len();
    if to.kind().is_some() {
        to.clear();
    }
    members.for_each(|(member, score)| to.assign(Kind::Zset, member, Datum::score(score)));
    if count > 0 {
        to.expire(None);
    }
    Reply::count(count)
}

/// ZUNIONSTORE, ZINTERSTORE and ZDIFFSTORE.
pub(super) fn store(verb: Verb, keys: &mut Keys<'_>, args: &[Bytes]) -> Answer {
    let (_, found) = result(verb, keys, 1, args)?;
    Ok(overwrite(keys.at(0), found.iter().map(|(member, score)| (&member[..], *score))))
}

fn ranked<'a>(draft: &Draft<'a>) -> Result<Option<&'a Ranked>, Reply> {
    Ok(match draft.of(Kind::Zset)? {
        Some(Plain::Zset(members)) => Some(members),
        _ => None,
    })
}

/// ZRANGESTORE.
pub(super) fn store_range(keys: &mut Keys<'_>, args: &[Bytes]) -> Answer {
    let select = Select::of_store(args)?;
    let found = ranked(keys.at(1))?.map_or_else(Vec::new, |members| select.find(members));
    Ok(overwrite(keys.at(0), found.into_iter()))
}

/// GEOSEARCHSTORE, and GEORADIUS and GEORADIUSBYMEMBER, which may store.
pub(super) fn store_places(verb: Verb, keys: &mut Keys<'_>, args: &[Bytes]) -> Answer {
    let (form, source) = match verb {
        Verb::GeoSearchStore => (Form::SearchStore, 1),
        Verb::GeoRadius => (Form::Radius, 0),
        _ => (Form::Member, 0),
    };
    let members = ranked(keys.at(source))?;
    let search = Search::parse(form, args, members)?;
    let found = members.map_or_else(Vec::new, |members| search.find(members));
    let to = match search.target {
        Target::Client => return Ok(geo::answer(&search, &found)),
        Target::Named => 0,
        Target::Key(_) => keys.len() - 1,
    };
    let stored = search.to_store(&found);
    Ok(overwrite(keys.at(to), stored.into_iter()))
}

/// ZMPOP.
pub(super) fn pop_first(keys: &mut Keys<'_>, args: &[Bytes]) -> Answer {
    let [word, options @ ..] = args else { return Err(SYNTAX) };
    let highest = match () {
        () if is(word, "min") => false,
        () if is(word, "max") => true,
        () => return Err(SYNTAX),
    };
    let count = count_option(options)?;
    for key in 0..keys.len() {
        let Some(members) = ranked(keys.at(key))? else { continue };
        let count = count.min(members.len());
        let popped: Vec<(&[u8], f64)> = match highest {
            true => members.range(members.len() - count..members.len()).rev().collect(),
            false => members.range(0..count).collect(),
        };
        for (member, _) in &popped {
            keys.at(key).remove(Kind::Zset, member);
        }
        let pair =
            |(member, score): &(&[u8], f64)| Reply::Array(vec![Reply::bulk(member), Reply::Double(*score)]);
        let popped = Reply::Array(popped.iter().map(pair).collect());
        return Ok(Reply::Array(vec![Reply::bulk(keys.name(key)), popped]));
    }
    Ok(Reply::NullArray)
}
