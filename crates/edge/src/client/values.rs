//! Values on disk, for a client whose next process shall read them while it is offline.
//!
//! A tick persists the changes of values with its base, so that what is on disk is always of one base. If the disk has refused a value, the
//! next tick first forgets all that is there.

use super::{Client, Config};
use crate::durable::{Durable, Row};
use crate::frames::{Change, Tick, Value};
use crate::value::Cached;
use bytes::Bytes;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What the disk has of values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Values {
    /// None, and it gets none.
    None,
    /// Those of the base, or some of them.
    Kept,
    /// What may be of an older base once there is another one; then none are kept, or only new ones.
    Unsure { kept: bool },
}

impl Values {
    /// For a client that keeps none, on a disk where an earlier one has left these.
    pub(super) fn not_kept(values: &BTreeMap<Bytes, Value>) -> Self {
        if values.is_empty() { Self::None } else { Self::Unsure { kept: false } }
    }

    fn are_kept(self) -> bool {
        matches!(self, Self::Kept | Self::Unsure { kept: true })
    }
}

impl Client {
    /// A client that keeps the values of watched keys on its disk. It watches the keys whose values are there, and can read them before
    /// there is a connection.
    ///
    /// # Panics
    /// There is no endpoint.
    pub fn with_values(mut durable: Durable, config: Config) -> Self {
        let values = std::mem::take(&mut durable.values);
        let mut client = Self::new(durable, config);
        client.values = Values::Kept;
        for key in values.keys() {
            client.left.remove(key);
            client.watched.insert(key.clone(), None);
        }
        let cached = values.into_iter().map(|(key, value)| (key, Arc::new(Cached::new(value))));
        client.view.cache = Arc::new(cached.collect());
        client
    }

    /// What a tick makes of the values on disk.
    pub(super) fn rows_of_values(&mut self, tick: &Tick) -> Vec<Row> {
        let mut rows = Vec::new();
        if let Values::Unsure { .. } = self.values {
            rows.push(Row::ForgetAll);
        }
        if self.values.are_kept() {
            rows.extend(tick.updates.iter().filter_map(|update| {
                let key = self.by_reference.get(&update.reference).filter(|key| !self.left.contains(*key))?;
                Some(Row::Value(key.clone(), update.change.clone()))
            }));
        }
        rows
    }

    /// They are durable.
    pub(super) fn on_values_persisted(&mut self) {
        if let Values::Unsure { kept } = self.values {
            self.values = if kept { Values::Kept } else { Values::None };
        }
    }

    /// A value of the base that is visible.
    pub(super) fn keep_value(&mut self, key: &Bytes, value: &Value) {
        if self.values == Values::Kept && !self.left.contains(key) {
            self.persist(vec![Row::Value(key.clone(), Change::Whole(value.clone()))]);
        }
    }

    /// A key is not watched any more.
    pub(super) fn forget_value(&mut self, key: &Bytes) {
        if self.values == Values::Kept {
            self.persist(vec![Row::Forget(key.clone())]);
        }
    }

    /// The disk has refused something that nobody waits for.
    pub(super) fn on_values_lost(&mut self) {
        if self.values == Values::Kept {
            self.values = Values::Unsure { kept: true };
        }
    }

    /// What is kept, if the disk has all that it was asked for.
    pub(super) fn kept_values(&self) -> BTreeMap<Bytes, Value> {
        let kept = |key: &Bytes| self.values.are_kept() && !self.left.contains(key);
        let all = self.view.cache.iter().filter(|(key, _)| kept(key));
        all.map(|(key, cached)| (key.clone(), cached.value().clone())).collect()
    }
}
