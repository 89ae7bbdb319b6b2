//! What a client caches of a key, and what its own operations that are not in the base yet make of it.
//!
//! The gateway merges operations with those of others; the client predicts the result. A later write wins, by its time. An
//! increment always counts. A removal takes the elements that were there when it was prepared: so each cached element
//! knows since which base of this process it is as it is. A list is a map by position. Regions forget when a value was
//! written, but a client does not: what it has seen overwritten stays so while it is away.

use crate::frames::{Change, Malformed, OperationKind, Value, Written};
use bytes::Bytes;
use std::collections::{BTreeMap, BTreeSet};

/// Counts the bases that a client has had since it was started. What it knows from before is of 0.
pub type Epoch = u64;

/// The value of a key at the client's base.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cached {
    value: Value,
    /// The epochs in which elements came or changed, but for those of 0.
    since: BTreeMap<Bytes, Epoch>,
    /// That of the value, if it has no elements.
    since_whole: Epoch,
}

/// When an operation was prepared, and when it counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    /// Its time, in microseconds since 1970.
    pub h_us: u64,
    /// The epoch of the base that its transaction read.
    pub epoch: Epoch,
}

impl Moment {
    /// That of operations which are not committed yet: they are later than all that is there.
    pub const NOW: Self = Self { h_us: u64::MAX, epoch: Epoch::MAX };
}

impl Cached {
    /// A value that has just been learnt: nobody knows how old its elements are.
    pub fn new(value: Value) -> Self {
        Self { value, ..Self::default() }
    }

    /// The value at the base, without operations of the log.
    pub fn value(&self) -> &Value {
        &self.value
    }

    /// The same, without what is known of its elements.
    pub fn into_value(self) -> Value {
        self.value
    }

    /// Goes on to the base of `epoch`. Elements that `own` transactions wrote which this base brings do not count as changed: a later
    /// own removal, which is not in the base yet, takes them.
    ///
    /// # Errors
    /// The change is one of elements, and the value has none like these. It stays as it was.
    pub fn change(&mut self, change: &Change, epoch: Epoch, own: &BTreeSet<Bytes>) -> Result<(), Malformed> {
        let came = |element: &&Bytes| !own.contains(*element);
        match (change, &mut self.value) {
            (Change::Whole(value), _) => {
                *self = self.replaced(self.with_known_times(value.clone()), epoch, own);
                return Ok(());
            }
            (Change::Fields(set, removed), Value::Map(fields) | Value::List(fields)) => {
                fields.retain(|field, _| !removed.contains(field));
                for (field, written) in set {
                    let mut new = written.clone();
                    not_before(fields.get(field).map_or(0, |old| old.at_us), &mut new);
                    fields.insert(field.clone(), new);
                }
                self.since.retain(|field, _| !removed.contains(field));
                self.since.extend(set.keys().filter(came).map(|field| (field.clone(), epoch)));
            }
            (Change::Set(added, removed), Value::Set(members)) => {
                members.retain(|member| !removed.contains(member));
                members.extend(added.iter().cloned());
                self.since.retain(|member, _| !removed.contains(member));
                self.since.extend(added.iter().filter(came).map(|member| (member.clone(), epoch)));
            }
            _ => return Err(Malformed("a change of elements of a value that has none")),
        }
        if self.value.is_empty() {
            self.value = Value::Absent;
        }
        Ok(())
    }

    /// A new value with the times that are known only from the old one.
    fn with_known_times(&self, mut value: Value) -> Value {
        match (&self.value, &mut value) {
            (_, Value::String(new)) => not_before(self.newest_us(), new),
            (Value::Map(old), Value::Map(new)) | (Value::List(old), Value::List(new)) => {
                for (element, new) in new {
                    not_before(old.get(element).map_or(0, |old| old.at_us), new);
                }
            }
            _ => {}
        }
        value
    }

    /// A new value: what it has in common with the old one keeps its epoch.
    fn replaced(&self, value: Value, epoch: Epoch, own: &BTreeSet<Bytes>) -> Self {
        let mut since = BTreeMap::new();
        let at = |element: &Bytes, is_same: bool| {
            let kept = is_same || own.contains(element);
            let then = if kept { self.since.get(element).copied().unwrap_or_default() } else { epoch };
            (element.clone(), then)
        };
        match (&self.value, &value) {
            (Value::Map(old), Value::Map(new)) | (Value::List(old), Value::List(new)) => {
                let same = |field, written: &Written| old.get(field).is_some_and(|old| is_same(old, written));
                since.extend(new.iter().map(|(field, written)| at(field, same(field, written))));
            }
            (Value::Set(old), Value::Set(new)) => {
                since.extend(new.iter().map(|member| at(member, old.contains(member))))
            }
            (_, Value::Map(new) | Value::List(new)) => since.extend(new.keys().map(|field| at(field, false))),
            (_, Value::Set(new)) => since.extend(new.iter().map(|member| at(member, false))),
            _ => {}
        }
        since.retain(|_, epoch| *epoch > 0);
        let since_whole = if self.value == value { self.since_whole } else { epoch };
        Self { value, since, since_whole }
    }

    /// Rule 1: the value with operations on top, in their order. An operation of the wrong type has no effect.
    pub fn with<'a>(&self, operations: impl Iterator<Item = (Moment, &'a OperationKind)>) -> Value {
        let mut view = self.value.clone();
        for (moment, kind) in operations {
            self.apply(&mut view, moment, kind);
            if view.is_empty() {
                view = Value::Absent;
            }
        }
        view
    }

    fn apply(&self, view: &mut Value, moment: Moment, kind: &OperationKind) {
        let h_us = moment.h_us;
        match kind {
            OperationKind::Set(_) if self.hides(moment, kind) => {}
            OperationKind::Set(bytes) => *view = Value::String(written(h_us, bytes)),
            OperationKind::Delete => *view = self.left_by_delete(moment),
            OperationKind::Add(amount) => match view {
                Value::Absent => *view = Value::String(total(h_us, 0, *amount)),
                Value::String(string) => add(string, *amount),
                _ => {}
            },
            OperationKind::SetAdd(member) => {
                if let Some(members) = as_set(view) {
                    members.insert(member.clone());
                }
            }
            OperationKind::SetRemove(member) => {
                let stays = self.is_newer(member, moment.epoch);
                if let Value::Set(members) = view
                    && !stays
                {
                    members.remove(member);
                }
            }
            OperationKind::MapSet(field, bytes) if !self.hides(moment, kind) => {
                as_map(view).map(|fields| fields.insert(field.clone(), written(h_us, bytes)));
            }
            OperationKind::ListSet(position, bytes) if !self.hides(moment, kind) => {
                as_list(view).map(|elements| elements.insert(position.clone(), written(h_us, bytes)));
            }
            OperationKind::MapSet(..) | OperationKind::ListSet(..) => {}
            OperationKind::MapDelete(field) => {
                if let Value::Map(fields) = view {
                    self.take(fields, field, moment);
                }
            }
            OperationKind::ListRemove(position) => {
                if let Value::List(elements) = view {
                    self.take(elements, position, moment);
                }
            }
            OperationKind::MapAdd(field, amount) => {
                if let Some(fields) = as_map(view) {
                    match fields.get_mut(field) {
                        Some(there) => add(there, *amount),
                        None => drop(fields.insert(field.clone(), total(h_us, 0, *amount))),
                    }
                }
            }
        }
    }

    /// Removes an element, but for what of it came after that was prepared.
    fn take(&self, elements: &mut BTreeMap<Bytes, Written>, element: &Bytes, moment: Moment) {
        match self.element(element).filter(|_| self.is_newer(element, moment.epoch)) {
            Some(there) => elements.insert(element.clone(), there.clone()),
            None => elements.remove(element),
        };
    }

    /// Whether the value at the base hides an operation: a later write of the same was seen.
    pub fn hides(&self, moment: Moment, kind: &OperationKind) -> bool {
        match (kind, &self.value) {
            (OperationKind::Set(_), _) => self.newest_us() > moment.h_us,
            (OperationKind::MapSet(element, _), Value::Map(elements))
            | (OperationKind::ListSet(element, _), Value::List(elements)) => {
                elements.get(element).is_some_and(|there| there.at_us > moment.h_us)
            }
            (OperationKind::Delete, Value::String(there)) => there.at_us > moment.h_us,
            _ => false,
        }
    }

    /// What a deletion leaves: a later string, and elements that came after it was prepared.
    fn left_by_delete(&self, moment: Moment) -> Value {
        let newer = |element: &Bytes| self.is_newer(element, moment.epoch);
        let newer_of = |elements: &BTreeMap<Bytes, Written>| {
            let newer = elements.iter().filter(|(element, _)| newer(element));
            newer.map(|(element, written)| (element.clone(), written.clone())).collect()
        };
        match &self.value {
            Value::String(there) if there.at_us > moment.h_us => self.value.clone(),
            Value::Map(fields) => Value::Map(newer_of(fields)),
            Value::List(elements) => Value::List(newer_of(elements)),
            Value::Set(members) => {
                Value::Set(members.iter().filter(|member| newer(member)).cloned().collect())
            }
            Value::Other(_) if self.since_whole > moment.epoch => self.value.clone(),
            _ => Value::Absent,
        }
    }

    /// Whether an element of the base came or changed after `epoch`.
    fn is_newer(&self, element: &Bytes, epoch: Epoch) -> bool {
        self.since.get(element).is_some_and(|since| *since > epoch)
    }

    /// A field of a map, or an element of a list.
    fn element(&self, element: &Bytes) -> Option<&Written> {
        match &self.value {
            Value::Map(elements) | Value::List(elements) => elements.get(element),
            _ => None,
        }
    }

    /// When the newest part of the value was written, as far as that is known.
    fn newest_us(&self) -> u64 {
        match &self.value {
            Value::String(there) => there.at_us,
            Value::Map(elements) | Value::List(elements) => {
                elements.values().map(|there| there.at_us).max().unwrap_or_default()
            }
            _ => 0,
        }
    }
}

/// A write whose time is not known any more was not before the one that it replaced.
fn not_before(old_us: u64, new: &mut Written) {
    if new.at_us == 0 {
        new.at_us = old_us;
    }
}

/// Whether two writes are one: a time of 0 was not known any more.
fn is_same(old: &Written, new: &Written) -> bool {
    old.bytes == new.bytes && (old.at_us == new.at_us || old.at_us == 0)
}

fn written(at_us: u64, bytes: &Bytes) -> Written {
    Written { at_us, bytes: bytes.clone() }
}

fn total(at_us: u64, before: i64, amount: i64) -> Written {
    Written { at_us, bytes: before.wrapping_add(amount).to_string().into() }
}

/// Adds to a decimal number; to other strings, and beyond 64 bits, nothing is added.
fn add(there: &mut Written, amount: i64) {
    let before = std::str::from_utf8(&there.bytes).ok().and_then(|text| text.parse::<i64>().ok());
    if let Some(sum) = before.and_then(|before| before.checked_add(amount)) {
        there.bytes = sum.to_string().into();
    }
}

fn as_map(view: &mut Value) -> Option<&mut BTreeMap<Bytes, Written>> {
    if matches!(view, Value::Absent) {
        *view = Value::Map(BTreeMap::new());
    }
    if let Value::Map(fields) = view { Some(fields) } else { None }
}

fn as_list(view: &mut Value) -> Option<&mut BTreeMap<Bytes, Written>> {
    if matches!(view, Value::Absent) {
        *view = Value::List(BTreeMap::new());
    }
    if let Value::List(elements) = view { Some(elements) } else { None }
}

fn as_set(view: &mut Value) -> Option<&mut BTreeSet<Bytes>> {
    if matches!(view, Value::Absent) {
        *view = Value::Set(BTreeSet::new());
    }
    if let Value::Set(members) = view { Some(members) } else { None }
}

#[cfg(test)]
#[path = "value/tests.rs"]
mod tests;
