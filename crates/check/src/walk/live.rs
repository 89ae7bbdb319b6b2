//! The visited versions of each key: which is the newest in somebody's past?
//!
//! Mostly one of the newest of all, so they are tried from the newest down. A session that was cut off for long has
//! many newer ones above its past; after some tries, each writing session's own list is searched instead, and the
//! answer costs as much as there are writers, however long the history.

use super::Past;
use crate::hash::Map;
use crate::index::{Index, NONE};

/// How many versions are tried before the lists of the writers are searched.
const TRIES: u32 = 12;

/// One write of a key by one session.
#[derive(Clone, Copy, Debug)]
pub(super) struct Write {
    pos: u32,
    pub(super) version: u32,
    /// The newest version up to here.
    newest: u32,
}

/// The writes of one key by one session, in its order.
#[derive(Clone, Debug)]
pub(super) struct Writer {
    column: u32,
    writes: Vec<Write>,
}

impl Writer {
    /// The last of them in the past that `clock` is.
    #[inline]
    pub(super) fn last(&self, clock: &[u32]) -> Option<Write> {
        let reading = clock[self.column as usize];
        let before = self.writes.partition_point(|write| write.pos <= reading);
        before.checked_sub(1).map(|last| self.writes[last])
    }
}

#[derive(Default)]
pub(super) struct Live {
    /// A bit for each place of `Index::by_key`. White box.
    visited: Vec<u64>,
    /// Per key: the place after the newest version visited. White box.
    top: Vec<u32>,
    writers: Vec<Vec<Writer>>,
    /// Per key: its visited versions whose writers got no answer.
    unanswered: Map<u32, Vec<u32>>,
    /// Of each group of those: who has read one of them, from which position on.
    readers: Map<u32, Vec<(u32, u32)>>,
}

impl Live {
    pub(super) fn new(index: &Index<'_>) -> Self {
        let keys = index.keys.len();
        Self {
            visited: vec![0; index.by_key.len().div_ceil(64)],
            top: index.key_start[..keys].to_vec(),
            writers: vec![Vec::new(); keys],
            unanswered: Map::default(),
            readers: Map::default(),
        }
    }

    pub(super) fn writers(&self, key: u32) -> &[Writer] {
        &self.writers[key as usize]
    }

    pub(super) fn unanswered(&self, key: u32) -> &[u32] {
        self.unanswered.get(&key).map_or(&[], Vec::as_slice)
    }

    pub(super) fn readers_of(&self, group: u32) -> &[(u32, u32)] {
        self.readers.get(&group).map_or(&[], Vec::as_slice)
    }

    /// A write was visited.
    pub(super) fn insert(&mut self, index: &Index<'_>, version: u32) {
        let v = index.version(version);
        if index.white_box {
            let place = index.key_start[v.key as usize] + v.rank - 1;
            self.visited[place as usize / 64] |= 1 << (place % 64);
            let top = &mut self.top[v.key as usize];
            *top = (*top).max(place + 1);
        }
        if v.column == NONE {
            self.unanswered.entry(v.key).or_default().push(version);
            self.readers.entry(v.group).or_default();
            return;
        }
        let writers = &mut self.writers[v.key as usize];
        let at = writers.iter().position(|w| w.column == v.column).unwrap_or_else(|| {
            writers.push(Writer { column: v.column, writes: Vec::new() });
            writers.len() - 1
        });
        let writes = &mut writers[at].writes;
        let newest = writes.last().map(|w| w.newest).filter(|w| index.rank(*w) > v.rank).unwrap_or(version);
        writes.push(Write { pos: v.pos, version, newest });
    }

    /// A session has read `version`, and so has whoever has so many of its events in the past.
    pub(super) fn note_reader(&mut self, index: &Index<'_>, version: u32, (session, pos): (u32, u32)) {
        if index.version(version).column == NONE
            && let Some(readers) = self.readers.get_mut(&index.version(version).group)
            && !readers.iter().any(|(known, _)| *known == session)
        {
            readers.push((session, pos));
        }
    }

    /// The newest version of `key` in the past, if it is newer than `rank`.
    pub(super) fn newest_above(&self, past: &Past<'_>, key: u32, rank: u32) -> Option<u32> {
        let index = past.index;
        let lowest = (index.key_start[key as usize] + rank) as usize;
        let mut place = self.top[key as usize] as usize;
        for _ in 0..TRIES {
            place = self.visited_below(place, lowest)?;
            let version = index.by_key[place];
            if past.includes(version) {
                return Some(version);
            }
        }
        let by_writer = self.writers(key).iter().filter_map(|w| w.last(past.clock)).map(|w| w.newest);
        let unanswered = self.unanswered(key).iter().copied().filter(|v| past.includes(*v));
        by_writer.chain(unanswered).filter(|v| index.rank(*v) > rank).max_by_key(|v| index.rank(*v))
    }

    /// The highest visited place below `place`, from `lowest` on.
    #[inline]
    fn visited_below(&self, place: usize, lowest: usize) -> Option<usize> {
        if place <= lowest {
            return None;
        }
        let mut word = (place - 1) / 64;
        let mut bits = self.visited[word] & (u64::MAX >> (63 - (place - 1) % 64));
        while bits == 0 {
            if word * 64 <= lowest {
                return None;
            }
            word -= 1;
            bits = self.visited[word];
        }
        let found = word * 64 + 63 - bits.leading_zeros() as usize;
        (found >= lowest).then_some(found)
    }
}
