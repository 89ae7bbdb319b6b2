//! The plain form of a key, by type.

use crate::account::Account;
use crate::cell::counted_whole;
use crate::effect::{Datum, Kind};
use crate::number::Number;
use crate::plain::{Ranked, Sequence, ShortBytes, Table};
use std::sync::Arc;
use tidemark_core::Value;

/// What a reader sees of the elements of one type.
#[derive(Clone)]
pub enum Plain {
    /// A string.
    String(Value),
    /// Fields and values.
    Hash(Table<ShortBytes>),
    /// Members.
    Set(Table<()>),
    /// Members by score.
    Zset(Ranked),
    /// Values by position.
    List(Sequence),
    /// Entries by id.
    Stream(Sequence),
    /// Updates by name.
    Doc(Sequence),
    /// A bounded counter.
    BCounter(Box<Account>),
}

impl Plain {
    /// Nothing of that type yet; a string that is empty, a bounded counter of nobody.
    #[inline]
    pub fn new(kind: Kind) -> Self {
        match kind {
            Kind::String => Self::String(Value::from(&b""[..])),
            Kind::Hash => Self::Hash(Table::new()),
            Kind::Set => Self::Set(Table::new()),
            Kind::Zset => Self::Zset(Ranked::new()),
            Kind::List => Self::List(Sequence::new()),
            Kind::Stream => Self::Stream(Sequence::new()),
            Kind::Doc => Self::Doc(Sequence::new()),
            Kind::BCounter => Self::BCounter(Box::default()),
        }
    }

    /// Its type.
    #[inline]
    pub fn kind(&self) -> Kind {
        match self {
            Self::String(_) => Kind::String,
            Self::Hash(_) => Kind::Hash,
            Self::Set(_) => Kind::Set,
            Self::Zset(_) => Kind::Zset,
            Self::List(_) => Kind::List,
            Self::Stream(_) => Kind::Stream,
            Self::Doc(_) => Kind::Doc,
            Self::BCounter(_) => Kind::BCounter,
        }
    }

    /// How many elements it has.
    #[inline]
    pub fn len(&self) -> usize {
        match self {
            Self::String(_) | Self::BCounter(_) => 1,
            Self::Hash(table) => table.len(),
            Self::Set(table) => table.len(),
            Self::Zset(ranked) => ranked.len(),
            Self::List(sequence) | Self::Stream(sequence) | Self::Doc(sequence) => sequence.len(),
        }
    }

    /// Adds to a string that is an integer, in its own memory; false if that cannot be done. As [`crate::cell::counted`] otherwise.
    #[inline]
    pub(crate) fn count_in_place(&mut self, increments: Number) -> bool {
        let Self::String(value) = self else { return false };
        let Some(sum) = counted_whole(value, increments) else { return false };
        let (mut digits, bytes) = (itoa::Buffer::new(), Arc::get_mut(value));
        let digits = digits.format(sum).as_bytes();
        let same_length = bytes.filter(|bytes| bytes.len() == digits.len());
        same_length.map(|bytes| bytes.copy_from_slice(digits)).is_some()
    }

    /// See [`crate::State::touch`].
    #[inline]
    pub(crate) fn touch(&self) -> u64 {
        match self {
            Self::String(value) => value.first().copied().map_or(0, u64::from),
            // A short one has its length where it begins.
            other => other.len() as u64,
        }
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// An element.
    pub fn get(&self, name: &[u8]) -> Option<Datum> {
        match self {
            Self::String(value) => Some(Datum::Bytes(value.clone())),
            Self::Hash(table) => table.get(name).map(Datum::bytes),
            Self::Set(table) => table.get(name).map(|()| Datum::Unit),
            Self::Zset(ranked) => ranked.score(name).map(Datum::Score),
            Self::List(sequence) | Self::Stream(sequence) | Self::Doc(sequence) => {
                sequence.get(name).map(Datum::bytes)
            }
            Self::BCounter(account) => Some(Datum::Account(account.clone())),
        }
    }

    /// Whether there is an element.
    #[inline]
    pub fn contains(&self, name: &[u8]) -> bool {
        match self {
            Self::String(_) | Self::BCounter(_) => true,
            Self::Hash(table) => table.contains(name),
            Self::Set(table) => table.contains(name),
            Self::Zset(ranked) => ranked.score(name).is_some(),
            Self::List(sequence) | Self::Stream(sequence) | Self::Doc(sequence) => {
                sequence.get(name).is_some()
            }
        }
    }

    /// Sets an element. REQUIRES: of this type; a datum of another is left out, for nobody writes one.
    #[inline]
    pub fn set(&mut self, name: &[u8], datum: &Datum) {
        match (self, datum) {
            (Self::String(value), Datum::Bytes(bytes)) => *value = bytes.clone(),
            (Self::Hash(table), Datum::Bytes(bytes)) => {
                table.insert(name, bytes);
            }
            (Self::Set(table), Datum::Unit) => {
                table.insert(name, ());
            }
            (Self::Zset(ranked), Datum::Score(score)) => {
                ranked.insert(name, *score);
            }
            (Self::List(sequence) | Self::Stream(sequence) | Self::Doc(sequence), Datum::Bytes(bytes)) => {
                sequence.insert(name, bytes);
            }
            (Self::BCounter(account), Datum::Account(other)) => account.clone_from(other),
            _ => {}
        }
    }

    /// Removes an element. REQUIRES: not a string's, nor a bounded counter's.
    pub fn remove(&mut self, name: &[u8]) {
        match self {
            Self::String(_) | Self::BCounter(_) => {}
            Self::Hash(table) => {
                table.remove(name);
            }
            Self::Set(table) => {
                table.remove(name);
            }
            Self::Zset(ranked) => {
                ranked.remove(name);
            }
            Self::List(sequence) | Self::Stream(sequence) | Self::Doc(sequence) => {
                sequence.remove(name);
            }
        }
    }

    /// Calls `each` with every element, in an order that its history decides.
    pub fn each(&self, mut each: impl FnMut(&[u8], Datum)) {
        match self {
            Self::String(value) => each(b"", Datum::Bytes(value.clone())),
            Self::BCounter(account) => each(b"", Datum::Account(account.clone())),
            Self::Hash(table) => table.iter().for_each(|(name, value)| each(name, Datum::bytes(value))),
            Self::Set(table) => table.iter().for_each(|(name, ())| each(name, Datum::Unit)),
            Self::Zset(ranked) => ranked.iter().for_each(|(name, score)| each(name, Datum::Score(score))),
            Self::List(sequence) | Self::Stream(sequence) | Self::Doc(sequence) => {
                sequence
                    .range(0..sequence.len())
                    .for_each(|(name, value)| each(&name.to_vec(), Datum::bytes(value)));
            }
        }
    }

    /// Bytes allocated.
    pub fn memory(&self) -> usize {
        match self {
            Self::String(value) => value.len(),
            Self::BCounter(account) => account.memory(),
            Self::Hash(table) => table.memory(),
            Self::Set(table) => table.memory(),
            Self::Zset(ranked) => ranked.memory(),
            Self::List(sequence) | Self::Stream(sequence) | Self::Doc(sequence) => sequence.memory(),
        }
    }
}
