//! Dependencies as a matrix: of what each server has written, up to where (Orbe).
//!
//! An entry stands for everything that its server wrote before, so a matrix never has more entries than there are
//! servers, and most of them are empty.

use crate::{Deps, Past, Reach};
use serde::{Deserialize, Serialize};
use tidemark_core::{DcId, Hlc, PartitionId, Stamp, Vector};

/// A matrix: a row a partition, a column a data centre. As what a session remembers, it says of an answer what is to be
/// added, or that it stands for all that was remembered before.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Matrix {
    rows: Deps,
    stands_for_all: bool,
}

impl Matrix {
    /// Of `partition`, what each data centre wrote there up to its entry of `seen`.
    pub fn row(partition: PartitionId, seen: &Vector) -> Self {
        let mut rows = Deps::default();
        let entries = seen.iter().filter(|(_, ts)| *ts > Hlc::ZERO);
        entries.for_each(|(dc, ts)| rows.include(partition, Stamp::new(ts, dc)));
        rows.bound(0);
        Self { rows, stands_for_all: false }
    }

    /// An update of `partition` that depends on all that its session remembered.
    pub fn update(partition: PartitionId, stamp: Stamp) -> Self {
        let mut rows = Deps::one(partition, stamp);
        rows.bound(0);
        Self { rows, stands_for_all: true }
    }

    /// The rows of the partitions that `which` says, to wait for.
    pub fn rows(&self, which: impl Fn(PartitionId) -> bool) -> Deps {
        let mut rows = Deps::default();
        self.rows.iter().filter(|dep| which(dep.partition)).for_each(|dep| rows.add(dep.clone()));
        rows
    }

    /// The entries that are not empty: partition, data centre, time.
    pub fn entries(&self) -> impl Iterator<Item = (PartitionId, DcId, Hlc)> + '_ {
        self.rows.iter().map(|dep| (dep.partition, dep.stamp.origin, dep.stamp.ts))
    }

    /// The largest entry.
    pub fn max(&self) -> Hlc {
        self.rows.latest()
    }
}

impl Past for Matrix {
    type Said = Self;

    /// Entry-wise maximum.
    fn merge(&mut self, other: &Self) {
        if other.stands_for_all {
            self.rows = Deps::default();
        }
        self.rows.merge(&other.rows);
        self.rows.bound(0);
    }

    fn reach(&self, home: DcId) -> Reach {
        self.rows.reach(home)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(partition: u16, entries: [u64; 2]) -> Matrix {
        Matrix::row(PartitionId(partition), &Vector::from_entries(entries.map(Hlc)))
    }

    fn shown(matrix: &Matrix) -> Vec<(u16, u8, u64)> {
        let mut shown: Vec<_> = matrix.entries().map(|(p, dc, ts)| (p.0, dc.0, ts.0)).collect();
        shown.sort();
        shown
    }

    #[test]
    fn each_entry_is_the_largest_seen_and_empty_ones_take_no_room() {
        let mut matrix = row(1, [5, 0]);
        matrix.merge(&row(1, [3, 7]));
        matrix.merge(&row(0, [0, 4]));
        assert_eq!(shown(&matrix), [(0, 1, 4), (1, 0, 5), (1, 1, 7)]);
        assert_eq!((matrix.max(), matrix.rows(|p| p.0 == 1).len()), (Hlc(7), 2));
        let reach = matrix.reach(DcId(0));
        assert_eq!((reach.latest, reach.dcs, reach.partitions), (Hlc(7), 2, 2));
    }

    #[test]
    fn an_update_stands_for_all_that_was_remembered_and_for_nothing_that_is_read_later() {
        let mut matrix = row(1, [5, 7]);
        matrix.merge(&Matrix::update(PartitionId(0), Stamp::new(Hlc(9), DcId(0))));
        assert_eq!(shown(&matrix), [(0, 0, 9)]);
        matrix.merge(&row(1, [0, 3]));
        let other = std::mem::take(&mut matrix);
        matrix.merge(&row(1, [1, 0]));
        matrix.merge(&other);
        assert_eq!(shown(&matrix), [(0, 0, 9), (1, 0, 1), (1, 1, 3)]);
    }
}
