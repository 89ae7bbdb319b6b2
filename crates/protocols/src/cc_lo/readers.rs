//! The records of a server of CC-LO: who has read what, and who must not see what (002 §3, "readers check").
//!
//! A record is made when a slice is read, and when a version becomes visible that a ROT must not see, because the ROT has
//! read an older version of the key or of something that it depends on. It is dropped some time later (D2).

use super::{CcLo, HIDDEN_IS_HANDED_ON, HIDES_VERSIONS, Meta};
use std::collections::{BTreeMap, VecDeque};
use tidemark_contract::prelude::*;
use tidemark_contract::{Dep, Deps, Scope};

/// A session, as its tickets name it.
pub type Owner = (u16, u64);

/// A read-only transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rot {
    /// Which of its session's.
    pub number: u64,
    /// The session's clock when it started; as published, in records, the server's when it read.
    pub time: Hlc,
}

/// Transactions (I3).
pub type Rots = BTreeMap<Owner, Rot>;

/// What readers checks of this server have cost (002, figures 4c, 6 and 7b).
#[derive(Default)]
struct Counted {
    checks: u64,
    partitions: u64,
    keys: u64,
    ids: u64,
    distinct_ids: u64,
}

/// Who has read what, and who must not see what.
pub(super) struct Records {
    /// Of each key: which ROTs have read it, and which version.
    readers: BTreeMap<Key, BTreeMap<Owner, (Rot, Option<Stamp>)>>,
    /// Of versions: from whom they are hidden.
    hidden: BTreeMap<Stamp, Rots>,
    /// When to drop which.
    made: VecDeque<(Micros, Record)>,
    /// The latest start of what was dropped (D2).
    pub(super) floor: Hlc,
    counted: Counted,
}

enum Record {
    Read(Key, Owner, u64),
    Hidden(Stamp),
}

impl Records {
    /// Of a server that starts: ROTs that do not start above `floor` are refused.
    pub(super) fn new(floor: Hlc) -> Self {
        let (readers, hidden, made) = Default::default();
        Self { readers, hidden, made, floor, counted: Counted::default() }
    }

    /// The newest version of `key` that a ROT may see; without one, the newest.
    pub(super) fn newest_for<'a>(
        &self,
        rot: Option<(Owner, Rot)>,
        key: &Key,
        cx: &'a Cx<'_, CcLo>,
    ) -> Option<&'a Version<Meta>> {
        let hides = |d: &Version<Meta>| rot.and_then(|(owner, rot)| self.hides(d.stamp, owner, rot.number));
        if HIDES_VERSIONS.kept() {
            return cx.chain(key).find(|d| d.meta.applied && hides(d).is_none()); // D1
        }
        let before = cx.chain(key).filter_map(hides).min();
        cx.chain(key).find(|d| d.meta.applied && before.is_none_or(|time| d.stamp.ts <= time))
    }

    /// A ROT of `owner` has read a version of `key`, or found none; that is remembered `until` then.
    pub(super) fn read(&mut self, key: Key, owner: Owner, (rot, stamp): (Rot, Option<Stamp>), until: Micros) {
        let readers = self.readers.entry(key.clone()).or_default();
        if readers.get(&owner).is_none_or(|(before, _)| before.number < rot.number) {
            readers.insert(owner, (rot, stamp));
            self.made.push_back((until, Record::Read(key, owner, rot.number)));
        }
    }

    /// Who has read an older version of `key` than `stamp`.
    pub(super) fn old_readers(&self, key: &Key, stamp: Stamp) -> Rots {
        let readers = self.readers.get(key).into_iter().flatten();
        let old = readers.filter(|(_, (_, read))| *read < Some(stamp));
        old.map(|(owner, (rot, _))| (*owner, *rot)).collect()
    }

    /// Hides a version from `rots`, until then.
    pub(super) fn hide(&mut self, stamp: Stamp, rots: Rots, until: Micros) {
        if !rots.is_empty() {
            self.hidden.insert(stamp, rots);
            self.made.push_back((until, Record::Hidden(stamp)));
        }
    }

    /// Whether a version is hidden from a ROT: the time in its record.
    fn hides(&self, stamp: Stamp, owner: Owner, number: u64) -> Option<Hlc> {
        let rot = self.hidden.get(&stamp)?.get(&owner)?;
        (rot.number == number).then_some(rot.time)
    }

    /// Whether a version is hidden from anybody.
    pub(super) fn is_hidden(&self, stamp: Stamp) -> bool {
        self.hidden.contains_key(&stamp)
    }

    /// From whom what depends on `deps` has to be hidden.
    pub(super) fn hidden_from(&self, deps: &[Dep]) -> Rots {
        let mut rots = Rots::default();
        for Dep { stamp, scope, .. } in deps.iter().filter(|_| HIDDEN_IS_HANDED_ON.kept()) {
            let one = *scope != Scope::UpTo;
            let from = if one { *stamp } else { Stamp::default() };
            let hidden = self.hidden.range(from..=*stamp).filter(|(at, _)| one || at.origin == stamp.origin);
            hidden.for_each(|(_, hidden)| merge(&mut rots, hidden));
        }
        rots
    }

    /// A readers check asks others; false if there are none.
    pub(super) fn asks(&mut self, others: &[(ServerId, Vec<Dep>)]) -> bool {
        self.counted.checks += u64::from(!others.is_empty());
        self.counted.partitions += others.len() as u64;
        self.counted.keys += others.iter().map(|(_, deps)| deps.len() as u64).sum::<u64>();
        !others.is_empty()
    }

    /// One of them has answered `rots`; all answers so far are in `all`.
    pub(super) fn take(&mut self, all: &mut Rots, rots: &Rots) {
        let before = all.len();
        merge(all, rots);
        self.counted.ids += rots.len() as u64;
        self.counted.distinct_ids += (all.len() - before) as u64;
    }

    /// What readers checks have cost, by name.
    pub(super) fn counted(&self) -> BTreeMap<&'static str, u64> {
        let &Counted { checks, partitions, keys, ids, distinct_ids } = &self.counted;
        [
            ("readers_checks", checks),
            ("readers_checks_partitions", partitions),
            ("readers_checks_keys", keys),
            ("readers_checks_ids", ids),
            ("readers_checks_distinct_ids", distinct_ids),
        ]
        .into()
    }

    /// Drops what was to be kept until `now`: the floor rises.
    pub(super) fn drop_until(&mut self, now: Micros) {
        while self.made.front().is_some_and(|(until, _)| *until <= now) {
            let Some((_, record)) = self.made.pop_front() else { return };
            match record {
                Record::Read(key, owner, number) => {
                    let Some(readers) = self.readers.get_mut(&key) else { continue };
                    if readers.get(&owner).is_some_and(|(rot, _)| rot.number == number) {
                        let (rot, _) = readers.remove(&owner).expect("just seen");
                        self.floor = self.floor.max(rot.time);
                    }
                    if readers.is_empty() {
                        self.readers.remove(&key);
                    }
                }
                Record::Hidden(stamp) => {
                    let rots = self.hidden.remove(&stamp).unwrap_or_default();
                    self.floor = rots.values().fold(self.floor, |most, rot| most.max(rot.time));
                }
            }
        }
    }
}

/// Adds `more` to `rots`: of a session the latest (I3), of a ROT the earliest time.
pub(super) fn merge(rots: &mut Rots, more: &Rots) {
    if rots.is_empty() {
        rots.clone_from(more);
        return;
    }
    for (owner, rot) in more {
        let known = rots.entry(*owner).or_insert(*rot);
        if known.number < rot.number || (known.number == rot.number && rot.time < known.time) {
            *known = *rot;
        }
    }
}

/// Those of `deps` that are of `partition`.
pub(super) fn here(deps: &Deps, partition: PartitionId) -> &[Dep] {
    deps.by_partition().find(|(of, _)| *of == partition).map_or(&[], |(_, deps)| deps)
}
