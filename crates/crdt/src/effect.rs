//! What an update of a data type does: changes of elements, each with what of them its writer had observed.
//!
//! **Idea.** An update is evaluated once, where it is executed, and travels as its effect. A change that overwrites or removes names
//! what it observed ([`Kill`]); what it has not observed survives it, in every region alike. Everything at or below the
//! *floor* has been observed, and is not named.
//!
//! A stamp is not known yet when a command is evaluated. [`Start::Own`] and [`Name::New`] stand for the stamp of the version that
//! will carry the effect.

use crate::account::{Account, Entry};
use crate::modifier::Modifier;
use crate::number::Number;
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use tidemark_core::{Hlc, Stamp, Value};

/// The types of Redis, and ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[allow(missing_docs)]
pub enum Kind {
    String,
    Hash,
    Set,
    Zset,
    List,
    Stream,
    Doc,
    BCounter,
}

impl Kind {
    /// As TYPE answers.
    pub fn name(self) -> &'static str {
        match self {
            Self::String => "string",
            Self::Hash => "hash",
            Self::Set => "set",
            Self::Zset => "zset",
            Self::List => "list",
            Self::Stream => "stream",
            Self::Doc => "tide-doc",
            Self::BCounter => "tide-bcounter",
        }
    }
}

/// What an element can hold.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Datum {
    /// Nothing but its presence: a member of a set.
    Unit,
    /// Bytes: a string, a field of a hash, an element of a list, an entry of a stream, an update of a document.
    Bytes(#[serde(with = "tidemark_core::op::shared_bytes")] Value),
    /// The score of a member of a sorted set.
    Score(f64),
    /// Nothing: what DEL leaves of a plain string. It wins and loses like a value.
    Gone,
    /// A bounded counter.
    Account(Box<Account>),
}

impl Datum {
    /// Bytes, copied.
    pub fn bytes(bytes: &[u8]) -> Self {
        Self::Bytes(Value::from(bytes))
    }

    /// A score. A zero has no sign: Redis does not keep it either.
    pub fn score(score: f64) -> Self {
        Self::Score(score + 0.0)
    }
}

/// How an assignment merges with concurrent ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Bound {
    /// The later one wins.
    #[default]
    None,
    /// The result is no less than this (`ZADD GT`).
    Least,
    /// The result is no more than this (`ZADD LT`).
    Most,
    /// A plain string was written without being looked at: its earlier writes of this kind are over, also where they were not
    /// observed. So a register needs no more than its newest version.
    Plain,
}

/// The name of an element: a field, a member, a position, an id; empty for a string.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Name {
    /// This.
    Is(Bytes),
    /// These bytes around the stamp of the version ([`stamp_bytes`]): a position of a list in a new bunch, an update of a
    /// document.
    New(Bytes, Bytes),
    /// A position of a list in the bunch to which this path leads, beyond all others there by the time of the version
    /// ([`crate::position`]): of its elements number 0, 1, ... behind them, and number -1, -2, ... before them.
    Next(Bytes, i64),
}

impl Name {
    /// Bytes, copied.
    pub fn of(bytes: &[u8]) -> Self {
        Self::Is(Bytes::copy_from_slice(bytes))
    }

    /// The name, in the version with this stamp.
    pub fn resolve(&self, stamp: Stamp) -> Cow<'_, [u8]> {
        match self {
            Self::Is(name) => Cow::Borrowed(name),
            Self::New(before, after) => Cow::Owned([&before[..], &stamp_bytes(stamp), after].concat()),
            Self::Next(path, nth) => Cow::Owned(crate::position::next(path, *nth, stamp)),
        }
    }
}

/// A stamp as ten bytes or more, of which none is the beginning of another.
pub fn stamp_bytes(stamp: Stamp) -> Vec<u8> {
    let mut bytes = vec![stamp.origin.0];
    bytes.extend(stamp.ts.0.to_be_bytes());
    match u8::try_from(stamp.seq) {
        Ok(seq) if seq < 255 => bytes.push(seq),
        _ => {
            bytes.push(255);
            bytes.extend(stamp.seq.to_be_bytes());
        }
    }
    bytes
}

/// A part of a counter that one region adds to: named by the stamp of its first increment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Start {
    /// This version begins it.
    Own,
    /// This one did.
    At(Stamp),
}

impl Start {
    /// The stamp, in the version with this stamp.
    pub fn resolve(self, stamp: Stamp) -> Stamp {
        match self {
            Self::Own => stamp,
            Self::At(start) => start,
        }
    }
}

/// How far a segment had come when it was observed: later increments survive.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cut {
    /// Which segment.
    pub start: Stamp,
    /// Its last increment.
    pub last: Stamp,
    /// What it had added up to.
    pub sum: Number,
}

/// What a change has observed of an element above the floor, and takes away with everything at or below.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Kill {
    /// Assignments, also those that lost against a later one, and modifiers.
    pub dots: Vec<Stamp>,
    /// Increments.
    pub cuts: Vec<Cut>,
}

/// One change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Change {
    /// An element takes a value, and loses what was observed of it.
    Assign {
        /// Of which type.
        kind: Kind,
        /// Which element.
        name: Name,
        /// The value.
        datum: Datum,
        /// How it merges with concurrent ones.
        bound: Bound,
        /// What was observed.
        kill: Kill,
    },
    /// An element loses what was observed of it.
    Kill {
        /// Of which type.
        kind: Kind,
        /// Which element.
        name: Name,
        /// What was observed.
        kill: Kill,
    },
    /// A segment of a counter has added up to this.
    Count {
        /// Of which type.
        kind: Kind,
        /// Which element.
        name: Name,
        /// Which segment.
        start: Start,
        /// The sum, this increment included.
        sum: Number,
    },
    /// Every element loses what was observed of it, and so does the deadline.
    Clear {
        /// Of this type alone; of all, if none.
        kind: Option<Kind>,
        /// Assignments and modifiers of any element, and deadlines.
        dots: Vec<Stamp>,
        /// Increments of elements.
        cuts: Vec<(Kind, Bytes, Cut)>,
    },
    /// The key's deadline becomes this, in milliseconds since 1970, or none.
    Expire {
        /// When.
        deadline: Option<u64>,
        /// The deadlines that were observed.
        kill: Vec<Stamp>,
    },
    /// Parts of a string change. REQUIRES: once in a version.
    Modify {
        /// Of which type: a string.
        kind: Kind,
        /// Which element.
        name: Name,
        /// How, in this order.
        modifiers: Vec<Modifier>,
    },
    /// A total of a bounded counter has risen.
    Raise {
        /// Of which type: a bounded counter.
        kind: Kind,
        /// Which element.
        name: Name,
        /// The version that created the counter: another counter of the same name does not change (R25).
        created: Stamp,
        /// The total.
        entry: Entry,
    },
}

impl Change {
    /// About how many bytes it takes, encoded, and how long it makes a string at least.
    pub fn bytes(&self) -> (usize, usize) {
        /// A stamp, or a part of a counter.
        const SMALL: usize = 32;
        let name = |name: &Name| match name {
            Name::Is(name) => name.len(),
            Name::New(before, after) => before.len() + after.len() + SMALL,
            Name::Next(path, _) => path.len() + SMALL,
        };
        let killed = |kill: &Kill| SMALL * (kill.dots.len() + kill.cuts.len());
        let mut end = 0;
        let bytes = match self {
            Self::Assign { name: of, datum, kill, .. } => {
                let value = if let Datum::Bytes(value) = datum { value.len() } else { SMALL };
                name(of) + value + killed(kill)
            }
            Self::Kill { name: of, kill, .. } => name(of) + killed(kill),
            Self::Clear { dots, cuts, .. } => {
                SMALL * dots.len() + cuts.iter().map(|(_, name, _)| name.len() + SMALL).sum::<usize>()
            }
            Self::Expire { kill, .. } => SMALL * kill.len(),
            Self::Modify { name: of, modifiers, .. } => {
                let one = |modifier: &Modifier| match modifier {
                    Modifier::Tail(bytes) => bytes.len(),
                    Modifier::Patch { offset, bytes } => {
                        end = end.max(*offset as usize + bytes.len());
                        bytes.len()
                    }
                    Modifier::Bits { offset, .. } => {
                        end = end.max(*offset as usize / 8);
                        SMALL
                    }
                    Modifier::Registers { registers, .. } => 4 * registers.len(),
                };
                name(of) + modifiers.iter().map(one).sum::<usize>()
            }
            Self::Count { name: of, .. } | Self::Raise { name: of, .. } => name(of) + SMALL,
        };
        (bytes + SMALL, end)
    }
}

/// What one version does to its key.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Effect {
    /// Everything at or below has been observed.
    pub floor: Hlc,
    /// In this order.
    pub changes: Vec<Change>,
}

/// Bytes of a short effect.
const SHORT_EFFECT: usize = 256;

impl Effect {
    /// As it is stored and sent.
    pub fn encode(&self) -> Value {
        // As a rule it is short: it is copied once, to where it stays.
        let mut short = [0; SHORT_EFFECT];
        if let Ok(bytes) = postcard::to_slice(self, &mut short) {
            return Value::from(&*bytes);
        }
        postcard::to_allocvec(self).expect("an effect has no parts that cannot be written").into()
    }

    /// What [`Self::encode`] wrote.
    ///
    /// # Errors
    /// It wrote something else: another version of Tidemark did.
    pub fn decode(bytes: &[u8]) -> Result<Self, postcard::Error> {
        postcard::from_bytes(bytes)
    }
}
