//! Versions of which nothing is kept but what readers see, because every operation that can still come has observed them.

use super::State;
use crate::cell::counted;
use crate::deadline::Deadlines;
use crate::effect::{Bound, Change, Datum, Effect, Kind, Start};
use tidemark_core::Stamp;

impl State {
    /// As [`Self::apply`] and [`Self::settle`] at once. REQUIRES: every operation that can still arrive has observed the version,
    /// and everything that is here.
    pub fn fold(&mut self, stamp: Stamp, effect: &Effect) {
        let mut settles = false;
        for change in &effect.changes {
            if !self.fold_plain(stamp, change) {
                self.change(stamp, effect.floor, change, None);
                settles = true;
            }
        }
        if settles {
            self.settle(stamp.ts, usize::MAX);
        }
    }

    /// Carries a change out on the plain form alone, if nothing else knows of its element; false if it has to be done otherwise.
    fn fold_plain(&mut self, stamp: Stamp, change: &Change) -> bool {
        let (kind, name) = match change {
            Change::Expire { deadline, .. } => {
                self.deadlines = Deadlines::settled(*deadline);
                return true;
            }
            Change::Assign { datum: Datum::Gone | Datum::Account(_), .. } => return false,
            Change::Assign { bound: Bound::Least | Bound::Most, .. } => return false,
            // What sums of fractions come to depends on how they are added up.
            Change::Count { kind: Kind::Zset, .. } | Change::Count { start: Start::At(_), .. } => {
                return false;
            }
            Change::Assign { kind, name, .. }
            | Change::Kill { kind, name, .. }
            | Change::Count { kind, name, .. } => (*kind, name.resolve(stamp)),
            _ => return false,
        };
        if self.hot(kind, &name).is_some() || self.plains.iter().any(|plain| plain.kind() != kind) {
            return false;
        }
        match change {
            Change::Assign { datum, .. } => self.show(kind, &name, Some(datum)),
            Change::Count { sum, .. } if self.plains.iter_mut().any(|plain| plain.count_in_place(*sum)) => {}
            Change::Count { sum, .. } => {
                let base = self.plain(kind).and_then(|plain| plain.get(&name));
                self.show(kind, &name, Some(&counted(base.as_ref(), *sum)));
            }
            _ => self.show(kind, &name, None),
        }
        true
    }
}
