//! One server of a region, as tidemark's are: stable vectors told late, snapshots held open, and on partition 0 the real store.

use super::REGIONS;
use std::collections::VecDeque;
use tidemark_core::{DcId, Hlc, Regions, Stamp};
use tidemark_store::chains::Frozen;
use tidemark_store::{Dump, Mark, Part, Store, Version};

/// A reading for each region, in milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Times(pub(crate) [u64; REGIONS]);

impl Times {
    pub(crate) fn merge(&mut self, other: &Self) {
        self.0.iter_mut().zip(other.0).for_each(|(mine, theirs)| *mine = (*mine).max(theirs));
    }

    pub(crate) fn meet(&mut self, other: &Self) {
        self.0.iter_mut().zip(other.0).for_each(|(mine, theirs)| *mine = (*mine).min(theirs));
    }

    pub(crate) fn raise(&mut self, of: usize, time: u64) {
        self.0[of] = self.0[of].max(time);
    }
}

/// The protocol's part of a version.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Meta {
    /// The versions that it depends on.
    pub(crate) ds: Times,
    /// Those of them that its region's snapshot does not imply.
    pub(crate) need: Times,
}

/// Its key, the only one.
pub(crate) const KEY: &[u8] = b"k";

pub(crate) fn hlc(time: u64) -> Hlc {
    Hlc::at(time * 1000)
}

pub(crate) fn millis(stamp: Stamp) -> u64 {
    stamp.ts.micros() / 1000
}

pub(crate) fn absorb(meta: &mut Meta, other: &Version<Meta>) {
    meta.ds.merge(&other.meta.ds);
    meta.need.merge(&other.meta.need);
}

/// A snapshot that readers hold open.
pub(crate) struct Snapshot {
    pub(crate) at: Times,
    pub(crate) left: u32,
}

/// The contents of a snapshot file.
struct Saved {
    parts: Vec<Part<Meta>>,
    versions: Vec<Version<Meta>>,
    mark: Mark,
    /// How many records of the log it replaces.
    log: usize,
    expiring: bool,
}

/// See above.
pub(crate) struct Server {
    pub(crate) dc: usize,
    pub(crate) regions: usize,
    pub(crate) clock: u64,
    pub(crate) received: Times,
    pub(crate) stable: Times,
    pub(crate) safe: Times,
    pub(crate) reported_received: Times,
    pub(crate) reported_safe: Times,
    pub(crate) snapshots: Vec<Snapshot>,
    /// Operations of the partition that are here, by number.
    pub(crate) here: Vec<usize>,
    pub(crate) inbox: [VecDeque<Message>; REGIONS],
    /// Of partition 0.
    pub(crate) store: Store<Meta>,
    epoch: (u64, Times),
    log: Vec<(Version<Meta>, Option<DcId>, u64)>,
    counts: [u64; REGIONS],
    heard: [u64; REGIONS],
    floor: u64,
    saved: Option<Saved>,
}

/// One message of a feed.
pub(crate) enum Message {
    Op(usize, u64),
    Beat { time: u64, floor: u64 },
}

fn store(dc: usize, regions: usize) -> Store<Meta> {
    let others = Regions::all_but(DcId(dc as u8), regions);
    Store::new(7).with_types(absorb, regions, others)
}

impl Server {
    pub(crate) fn new(dc: usize, regions: usize) -> Self {
        let none = Times::default();
        Self {
            dc,
            regions,
            clock: 0,
            received: none,
            stable: none,
            safe: none,
            reported_received: none,
            reported_safe: none,
            snapshots: Vec::new(),
            here: Vec::new(),
            inbox: Default::default(),
            store: store(dc, regions),
            epoch: (1, none),
            log: Vec::new(),
            counts: [0; REGIONS],
            heard: [0; REGIONS],
            floor: 0,
            saved: None,
        }
    }

    /// The number of the fresh view: another one whenever more has become visible.
    pub(crate) fn epoch(&mut self) -> u64 {
        if self.epoch.1 != self.stable {
            self.epoch = (self.epoch.0 + 1, self.stable);
        }
        self.epoch.0
    }

    /// Writes down and stores a version.
    pub(crate) fn insert(&mut self, version: Version<Meta>) {
        let origin = version.stamp.origin;
        let count = &mut self.counts[origin.index()];
        *count += 1;
        let of = (origin.index() != self.dc).then_some(origin);
        self.log.push((version.clone(), of, *count));
        self.store.insert(KEY, version);
    }

    pub(crate) fn raise_floor(&mut self, floor: u64) {
        self.floor = self.floor.max(floor);
        self.store.raise_floor(hlc(self.floor));
    }

    pub(crate) fn hear_floor(&mut self, of: usize, floor: u64) {
        self.heard[of] = self.heard[of].max(floor);
        self.store.hear_floor(DcId(of as u8), hlc(floor));
    }

    /// Writes a snapshot file.
    pub(crate) fn save(&mut self) {
        let (mut all, mut versions) = (Vec::new(), Vec::new());
        let settled = self.store.settled();
        self.store.dump_all(0, 1, |_, item| match item {
            Dump::Object(object) => Frozen::new(object, settled).parts(|part| all.push(part)),
            Dump::Version(version) => versions.push(version.clone()),
        });
        let mark = Mark {
            written: self.counts[self.dc],
            received: (0..self.regions).map(|dc| if dc == self.dc { 0 } else { self.counts[dc] }).collect(),
        };
        self.saved = Some(Saved {
            parts: all,
            versions,
            mark,
            log: self.log.len(),
            expiring: self.store.is_expiring(),
        });
    }

    /// Starts again from the snapshot file and the log, of which the last `overlap` records that the file contains are read, too.
    pub(crate) fn restart(&mut self, overlap: usize, forgets_floors: bool) {
        let Some(saved) = &self.saved else { return };
        let mut store = store(self.dc, self.regions);
        store.goes_on(saved.expiring);
        saved.parts.iter().for_each(|part| store.restore(KEY, part.clone(), &saved.mark));
        let overlap = if saved.parts.is_empty() { 0 } else { overlap };
        saved.versions.iter().for_each(|version| {
            store.insert(KEY, version.clone());
        });
        for (version, of, seq) in &self.log[saved.log.saturating_sub(overlap)..] {
            store.replay(KEY, version.clone(), *of, *seq);
        }
        store.raise_floor(hlc(self.floor));
        for dc in 0..self.regions {
            if dc != self.dc && !forgets_floors {
                store.hear_floor(DcId(dc as u8), hlc(self.heard[dc]));
            }
        }
        self.store = store;
        self.epoch.0 += 1;
    }
}
