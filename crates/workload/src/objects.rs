//! Transactions over objects: what applications of edge clients do, and Redis clients with the same objects.
//!
//! A transaction reads some objects, then changes some of them. YCSB's records are hashes of ten fields, of which an update writes one;
//! the objects of a social network are strings, sets and counters. Source: SwiftCloud (Middleware 2015), table 1.

use crate::client::Client;
use crate::{KeySpace, Kind, Workload, WorkloadError};
use bytes::Bytes;
use fastrand::Rng;
use std::sync::Arc;
use tidemark_core::{Command, Key, Op, Update, Value, Verb, Write};

/// What an object is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Shape {
    /// A string that is written as a whole.
    Register,
    /// A string that is a number.
    Counter,
    /// A hash.
    Map,
    /// A set.
    Set,
}

/// An object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Object {
    /// Its key.
    pub key: Key,
    /// What it is.
    pub shape: Shape,
}

/// How an object changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// The register takes this value.
    Set(Bytes),
    /// The counter counts on.
    Add(i64),
    /// A field of the map takes a value.
    Field(Bytes, Bytes),
    /// The set has this member.
    Member(Bytes),
}

/// A transaction: everything is read before anything changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transaction {
    /// What it is.
    pub kind: Kind,
    /// The objects that it reads, each once.
    pub reads: Vec<Object>,
    /// What it changes, in order.
    pub changes: Vec<(Object, Change)>,
}

/// How many fields a record of YCSB has.
const FIELDS: usize = 10;

impl Object {
    pub(crate) fn new(key: &str, shape: Shape) -> Self {
        Self { key: Key::from(key), shape }
    }

    /// The command that reads all of it.
    pub fn read(&self) -> Op {
        let verb = match self.shape {
            Shape::Register | Shape::Counter => return Op::Get { key: self.key.clone() },
            Shape::Map => Verb::HGetAll,
            Shape::Set => Verb::SMembers,
        };
        Op::Query { keys: vec![self.key.clone()], command: Box::new(Command::new(verb, Vec::new())) }
    }
}

impl Change {
    /// The command that does it.
    pub fn op(self, key: Key) -> Op {
        let command = match self {
            Self::Set(value) => {
                return Op::Put { key, update: Update::put(Write::Assign(Value::from(&value[..]))) };
            }
            Self::Add(amount) => Command::new(Verb::IncrBy, vec![amount.to_string().into()]),
            Self::Field(field, value) => Command::new(Verb::HSet, vec![field, value]),
            Self::Member(member) => Command::new(Verb::SAdd, vec![member]),
        };
        Op::Put { key, update: Update::call(command) }
    }
}

/// The transactions of one client: YCSB's mixes of reads and updates over records, or those of a social network.
#[derive(Clone, Debug)]
pub struct Objects {
    client: Client,
    /// What decides which field is written, and what.
    rng: Rng,
    field_bytes: usize,
}

impl Objects {
    /// As [`Client::new`].
    ///
    /// # Errors
    /// The workload makes no sense, does not fit the keys, or has other requests than reads and updates of objects.
    pub fn new(
        workload: &Workload,
        keys: &Arc<KeySpace>,
        number: usize,
        clients: usize,
        seed: u64,
    ) -> Result<Self, WorkloadError> {
        workload.validate_objects()?;
        let client = Client::new(workload, keys, number, clients, seed)?;
        let rng = Rng::with_seed(seed ^ crate::keys::hash(number as u64));
        Ok(Self { client, rng, field_bytes: field_bytes(workload) })
    }

    /// The next transaction.
    #[allow(clippy::should_implement_trait, reason = "it has no end")]
    pub fn next(&mut self) -> Transaction {
        if let Some(transaction) = self.client.transaction() {
            return transaction;
        }
        let request = self.client.next(0);
        let (kind, mut reads, mut changes) = (request.kind, Vec::new(), Vec::new());
        for op in request.ops {
            let (Op::Get { key } | Op::Put { key, .. }) = &op else { continue };
            let record = Object { key: key.clone(), shape: Shape::Map };
            if let Op::Put { .. } = op {
                let number = self.rng.usize(0..FIELDS);
                changes.push((record.clone(), field(number, &mut self.rng, self.field_bytes)));
            }
            if !reads.contains(&record) {
                reads.push(record);
            }
        }
        Transaction { kind, reads, changes }
    }
}

fn field_bytes(workload: &Workload) -> usize {
    (workload.value_bytes / FIELDS).max(1)
}

/// One field of a record, with fresh bytes.
fn field(number: usize, rng: &mut Rng, bytes: usize) -> Change {
    let value: Value = crate::filling::value(rng, bytes);
    Change::Field(format!("field{number}").into(), Bytes::copy_from_slice(&value))
}

impl Workload {
    /// Whether [`Objects`] can play it.
    ///
    /// # Errors
    /// It has other requests.
    pub fn validate_objects(&self) -> Result<(), WorkloadError> {
        self.validate()?;
        match self.pattern {
            crate::Pattern::Social { .. } => Ok(()),
            crate::Pattern::Mix { insert: 0.0, scan: 0.0, .. } => Ok(()),
            _ => Err(self.bad("base", "social, or a mix of YCSB without inserts and scans".into())),
        }
    }

    /// What is written before clients of objects begin, as commands: every object that is not empty at first.
    pub fn objects_at_first(&self, keys: &Arc<KeySpace>, seed: u64) -> Box<dyn Iterator<Item = Op> + Send> {
        if let crate::Pattern::Social { .. } = self.pattern {
            return self.load_ops(keys, 0, 1, seed);
        }
        let (mut rng, bytes, keys) = (Rng::with_seed(seed), field_bytes(self), Arc::clone(keys));
        Box::new((0..keys.loaded()).map(move |number| {
            let mut words = Vec::with_capacity(2 * FIELDS);
            for number in 0..FIELDS {
                if let Change::Field(name, value) = field(number, &mut rng, bytes) {
                    words.extend([name, value]);
                }
            }
            Op::Put { key: keys.key(number), update: Update::call(Command::new(Verb::HSet, words)) }
        }))
    }
}
