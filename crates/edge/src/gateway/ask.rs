//! What a gateway asks as operations of its region, and their outcomes as answers.

use super::{Answer, Ask, Stamped};
use crate::frames::{Base, Value};
use bytes::Bytes;
use tidemark_core::{
    Command, Found, Guard, Key, Op, Outcome, Shown, Stamp, Transact, Vector, Verb, guard_of,
};

impl Ask {
    /// The operation that answers it.
    pub fn operation(&self) -> Op {
        let transact = |step| Op::Transact(Box::new(step));
        let vector = |base: &Base| Vector::from_entries(base.0.iter().copied());
        match self {
            Self::Bases => transact(Transact::Bases),
            Self::Guard(client) => Op::Get { key: guard_of(*client) },
            Self::Changed(from, to) => transact(Transact::Changed { from: vector(from), to: vector(to) }),
            Self::Read(base, keys) => {
                let command = Some(Box::new(Command::new(Verb::Look, Vec::new())));
                let keys = keys.iter().cloned().map(Key).collect();
                transact(Transact::ReadBase { base: vector(base), keys, command })
            }
            Self::Accept(all) => transact(Transact::Accept(all.clone())),
        }
    }

    /// What the outcome of its operation tells the gateway; none if no outcome of that operation is like this. `shown` says what a key
    /// is that was looked at.
    pub fn answer(&self, outcome: Outcome, shown: impl Fn(&Found) -> Option<Shown>) -> Option<Answer> {
        let base = |vector: &Vector| Base(vector.entries().to_vec());
        Some(match (self, outcome) {
            (_, Outcome::Failed(why)) => Answer::Failed(why),
            (Self::Bases, Outcome::Bases(bases, told)) => {
                Answer::Bases(bases.iter().map(base).collect(), told.iter().map(base).collect())
            }
            (Self::Guard(_), Outcome::Found(found)) => Answer::Guard(Guard::decode(found.value.as_deref())),
            (Self::Changed(..), Outcome::Changed(keys)) => {
                Answer::Changed(keys.map(|keys| keys.into_iter().map(|key| key.0).collect()))
            }
            (Self::Read(..), Outcome::FoundAll(found)) => {
                let values: Option<_> = found.iter().map(|found| shown(found).map(Value::from)).collect();
                Answer::Values(values?)
            }
            (Self::Accept(_), Outcome::Accepted(what)) => Answer::Accepted(*what),
            _ => return None,
        })
    }
}

impl From<Shown> for Value<Stamped> {
    fn from(shown: Shown) -> Self {
        let by_name = |all: Vec<(Bytes, Stamp, Bytes)>| {
            all.into_iter().map(|(name, by, bytes)| (name, Stamped { by, bytes })).collect()
        };
        match shown {
            Shown::Absent => Self::Absent,
            Shown::String(by, bytes) => Self::String(Stamped { by, bytes }),
            Shown::Map(fields) => Self::Map(by_name(fields)),
            Shown::List(elements) => Self::List(by_name(elements)),
            Shown::Set(members) => Self::Set(members.into_iter().collect()),
            Shown::Other(name) => Self::Other(Bytes::from_static(name.as_bytes())),
        }
    }
}
