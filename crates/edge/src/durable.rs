//! What a client keeps on disk: its secret, its base, and the log of its transactions that are not in the base. One that shall be read
//! offline by its next process keeps the values at its base, too.
//!
//! It changes by [`Row`]s. The rows of one [`Persist`](crate::client::Effect::Persist) become durable together or not at all. A store
//! may keep the rows in a file and read them all again, or keep the state that they lead to.

use crate::frames::{Base, Body, Chain, Change, Malformed, Secret, Value};
use crate::value::Cached;
use bytes::Bytes;
use std::collections::{BTreeMap, BTreeSet};

/// The durable state of a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Durable {
    /// Who the client is.
    pub secret: Secret,
    /// What it has seen.
    pub base: DurableBase,
    /// How many regions must have a base whole.
    pub regions: u64,
    /// Its transactions that are not in the base, by their numbers.
    pub log: BTreeMap<u64, Body>,
    /// Values of watched keys at the base, without the log; only if the client keeps them
    /// ([`Client::with_values`](crate::client::Client::with_values)).
    pub values: BTreeMap<Bytes, Value>,
}

/// A base, and which of the client's transactions are in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DurableBase {
    /// The base.
    pub base: Base,
    /// The client's transactions up to this one are in it.
    pub in_base: u64,
    /// The log begins after this one: `in_base`, unless the disk was restored and knows fewer transactions than the gateway.
    pub chain_k: u64,
    /// The digest of the transactions up to `chain_k`.
    pub chain: Chain,
}

/// A change of the durable state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Row {
    /// A new client: the log, the base's `in_base` and the chain are empty from now on. The base and K stay.
    Secret(Secret),
    /// A new base.
    Base(DurableBase),
    /// A transaction, or a new version of it.
    Entry(Body),
    /// The log loses all transactions up to this one.
    Drop(u64),
    /// K.
    Regions(u64),
    /// How the value of a key is different at the base.
    Value(Bytes, Change),
    /// The value of a key is not kept any more.
    Forget(Bytes),
    /// No value is kept any more.
    ForgetAll,
}

impl Durable {
    /// A new client. `secret` has to be random.
    pub fn new(secret: Secret) -> Self {
        Self { secret, base: DurableBase::START, regions: 1, log: BTreeMap::new(), values: BTreeMap::new() }
    }

    /// Takes a change.
    pub fn apply(&mut self, row: &Row) {
        match row {
            Row::Secret(secret) => {
                self.secret = secret.clone();
                self.base = DurableBase { base: self.base.base.clone(), ..DurableBase::START };
                self.log.clear();
            }
            Row::Base(base) => self.base = base.clone(),
            Row::Entry(body) => drop(self.log.insert(body.k, body.clone())),
            Row::Drop(k) => self.log.retain(|number, _| number > k),
            Row::Regions(regions) => self.regions = *regions,
            Row::Value(key, change) => {
                let mut cached = Cached::new(self.values.remove(key).unwrap_or_default());
                // A change of what is not there: the client has given up the key, too.
                if cached.change(change, 0, &BTreeSet::new()).is_ok() {
                    self.values.insert(key.clone(), cached.into_value());
                }
            }
            Row::Forget(key) => drop(self.values.remove(key)),
            Row::ForgetAll => self.values.clear(),
        }
    }
}

impl DurableBase {
    /// Before the first.
    pub const START: Self = Self { base: Base(Vec::new()), in_base: 0, chain_k: 0, chain: Chain::START };
}

impl Row {
    /// A byte that says which row it is, and its fields with the encodings of frames.
    pub fn encode(&self) -> Vec<u8> {
        crate::frames::encode_row(self)
    }

    /// The inverse of [`Row::encode`].
    ///
    /// # Errors
    /// The bytes are not the encoding of a row.
    pub fn decode(bytes: &[u8]) -> Result<Self, Malformed> {
        crate::frames::decode_row(bytes)
    }
}
