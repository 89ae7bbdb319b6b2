//! Two-phase commit among the masters of partitions, which may be in several data centres.
//!
//! A master's replicas know by one time how far they have come. So no two of its writes may have one time, though commit times are
//! agreed on with others: those have the upper half of the counter, in which coordinators differ. All other times have the
//! lower half.

use super::{Adds, COMMIT_TIMES_DIFFER, TwoPhase};
use crate::Wire;
use tidemark_core::{DcId, Hlc, PartitionId, ServerId};

impl<S: Wire, L, D: Adds, W> TwoPhase<S, L, D, W> {
    /// It is the masters of partitions that take part, in these data centres.
    #[must_use]
    pub fn among(self, masters: Vec<DcId>) -> Self {
        Self { masters, ..self }
    }

    /// Who takes part for a partition.
    pub(super) fn server(&self, partition: PartitionId) -> ServerId {
        ServerId::new(*self.masters.get(partition.index()).unwrap_or(&self.me.dc), partition)
    }
}

/// How many masters can be told apart.
pub const MASTERS_MAX: usize = 1 << (Hlc::COUNTER_BITS - 1);

/// The first time from `at` on at which this coordinator, and no other master, can commit.
pub(super) fn commit_time(at: Hlc, coordinator: PartitionId) -> Hlc {
    if !COMMIT_TIMES_DIFFER.kept() {
        return at;
    }
    let own = |micros| Hlc(Hlc::at(micros).0 + MASTERS_MAX as u64 + u64::from(coordinator.0));
    let soon = own(at.micros());
    if soon < at { own(at.micros() + 1) } else { soon }
}

/// A time from `last` on, after which comes one that is no commit time: the same, as a rule.
pub fn before_plain(last: Hlc) -> Hlc {
    let plain = last.next().0 & MASTERS_MAX as u64 == 0 || !COMMIT_TIMES_DIFFER.kept();
    if plain { last } else { Hlc::at(last.micros() + 1).prev() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::without;

    #[test]
    fn no_commit_time_is_one_of_another_coordinator_or_plain() {
        let at = |n: u64| Hlc(Hlc::at(7).0 + n);
        let commit = |time, n| commit_time(time, PartitionId(n));
        for time in [0, 1, 2_047, 2_048, 2_050, 4_095].map(at) {
            let times = [0, 1, 2, 2_047].map(|n| commit(time, n));
            assert!(times.iter().all(|commit| *commit >= time && commit.0 - time.0 < 4_096), "{times:?}");
            assert!((1..4).all(|n| !times[..n].contains(&times[n])), "{times:?}");
            assert!(
                times
                    .iter()
                    .all(|time| commit(time.next(), 1) != *time && before_plain(*time).next() > *time)
            );
        }
        assert_eq!((commit(at(5), 3), commit(at(2_052), 3)), (at(2_051), Hlc(at(2_051).0 + 4_096)));
        assert_eq!([0, 2_046].map(|n| before_plain(at(n))), [at(0), at(2_046)]);
        assert_eq!([2_047, 3_000, 4_095].map(|n| before_plain(at(n)).next()), [Hlc::at(8); 3]);
        assert_eq!(without(&[COMMIT_TIMES_DIFFER], || commit(at(5), 3)), at(5));
    }
}
