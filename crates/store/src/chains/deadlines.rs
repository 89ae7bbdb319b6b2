//! Deadlines of keys, the nearest first: which keys expire as time passes.
//!
//! A key stands here with the deadline of its head, as it was when that was looked at last. Once it has been said that it has
//! passed, it is not said again, unless the key is given another one.

use super::Store;
use super::typed::Objects;
use bytes::Bytes;
use std::collections::BTreeSet;
use tidemark_core::Key;

/// The handles of keys with deadlines, in milliseconds since 1970.
#[derive(Debug, Default)]
pub(super) struct Index(BTreeSet<(u64, u32)>);

impl<M: Clone> Objects<M> {
    /// The head of an object may have another deadline. Whether it has one.
    pub(super) fn note_deadline(&mut self, handle: u32, at: u32) {
        let object = self.get_mut(at);
        let deadline = object.head().deadlines.effective();
        let before = object.noted_deadline(deadline);
        self.expiring |= deadline.is_some();
        if before != deadline {
            if let Some(before) = before {
                self.index.0.remove(&(before, handle));
            }
            self.index.0.extend(deadline.map(|deadline| (deadline, handle)));
        }
    }

    /// The key of an object goes.
    pub(super) fn forget_deadline(&mut self, handle: u32, at: u32) {
        if let Some(before) = self.get_mut(at).noted_deadline(None) {
            self.index.0.remove(&(before, handle));
        }
    }
}

impl<M: Clone> Store<M> {
    /// The keys that hold something and whose deadlines have passed by `now`, in milliseconds since 1970, in this order; each is
    /// said once. At most so many.
    pub fn passed(&mut self, now: u64, limit: usize) -> Vec<Key> {
        let mut keys = Vec::new();
        while let Some((_, handle)) =
            self.objects.index.0.first().filter(|(deadline, _)| *deadline <= now).copied()
            && keys.len() < limit
        {
            self.objects.index.0.pop_first();
            let entry = self.tables.entry(handle);
            if self.objects.get(entry.older).head().kind().is_some() {
                keys.push(Key(Bytes::copy_from_slice(&entry.key)));
            }
        }
        keys
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Version;
    use tidemark_core::{DcId, Hlc, Regions, Stamp, Write};
    use tidemark_crdt::effect::{Bound, Change, Datum, Effect, Kill, Kind, Name};

    fn write(store: &mut Store<()>, key: &str, ts: u64, changes: Vec<Change>) {
        let (stamp, floor) = (Stamp::new(Hlc(ts), DcId(0)), Hlc::ZERO);
        let write = Write::Apply(Effect { floor, changes }.encode());
        store.insert(key.as_bytes(), Version { stamp, meta: (), write });
        store.refreshed(key.as_bytes(), ts, |_| true);
    }

    fn set(name: &str) -> Change {
        let (kind, name, datum) = (Kind::Hash, Name::of(name.as_bytes()), Datum::bytes(b"v"));
        Change::Assign { kind, name, datum, bound: Bound::None, kill: Kill::default() }
    }

    fn expire(deadline: Option<u64>, seen: &[u64]) -> Change {
        let kill = seen.iter().map(|ts| Stamp::new(Hlc(*ts), DcId(0))).collect();
        Change::Expire { deadline, kill }
    }

    #[test]
    fn a_deadline_is_said_once_when_it_has_passed_and_again_if_there_is_another() {
        let mut store = Store::new(0).with_types(|(), _| (), 1, Regions::all_but(DcId(0), 1));
        for (ts, (key, deadline)) in (1..).zip([("b", 20), ("a", 10), ("c", 30), ("d", 10)]) {
            write(&mut store, key, ts, vec![set("f"), expire(Some(deadline), &[])]);
        }
        write(&mut store, "b", 9, vec![expire(Some(40), &[1])]);
        write(&mut store, "d", 10, vec![expire(None, &[4])]);
        let passed = |store: &mut Store<()>, now| {
            store
                .passed(now, 10)
                .iter()
                .map(|key| String::from_utf8_lossy(&key.0).into_owned())
                .collect::<Vec<_>>()
        };
        assert_eq!(passed(&mut store, 9), [""; 0]);
        assert_eq!(passed(&mut store, 30), ["a", "c"]);
        assert_eq!(passed(&mut store, 30), [""; 0]);
        write(&mut store, "a", 11, vec![expire(Some(50), &[2])]);
        assert_eq!(passed(&mut store, 60), ["b", "a"]);
    }
}
