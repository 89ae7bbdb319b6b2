//! The elements that one command has changed, and what it made of each.

use super::{Change, Datum};
use crate::effect::Name;
use foldhash::fast::FixedState;
use hashbrown::HashMap;
use smallvec::SmallVec;

/// How many elements are looked for one by one: as a rule a command changes one, and a table would cost more than the command.
const FEW: usize = 8;

/// See above. Nothing depends on the order.
#[derive(Default)]
pub(super) struct Written {
    /// Each with the number of the change that names it.
    few: SmallVec<[(usize, Option<Datum>); 1]>,
    many: HashMap<Box<[u8]>, Option<Datum>, FixedState>,
}

/// The element of a change of one.
#[inline]
fn name_of(change: &Change) -> Option<&[u8]> {
    match change {
        Change::Assign { name: Name::Is(name), .. }
        | Change::Kill { name: Name::Is(name), .. }
        | Change::Count { name: Name::Is(name), .. } => Some(name),
        _ => None,
    }
}

impl Written {
    /// What the command has made of an element; none if it has not changed it.
    #[inline]
    pub(super) fn get(&self, name: &[u8], changes: &[Change]) -> Option<&Option<Datum>> {
        let named = |change: usize| changes.get(change).and_then(name_of) == Some(name);
        match self.few.iter().find(|(change, _)| named(*change)) {
            Some((_, datum)) => Some(datum),
            None if self.many.is_empty() => None,
            None => self.many.get(name),
        }
    }

    /// The next change makes this of an element.
    #[inline]
    pub(super) fn insert(&mut self, name: &[u8], datum: Option<Datum>, changes: &[Change]) {
        if self.many.is_empty() && self.few.len() < FEW {
            self.few.retain(|(change, _)| changes.get(*change).and_then(name_of) != Some(name));
            self.few.push((changes.len(), datum));
            return;
        }
        for (change, datum) in self.few.drain(..) {
            let name = changes.get(change).and_then(name_of).expect("each is named by its change");
            self.many.insert(name.into(), datum);
        }
        self.many.insert(name.into(), datum);
    }
}
