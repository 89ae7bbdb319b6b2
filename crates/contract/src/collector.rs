//! When to collect: once through the queue each time the safe point has risen, a piece at a time.
//!
//! What a server offers as its own part of the safe point must be durable before it is offered: the data
//! centre collects below it, and a server that came back with less could be asked for a snapshot of which its
//! siblings have dropped the versions (erratum E-12).

use crate::{Cx, Protocol, Store};
use tidemark_core::{Hlc, Stamp, Vector};
use tidemark_store::{Collected, Version};

/// The smallest and the largest piece, in keys: a pass through what is left takes about two pieces, but never holds up
/// the server for more than some milliseconds.
const PIECE: (usize, usize) = (1_000, 20_000);

/// The collection of one server's store.
#[derive(Debug, Default)]
pub struct Collector {
    safe: Vector,
    left: usize,
    piece: usize,
}

impl Collector {
    /// The safe point may have risen; it never goes back.
    pub fn raise<M: Clone>(&mut self, safe: &Vector, store: &Store<M>) {
        if !safe.le(&self.safe) {
            self.safe.merge(safe);
            self.left = store.garbage();
            self.piece = (self.left / 2).clamp(PIECE.0, PIECE.1);
        }
    }

    /// The safe point.
    pub fn safe(&self) -> &Vector {
        &self.safe
    }

    /// Collects a piece: `safe(point, version)` says whether a version is in the snapshot at `point`. A
    /// tombstone goes once every entry of the safe point has passed it: no origin can send anything older.
    pub fn work<P: Protocol>(
        &mut self,
        cx: &mut Cx<'_, P>,
        safe: impl FnMut(&Vector, &Version<P::Meta>) -> bool,
    ) -> Collected {
        self.work_on(cx.store, self.safe.min(), safe)
    }

    /// As [`Self::work`]; it is tombstones up to `gone` that go.
    pub(crate) fn work_on<M: Clone>(
        &mut self,
        store: &mut Store<M>,
        gone: Hlc,
        mut safe: impl FnMut(&Vector, &Version<M>) -> bool,
    ) -> Collected {
        let piece = self.piece.min(self.left);
        self.left -= piece;
        let point = &self.safe;
        store.raise_floor(point.min());
        store.collect(piece, |version| safe(point, version), |stamp: Stamp| stamp.ts <= gone)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidemark_core::{DcId, Write};

    #[test]
    fn a_pass_is_made_for_each_rise_of_the_safe_point_and_no_other() {
        let mut store = Store::new(0);
        let put = |store: &mut Store<()>, ts| {
            let stamp = Stamp::new(Hlc(ts), DcId(0));
            store.insert(b"k", Version { stamp, meta: (), write: Write::Assign((*b"v").into()) })
        };
        (1..=4).for_each(|ts| assert!(put(&mut store, ts)));
        let mut collector = Collector::default();
        let mut visits = 0;
        let mut pass = |collector: &mut Collector, store: &mut Store<()>| {
            collector.work_on(store, Hlc::ZERO, |point, version| {
                visits += 1;
                point.covers(version.stamp)
            })
        };
        let at = |ts| Vector::from_entries([Hlc(ts)]);
        collector.raise(&at(2), &store);
        assert_eq!(pass(&mut collector, &mut store).versions, 1);
        collector.raise(&at(1), &store);
        assert_eq!(pass(&mut collector, &mut store).versions, 0);
        collector.raise(&at(4), &store);
        assert_eq!(pass(&mut collector, &mut store).versions, 2);
        assert!(visits <= 5, "the second pass did nothing");
    }
}
