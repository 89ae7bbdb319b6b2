//! What a gateway asks as operations, and outcomes as its answers.

use bytes::Bytes;
use tidemark_contract::cx::edge::{Shown, shown};
use tidemark_core::{
    Command, Failure, Guard, Hlc, Key, Micros, Op, Outcome, Transact, Vector, Verb, guard_of,
};
use tidemark_edge::frames::{Base, Value, Written};
use tidemark_edge::gateway::{Answer, Ask};

/// The operation that answers it.
pub(super) fn question(ask: &Ask) -> Op {
    let transact = |step| Op::Transact(Box::new(step));
    let vector = |base: &Base| Vector::from_entries(base.0.iter().copied());
    match ask {
        Ask::Bases => transact(Transact::Bases),
        Ask::Guard(client) => Op::Get { key: guard_of(*client) },
        Ask::Changed(from, to) => transact(Transact::Changed { from: vector(from), to: vector(to) }),
        Ask::Read(base, keys) => {
            let command = Some(Box::new(Command::new(Verb::Look, Vec::new())));
            let keys = keys.iter().cloned().map(Key).collect();
            transact(Transact::ReadBase { base: vector(base), keys, command })
        }
        Ask::Accept(all) => transact(Transact::Accept(all.clone())),
    }
}

/// What the outcome tells the gateway. Values are as of `now`, in microseconds since 1970.
pub(super) fn answer(outcome: Outcome, now: Micros) -> Answer {
    let base = |vector: &Vector| Base(vector.entries().to_vec());
    match outcome {
        Outcome::Bases(bases, told) => {
            Answer::Bases(bases.iter().map(base).collect(), told.iter().map(base).collect())
        }
        Outcome::Changed(keys) => {
            Answer::Changed(keys.map(|keys| keys.into_iter().map(|key| key.0).collect()))
        }
        Outcome::Accepted(what) => Answer::Accepted(*what),
        Outcome::Found(found) => Answer::Guard(Guard::decode(found.value.as_deref())),
        Outcome::FoundAll(found) => {
            let values: Option<Vec<Value>> =
                found.iter().map(|found| shown(found, Hlc::at(now)).map(value)).collect();
            values
                .map_or_else(|| Answer::Failed(Failure::Refused("it cannot be read".into())), Answer::Values)
        }
        Outcome::Failed(why) => Answer::Failed(why),
        _ => Answer::Failed(Failure::Refused("it is another answer than was asked for".into())),
    }
}

fn value(shown: Shown) -> Value {
    let written = |at_us, bytes| Written { at_us, bytes };
    match shown {
        Shown::Absent => Value::Absent,
        Shown::String(at_us, bytes) => Value::String(written(at_us, bytes)),
        Shown::Map(fields) => Value::Map(
            fields.into_iter().map(|(field, at_us, bytes)| (field, written(at_us, bytes))).collect(),
        ),
        Shown::Set(members) => Value::Set(members.into_iter().collect()),
        Shown::Other(name) => Value::Other(Bytes::from_static(name.as_bytes())),
    }
}
