//! Elements of lists: the client gives them their positions ([`crate::position`]), so they have their place before a region knows of them.

use super::Transaction;
use crate::frames::{Operation, OperationKind, Value};
use crate::rule::AUTHORS_DIFFER;
use bytes::Bytes;
use std::cell::Cell;
use thiserror::Error;
use tidemark_crdt::position::{Hand, born_us, is_possible};

/// There is no element at this index of a list, or no place for one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum NoElement {
    /// The list is shorter.
    #[error("index out of range")]
    Beyond,
    /// The value was not read yet: watch the key, and wait until it is there.
    #[error("the key is not cached")]
    NotCached,
    /// The key holds another type.
    #[error("the key holds no list")]
    WrongType,
}

/// Gives each transaction a time of its own.
#[derive(Clone, Debug)]
pub(super) struct Hands {
    author: u32,
    /// The last one. Transactions that run side by side read the client, and must not put two elements at one position.
    last_us: Cell<u64>,
}

/// Where a transaction puts elements.
#[derive(Clone, Debug)]
pub(super) struct Placing {
    next: Hand,
}

impl Hands {
    /// Of a process that has drawn `seed`, for the client of this name.
    pub(super) fn new(seed: u64, cid: [u8; 16]) -> Self {
        let name = cid.iter().take(8).fold(0, |all, byte| all << 8 | u64::from(*byte));
        let mixed = (name ^ seed).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        let author = if AUTHORS_DIFFER.kept() { (mixed as u32).max(Hand::LEAST) } else { Hand::LEAST };
        Self { author, last_us: Cell::new(0) }
    }

    /// For a transaction that sees what was written up to `seen_us`.
    pub(super) fn after(&self, seen_us: u64) -> Placing {
        let time_us = self.last_us.get().max(seen_us) + 1;
        self.last_us.set(time_us);
        Placing { next: Hand { author: self.author, time_us, nth: 0 } }
    }
}

impl Placing {
    fn between(&mut self, left: Option<&Bytes>, right: Option<&Bytes>) -> Bytes {
        let position = self.next.between(left.map(|left| &left[..]), right.map(|right| &right[..]));
        self.next.nth += 1;
        position.into()
    }
}

/// The least time of a transaction with these operations: no element is younger than what has put it there. A region refuses what is no
/// position.
pub(super) fn least_us(operations: &[Operation]) -> u64 {
    let placed = operations.iter().filter_map(|operation| match &operation.kind {
        OperationKind::ListSet(position, _) if is_possible(position, u64::MAX) => Some(born_us(position)),
        _ => None,
    });
    placed.max().unwrap_or_default()
}

impl Transaction {
    /// Puts an element at the end of a list, also of one that is not cached.
    pub fn push_back(&mut self, key: impl Into<Bytes>, value: impl Into<Bytes>) {
        let key = key.into();
        // Without a neighbour it comes behind all that is there.
        let last = self.positions(&key).ok().and_then(|all| all.last().cloned());
        let position = self.placing.between(last.as_ref(), None);
        self.push(key, OperationKind::ListSet(position, value.into()));
    }

    /// Puts an element into a list, before the one that has this index there, or at the end.
    ///
    /// # Errors
    /// There is no such place.
    pub fn insert(
        &mut self,
        key: impl Into<Bytes>,
        index: usize,
        value: impl Into<Bytes>,
    ) -> Result<(), NoElement> {
        let key = key.into();
        let all = self.positions(&key)?;
        if index > all.len() {
            return Err(NoElement::Beyond);
        }
        let (left, right) = (index.checked_sub(1).map(|left| all[left].clone()), all.get(index).cloned());
        let position = self.placing.between(left.as_ref(), right.as_ref());
        self.push(key, OperationKind::ListSet(position, value.into()));
        Ok(())
    }

    /// Gives an element of a list another value.
    ///
    /// # Errors
    /// There is no such element.
    pub fn set_at(
        &mut self,
        key: impl Into<Bytes>,
        index: usize,
        value: impl Into<Bytes>,
    ) -> Result<(), NoElement> {
        let key = key.into();
        let position = self.position(&key, index)?;
        self.push(key, OperationKind::ListSet(position, value.into()));
        Ok(())
    }

    /// Removes an element of a list.
    ///
    /// # Errors
    /// There is no such element.
    pub fn remove_at(&mut self, key: impl Into<Bytes>, index: usize) -> Result<(), NoElement> {
        let key = key.into();
        let position = self.position(&key, index)?;
        self.push(key, OperationKind::ListRemove(position));
        Ok(())
    }

    fn position(&mut self, key: &Bytes, index: usize) -> Result<Bytes, NoElement> {
        self.positions(key)?.get(index).cloned().ok_or(NoElement::Beyond)
    }

    /// Those of all elements, in the order of the list. The list is read once, however often it is edited.
    fn positions(&mut self, key: &Bytes) -> Result<&[Bytes], NoElement> {
        if !self.edited.contains_key(key) {
            let all = match self.read(key) {
                Some(Value::List(elements)) => elements.into_keys().collect(),
                Some(Value::Absent) => Vec::new(),
                Some(_) => return Err(NoElement::WrongType),
                None => return Err(NoElement::NotCached),
            };
            self.edited.insert(key.clone(), all);
        }
        Ok(&self.edited[key])
    }

    /// An operation that it is going to have makes of a list that it has edited what [`Self::read`] will show.
    pub(super) fn edits(&mut self, key: &Bytes, kind: &OperationKind) {
        let Some(all) = self.edited.get_mut(key) else { return };
        match kind {
            OperationKind::ListSet(position, _) => {
                if let Err(place) = all.binary_search(position) {
                    all.insert(place, position.clone());
                }
            }
            OperationKind::ListRemove(position) => {
                if let Ok(place) = all.binary_search(position) {
                    all.remove(place);
                }
            }
            _ => drop(self.edited.remove(key)), // it may be no list any more
        }
    }
}
