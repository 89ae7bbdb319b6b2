//! Conflicts: versions of one key of which neither was written in sight of the other.
//!
//! A protocol says of two versions whether the newer one was written where the older one could be seen ([`Judge::saw`]), a
//! question about these two alone, so that it has one answer everywhere and at any time. If it was, the
//! newer one has taken the older one's place. If not, they are concurrent: the last writer wins, unless a resolver
//! chooses. It chooses among those whose place nobody has taken, each time they are read; what it does not choose
//! stays until a later write has seen it, and can be listed until then. So replicas that hold the same versions return the same, in
//! whatever order they came, and after a restart.
//!
//! REQUIRES: `saw` is transitive, and true of two versions that one server wrote.

use crate::{Store, Version};
use std::collections::{BTreeMap, BTreeSet};
use tidemark_core::{Key, Outcome, Stamp};

/// What a protocol says of two versions of one key: each answer is a function of the two alone.
pub trait Judge: 'static {
    /// What is stored beside them.
    type Meta: Clone;

    /// Whether [`Self::newer_wins`] is to be asked. If not, the last writer wins.
    fn resolves(&self) -> bool;

    /// Whether `newer` was written where `older` could be seen.
    fn saw(newer: &Version<Self::Meta>, older: &Version<Self::Meta>) -> bool;

    /// Whether `newer` wins against `older`, which it did not see.
    fn newer_wins(&self, older: &Version<Self::Meta>, newer: &Version<Self::Meta>) -> bool;
}

/// The conflicts that one server has come across.
#[derive(Debug)]
pub struct Conflicts<J> {
    detected: u64,
    /// With a resolver: the versions that did not see all older ones of their key.
    contested: BTreeMap<Stamp, Key>,
    judge: J,
}

impl<J: Judge> Conflicts<J> {
    /// None yet. With a resolver, looks through the versions that were recovered.
    pub fn new(judge: J, store: &Store<J::Meta>) -> Self {
        let mut contested = BTreeMap::new();
        if judge.resolves() {
            store.dump(0, usize::MAX, |key, d| {
                if store.chain(key).any(|older| older.stamp < d.stamp && !J::saw(d, older)) {
                    contested.insert(d.stamp, Key(key.to_vec().into()));
                }
            });
        }
        Self { detected: 0, contested, judge }
    }

    /// An update of `key` ended so: see [`Cx::update`].
    #[inline]
    pub fn written(&mut self, key: &Key, outcome: &Outcome, store: &Store<J::Meta>) {
        if let Outcome::Written { stamp: Some(stamp), .. } = outcome {
            self.note(store, key, *stamp);
        }
    }

    /// The version `stamp` of `key` was inserted. It is a conflict, one however many versions take part, if it is concurrent
    /// with one of its neighbours: whoever is concurrent with something farther away has met it before.
    #[inline]
    pub fn note(&mut self, store: &Store<J::Meta>, key: &Key, stamp: Stamp) {
        let Some(new) = store.chain(key).find(|d| d.stamp == stamp) else { return };
        let mut concurrent = false;
        for other in store.chain(key).filter(|d| d.stamp != stamp) {
            let (newer, older) = if other.stamp > new.stamp { (other, new) } else { (new, other) };
            let conflict = !J::saw(newer, older);
            concurrent |= conflict;
            if self.judge.resolves() {
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
    pub fn forget(&mut self, store: &Store<J::Meta>) {
        self.contested.retain(|stamp, key| store.chain(key).any(|d| d.stamp == *stamp));
    }

    /// At most `limit` keys, in order, of which a reader sees versions in conflict, with these: newest first.
    pub fn list<'v>(
        &self,
        limit: usize,
        store: &'v Store<J::Meta>,
        visible: impl Fn(&Version<J::Meta>) -> bool,
    ) -> Vec<(Key, Vec<&'v Version<J::Meta>>)> {
        let keys: BTreeSet<&Key> = self.contested.values().collect();
        let rivals = |key: &Key| Self::rivals(store.chain(key).filter(|d| visible(d)));
        let all = keys.into_iter().map(|key| (key.clone(), rivals(key)));
        all.filter(|(_, rivals)| rivals.len() > 1).take(limit).collect()
    }

    /// Of versions that come newest first, those that no other has seen.
    fn rivals<'v>(seen: impl Iterator<Item = &'v Version<J::Meta>>) -> Vec<&'v Version<J::Meta>>
    where
        J::Meta: 'v,
    {
        let mut left: Vec<&Version<J::Meta>> = Vec::new();
        for d in seen {
            if !left.iter().any(|newer| J::saw(newer, d)) {
                left.push(d);
            }
        }
        left
    }
}

/// Of versions that come newest first, the one that wins among those that no other has seen
/// ([`Extensions::resolve`](crate::Extensions::resolve)). The judge is asked about two at a time, from the newest down.
pub fn choose<'v, J: Judge>(
    judge: &J,
    seen: &mut dyn Iterator<Item = &'v Version<J::Meta>>,
) -> Option<&'v Version<J::Meta>>
where
    J::Meta: 'v,
{
    if !judge.resolves() {
        return seen.next();
    }
    let rivals = Conflicts::<J>::rivals(seen).into_iter();
    rivals.reduce(|newer, older| if judge.newer_wins(older, newer) { newer } else { older })
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

    /// The larger value wins, or else the last writer.
    #[derive(Debug)]
    struct Larger {
        resolves: bool,
    }

    impl Judge for Larger {
        type Meta = u64;

        fn resolves(&self) -> bool {
            self.resolves
        }

        fn saw(newer: &Version<u64>, older: &Version<u64>) -> bool {
            newer.stamp.origin == older.stamp.origin || older.stamp.ts <= Hlc(newer.meta)
        }

        fn newer_wins(&self, older: &Version<u64>, newer: &Version<u64>) -> bool {
            older.write.value() <= newer.write.value()
        }
    }

    /// Inserts versions one after the other; after which of them a conflict was counted.
    fn met<J: Judge<Meta = u64>>(
        conflicts: &mut Conflicts<J>,
        store: &mut Store<u64>,
        all: &[Version<u64>],
    ) -> Vec<u64> {
        let key = Key::from("k");
        let mut counted = Vec::new();
        for d in all {
            let before = conflicts.detected();
            store.insert(&key, d.clone());
            conflicts.note(store, &key, d.stamp);
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
            let mut conflicts = Conflicts::new(Larger { resolves: false }, &store);
            assert_eq!(met(&mut conflicts, &mut store, all), expected);
        }
    }

    /// 5 beats 3 and 1, but the writer of 1 had seen 5: choosing at arrival would keep 3 here and 1 there.
    #[test]
    fn a_resolver_chooses_among_what_nobody_has_seen_whatever_came_first() {
        let mut all = [version(1, 0, 0), version(2, 1, 0), version(3, 0, 0)];
        for (d, value) in all.iter_mut().zip(["5", "3", "1"]) {
            d.write = Write::Assign(value.as_bytes().into());
        }
        for order in [[0, 1, 2], [1, 0, 2], [0, 2, 1]] {
            let mut store = Store::new(0);
            let mut conflicts = Conflicts::new(Larger { resolves: true }, &store);
            met(&mut conflicts, &mut store, &order.map(|i: usize| all[i].clone()));
            let winner = choose(&Larger { resolves: true }, &mut store.chain(b"k")).unwrap();
            assert_eq!(winner.stamp, all[1].stamp, "{order:?}");
            let listed = conflicts.list(9, &store, |_| true);
            let listed: Vec<_> = listed.iter().map(|(key, rivals)| (key, rivals.len())).collect();
            assert_eq!(listed, [(&Key::from("k"), 2)], "1 has taken the place of 5");
            let settled = all.each_ref().map(|d| conflicts.settled(d.stamp));
            assert_eq!(settled, [true, false, false], "{order:?}");
            let recovered = Conflicts::new(Larger { resolves: true }, &store);
            assert_eq!(recovered.contested, conflicts.contested);
            store.insert(b"k", version(9, 1, 8));
            store.keep_newest(b"k");
            conflicts.forget(&store);
            assert!(conflicts.contested.is_empty());
        }
    }
}
