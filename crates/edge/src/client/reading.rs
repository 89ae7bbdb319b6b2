//! What the client shows: values at a base with the log on top, and transactions that read them.

use super::Client;
use super::lists::Placing;
use crate::frames::{Base, Body, Operation, OperationKind, Value};
use crate::rule::COPIES_MAY_HAVE_SENT;
use crate::value::{Cached, Epoch, Moment};
use bytes::Bytes;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Values and log. A copy costs little; it shares everything until one of both changes.
#[derive(Clone, Debug)]
pub(super) struct View {
    pub(super) base: Base,
    pub(super) cache: Arc<BTreeMap<Bytes, Arc<Cached>>>,
    pub(super) log: Arc<BTreeMap<u64, Entry>>,
}

/// A transaction of the log, and the epoch of the base that it read.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) body: Arc<Body>,
    pub(super) epoch: Epoch,
    pub(super) sent: Sent,
}

/// Whether a gateway may have seen a transaction with its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sent {
    /// None has.
    No,
    /// This process has sent it, in this connection at first.
    In(u64),
    /// An earlier process may have sent it, or one with another copy of the disk.
    Maybe,
}

/// A transaction that runs: it reads one base and its own operations.
#[derive(Clone, Debug)]
pub struct Transaction {
    view: View,
    epoch: Epoch,
    operations: Vec<Operation>,
    pub(super) placing: Placing,
    /// Positions of lists that it has edited, as it sees them.
    pub(super) edited: BTreeMap<Bytes, Vec<Bytes>>,
}

impl Entry {
    /// One from disk: what is cached is as old as it.
    pub(super) fn loaded(body: Body) -> Self {
        let sent = if COPIES_MAY_HAVE_SENT.kept() { Sent::Maybe } else { Sent::No };
        Self { body: Arc::new(body), epoch: 0, sent }
    }

    pub(super) fn moment(&self) -> Moment {
        Moment { h_us: self.body.h_us, epoch: self.epoch }
    }
}

/// The keys that these write.
pub(super) fn written<'a>(entries: impl Iterator<Item = &'a Entry>) -> BTreeSet<Bytes> {
    let operations = entries.flat_map(|entry| &entry.body.operations);
    operations.map(|operation| operation.key.clone()).collect()
}

impl View {
    pub(super) fn new(base: Base, log: BTreeMap<u64, Entry>) -> Self {
        Self { base, cache: Arc::default(), log: Arc::new(log) }
    }

    /// Rule 1: the value of a key with own operations on top; nothing if it is not cached.
    fn read(&self, key: &[u8], own: &[Operation]) -> Option<Value> {
        let cached = self.cache.get(key)?;
        let logged = self.log.values().flat_map(|entry| {
            let of_key = entry.body.operations.iter().filter(|operation| operation.key == key);
            of_key.map(|operation| (entry.moment(), &operation.kind))
        });
        let own = own.iter().filter(|operation| operation.key == key);
        let own = own.map(|operation| (Moment::NOW, &operation.kind));
        Some(cached.with(logged.chain(own)))
    }
}

impl Client {
    /// Begins a transaction at the base of now.
    pub fn begin(&self) -> Transaction {
        let after_us = self.last_h_us.max(self.view.base.newest_us());
        Transaction {
            view: self.view.clone(),
            epoch: self.epoch,
            operations: Vec::new(),
            placing: self.hands.after(after_us),
            edited: BTreeMap::new(),
        }
    }

    /// The value of a key now; nothing if no gateway has sent it yet, or it is watched no more and no transaction of the log
    /// writes it.
    pub fn read(&self, key: &[u8]) -> Option<Value> {
        self.view.read(key, &[])
    }
}

impl Transaction {
    /// The value of a key as the transaction sees it; nothing if the key was not cached when it began.
    pub fn read(&self, key: &[u8]) -> Option<Value> {
        self.view.read(key, &self.operations)
    }

    /// Adds an operation.
    pub fn push(&mut self, key: impl Into<Bytes>, kind: OperationKind) {
        let key = key.into();
        self.edits(&key, &kind);
        self.operations.push(Operation { key, kind });
    }

    /// Its operations so far.
    pub fn operations(&self) -> &[Operation] {
        &self.operations
    }

    /// The base that it reads.
    pub fn base(&self) -> &Base {
        &self.view.base
    }

    pub(super) fn into_parts(self) -> (Base, Epoch, Vec<Operation>) {
        (self.view.base, self.epoch, self.operations)
    }
}
