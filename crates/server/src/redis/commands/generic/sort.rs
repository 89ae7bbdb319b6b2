//! SORT.

use super::GENERIC;
use crate::redis::commands::flags::WRITE;
use crate::redis::prelude::*;
use std::collections::HashMap;
use tidemark_core::sort::{Pattern, Sort};

pub(super) static SPEC: Spec = Spec {
    name: "sort",
    arity: -2,
    flags: WRITE,
    keys: Keys::FIRST,
    categories: &["@dangerous"],
    syntax: "key [BY pattern] [LIMIT offset count] [GET pattern [GET pattern ...]] [ASC | DESC] [ALPHA] [STORE destination]",
    summary: "Sorts a list, a set or a sorted set.",
    remark: "With patterns, or a destination in another partition, it reads and stores one after the other.",
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
    Ok(Task::several(Sorting { key, args, sort, stage: Stage::Whole, read: Lookup::default() }))
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
    read: Lookup,
}

/// Which outcome is waited for.
enum Stage {
    /// The reply.
    Whole,
    /// All elements, in the order of their key.
    Elements,
    /// Elements that are in order.
    Ordered,
    /// Weights of these elements.
    Weights(Vec<Bytes>),
    /// Values that patterns name, of these elements.
    Values(Vec<Bytes>),
}

impl Steps for Sorting {
    fn begin(&mut self, keyspace: &Keyspace<'_>, _: &mut Encoder<'_>) -> Result<Step, ErrorReply> {
        let together = |store: &Bytes| {
            let partition = |key: &Key| keyspace.topology.partition_of(key);
            partition(&Key(store.clone())) == partition(&self.key)
        };
        let mut command = Command::new(Verb::Sort, self.args.clone());
        if !self.sort.reads_others() && self.sort.store.as_ref().is_some_and(together) {
            command.keys.extend(self.sort.store.clone().map(Key));
        } else if self.sort.weights().is_some() {
            command =
                Command::new(Verb::SortRo, vec![Bytes::from_static(b"by"), Bytes::from_static(b"nosort")]);
            self.stage = Stage::Elements;
        } else {
            // With STORE, the order is that in which the elements would be stored.
            let verb = if self.sort.store.is_some() { Verb::Sort } else { Verb::SortRo };
            command = Command::new(verb, without_gets(&self.args));
            self.stage = Stage::Ordered;
        }
        Ok(Step::Op(typed::call(self.key.clone(), command)))
    }

    fn step(
        &mut self,
        outcome: Outcome,
        _: &Keyspace<'_>,
        out: &mut Encoder<'_>,
    ) -> Result<Step, ErrorReply> {
        match std::mem::replace(&mut self.stage, Stage::Whole) {
            Stage::Whole => {
                typed::reply(outcome, out)?;
                Ok(Step::Done)
            }
            Stage::Elements => {
                let elements = elements(outcome)?;
                let weights = self.sort.weights();
                self.read = Lookup::of(weights.as_slice(), &elements);
                self.weigh(elements, out)
            }
            Stage::Ordered => {
                let elements = elements(outcome)?;
                self.look_up(elements, out)
            }
            Stage::Weights(elements) => {
                self.read.take(outcome)?;
                self.weigh(elements, out)
            }
            Stage::Values(elements) => {
                self.read.take(outcome)?;
                self.answer(elements, out)
            }
        }
    }
}

impl Sorting {
    /// Reads the next weights, or goes on when there are all.
    fn weigh(&mut self, elements: Vec<Bytes>, out: &mut Encoder<'_>) -> Result<Step, ErrorReply> {
        if let Some(op) = self.read.next() {
            self.stage = Stage::Weights(elements);
            return Ok(Step::Op(op));
        }
        let pattern = self.sort.weights().ok_or(ErrorReply::UNEXPECTED)?;
        let weights = elements.iter().map(|element| self.read.found(&pattern, element)).collect();
        // Whether it is a set makes no difference when there are weights.
        let ordered = self.sort.order(elements, false, Some(weights)).map_err(error)?;
        self.look_up(ordered, out)
    }

    /// Begins to read what the patterns say of these elements.
    fn look_up(&mut self, elements: Vec<Bytes>, out: &mut Encoder<'_>) -> Result<Step, ErrorReply> {
        let patterns: Vec<Pattern<'_>> = self.sort.gets.iter().filter_map(|get| Pattern::of(get)).collect();
        self.read = Lookup::of(&patterns, &elements);
        self.answer(elements, out)
    }

    /// Reads the next values, or answers or stores when there are all.
    fn answer(&mut self, elements: Vec<Bytes>, out: &mut Encoder<'_>) -> Result<Step, ErrorReply> {
        if let Some(op) = self.read.next() {
            self.stage = Stage::Values(elements);
            return Ok(Step::Op(op));
        }
        let value = |get: &Bytes, element: &Bytes| match Pattern::of(get) {
            Some(pattern) => self.read.found(&pattern, element),
            None => Sort::constant(get, element),
        };
        let mut values: Vec<Option<Bytes>> = Vec::new();
        for element in elements {
            values.extend(self.sort.gets.iter().map(|get| value(get, &element)));
            if self.sort.gets.is_empty() {
                values.push(Some(element));
            }
        }
        if let Some(store) = self.sort.store.clone() {
            let values = values.into_iter().map(Option::unwrap_or_default).collect();
            return Ok(Step::Op(typed::call(Key(store), Command::new(Verb::ReplaceList, values))));
        }
        out.array(values.len());
        for value in values {
            match value {
                Some(value) => out.bulk(&value),
                None => out.null(),
            }
        }
        Ok(Step::Done)
    }
}

/// The arguments of SORT without the patterns of GET.
fn without_gets(args: &[Bytes]) -> Vec<Bytes> {
    let (mut kept, mut rest) = (Vec::new(), args.iter());
    while let Some(word) = rest.next() {
        let behind = match () {
            () if is(word, "get") => {
                rest.next();
                continue;
            }
            () if is(word, "limit") => 2,
            () if is(word, "by") || is(word, "store") => 1,
            () => 0,
        };
        kept.push(word.clone());
        kept.extend(rest.by_ref().take(behind).cloned());
    }
    kept
}

fn elements(outcome: Outcome) -> Result<Vec<Bytes>, ErrorReply> {
    let Reply::Array(elements) = typed::answer(outcome)? else { return Err(ErrorReply::UNEXPECTED) };
    let bulk = |reply| match reply {
        Reply::Bulk(element) => Ok(element),
        _ => Err(ErrorReply::UNEXPECTED),
    };
    elements.into_iter().map(bulk).collect()
}

/// Reads of keys that patterns name: those of strings at once, from one snapshot, then one field of a hash after the other.
#[derive(Default)]
struct Lookup {
    /// Strings that are still to be read.
    strings: Vec<Key>,
    /// Fields that are still to be read.
    fields: Vec<(Key, Bytes)>,
    /// Which are being read.
    asked: Asked,
    found: HashMap<(Key, Option<Bytes>), Bytes>,
}

#[derive(Default)]
enum Asked {
    #[default]
    Nothing,
    Strings(Vec<Key>),
    Field(Key, Bytes),
}

impl Lookup {
    /// Of what these patterns say of these elements.
    fn of(patterns: &[Pattern<'_>], elements: &[Bytes]) -> Self {
        let mut lookup = Self::default();
        for pattern in patterns {
            let keys = elements.iter().map(|element| pattern.key(element));
            match pattern.field {
                None => lookup.strings.extend(keys),
                Some(field) => lookup.fields.extend(keys.map(|key| (key, Bytes::copy_from_slice(field)))),
            }
        }
        lookup.strings.sort_unstable();
        lookup.strings.dedup();
        lookup.fields.sort_unstable();
        lookup.fields.dedup();
        lookup
    }

    /// The next read; none if there is none left.
    fn next(&mut self) -> Option<Op> {
        if !self.strings.is_empty() {
            let keys = std::mem::take(&mut self.strings);
            self.asked = Asked::Strings(keys.clone());
            return Some(Op::Rotx { keys });
        }
        let (key, field) = self.fields.pop()?;
        self.asked = Asked::Field(key.clone(), field.clone());
        Some(typed::call(key, Command::new(Verb::HGet, vec![field])))
    }

    /// Takes the outcome of that read. A key of another type holds nothing.
    fn take(&mut self, outcome: Outcome) -> Result<(), ErrorReply> {
        match (std::mem::take(&mut self.asked), outcome) {
            (Asked::Strings(keys), Outcome::FoundAll(all)) => {
                for (key, found) in keys.into_iter().zip(all) {
                    let value = found.value.map(|value| Bytes::copy_from_slice(&value));
                    self.found.extend(value.map(|value| ((key, None), value)));
                }
            }
            (Asked::Field(key, field), Outcome::Written { previous: Some(found), .. }) => {
                if let Some(Reply::Bulk(value)) = found.reply.map(|reply| *reply) {
                    self.found.insert((key, Some(field)), value);
                }
            }
            _ => return Err(ErrorReply::UNEXPECTED),
        }
        Ok(())
    }

    /// The value that a pattern names, of an element.
    fn found(&self, pattern: &Pattern<'_>, element: &[u8]) -> Option<Bytes> {
        let field = pattern.field.map(Bytes::copy_from_slice);
        self.found.get(&(pattern.key(element), field)).cloned()
    }
}
