//! An interactive transaction, at its client's side: a driver has one for each client that has begun one.
//!
//! **Idea.** Every key is read once, in the snapshot, as all that is known of it. Commands are evaluated on that, with what earlier
//! ones have written on top ([`Series`]), so no server knows of a write before the commit. What overwrites a key without looking
//! reads nothing.
//!
//! A driver asks its session [`Transaction::begin`], makes a [`Transaction`] of the outcome, and passes every operation of the client to
//! [`Transaction::carry`]. In the end it asks [`Transaction::commit`], if there is anything to commit, and then always
//! [`Transaction::end`].

use crate::cx::apart::Looked;
use crate::cx::series::{carry_out, named};
use crate::cx::typed::mark_of;
use crate::stabilised::TRANSACTIONS_STAND_APART;
use crate::two_phase::{Watched, Writes};
use bytes::Bytes;
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use tidemark_core::{
    Command, DcId, Failure, Found, Hlc, Key, Micros, Op, Outcome, PartitionId, Snapshot, Stamp, Transact,
    Update, Verb, Write,
};
use tidemark_crdt::{Effect, Moment, Series, State};

/// What carrying out an operation comes to.
#[derive(Debug)]
pub enum Carried {
    /// This is how it ended.
    Ended(Outcome),
    /// The session has to be asked this first; [`Transaction::found`] takes the outcome.
    Asks(Op),
}

/// Where a transaction runs.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// The region.
    pub dc: DcId,
    /// There is no other one.
    pub alone: bool,
    /// The protocol keeps data types.
    pub types: bool,
}

/// An interactive transaction that has begun.
pub struct Transaction {
    snapshot: Snapshot,
    place: Place,
    series: Series,
    /// Written, and not read.
    blind: BTreeMap<Key, Write>,
    /// Read, each with its mark.
    read: Watched,
    /// What waits for keys that are being read.
    waits: Option<(Op, Vec<Key>)>,
    /// About how much it holds.
    bytes: usize,
}

/// A transaction may read and write so many bytes.
const BYTES_MAX: usize = 64 << 20;

impl Transaction {
    /// The operation that begins one, whose snapshot the server of `partition` holds.
    pub fn begin(partition: PartitionId) -> Op {
        Op::Transact(Box::new(Transact::Begin { partition, regions: 0 }))
    }

    /// The operation that begins one in a snapshot that so many regions have whole. The root of a region's tree knows of them.
    pub fn begin_base(regions: u8) -> Op {
        Op::Transact(Box::new(Transact::Begin { partition: PartitionId(0), regions }))
    }

    /// One that has begun, at the time `now`.
    pub fn new(snapshot: Snapshot, place: Place, now: Micros) -> Self {
        let (floor, alone) = (snapshot.floor, place.alone);
        let past = TRANSACTIONS_STAND_APART.kept().then(|| number_of(snapshot));
        let series = Series::new(Moment {
            time: Hlc::at(now),
            origin: place.dc,
            floor,
            expiring: true,
            alone,
            past,
            longest: tidemark_core::Limit::VALUE_BYTES,
        });
        Self { snapshot, place, series, blind: BTreeMap::new(), read: Vec::new(), waits: None, bytes: 0 }
    }

    /// Whether an operation waits for keys that are being read.
    pub fn waits(&self) -> bool {
        self.waits.is_some()
    }

    /// Carries out an operation. REQUIRES: no other one waits.
    pub fn carry(&mut self, op: Op) -> Carried {
        if let Err(why) = self.admits(&op) {
            return Carried::Ended(Outcome::Failed(Failure::Refused(why)));
        }
        self.bytes += op.writes().unwrap_or_default();
        match op {
            Op::Put { key, update } if overwrites(&update) => {
                Carried::Ended(self.write([(key, update.write)]))
            }
            Op::PutAll { writes } => Carried::Ended(self.write(writes)),
            op => {
                let mut missing: Vec<Key> =
                    named(&op).into_iter().filter(|key| !self.series.has(key)).cloned().collect();
                missing.sort_unstable();
                missing.dedup();
                if missing.is_empty() {
                    return Carried::Ended(carry_out(&mut self.series, op));
                }
                let (snapshot, keys) = (self.snapshot, missing.clone());
                let command = self.place.types.then(|| Box::new(Command::new(Verb::Look, Vec::new())));
                self.waits = Some((op, missing));
                Carried::Asks(Op::Transact(Box::new(Transact::Read { snapshot, keys, command })))
            }
        }
    }

    /// Takes the outcome of what was asked, and says how the operation ended that needed it.
    pub fn found(&mut self, outcome: Outcome) -> Outcome {
        let Some((op, keys)) = self.waits.take() else { return outcome };
        let Outcome::FoundAll(all) = outcome else { return outcome };
        for (key, found) in keys.into_iter().zip(all) {
            self.bytes += key.len() + found.value.as_ref().map_or(0, |value| value.len());
            let (mark, state) = match self.place.types.then(|| Looked::decode(&found)).flatten() {
                Some(looked) => (looked.mark.clone(), looked.state()),
                None => of_register(found),
            };
            self.read.push((key.clone(), mark));
            self.series.add(key.clone(), state);
            if let Some(write) = self.blind.remove(&key) {
                self.series.overwrite(&key, &Update::put(write));
            }
        }
        carry_out(&mut self.series, op)
    }

    /// The operation that commits: none if nothing was written, and nothing is to be checked. With `check` nothing is written if a
    /// key that was read has changed in this region since.
    pub fn commit(&mut self, check: bool) -> Option<Op> {
        let (floor, place) = (self.snapshot.floor, self.place);
        let moment = self.series.moment();
        let mut series = std::mem::replace(&mut self.series, Series::new(moment));
        let mut writes: Writes = std::mem::take(&mut self.blind).into_iter().collect();
        let mut values = BTreeMap::new();
        for key in series.written().into_iter().filter(|_| !place.types) {
            values.extend(value_of(&mut series, &key).map(|write| (key, write)));
        }
        for (key, changes) in series.finish().changes {
            let write = match values.get(&key) {
                Some(write) => write.clone(),
                None => Write::Apply(Effect { floor, changes }.encode()),
            };
            writes.push((key, write));
        }
        let watched = if check { std::mem::take(&mut self.read) } else { Vec::new() };
        let any = !writes.is_empty() || !watched.is_empty();
        any.then(|| Op::Transact(Box::new(Transact::Commit { writes, watched })))
    }

    /// The operation that gives the snapshot back.
    pub fn end(&self) -> Op {
        Op::Transact(Box::new(Transact::End { snapshot: self.snapshot }))
    }

    fn write(&mut self, writes: impl IntoIterator<Item = (Key, Write)>) -> Outcome {
        for (key, write) in writes {
            if self.series.has(&key) {
                self.series.overwrite(&key, &Update::put(write));
            } else {
                self.blind.insert(key, write);
            }
        }
        Outcome::Written { stamp: Some(Stamp::default()), previous: None }
    }

    fn admits(&self, op: &Op) -> Result<(), String> {
        if self.bytes + op.writes().unwrap_or_default() > BYTES_MAX {
            return Err(format!("a transaction is limited to {BYTES_MAX} bytes"));
        }
        let command = match op {
            Op::Put { update, .. } => update.command.as_ref(),
            Op::Query { command, .. } => Some(command),
            Op::Get { .. } | Op::PutAll { .. } | Op::Rotx { .. } | Op::Snapshot { .. } => None,
            _ => {
                return Err(
                    "an interactive transaction reads and writes the keys that its commands name".into()
                );
            }
        };
        match command {
            Some(command) if command.verb.changes_rights() => {
                Err("a bounded counter is not changed in an interactive transaction: its rights are spent one after the other".into())
            }
            Some(command) if command.verb.is_program() || command.verb == Verb::Watch => Err("no script or function runs in an interactive transaction".into()),
            Some(_) if !self.place.types => Err("data types are not supported under this protocol".into()),
            _ => Ok(()),
        }
    }
}

/// A number that no other transaction has.
fn number_of(snapshot: Snapshot) -> u64 {
    let mut hasher = DefaultHasher::new();
    snapshot.hash(&mut hasher);
    hasher.finish()
}

/// Whether it writes, whatever is there.
fn overwrites(update: &Update) -> bool {
    update.command.is_none() && !update.observes()
}

/// What is known of a register.
fn of_register(Found { stamp, value, .. }: Found) -> (Bytes, State) {
    match value {
        Some(value) => (mark_of(stamp.as_slice()), State::string(value)),
        None => (Bytes::new(), State::default()),
    }
}

/// What a register has come to.
fn value_of(series: &mut Series, key: &Key) -> Option<Write> {
    series.get(key)?.ok().map(|value| value.map_or(Write::Remove, Write::Assign))
}
