//! Which write does a read return? By stamp, by unique value, or an unknown write that must have happened.

use super::{ABSENT, Index, NONE, Ref, UNCHECKED, Version, is_absence};
use crate::hash::Map;
use tidemark_core::history::{Action, Fate, History, ReadKind};
use tidemark_core::{Found, Key, Stamp};

/// What is wrong with a history before any order is looked at: the findings of well-formedness.
#[derive(Clone, Debug)]
pub(crate) enum Oddity {
    /// Two writes of a key have the same version.
    SameVersion { first: u32, second: u32 },
    /// A read, or a replica's last word (then `event` is NONE), returns what nobody wrote.
    ThinAir { event: u32, read: Ref, found: Found },
    /// A version was read with another value than was written.
    OtherValue { event: u32, read: Ref, found: Found },
    /// One write became two versions.
    WrittenTwice { writer: u32, event: u32, first: Option<Stamp>, second: Stamp },
}

type Contents<'h> = (u32, Option<&'h [u8]>);

struct Resolver<'i, 'h> {
    index: &'i mut Index<'h>,
    key_numbers: Map<&'h [u8], u32>,
    by_stamp: Map<(u32, Stamp), u32>,
    /// Versions by value: always in a black box, on demand in a white one.
    by_value: Option<Map<Contents<'h>, u32>>,
    /// Unknown writes without a recorded stamp, by what they would have written; on demand.
    unknown: Option<Map<Contents<'h>, u32>>,
    /// The first version of unanswered transactions, by session and position.
    transactions: Map<(u32, u32), u32>,
}

pub(super) fn resolve(index: &mut Index<'_>) {
    let events = index.history.events.len();
    let nobody = Version {
        key: NONE,
        rank: 0,
        column: NONE,
        pos: 0,
        writer: NONE,
        group: ABSENT,
        readers: 0,
        delete: false,
        stamp: None,
    };
    index.versions.push(nobody);
    let by_stamp = Map::with_capacity_and_hasher(events / 2, Default::default());
    let mut resolver = Resolver {
        index,
        key_numbers: Map::default(),
        by_stamp,
        by_value: None,
        unknown: None,
        transactions: Map::default(),
    };
    resolver.register();
    resolver.resolve_reads();
    resolver.resolve_finals();
    resolver.complete_transactions();
    resolver.excuse_unknown_deletes();
}

impl<'h> Resolver<'_, 'h> {
    /// Interns keys, gives every known write a version, and leaves every read unresolved.
    fn register(&mut self) {
        let history: &'h History = self.index.history;
        for (e, event) in history.events.iter().enumerate() {
            self.index.first_read.push(self.index.reads.len() as u32);
            let mut wrote = ABSENT;
            match &event.action {
                Action::Read { reads, .. } if event.fate == Fate::Ok => {
                    for read in reads {
                        let key = self.key(&read.key);
                        self.index.reads.push(Ref { key, version: UNCHECKED });
                    }
                }
                Action::Write { key, value, version, observed } => {
                    let key = self.key(key);
                    let known = matches!(event.fate, Fate::Ok | Fate::Skipped);
                    if known && observed.is_some() {
                        self.index.reads.push(Ref { key, version: UNCHECKED });
                    }
                    let happened = event.fate == Fate::Ok;
                    if happened || event.fate == Fate::Unknown && version.is_some() {
                        wrote = self.new_version(key, *version, value.is_none(), e as u32);
                    }
                }
                _ => {}
            }
            self.index.wrote.push(wrote);
        }
        self.index.first_read.push(self.index.reads.len() as u32);
    }

    fn key(&mut self, key: &'h Key) -> u32 {
        let fresh = self.index.keys.len() as u32;
        let number = *self.key_numbers.entry(key).or_insert(fresh);
        if number == fresh {
            self.index.keys.push(key);
            self.index.newest_delete.push(0);
        }
        number
    }

    fn new_version(&mut self, key: u32, stamp: Option<Stamp>, delete: bool, writer: u32) -> u32 {
        let index = &mut *self.index;
        let version = index.versions.len() as u32;
        let stamp = stamp.filter(|_| index.white_box);
        if let Some(stamp) = stamp {
            if let Some(first) = self.by_stamp.get(&(key, stamp)) {
                let first = index.versions[*first as usize].writer;
                index.oddities.push(Oddity::SameVersion { first, second: writer });
                return ABSENT;
            }
            self.by_stamp.insert((key, stamp), version);
        }
        let (mut column, mut pos) = (NONE, 0);
        if writer != NONE && index.history.events[writer as usize].fate != Fate::Unknown {
            (column, pos) = (index.session_of[writer as usize], index.pos[writer as usize]);
        }
        let mut group = version;
        if writer != NONE && column == NONE {
            let transaction = (index.session_of[writer as usize], index.pos[writer as usize]);
            group = *self.transactions.entry(transaction).or_insert(version);
        }
        index.versions.push(Version { key, rank: 0, column, pos, writer, group, readers: 0, delete, stamp });
        version
    }

    fn resolve_reads(&mut self) {
        let history: &'h History = self.index.history;
        for (e, event) in history.events.iter().enumerate() {
            let first = self.index.first_read[e] as usize;
            if first == self.index.first_read[e + 1] as usize {
                continue;
            }
            match &event.action {
                Action::Read { reads, kind } => {
                    for (i, read) in reads.iter().enumerate() {
                        self.resolve_read(first + i, &read.found, e as u32, *kind);
                    }
                }
                Action::Write { observed: Some(found), .. } => {
                    self.resolve_read(first, found, e as u32, ReadKind::Get);
                }
                _ => {}
            }
        }
    }

    fn resolve_read(&mut self, at: usize, found: &'h Found, e: u32, kind: ReadKind) {
        let key = self.index.reads[at].key;
        let version = self.find(key, found, e);
        self.index.reads[at].version = version;
        if version != UNCHECKED && needs_clock(self.index, e, version, kind) {
            self.index.versions[version as usize].readers += 1;
        }
    }

    fn resolve_finals(&mut self) {
        let history: &'h History = self.index.history;
        for last in &history.finals {
            let key = self.key(&last.key);
            let version = self.find(key, &last.found, NONE);
            self.index.finals.push(Ref { key, version });
        }
    }

    /// The version that `found` is, created if only an unknown write, or nobody, can have written it.
    fn find(&mut self, key: u32, found: &'h Found, e: u32) -> u32 {
        if is_absence(found) || (!self.index.white_box && found.value.is_none()) {
            return ABSENT;
        }
        if let (true, Some(stamp)) = (self.index.white_box, found.stamp) {
            if let Some(version) = self.by_stamp.get(&(key, stamp)) {
                let version = *version;
                self.compare_values(key, version, found, e);
                return version;
            }
            return self.find_unknown(key, found, Some(stamp), e);
        }
        match self.by_value().get(&(key, found.value.as_deref())).copied() {
            Some(UNCHECKED) => {
                self.index.ambiguous += 1;
                UNCHECKED
            }
            Some(version) => version,
            None if self.index.white_box => self.give_up(key, found, e),
            None => self.find_unknown(key, found, None, e),
        }
    }

    /// In a white box a read without a stamp, of what no acknowledged write wrote, has no place in the order.
    fn give_up(&mut self, key: u32, found: &'h Found, e: u32) -> u32 {
        if self.unknown().contains_key(&(key, found.value.as_deref())) {
            self.index.ambiguous += 1;
        } else {
            let read = Ref { key, version: UNCHECKED };
            self.index.oddities.push(Oddity::ThinAir { event: e, read, found: found.clone() });
        }
        UNCHECKED
    }

    fn compare_values(&mut self, key: u32, version: u32, found: &Found, e: u32) {
        let writer = self.index.versions[version as usize].writer;
        if writer == NONE {
            return;
        }
        if let Action::Write { value, .. } = &self.index.history.events[writer as usize].action
            && value != &found.value
        {
            let read = Ref { key, version };
            self.index.oddities.push(Oddity::OtherValue { event: e, read, found: found.clone() });
        }
    }

    /// Looks for the one unknown write that `found` can come from; without one it comes from thin air.
    fn find_unknown(&mut self, key: u32, found: &'h Found, stamp: Option<Stamp>, e: u32) -> u32 {
        let contents = (key, found.value.as_deref());
        let writer = self.unknown().get(&contents).copied();
        if let Some(writer) = writer {
            if writer == NONE {
                return self.new_version_by_value(contents, stamp, NONE);
            }
            let wrote = self.index.wrote[writer as usize];
            if wrote == ABSENT {
                let version = self.new_version_by_value(contents, stamp, writer);
                self.index.wrote[writer as usize] = version;
                return version;
            }
            if let Some(second) = stamp {
                let first = self.index.versions[wrote as usize].stamp;
                self.index.oddities.push(Oddity::WrittenTwice { writer, event: e, first, second });
                return self.new_version_by_value(contents, stamp, NONE);
            }
            return wrote;
        }
        let version = self.new_version_by_value(contents, stamp, NONE);
        let oddity = match (stamp, self.by_value().get(&contents).copied()) {
            (Some(second), Some(other)) if other != UNCHECKED && other != version => {
                let Version { writer, stamp: first, .. } = self.index.versions[other as usize];
                Oddity::WrittenTwice { writer, event: e, first, second }
            }
            _ => Oddity::ThinAir { event: e, read: Ref { key, version }, found: found.clone() },
        };
        self.index.oddities.push(oddity);
        version
    }

    /// A version that was found by reading it.
    fn new_version_by_value(&mut self, contents: Contents<'h>, stamp: Option<Stamp>, writer: u32) -> u32 {
        let version = self.new_version(contents.0, stamp, contents.1.is_none(), writer);
        if let (None, Some(by_value)) = (stamp, &mut self.by_value) {
            by_value.insert(contents, version);
        }
        version
    }

    /// The acknowledged writes by value; UNCHECKED where another write, acknowledged or not, wrote the same.
    fn by_value(&mut self) -> &mut Map<Contents<'h>, u32> {
        let (index, keys) = (&*self.index, &self.key_numbers);
        self.by_value.get_or_insert_with(|| {
            let mut map = Map::default();
            for version in 1..index.versions.len() as u32 {
                let Version { key, writer, .. } = *index.version(version);
                if writer == NONE {
                    continue;
                }
                if let Action::Write { value, .. } = &index.event(writer).action {
                    map.entry((key, value.as_deref())).and_modify(|v| *v = UNCHECKED).or_insert(version);
                }
            }
            for (e, event) in index.history.events.iter().enumerate() {
                if let Action::Write { key, value, .. } = &event.action
                    && event.fate == Fate::Unknown
                    && index.wrote[e] == ABSENT
                {
                    map.entry((keys[&key[..]], value.as_deref())).and_modify(|v| *v = UNCHECKED);
                }
            }
            map
        })
    }

    fn unknown(&mut self) -> &mut Map<Contents<'h>, u32> {
        let (index, keys) = (&*self.index, &self.key_numbers);
        self.unknown.get_or_insert_with(|| {
            let mut map = Map::default();
            for (e, event) in index.history.events.iter().enumerate() {
                if let Action::Write { key, value, .. } = &event.action
                    && event.fate == Fate::Unknown
                    && index.wrote[e] == ABSENT
                {
                    let contents = (keys[&key[..]], value.as_deref());
                    map.entry(contents).and_modify(|v| *v = NONE).or_insert(e as u32);
                }
            }
            map
        })
    }

    /// Where the writes of a transaction have one stamp, who has read one of them knows those of the others: also of a transaction
    /// of which nobody was told what became of it, and also if nobody ever finds its other writes.
    fn complete_transactions(&mut self) {
        if !self.index.white_box || !self.index.has_txns || !self.transactions_have_one_stamp() {
            return;
        }
        let history: &'h History = self.index.history;
        for (e, event) in history.events.iter().enumerate() {
            let Action::Write { key, value, .. } = &event.action else { continue };
            if event.fate != Fate::Unknown || self.index.wrote[e] != ABSENT {
                continue;
            }
            let known = self.index.transaction(e as u32).iter().find_map(|other| self.stamp_of(*other));
            let key = self.key_numbers[&key[..]];
            if let Some(stamp) = known.filter(|stamp| !self.by_stamp.contains_key(&(key, *stamp))) {
                self.index.wrote[e] = self.new_version(key, Some(stamp), value.is_none(), e as u32);
            }
        }
    }

    fn stamp_of(&self, e: u32) -> Option<Stamp> {
        let version = self.index.wrote[e as usize];
        if version == ABSENT { None } else { self.index.version(version).stamp }
    }

    /// Whether those do that were acknowledged.
    fn transactions_have_one_stamp(&self) -> bool {
        (0..self.index.history.events.len() as u32).all(|e| {
            let own = self.stamp_of(e);
            own.is_none()
                || self.index.transaction(e).iter().all(|other| {
                    let stamp = self.stamp_of(*other);
                    stamp.is_none() || stamp == own
                })
        })
    }

    /// A delete that may have happened excuses every absence of its key.
    fn excuse_unknown_deletes(&mut self) {
        let history: &'h History = self.index.history;
        for (e, event) in history.events.iter().enumerate() {
            if let Action::Write { key, value: None, .. } = &event.action
                && event.fate == Fate::Unknown
                && self.index.wrote[e] == ABSENT
            {
                self.index.newest_delete[self.key_numbers[&key[..]] as usize] = u32::MAX;
            }
        }
    }
}

/// Whether the reader has to merge the version's clock: its own session's versions are in its past anyway.
pub(crate) fn needs_clock(index: &Index<'_>, e: u32, version: u32, kind: ReadKind) -> bool {
    let Version { writer, column, .. } = *index.version(version);
    writer != NONE && (column != index.session_of[e as usize] || kind == ReadKind::Snapshot)
}
