//! One property a file. Those of a white box compare stamps and stand on one walk of the history; the black
//! box has values only and looks for an order of the writes.

pub(crate) mod as_of;
pub(crate) mod atomic_writes;
pub(crate) mod black_box;
pub(crate) mod causal;
pub(crate) mod convergence;
pub(crate) mod immediate;
mod ledger;
pub(crate) mod monotonic_reads;
pub(crate) mod monotonic_writes;
pub(crate) mod monotonic_writes_global;
pub(crate) mod overwrite_order;
mod reach;
pub(crate) mod read_your_writes;
pub(crate) mod sequential;
pub(crate) mod snapshot;
pub(crate) mod transaction;
pub(crate) mod well_formed;
pub(crate) mod white_box;
pub(crate) mod writes_follow_reads;
pub(crate) mod writes_follow_reads_global;

use crate::index::{Index, Ref};
use crate::property::{Properties, Property};
use crate::report::Violation;

/// A violation in numbers: event `e` read or wrote `at`, although `newer` is a newer version of the same key
/// that it had to respect.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Finding {
    pub(crate) property: Property,
    pub(crate) e: u32,
    pub(crate) at: Ref,
    pub(crate) newer: u32,
}

impl Finding {
    /// The story of it, which its property's file tells.
    fn tell(&self, index: &Index<'_>) -> Violation {
        match self.property {
            Property::ReadYourWrites => read_your_writes::tell(index, self),
            Property::MonotonicReads => monotonic_reads::tell(index, self),
            Property::MonotonicWrites => monotonic_writes::tell(index, self),
            Property::WritesFollowReads => writes_follow_reads::tell(index, self),
            Property::MonotonicWritesGlobal => monotonic_writes_global::tell(index, self),
            Property::WritesFollowReadsGlobal => writes_follow_reads_global::tell(index, self),
            Property::Causal => causal::tell(index, self),
            Property::OverwriteOrder => overwrite_order::tell(index, self),
            Property::Snapshot => snapshot::tell(index, self),
            Property::AtomicWrites => atomic_writes::tell(index, self),
            Property::Immediate => immediate::tell(index, self),
            Property::WellFormed | Property::Convergence | Property::Sequential => {
                unreachable!("told where they are found")
            }
        }
    }
}

/// Collects what the properties find: every violation is counted, the first ones of each property are told.
pub(crate) struct Findings<'i> {
    pub(crate) index: &'i Index<'i>,
    pub(crate) enabled: Properties,
    limit: usize,
    told: Vec<Violation>,
    kept: Vec<Finding>,
    counts: [u64; Property::ALL.len()],
}

impl<'i> Findings<'i> {
    pub(crate) fn new(index: &'i Index<'i>, enabled: Properties, limit: usize) -> Self {
        let counts = [0; Property::ALL.len()];
        Self { index, enabled, limit, told: Vec::new(), kept: Vec::new(), counts }
    }

    #[inline]
    pub(crate) fn checks(&self, property: Property) -> bool {
        self.enabled.contains(property)
    }

    /// Whether any of these is checked.
    pub(crate) fn checks_any(&self, properties: &[Property]) -> bool {
        properties.iter().any(|property| self.checks(*property))
    }

    /// Whether one more violation of `property`, which is counted here, is still to be told.
    fn count(&mut self, property: Property) -> bool {
        let count = &mut self.counts[property as usize];
        *count += 1;
        *count <= self.limit as u64
    }

    #[cold]
    pub(crate) fn found(&mut self, property: Property, e: u32, at: Ref, newer: u32) {
        if self.count(property) {
            self.kept.push(Finding { property, e, at, newer });
        }
    }

    #[cold]
    pub(crate) fn told(&mut self, property: Property, tell: impl FnOnce(&Index<'_>) -> Violation) {
        if self.count(property) {
            self.told.push(tell(self.index));
        }
    }

    /// How many violations there are, and the first ones of each property.
    pub(crate) fn finish(mut self) -> (u64, Vec<Violation>) {
        self.kept.sort_by_key(|f| (f.property, f.e));
        let index = self.index;
        self.told.extend(self.kept.iter().map(|f| f.tell(index)));
        self.told.sort_by_key(|v| v.property);
        // Where a story does not say otherwise, it ends where the violation shows.
        for violation in &mut self.told {
            if let (false, Some(last)) = (violation.steps.iter().any(|s| s.shows), violation.steps.last_mut())
            {
                last.shows = true;
            }
        }
        (self.counts.iter().sum(), self.told)
    }
}
