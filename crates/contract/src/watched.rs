//! Versions that carry something until every snapshot has passed them: a list of them, looked at a piece at a time.

use crate::{Cx, Protocol};
use std::collections::VecDeque;
use tidemark_core::{Key, Stamp};
use tidemark_store::Store;

/// How many versions are watched; what comes on top carries its load as long as it lives.
const MOST: usize = 100_000;

/// How many are looked at in one go.
const PIECE: usize = 1_000;

/// The list, the oldest first. It is not recovered from a crash: what was watched then is not any more.
#[derive(Debug, Default)]
pub struct Watched(VecDeque<(Key, Stamp)>);

impl Watched {
    /// Watches a version of `key`.
    pub fn watch(&mut self, key: &Key, stamp: Stamp) {
        if self.0.len() < MOST {
            self.0.push_back((key.clone(), stamp));
        }
    }

    /// Looks at versions until `settle`, which takes off the load of one if it can, says that it cannot. What is not
    /// the newest of its key any more is left to collection. The log keeps the load: after a restart it is there, and
    /// nothing must depend on its being gone.
    pub fn settle_in_memory<P: Protocol>(
        &mut self,
        cx: &mut Cx<'_, P>,
        settle: impl FnMut(&mut P::Meta) -> bool,
    ) {
        self.settle(cx.store, settle);
    }

    fn settle<M: Clone>(&mut self, store: &mut Store<M>, mut settle: impl FnMut(&mut M) -> bool) {
        for _ in 0..PIECE {
            let Some((key, stamp)) = self.0.front() else { return };
            if !store.newest_meta(key, *stamp).is_none_or(&mut settle) {
                return;
            }
            self.0.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidemark_core::{DcId, Hlc, Write};
    use tidemark_store::Version;

    #[test]
    fn what_settles_or_was_overwritten_is_not_looked_at_again() {
        let (mut store, mut watched) = (Store::new(0), Watched::default());
        let keys = ["a", "b", "b", "c"].map(Key::from);
        for (ts, key) in (1..).zip(&keys) {
            let stamp = Stamp::new(Hlc(ts), DcId(0));
            store.insert(key, Version { stamp, meta: Some(ts), write: Write::Remove });
            watched.watch(key, stamp);
        }
        watched.watch(&Key::from("gone"), Stamp::default());
        let mut settle = |at: u64| {
            watched.settle(&mut store, |meta| meta.take_if(|ts| *ts <= at).is_some());
            let left = ["a", "b", "c"].map(|key| store.chain(key.as_bytes()).next().unwrap().meta);
            (left, watched.0.len())
        };
        assert_eq!(settle(0), ([Some(1), Some(3), Some(4)], 5));
        assert_eq!(settle(1), ([None, Some(3), Some(4)], 3), "of b only the newest counts");
        assert_eq!(settle(3), ([None, None, Some(4)], 2));
        assert_eq!(settle(9), ([None, None, None], 0));
    }
}
