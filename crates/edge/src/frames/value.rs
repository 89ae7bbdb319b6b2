//! Values of watched keys at a base, how they change from one base to the next, and their hash.

use super::primitive::{
    Malformed, Reader, Unsendable, ascends, put_bytes, put_count, put_list, put_micros_from, put_varint,
};
use bytes::Bytes;
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet};

/// Bytes, and when they were written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// The time of the write that won, in microseconds since 1970; 0: so long ago that every pending write is later.
    pub at_us: u64,
    /// What was written.
    pub bytes: Bytes,
}

/// The value of a key; of its strings, fields and elements it has `W`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Value<W = Written> {
    /// The key does not exist.
    #[default]
    Absent,
    /// A string, or a counter as a decimal number.
    String(W),
    /// A hash of at least one field.
    Map(BTreeMap<Bytes, W>),
    /// A set of at least one member.
    Set(BTreeSet<Bytes>),
    /// A value of a type that edge clients do not read, by the name of the type.
    Other(Bytes),
    /// A list of at least one element, by position ([`crate::position`]).
    List(BTreeMap<Bytes, W>),
}

/// The difference between the values of a key at two bases.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change<W = Written> {
    /// The new value.
    Whole(Value<W>),
    /// Of a map that stays a map, or a list that stays a list: fields or elements that are new or different, and those that are gone.
    Fields(BTreeMap<Bytes, W>, BTreeSet<Bytes>),
    /// Of a set that stays a set: members that are new, and members that are gone.
    Set(BTreeSet<Bytes>, BTreeSet<Bytes>),
}

/// How one watched key has changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Update {
    /// The reference of the Watch that asked for the key.
    pub reference: u64,
    /// The difference.
    pub change: Change,
}

/// The first 8 bytes of SHA-256 of a value without its times.
pub type ValueHash = [u8; 8];

/// What a Watch carries if the client has no value.
pub const NO_HASH: ValueHash = [0; 8];

impl<W> Value<W> {
    /// The same, of which it has something else.
    pub(crate) fn map<V>(&self, of: impl Fn(&W) -> V) -> Value<V> {
        match self {
            Self::Absent => Value::Absent,
            Self::String(written) => Value::String(of(written)),
            Self::Map(fields) => Value::Map(map_fields(fields, of)),
            Self::List(elements) => Value::List(map_fields(elements, of)),
            Self::Set(members) => Value::Set(members.clone()),
            Self::Other(name) => Value::Other(name.clone()),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        match self {
            Self::Map(fields) | Self::List(fields) => fields.is_empty(),
            Self::Set(members) => members.is_empty(),
            _ => false,
        }
    }
}

impl Value {
    /// By which two sides find out that they have the same value, whenever it was written.
    pub fn hash(&self) -> ValueHash {
        let mut out = Vec::new();
        self.put(&mut out, None);
        Sha256::digest(&out)[..8].try_into().expect("a digest has 32 bytes")
    }

    /// Appends the encoding beside a base whose greatest entry is `newest_us`; without times if there is none.
    pub(super) fn put(&self, out: &mut Vec<u8>, newest_us: Option<u64>) {
        out.push(self.kind());
        match self {
            Self::Absent => {}
            Self::String(written) => written.put(out, newest_us),
            Self::Map(fields) | Self::List(fields) => put_fields(out, fields, newest_us),
            Self::Set(members) => put_list(out, members.iter()),
            Self::Other(name) => put_bytes(out, name),
        }
    }

    pub(super) fn read(reader: &mut Reader<'_>, newest_us: u64) -> Result<Self, Malformed> {
        let kind = reader.byte()?;
        Self::read_kind(kind, reader, newest_us)
    }

    fn read_kind(kind: u8, reader: &mut Reader<'_>, newest_us: u64) -> Result<Self, Malformed> {
        let value = match kind {
            0 => Self::Absent,
            1 => Self::String(Written::read(reader, newest_us)?),
            2 => Self::Map(read_fields(reader, newest_us)?),
            3 => Self::Set(reader.ascending()?),
            4 => Self::Other(reader.bytes()?),
            7 => Self::List(read_fields(reader, newest_us)?),
            _ => return Err(Malformed("an unknown kind of value")),
        };
        if value.is_empty() {
            Err(Malformed("an empty map, set or list that is not absent"))
        } else {
            Ok(value)
        }
    }

    /// That it may be sent: what is empty is absent.
    pub(super) fn check(&self) -> Result<(), Unsendable> {
        if self.is_empty() { Err(Unsendable("an empty map, set or list is absent")) } else { Ok(()) }
    }

    fn kind(&self) -> u8 {
        match self {
            Self::Absent => 0,
            Self::String(_) => 1,
            Self::Map(_) => 2,
            Self::Set(_) => 3,
            Self::Other(_) => 4,
            Self::List(_) => 7,
        }
    }
}

impl Written {
    fn put(&self, out: &mut Vec<u8>, newest_us: Option<u64>) {
        if let Some(newest_us) = newest_us {
            put_micros_from(out, self.at_us, newest_us);
        }
        put_bytes(out, &self.bytes);
    }

    fn read(reader: &mut Reader<'_>, newest_us: u64) -> Result<Self, Malformed> {
        Ok(Self { at_us: reader.micros_from(newest_us)?, bytes: reader.bytes()? })
    }
}

impl Update {
    pub(super) fn put(&self, out: &mut Vec<u8>, newest_us: u64) {
        put_varint(out, self.reference);
        self.change.put(out, newest_us);
    }

    pub(super) fn read(reader: &mut Reader<'_>, newest_us: u64) -> Result<Self, Malformed> {
        Ok(Self { reference: reader.varint()?, change: Change::read(reader, newest_us)? })
    }

    /// That it may be sent.
    pub(super) fn check(&self) -> Result<(), Unsendable> {
        self.change.check()
    }
}

impl<W> Change<W> {
    /// The same, of which it has something else.
    pub(crate) fn map<V>(&self, of: impl Fn(&W) -> V) -> Change<V> {
        match self {
            Self::Whole(value) => Change::Whole(value.map(of)),
            Self::Fields(set, removed) => Change::Fields(map_fields(set, of), removed.clone()),
            Self::Set(added, removed) => Change::Set(added.clone(), removed.clone()),
        }
    }
}

fn map_fields<W, V>(fields: &BTreeMap<Bytes, W>, of: impl Fn(&W) -> V) -> BTreeMap<Bytes, V> {
    fields.iter().map(|(field, written)| (field.clone(), of(written))).collect()
}

impl Change {
    pub(super) fn put(&self, out: &mut Vec<u8>, newest_us: u64) {
        match self {
            Self::Whole(value) => value.put(out, Some(newest_us)),
            Self::Fields(set, removed) => {
                out.push(5);
                put_fields(out, set, Some(newest_us));
                put_list(out, removed.iter());
            }
            Self::Set(added, removed) => {
                out.push(6);
                put_list(out, added.iter());
                put_list(out, removed.iter());
            }
        }
    }

    pub(super) fn read(reader: &mut Reader<'_>, newest_us: u64) -> Result<Self, Malformed> {
        let change = match reader.byte()? {
            5 => Self::Fields(read_fields(reader, newest_us)?, reader.ascending()?),
            6 => Self::Set(reader.ascending()?, reader.ascending()?),
            kind => Self::Whole(Value::read_kind(kind, reader, newest_us)?),
        };
        change.check().map_err(|unsendable| Malformed(unsendable.0))?;
        Ok(change)
    }

    fn check(&self) -> Result<(), Unsendable> {
        let both = match self {
            Self::Whole(value) => return value.check(),
            Self::Fields(set, removed) => set.keys().any(|field| removed.contains(field)),
            Self::Set(added, removed) => added.iter().any(|member| removed.contains(member)),
        };
        if both { Err(Unsendable("an element that is both there and gone")) } else { Ok(()) }
    }
}

fn put_fields(out: &mut Vec<u8>, fields: &BTreeMap<Bytes, Written>, newest_us: Option<u64>) {
    put_count(out, fields.len());
    for (field, written) in fields {
        put_bytes(out, field);
        written.put(out, newest_us);
    }
}

fn read_fields(reader: &mut Reader<'_>, newest_us: u64) -> Result<BTreeMap<Bytes, Written>, Malformed> {
    let count = reader.count(3)?;
    let mut fields = BTreeMap::new();
    for _ in 0..count {
        let field = reader.bytes()?;
        ascends(fields.last_key_value().map(|(last, _)| last), &field)?;
        fields.insert(field, Written::read(reader, newest_us)?);
    }
    Ok(fields)
}
