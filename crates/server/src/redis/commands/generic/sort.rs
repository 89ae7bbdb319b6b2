//! SORT.

use super::GENERIC;
use crate::redis::commands::flags::WRITE;
use crate::redis::prelude::*;
use crate::redis::spread;
use std::collections::{BTreeMap, BTreeSet};
use tidemark_core::sort::{Pattern, Sort};

pub(super) static SPEC: Spec = Spec {
    name: "sort",
    arity: -2,
    flags: WRITE,
    keys: Keys::FIRST,
    categories: &["@dangerous"],
    syntax: "key [BY pattern] [LIMIT offset count] [GET pattern [GET pattern ...]] [ASC | DESC] [ALPHA] [STORE destination]",
    summary: "Sorts a list, a set or a sorted set.",
    remark: "Elements and what patterns name are read in one causally consistent snapshot, over partitions. A destination \
             is stored after that, if there are patterns or if it is in another partition.",
    handler: Handler::Operations(|request| parse(request, Verb::Sort)),
    ..GENERIC
};

/// The task of SORT or SORT_RO.
pub(super) fn parse(request: &mut Request<'_>, verb: Verb) -> Parsed {
    let key = request.key(1);
    let args: Vec<Bytes> = (2..request.len()).map(|index| request.take(index)).collect();
    let sort = Sort::parse(&args, verb == Verb::Sort).map_err(error)?;
    if !sort.reads_others() && sort.store.is_none() {
        return Ok(Task::typed(typed::call(key, Command::new(Verb::SortRo, args))));
    }
    let others = BTreeSet::new();
    Ok(Task::several(Sorting { key, args, sort, stage: Stage::Whole, others, rounds: 0 }))
}

fn error(reply: Reply) -> ErrorReply {
    match reply {
        Reply::Error(text) => ErrorReply::new(text.as_bytes()),
        _ => ErrorReply::UNEXPECTED,
    }
}

/// SORT in several operations, because it reads other keys, or stores.
struct Sorting {
    key: Key,
    args: Vec<Bytes>,
    sort: Sort,
    stage: Stage,
    /// The keys that are read beside that of the elements.
    others: BTreeSet<Key>,
    /// How often they were read.
    rounds: u32,
}

/// Which outcome is waited for.
enum Stage {
    /// The reply.
    Whole,
    /// The values that STORE stores.
    Values,
    /// What keys hold.
    Contents,
}

/// What keys hold that were read in one snapshot.
type Contents = BTreeMap<Key, Reply>;

/// As often the keys are read until they are all that SORT needs. Three times are enough if the elements stay the same meanwhile: they
/// say which weights are needed, and their order says which values.
const ROUNDS_MAX: u32 = 16;

const CHANGES_TOO_FAST: ErrorReply =
    ErrorReply::fixed("TRYAGAIN The elements change faster than SORT can read");

impl Steps for Sorting {
    fn begin(&mut self, keyspace: &Keyspace<'_>, _: &mut Encoder<'_>) -> Result<Step, ErrorReply> {
        if self.sort.reads_others() {
            return Ok(self.read(keyspace));
        }
        let mut command = Command::new(Verb::Sort, self.args.clone());
        match self.sort.store.clone().map(Key) {
            Some(store) if keyspace.together(&self.key, &store) => command.keys.push(store),
            _ => self.stage = Stage::Values,
        }
        Ok(Step::Op(typed::call(self.key.clone(), command)))
    }

    fn step(
        &mut self,
        outcome: Outcome,
        keyspace: &Keyspace<'_>,
        out: &mut Encoder<'_>,
    ) -> Result<Step, ErrorReply> {
        match std::mem::replace(&mut self.stage, Stage::Whole) {
            Stage::Whole => {
                typed::reply(outcome, out)?;
                Ok(Step::Done)
            }
            Stage::Values => {
                let Reply::Array(values) = typed::answer(outcome)? else {
                    return Err(ErrorReply::UNEXPECTED);
                };
                Ok(self.answer(values.into_iter().map(bulk).collect(), out))
            }
            Stage::Contents => {
                let keys = std::iter::once(&self.key).chain(&self.others).cloned();
                let contents = keys.zip(spread::contents(outcome)?).collect();
                match self.evaluate(&contents)? {
                    Some(values) => Ok(self.answer(values, out)),
                    None if self.rounds < ROUNDS_MAX => Ok(self.read(keyspace)),
                    None => Err(CHANGES_TOO_FAST),
                }
            }
        }
    }
}

impl Sorting {
    /// Reads the elements and the other keys, all in one snapshot.
    fn read(&mut self, keyspace: &Keyspace<'_>) -> Step {
        self.stage = Stage::Contents;
        self.rounds += 1;
        // Of a key that is its own weight or value both are read.
        let keys = std::iter::once(&self.key).chain(&self.others).cloned().collect();
        let patterns = self.sort.weights().into_iter().chain(self.values());
        let fields: BTreeSet<&[u8]> = patterns.filter_map(|pattern| pattern.field).collect();
        let fields = fields.into_iter().map(Bytes::copy_from_slice).collect();
        Step::Op(spread::read_contents(keys, fields, keyspace))
    }

    /// The patterns of keys whose values are answered.
    fn values(&self) -> impl Iterator<Item = Pattern<'_>> {
        self.sort.gets.iter().filter_map(|get| Pattern::of(get))
    }

    /// What is answered, by what was read. None if that is not all that is needed: then it is known what else.
    fn evaluate(&mut self, contents: &Contents) -> Result<Option<Vec<Option<Bytes>>>, ErrorReply> {
        let (elements, set) = elements(contents.get(&self.key))?;
        let mut needed = BTreeSet::new();
        let weights = self.sort.weights().map(|by| {
            needed.extend(elements.iter().map(|element| by.key(element)));
            elements.iter().map(|element| named(&by, element, contents)).collect()
        });
        let lacks = |needed: &BTreeSet<Key>| needed.iter().any(|key| !contents.contains_key(key));
        if lacks(&needed) {
            self.others = needed;
            return Ok(None);
        }
        let ordered = self.sort.order(elements, set, weights).map_err(error)?;
        for pattern in self.values() {
            needed.extend(ordered.iter().map(|element| pattern.key(element)));
        }
        if lacks(&needed) {
            self.others = needed;
            return Ok(None);
        }
        let value = |get: &Bytes, element: &Bytes| match Pattern::of(get) {
            Some(pattern) => named(&pattern, element, contents),
            None => Sort::constant(get, element),
        };
        Ok(Some(match &self.sort.gets[..] {
            [] => ordered.into_iter().map(Some).collect(),
            gets => ordered.iter().flat_map(|element| gets.iter().map(|get| value(get, element))).collect(),
        }))
    }

    /// Answers these values, or stores them.
    fn answer(&self, values: Vec<Option<Bytes>>, out: &mut Encoder<'_>) -> Step {
        if let Some(store) = self.sort.store.clone() {
            let values = values.into_iter().map(Option::unwrap_or_default).collect();
            return Step::Op(typed::call(Key(store), Command::new(Verb::ReplaceList, values)));
        }
        out.array(values.len());
        for value in values {
            match value {
                Some(value) => out.bulk(&value),
                None => out.null(),
            }
        }
        Step::Done
    }
}

fn bulk(reply: Reply) -> Option<Bytes> {
    if let Reply::Bulk(bytes) = reply { Some(bytes) } else { None }
}

/// The elements of a list, a set or a sorted set, and whether they have no order.
fn elements(content: Option<&Reply>) -> Result<(Vec<Bytes>, bool), ErrorReply> {
    let all = |replies: &[Reply]| replies.iter().cloned().filter_map(bulk).collect();
    match content {
        None | Some(Reply::Null) => Ok((Vec::new(), false)),
        Some(Reply::Array(values)) => Ok((all(values), false)),
        Some(Reply::Set(members)) => Ok((all(members), true)),
        Some(Reply::Pairs(pairs)) => {
            Ok((pairs.iter().filter_map(|(member, _)| bulk(member.clone())).collect(), false))
        }
        Some(_) => Err(ErrorReply::WRONG_TYPE),
    }
}

/// The value that a pattern names, of an element. A key of another type holds nothing.
fn named(pattern: &Pattern<'_>, element: &[u8], contents: &Contents) -> Option<Bytes> {
    match (pattern.field, contents.get(&pattern.key(element))?) {
        (None, Reply::Bulk(value)) => Some(value.clone()),
        (Some(field), Reply::Map(pairs)) => {
            let of = |(name, _): &&(Reply, Reply)| matches!(name, Reply::Bulk(name) if name == field);
            pairs.iter().find(of).and_then(|(_, value)| bulk(value.clone()))
        }
        _ => None,
    }
}
