//! Keys of data types in schedules: what each is for, and how a history tells of them.
//!
//! A history knows registers. A field of a hash to which fields are only ever assigned behaves as one, and so does a string that is
//! only ever set: both are recorded as registers, and held to the promise of the protocol. What becomes of other keys is
//! judged in the end (`ledger`).

pub(crate) mod ledger;
pub(crate) mod program;

use bytes::Bytes;
use tidemark_core::history::{Action, Event, SessionId};
use tidemark_core::{Command, DcId, Found, Key, Micros, Op, Outcome, Reply, Update, Value, Verb, Write};

/// What happens to a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Family {
    /// Fields are assigned values that nobody else assigns: each field is a register.
    Hash,
    /// A string is assigned such values: it is a register.
    Register,
    /// A number is increased.
    Counter,
    /// Fields of a hash are increased.
    Counts,
    /// Scores are increased.
    Scores,
    /// Members are added that nobody else adds.
    Set,
    /// Values are pushed that nobody else pushes.
    List,
    /// A bounded counter is created once, with [`STOCK`] above its bound, added to and taken from, and rights are given to other regions.
    Stock,
    /// Updates are put into a document that nobody else puts.
    Doc,
    /// Entries are added to a stream that nobody else adds.
    Stream,
    /// Anything that is done to a stream and its consumer groups. Ids are explicit, so that commands can name them.
    Log,
    /// Anything.
    Wild,
    /// The same, and there are commands on both.
    Wilder,
}

impl Family {
    const ALL: [(Self, &str); 13] = [
        (Self::Hash, "h"),
        (Self::Register, "r"),
        (Self::Counter, "n"),
        (Self::Counts, "c"),
        (Self::Scores, "z"),
        (Self::Set, "s"),
        (Self::List, "l"),
        (Self::Stock, "b"),
        (Self::Doc, "d"),
        (Self::Stream, "t"),
        (Self::Log, "g"),
        (Self::Wild, "w"),
        (Self::Wilder, "x"),
    ];

    /// The key of this family beside a register, with the same partition and placement.
    pub(crate) fn of(self, register: &Key) -> Key {
        let ending = Self::ALL.iter().find(|(family, _)| *family == self).map_or("", |(_, ending)| ending);
        Key::from(format!("{register}{{{register}}}{ending}").as_str())
    }

    /// The family of a key; none of a plain register.
    pub(crate) fn find(key: &Key) -> Option<Self> {
        let close = key.iter().position(|byte| *byte == b'}')?;
        let ending = &key[close + 1..];
        Self::ALL.iter().find(|(_, of)| of.as_bytes() == ending).map(|(family, _)| *family)
    }

    /// Whether no command on a key of this family can be answered with such an error.
    fn excludes(self, error: &str) -> bool {
        match self {
            Self::Log | Self::Wild | Self::Wilder => false,
            Self::Stock => {
                !error.starts_with("NORIGHTS") && !error.starts_with("ERR no such bounded counter")
            }
            _ => true,
        }
    }
}

/// The bound of bounded counters, and how far above it they begin.
pub(crate) const BOUND: i64 = 3;
pub(crate) const STOCK: i64 = 20;

/// A command on one key.
pub(crate) fn call(verb: Verb, key: Key, args: &[&str]) -> Op {
    let args = args.iter().map(|word| Bytes::copy_from_slice(word.as_bytes())).collect();
    Op::Put { key, update: Update::call(Command::new(verb, args)) }
}

/// A command on two keys.
pub(crate) fn call_with(verb: Verb, key: Key, other: Key, args: &[&str]) -> Op {
    let args = args.iter().map(|word| Bytes::copy_from_slice(word.as_bytes())).collect();
    Op::Put { key, update: Update::call(Command { keys: vec![other], ..Command::new(verb, args) }) }
}

/// The register that a field of a hash is in a history.
pub(crate) fn field(hash: &Key, field: &[u8]) -> Key {
    Key::from(format!("{hash}.{}", String::from_utf8_lossy(field)).as_str())
}

/// How the last word of a register is asked for, whatever it really is.
pub(crate) fn last_word(register: &Key) -> Op {
    let text = register.to_string();
    match text.split_once('.') {
        Some((hash, field)) => call(Verb::HGet, Key::from(hash), &[field]),
        None => Op::Get { key: register.clone() },
    }
}

/// What a register is found to be by [`last_word`], if that was answered.
pub(crate) fn found_last(op: &Op, outcome: &Outcome) -> Option<(Key, Found)> {
    match (op, outcome) {
        (Op::Get { key }, Outcome::Found(found)) => {
            let stamp = found.stamp.filter(|_| Family::find(key).is_none());
            Some((key.clone(), Found { stamp, ..found.clone() }))
        }
        (Op::Put { key, update }, outcome) => {
            let command = update.command.as_ref().filter(|command| command.verb == Verb::HGet)?;
            Some((field(key, command.args.first()?), value(reply(outcome)?)?))
        }
        _ => None,
    }
}

/// What a command was answered, if it was.
pub(crate) fn reply(outcome: &Outcome) -> Option<&Reply> {
    match outcome {
        Outcome::Written { previous: Some(found), .. } | Outcome::Found(found) => found.reply.as_deref(),
        _ => None,
    }
}

/// The value that a reply tells of.
fn value(reply: &Reply) -> Option<Found> {
    match reply {
        Reply::Bulk(bytes) => Some(Found::new(None, Some(Value::from(&bytes[..])))),
        Reply::Null => Some(Found::default()),
        _ => None,
    }
}

/// An answer that no command can be given, on a key to which nothing else happens than what its family says: an error, or a
/// bounded counter below its bound.
pub(crate) fn disorder(op: &Op, outcome: &Outcome) -> Option<String> {
    if let Some((ops, void)) = program::read(op) {
        let wrote = matches!(outcome, Outcome::Written { stamp: Some(_), .. });
        let all = program::outcomes(ops.len(), outcome);
        return match void && wrote {
            true => Some("a program was void, and wrote".to_string()),
            false => ops.iter().zip(&all).find_map(|(op, outcome)| disorder(op, outcome)),
        };
    }
    let (Op::Put { key, .. } | Op::Get { key }) = op else { return None };
    let family = Family::find(key)?;
    let gives = matches!(op, Op::Put { update: Update { command: Some(command), .. }, .. } if command.verb == Verb::BCounterGive);
    match reply(outcome) {
        Some(Reply::Error(error)) if family.excludes(error) => Some(format!("{key}: {error}")),
        Some(Reply::Int(value)) if family == Family::Stock && *value < BOUND && !gives => {
            Some(format!("{key} is {value}, below its bound"))
        }
        _ => None,
    }
}

/// As [`Event::of`], for operations on keys of data types, too: as what they do to registers.
pub(crate) fn event(
    session: SessionId,
    dc: DcId,
    times: (Micros, Micros),
    op: &Op,
    outcome: &Outcome,
) -> Option<Event> {
    let of = |op: &Op, outcome: &Outcome| Event::of(session, dc, times, op, outcome);
    let (key, command) = match op {
        Op::Put { key, update: Update { command: Some(command), .. } } => (key, command),
        Op::Query { keys, command } => {
            let name = command.args.first()?;
            let told = match outcome {
                Outcome::FoundAll(all) => {
                    Outcome::FoundAll(all.iter().filter_map(|found| value(found.reply.as_deref()?)).collect())
                }
                _ => outcome.clone(),
            };
            return of(&Op::Rotx { keys: keys.iter().map(|key| field(key, name)).collect() }, &told);
        }
        _ => return of(op, outcome).and_then(as_registers),
    };
    let assigns = |register: Key, value: &Bytes| {
        let write = Write::Assign(Value::from(&value[..]));
        let told = match outcome {
            Outcome::Written { stamp, .. } => Outcome::Written { stamp: *stamp, previous: None },
            other => other.clone(),
        };
        of(&Op::Put { key: register, update: Update::put(write) }, &told)
    };
    match (Family::find(key)?, command.verb, &command.args[..]) {
        (Family::Hash, Verb::HSet, [name, value]) => assigns(field(key, name), value),
        (Family::Register, Verb::Set, [value]) => assigns(key.clone(), value),
        (Family::Hash, Verb::HGet, [name]) => {
            let found = reply(outcome).and_then(value);
            let told = found.map_or_else(|| outcome.clone(), Outcome::Found);
            of(&Op::Get { key: field(key, name) }, &told)
        }
        (Family::Hash, Verb::HMGet, names) => {
            let told = match reply(outcome) {
                Some(Reply::Array(all)) => Outcome::FoundAll(all.iter().filter_map(value).collect()),
                _ => outcome.clone(),
            };
            of(&Op::Rotx { keys: names.iter().map(|name| field(key, name)).collect() }, &told)
        }
        _ => None,
    }
}

/// An event without what it says of keys that are no registers. A string that a command may have written does not know of its newest
/// version: it is told apart by its value.
fn as_registers(mut event: Event) -> Option<Event> {
    let unsure = |key: &Key, found: &mut Found| {
        if Family::find(key).is_some() {
            found.stamp = None;
        }
    };
    let is_register = |key: &Key| Family::find(key).is_none_or(|family| family == Family::Register);
    match &mut event.action {
        Action::Write { key, observed, .. } => {
            observed.iter_mut().for_each(|found| unsure(key, found));
            is_register(key).then_some(event)
        }
        Action::Read { reads, .. } => {
            let some = !reads.is_empty();
            reads.retain(|read| is_register(&read.key));
            reads.iter_mut().for_each(|read| unsure(&read.key, &mut read.found));
            (!reads.is_empty() || !some).then_some(event)
        }
        Action::Adopt { .. } => Some(event),
    }
}
