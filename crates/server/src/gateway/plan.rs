//! From a Redis command to the operations of a session, and from their outcomes to a reply.
//!
//! Most commands are one operation. Those on many keys, and those that walk the key space, are several, one after the
//! other in one session: [`Plan::step`] takes an outcome and says what comes next. A reply is written when the last
//! one has ended, so that a command which fails half-way answers nothing but the failure.

use super::failures::{in_words, write_failure};
use crate::redis::{Command, glob_matches};
use bytes::Bytes;
use std::vec::IntoIter;
use tidemark_contract::Topology;
use tidemark_core::{Condition, Failure, Found, Key, Op, Outcome, PartitionId, SLOTS, Update, Value, Write};
use tidemark_wire::resp::Encoder;

/// How many keys a walk over the whole key space looks at in one operation.
const WALK: u32 = 512;
/// The most that one SCAN looks at, whatever its COUNT.
const SCAN_MAX: u64 = 100_000;
/// What a key costs beside its bytes and its value, about: its entry, its place in a table, one version.
const KEY_OVERHEAD_BYTES: usize = 120;

/// What is left to do of a command.
pub(crate) enum Plan {
    Get,
    Set { get: bool },
    SetNx,
    GetSet,
    MGet,
    StrLen,
    Type,
    MemoryUsage { key_bytes: usize },
    ObjectEncoding,
    Import,
    MSet { rest: IntoIter<(Key, Value)>, changed: bool },
    Del { rest: IntoIter<Key>, count: i64 },
    Exists { rest: IntoIter<Key>, count: i64 },
    DbSize { next: u16, count: u64 },
    Scan(Box<Filter>),
    Keys(Box<(Filter, Vec<Key>)>),
    Flush(Box<Flushing>),
}

/// Which keys a walk returns.
pub(crate) struct Filter {
    pattern: Option<Bytes>,
    /// Only keys of a type that does not exist here: none.
    nothing: bool,
}

/// A walk that deletes what it finds.
#[derive(Default)]
pub(crate) struct Flushing {
    /// Where the walk goes on.
    cursor: u64,
    /// Found, and to be deleted.
    doomed: IntoIter<Key>,
    changed: bool,
}

/// What comes next.
pub(crate) enum Step {
    /// Another operation.
    Op(Op),
    /// The reply is written; false if it is an error.
    Done(bool),
}

fn put(key: Key, write: Write, condition: Condition, returns_previous: bool) -> Op {
    Op::Put { key, update: Update { write, condition, returns_previous } }
}

fn remove(key: Key) -> Op {
    put(key, Write::Remove, Condition::IfPresent, false)
}

/// Where the walk of a partition goes on: cursors number slots over all partitions.
fn scan(topology: &Topology, cursor: u64, limit: u32) -> Op {
    Op::Scan { partition: topology.partition_of_slot((cursor >> 32) as u16), cursor, limit }
}

/// Whether a client's cursor can be one of ours.
fn is_cursor(cursor: u64) -> bool {
    cursor >> 32 < u64::from(SLOTS)
}

/// What follows `cursor`, which an operation returned that began at `slot_of`'s partition: 0 at the very end.
fn after(topology: &Topology, partition: PartitionId, cursor: u64) -> u64 {
    let next = PartitionId(partition.0 + 1);
    match cursor {
        0 if next.index() < topology.partitions => u64::from(topology.first_slot(next)) << 32,
        _ => cursor,
    }
}

impl Plan {
    /// The plan of a command that asks the store something, and its first operation; the command itself if there
    /// is nothing to ask. `transactions` says whether the protocol has write transactions.
    #[inline]
    pub(crate) fn of(
        command: Command,
        topology: &Topology,
        transactions: bool,
    ) -> Result<(Self, Op), Command> {
        Ok(match command {
            Command::Get { key } => (Self::Get, Op::Get { key }),
            Command::Set { key, value, condition, get } => {
                (Self::Set { get }, put(key, Write::Assign(value), condition, get))
            }
            other => return Self::of_rarer(other, topology, transactions),
        })
    }

    fn of_rarer(command: Command, topology: &Topology, transactions: bool) -> Result<(Self, Op), Command> {
        Ok(match command {
            Command::SetNx { key, value } => {
                (Self::SetNx, put(key, Write::Assign(value), Condition::IfAbsent, false))
            }
            Command::GetSet { key, value } => {
                (Self::GetSet, put(key, Write::Assign(value), Condition::Always, true))
            }
            Command::MGet { keys } => (Self::MGet, Op::Rotx { keys }),
            Command::StrLen { key } => (Self::StrLen, Op::Get { key }),
            Command::Type { key } => (Self::Type, Op::Get { key }),
            Command::MemoryUsage { key } => (Self::MemoryUsage { key_bytes: key.len() }, Op::Get { key }),
            Command::ObjectEncoding { key } => (Self::ObjectEncoding, Op::Get { key }),
            Command::MSet { pairs } if transactions => {
                let writes = pairs.into_iter().map(|(key, value)| (key, Write::Assign(value))).collect();
                (Self::MSet { rest: Vec::new().into_iter(), changed: false }, Op::PutAll { writes })
            }
            Command::MSet { pairs } => {
                let mut rest = pairs.into_iter();
                let (key, value) = rest.next().expect("MSET has a pair");
                (
                    Self::MSet { rest, changed: false },
                    put(key, Write::Assign(value), Condition::Always, false),
                )
            }
            Command::Del { keys } => {
                let mut rest = keys.into_iter();
                let first = remove(rest.next().expect("DEL has a key"));
                (Self::Del { rest, count: 0 }, first)
            }
            Command::Exists { keys } => {
                let mut rest = keys.into_iter();
                let key = rest.next().expect("EXISTS has a key");
                (Self::Exists { rest, count: 0 }, Op::Get { key })
            }
            Command::DbSize => (Self::DbSize { next: 1, count: 0 }, Op::Count { partition: PartitionId(0) }),
            Command::Keys { pattern } => {
                let filter = Filter { pattern: Some(pattern), nothing: false };
                (Self::Keys(Box::new((filter, Vec::new()))), scan(topology, 0, WALK))
            }
            Command::Scan { cursor, pattern, count, kind } if is_cursor(cursor) => {
                let nothing = kind.is_some_and(|kind| !kind.eq_ignore_ascii_case(b"string"));
                let limit = count.clamp(1, SCAN_MAX) as u32;
                (Self::Scan(Box::new(Filter { pattern, nothing })), scan(topology, cursor, limit))
            }
            Command::Flush => (Self::Flush(Box::default()), scan(topology, 0, WALK)),
            other => return Err(other),
        })
    }

    /// Takes the outcome of the last operation, `partition` being the one that a walk asked.
    #[inline]
    pub(crate) fn step(&mut self, outcome: Outcome, topology: &Topology, out: &mut Encoder<'_>) -> Step {
        match (&mut *self, outcome) {
            (Self::Get, Outcome::Found(found)) => value_or_null(&found, out),
            (Self::Set { get: false }, Outcome::Written { stamp, .. }) => match stamp {
                Some(_) => out.ok(),
                None => out.null(),
            },
            (this, Outcome::Failed(failure)) => {
                write_failure(&this.failure_of_all(failure), out);
                return Step::Done(false);
            }
            (_, outcome) => return self.rarer_step(outcome, topology, out),
        }
        Step::Done(true)
    }

    /// What a failure of one operation means for the command: one that has changed something cannot be said not to
    /// have happened.
    #[cold]
    fn failure_of_all(&self, failure: Failure) -> Failure {
        let changed = match self {
            Self::MSet { changed, .. } => *changed,
            Self::Del { count, .. } => *count > 0,
            Self::Flush(state) => state.changed,
            _ => false,
        };
        if changed && failure.is_definite() {
            Failure::Indefinite(format!("some of its keys were changed, then {}", in_words(&failure)))
        } else {
            failure
        }
    }

    fn rarer_step(&mut self, outcome: Outcome, topology: &Topology, out: &mut Encoder<'_>) -> Step {
        match (self, outcome) {
            (Self::Set { .. } | Self::GetSet, Outcome::Written { previous, .. }) => {
                value_or_null(&previous.unwrap_or_default(), out);
            }
            (Self::SetNx, Outcome::Written { stamp, .. }) => out.integer(i64::from(stamp.is_some())),
            (Self::MGet, Outcome::FoundAll(all)) => {
                out.array(all.len());
                all.iter().for_each(|found| value_or_null(found, out));
            }
            (Self::StrLen, Outcome::Found(found)) => {
                out.integer(found.value.map_or(0, |value| value.len() as i64));
            }
            (Self::Type, Outcome::Found(found)) => {
                out.simple(if found.value.is_some() { "string" } else { "none" });
            }
            (Self::MemoryUsage { key_bytes }, Outcome::Found(found)) => match found.value {
                Some(value) => out.integer((*key_bytes + value.len() + KEY_OVERHEAD_BYTES) as i64),
                None => out.null(),
            },
            (Self::ObjectEncoding, Outcome::Found(found)) => match found.value {
                Some(_) => out.bulk("raw"),
                None => out.null(),
            },
            (Self::Import, Outcome::Adopted) => out.ok(),
            (Self::MSet { rest, changed }, Outcome::Written { .. }) => match rest.next() {
                Some((key, value)) => {
                    *changed = true;
                    return Step::Op(put(key, Write::Assign(value), Condition::Always, false));
                }
                None => out.ok(),
            },
            (Self::Del { rest, count }, Outcome::Written { stamp, .. }) => {
                *count += i64::from(stamp.is_some());
                match rest.next() {
                    Some(key) => return Step::Op(remove(key)),
                    None => out.integer(*count),
                }
            }
            (Self::Exists { rest, count }, Outcome::Found(found)) => {
                *count += i64::from(found.value.is_some());
                match rest.next() {
                    Some(key) => return Step::Op(Op::Get { key }),
                    None => out.integer(*count),
                }
            }
            (Self::DbSize { next, count }, Outcome::Count(here)) => {
                *count += here;
                if (*next as usize) < topology.partitions {
                    *next += 1;
                    return Step::Op(Op::Count { partition: PartitionId(*next - 1) });
                }
                out.integer(*count as i64);
            }
            (_, _) => {
                out.error("ERR the protocol gave an answer of another kind than was asked for");
                return Step::Done(false);
            }
        }
        Step::Done(true)
    }

    /// Whether the outcome belongs to a walk: [`Self::walk_step`] takes it then.
    #[inline]
    pub(crate) fn is_walk(&self) -> bool {
        matches!(self, Self::Scan(_) | Self::Keys(_) | Self::Flush(_))
    }

    /// Takes the outcome of an operation of a walk; a scan's was of `partition`.
    pub(crate) fn walk_step(
        &mut self,
        outcome: Outcome,
        partition: PartitionId,
        topology: &Topology,
        out: &mut Encoder<'_>,
    ) -> Step {
        match (self, outcome) {
            (Self::Scan(filter), Outcome::Keys { keys, cursor }) => {
                let keys: Vec<Key> = keys.into_iter().filter(|key| filter.lets_through(key)).collect();
                out.array(2);
                out.bulk(after(topology, partition, cursor).to_string());
                write_keys(&keys, out);
                Step::Done(true)
            }
            (Self::Keys(state), Outcome::Keys { keys, cursor }) => {
                let (filter, found) = &mut **state;
                found.extend(keys.into_iter().filter(|key| filter.lets_through(key)));
                match after(topology, partition, cursor) {
                    0 => write_keys(found, out),
                    cursor => return Step::Op(scan(topology, cursor, WALK)),
                }
                Step::Done(true)
            }
            (Self::Flush(state), Outcome::Keys { keys, cursor }) => {
                (state.cursor, state.doomed) = (after(topology, partition, cursor), keys.into_iter());
                flush(state, topology, out)
            }
            (Self::Flush(state), Outcome::Written { stamp, .. }) => {
                state.changed |= stamp.is_some();
                flush(state, topology, out)
            }
            (this, outcome) => this.step(outcome, topology, out),
        }
    }
}

/// What comes next of a flush: the next key, then the next piece of the walk.
fn flush(state: &mut Flushing, topology: &Topology, out: &mut Encoder<'_>) -> Step {
    match state.doomed.next() {
        Some(key) => Step::Op(remove(key)),
        None if state.cursor != 0 => Step::Op(scan(topology, state.cursor, WALK)),
        None => {
            out.ok();
            Step::Done(true)
        }
    }
}

impl Filter {
    fn lets_through(&self, key: &Key) -> bool {
        !self.nothing && self.pattern.as_ref().is_none_or(|pattern| glob_matches(pattern, key, false))
    }
}

#[inline]
fn value_or_null(found: &Found, out: &mut Encoder<'_>) {
    match &found.value {
        Some(value) => out.bulk(value),
        None => out.null(),
    }
}

fn write_keys(keys: &[Key], out: &mut Encoder<'_>) {
    out.array(keys.len());
    keys.iter().for_each(|key| out.bulk(&**key));
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidemark_core::{DcId, Hlc, Stamp};
    use tidemark_wire::resp::Version;

    fn reply_after(command: Command, outcomes: Vec<Outcome>) -> String {
        let topology = Topology::new(1, 2);
        let Ok((mut plan, _)) = Plan::of(command, &topology, false) else { panic!("it needs the store") };
        let mut reply = Vec::new();
        for outcome in outcomes {
            let mut out = Encoder::new(&mut reply, Version::Resp2);
            match plan.is_walk() {
                true => plan.walk_step(outcome, PartitionId(0), &topology, &mut out),
                false => plan.step(outcome, &topology, &mut out),
            };
        }
        String::from_utf8(reply).unwrap()
    }

    /// Found by the torture of real clusters: MSET wrote its first key, could not reach the partition of the second,
    /// and answered that nothing had happened.
    #[test]
    fn a_command_on_many_keys_that_failed_half_way_is_indefinite() {
        let key = |name: &str| Key::from(name);
        let mset =
            || Command::MSet { pairs: ["a", "b"].map(|name| (key(name), Value::from(&b"1"[..]))).into() };
        let del = || Command::Del { keys: vec![key("a"), key("b")] };
        let written = |stamp| Outcome::Written { stamp, previous: None };
        let done = || written(Some(Stamp { ts: Hlc(1), origin: DcId(0), seq: 0 }));
        let lost = || Outcome::Failed(Failure::Unavailable("gone".into()));
        let keys = || Outcome::Keys { keys: vec![key("a"), key("b")], cursor: 0 };
        for (command, outcomes, start) in [
            (mset(), vec![lost()], "-UNAVAILABLE gone"),
            (mset(), vec![done(), lost()], "-INDEFINITE"),
            (del(), vec![lost()], "-UNAVAILABLE gone"),
            (del(), vec![written(None), lost()], "-UNAVAILABLE gone"),
            (del(), vec![done(), lost()], "-INDEFINITE"),
            (Command::Flush, vec![keys(), lost()], "-UNAVAILABLE gone"),
            (Command::Flush, vec![keys(), done(), lost()], "-INDEFINITE"),
        ] {
            let reply = reply_after(command, outcomes);
            assert!(reply.starts_with(start), "{reply}, not {start}");
        }
        assert!(matches!(Plan::of(mset(), &Topology::new(1, 2), true), Ok((_, Op::PutAll { .. }))));
    }
}
