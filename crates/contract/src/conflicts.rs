//! Conflicts: versions of one key of which neither was written in sight of the other.
//!
//! A protocol says of two versions whether the newer one was written where the older one could be seen: `saw(newer,
//! older)`, a question about these two alone, so that it has one answer everywhere and at any time. If it was, the
//! newer one has taken the older one's place. If not, they are concurrent: the last writer wins, unless a resolver
//! chooses. It chooses among those whose place nobody has taken, each time they are read; what it does not choose
//! stays until a later write has seen it. So replicas that hold the same versions return the same, in whatever
//! order they came, and after a restart.
//!
//! REQUIRES: `saw` is transitive, and true of two versions that one server wrote.

use crate::{Store, Version};
use std::collections::BTreeMap;
use tidemark_core::{Key, Stamp};

/// The conflicts that one server has come across.
#[derive(Debug, Default)]
pub struct Conflicts {
    detected: u64,
    resolves: bool,
    /// With a resolver: the versions that did not see all older ones of their key.
    contested: BTreeMap<Stamp, Key>,
}

impl Conflicts {
    /// None yet. With a resolver, looks through the versions that were recovered.
    pub fn new<M>(store: &Store<M>, resolves: bool, saw: impl Fn(&Version<M>, &Version<M>) -> bool) -> Self {
        let mut contested = BTreeMap::new();
        if resolves {
            store.dump(0, usize::MAX, |key, d| {
                if store.chain(key).any(|older| older.stamp < d.stamp && !saw(d, older)) {
                    contested.insert(d.stamp, Key(key.to_vec().into()));
                }
            });
        }
        Self { detected: 0, resolves, contested }
    }

    /// The version `stamp` of `key` was inserted. It is a conflict, one however many versions take part, if it is concurrent
    /// with one of its neighbours: whoever is concurrent with something farther away has met it before.
    #[inline]
    pub fn note<M>(
        &mut self,
        store: &Store<M>,
        key: &Key,
        stamp: Stamp,
        saw: impl Fn(&Version<M>, &Version<M>) -> bool,
    ) {
        let Some(new) = store.chain(key).find(|d| d.stamp == stamp) else { return };
        let mut concurrent = false;
        for other in store.chain(key).filter(|d| d.stamp != stamp) {
            let (newer, older) = if other.stamp > new.stamp { (other, new) } else { (new, other) };
            let conflict = !saw(newer, older);
            concurrent |= conflict;
            if self.resolves {
                conflict.then(|| self.contested.insert(newer.stamp, key.clone()));
            } else if conflict || other.stamp < new.stamp {
                break;
            }
        }
        self.detected += u64::from(concurrent);
    }

    /// How many were detected.
    pub fn detected(&self) -> u64 {
        self.detected
    }

    /// Whether all versions older than this one can go once every snapshot contains it.
    #[inline]
    pub fn settled(&self, stamp: Stamp) -> bool {
        !self.contested.contains_key(&stamp)
    }

    /// Forgets what was collected.
    pub fn forget<M>(&mut self, store: &Store<M>) {
        self.contested.retain(|stamp, key| store.chain(key).any(|d| d.stamp == *stamp));
    }

    /// Of versions that come newest first, the one that wins among those that no other has seen. `newer_wins(older,
    /// newer)` is asked about two at a time, from the newest down.
    pub fn resolve<'v, M>(
        seen: impl Iterator<Item = &'v Version<M>>,
        saw: impl Fn(&Version<M>, &Version<M>) -> bool,
        newer_wins: impl Fn(&Version<M>, &Version<M>) -> bool,
    ) -> Option<&'v Version<M>> {
        let mut left: Vec<&Version<M>> = Vec::new();
        for d in seen {
            if !left.iter().any(|newer| saw(newer, d)) {
                left.push(d);
            }
        }
        left.into_iter().reduce(|newer, older| if newer_wins(older, newer) { newer } else { older })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidemark_core::{DcId, Hlc, Write};

    /// A version whose meta is the time up to which its writer had seen other data centres.
    fn version(ts: u64, dc: u8, sight: u64) -> Version<u64> {
        let stamp = Stamp::new(Hlc(ts), DcId(dc));
        Version { stamp, meta: sight, write: Write::Assign(format!("{ts}").as_bytes().into()) }
    }

    fn saw(newer: &Version<u64>, older: &Version<u64>) -> bool {
        newer.stamp.origin == older.stamp.origin || older.stamp.ts <= Hlc(newer.meta)
    }

    /// Inserts versions one after the other; after which of them a conflict was counted.
    fn met(conflicts: &mut Conflicts, store: &mut Store<u64>, all: &[Version<u64>]) -> Vec<u64> {
        let key = Key::from("k");
        let mut counted = Vec::new();
        for d in all {
            let before = conflicts.detected();
            store.insert(&key, d.clone());
            conflicts.note(store, &key, d.stamp, saw);
            counted.extend((conflicts.detected() > before).then_some(d.stamp.ts.0));
        }
        counted
    }

    #[test]
    fn what_saw_its_predecessor_is_no_conflict_and_what_did_not_is_one_on_whichever_side_it_arrives() {
        let chain = [version(1, 0, 0), version(2, 1, 1), version(3, 1, 1), version(4, 0, 3)];
        let concurrent = [version(2, 1, 1), version(3, 0, 1)];
        let reversed = [concurrent[1].clone(), concurrent[0].clone()];
        for (all, expected) in [(&chain[..], vec![]), (&concurrent, vec![3]), (&reversed, vec![2])] {
            let mut store = Store::new(0);
            assert_eq!(met(&mut Conflicts::default(), &mut store, all), expected);
        }
    }

    /// 5 beats 3 and 1, but the writer of 1 had seen 5: choosing at arrival would keep 3 here and 1 there.
    #[test]
    fn a_resolver_chooses_among_what_nobody_has_seen_whatever_came_first() {
        let mut all = [version(1, 0, 0), version(2, 1, 0), version(3, 0, 0)];
        for (d, value) in all.iter_mut().zip(["5", "3", "1"]) {
            d.write = Write::Assign(value.as_bytes().into());
        }
        let larger = |older: &Version<u64>, newer: &Version<u64>| older.write.value() <= newer.write.value();
        for order in [[0, 1, 2], [1, 0, 2], [0, 2, 1]] {
            let (mut store, mut conflicts) =
                (Store::new(0), Conflicts { resolves: true, ..Conflicts::default() });
            met(&mut conflicts, &mut store, &order.map(|i: usize| all[i].clone()));
            let winner = Conflicts::resolve(store.chain(b"k"), saw, larger).unwrap();
            assert_eq!(winner.stamp, all[1].stamp, "{order:?}");
            let settled = all.each_ref().map(|d| conflicts.settled(d.stamp));
            assert_eq!(settled, [true, false, false], "{order:?}");
            let recovered = Conflicts::new(&store, true, saw);
            assert_eq!(recovered.contested, conflicts.contested);
            store.insert(b"k", version(9, 1, 8));
            store.keep_newest(b"k");
            conflicts.forget(&store);
            assert!(conflicts.contested.is_empty());
        }
    }
}
