//! What a bounded counter is made of: how much each region has added, taken, and given to others.
//!
//! **Idea.** A region may take no more than its *rights*: what it has added and was given, less what it has taken and given. Rights
//! are never negative, so their sum is not either, and the counter, which is its bound and that sum, never falls below the
//! bound. A region changes its own totals alone and totals only rise, so two accounts of one counter merge by the maximum
//! of each total. Who gives rights has less from the same version on; whoever is given them can use them once that version
//! is visible, so no right is in two places.
//!
//! **Source.** Balegas et al., "Extending Eventually Consistent Cloud Databases for Enforcing Numeric Invariants", SRDS 2015
//! (arXiv 1503.09052).
//!
//! **Deviations**
//! - D1 A counter is known by the version that created it. Counters that are created at once do not merge: the later one counts,
//!   for the rights of one say nothing of the bound of the other.
//!
//! **Invariants**
//! - I1 Totals stand in the order of regions and columns, each once, and none is 0.

use crate::rule;
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;
use tidemark_core::{DcId, Stamp};

/// Of what a region keeps a total.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Column {
    /// What it has added.
    Added,
    /// What it has taken.
    Taken,
    /// The rights that it has given to another region.
    Given(DcId),
}

/// A total of a region.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// The region, which alone changes it.
    pub region: DcId,
    /// Of what.
    pub column: Column,
    /// How much, since the counter was created.
    pub total: u128,
}

/// A bounded counter.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Account {
    /// The version that created it; none within that version.
    created: Option<Stamp>,
    min: i64,
    totals: SmallVec<[Entry; 2]>,
}

impl Account {
    /// A counter with this bound, which stands as much above it as `region` has `added`.
    pub fn new(min: i64, region: DcId, added: u128) -> Self {
        let mut account = Self { created: None, min, totals: SmallVec::new() };
        account.raise(Entry { region, column: Column::Added, total: added });
        account
    }

    /// The version with this stamp creates it.
    pub fn create(&mut self, stamp: Stamp) {
        self.created.get_or_insert(stamp);
    }

    /// The version that created it.
    pub fn created(&self) -> Option<Stamp> {
        self.created
    }

    /// The bound.
    pub fn min(&self) -> i64 {
        self.min
    }

    /// Raises a total; nothing if it is higher already.
    pub fn raise(&mut self, entry: Entry) {
        match self.find(entry.region, entry.column) {
            Ok(at) => self.totals[at].total = self.totals[at].total.max(entry.total),
            Err(at) if entry.total > 0 => self.totals.insert(at, entry),
            Err(_) => {}
        }
    }

    fn find(&self, region: DcId, column: Column) -> Result<usize, usize> {
        self.totals.binary_search_by_key(&(region, column), |entry| (entry.region, entry.column))
    }

    /// A total.
    pub fn total(&self, region: DcId, column: Column) -> u128 {
        self.find(region, column).map_or(0, |at| self.totals[at].total)
    }

    /// How much a region may take by what is known here: exact in the region itself, elsewhere perhaps old.
    pub fn rights(&self, region: DcId) -> u128 {
        let (mut has, mut had) = (0_u128, 0_u128);
        for Entry { region: of, column, total } in &self.totals {
            match column {
                Column::Added if *of == region => has = has.saturating_add(*total),
                Column::Given(to) if *to == region => has = has.saturating_add(*total),
                Column::Taken if *of == region => had = had.saturating_add(*total),
                Column::Given(_) if *of == region && rule::GIVEN_RIGHTS_GO.kept() => {
                    had = had.saturating_add(*total);
                }
                _ => {}
            }
        }
        has.saturating_sub(had)
    }

    /// How far the counter stands above its bound.
    pub fn above(&self) -> u128 {
        let sum = |of: Column| {
            let all = self.totals.iter().filter(|entry| entry.column == of).map(|entry| entry.total);
            all.fold(0_u128, u128::saturating_add)
        };
        sum(Column::Added).saturating_sub(sum(Column::Taken))
    }

    /// What the counter stands at; no more than an integer of 64 bits can say.
    pub fn value(&self) -> i64 {
        let above = i128::try_from(self.above()).unwrap_or(i128::MAX);
        i64::try_from(i128::from(self.min).saturating_add(above)).unwrap_or(i64::MAX)
    }

    /// The regions that have, or have had, rights.
    pub fn regions(&self) -> Vec<DcId> {
        let given = |entry: &Entry| if let Column::Given(to) = entry.column { Some(to) } else { None };
        let mut all: Vec<DcId> = self
            .totals
            .iter()
            .map(|entry| entry.region)
            .chain(self.totals.iter().filter_map(given))
            .collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// Bytes allocated.
    pub fn memory(&self) -> usize {
        let spilled = if self.totals.spilled() { self.totals.capacity() * size_of::<Entry>() } else { 0 };
        size_of::<Self>() + spilled
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidemark_core::without;

    const A: DcId = DcId(0);
    const B: DcId = DcId(1);

    fn entry(region: DcId, column: Column, total: u128) -> Entry {
        Entry { region, column, total }
    }

    #[test]
    fn rights_are_what_was_added_and_given_less_what_was_taken_and_given_away() {
        let mut account = Account::new(5, A, 10);
        account.raise(entry(A, Column::Given(B), 4));
        account.raise(entry(A, Column::Taken, 1));
        account.raise(entry(B, Column::Added, 2));
        account.raise(entry(B, Column::Taken, 3));
        assert_eq!((account.rights(A), account.rights(B)), (5, 3));
        assert_eq!((account.above(), account.value()), (8, 13));
        assert_eq!(account.regions(), [A, B]);
        without(&[rule::GIVEN_RIGHTS_GO], || assert_eq!(account.rights(A), 9));
    }

    #[test]
    fn accounts_merge_by_the_maximum_of_each_total_in_any_order() {
        let entries = [
            entry(A, Column::Added, 12),
            entry(A, Column::Given(B), 3),
            entry(B, Column::Taken, 2),
            entry(A, Column::Added, 11),
        ];
        let merged = |order: &[usize]| {
            let mut account = Account::new(0, A, 10);
            order.iter().for_each(|at| account.raise(entries[*at]));
            account
        };
        let one = merged(&[0, 1, 2, 3]);
        assert_eq!((one.rights(A), one.rights(B), one.value()), (9, 1, 10));
        assert_eq!(one, merged(&[3, 2, 1, 0, 0, 2]), "the order does not matter, nor does repetition");
    }

    #[test]
    fn no_total_is_too_large() {
        let mut account = Account::new(i64::MIN, A, u128::MAX);
        account.raise(entry(B, Column::Added, u128::MAX));
        assert_eq!((account.value(), account.above()), (i64::MAX, u128::MAX));
        assert_eq!(Account::new(i64::MIN, A, 0).value(), i64::MIN);
    }

    #[test]
    fn the_version_that_created_a_counter_names_it_once() {
        let (one, other) = (Stamp { origin: A, ..Stamp::default() }, Stamp { origin: B, ..Stamp::default() });
        let mut account = Account::new(0, A, 1);
        assert_eq!(account.created(), None);
        account.create(one);
        account.create(other);
        assert_eq!(account.created(), Some(one));
    }
}
