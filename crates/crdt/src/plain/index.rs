//! From the hash of a key to the number of its entry.
//!
//! One array of (tag, number) with linear probing, at most three quarters full. A tag is the upper half of the key's
//! hash, and the place where probes for it begin grows with it. Hence a walk over the array is a walk in the order of
//! hashes, apart from the order inside a cluster of taken places. A scan stops only where a cluster ends, and its
//! cursor is a bound of hashes: growing and shrinking the array move no entry from one side of it to the other.

#[derive(Clone, Copy)]
struct Item {
    tag: u32,
    number: u32,
}

const EMPTY: Item = Item { tag: 0, number: u32::MAX };

/// The fewest places of an array that is not empty.
const FEWEST: usize = 8;

/// Places that a scan looks at for each element it was asked for, as in Redis.
const LOOKS: usize = 10;

#[derive(Clone, Default)]
pub(super) struct Index {
    /// None, or a power of two.
    items: Box<[Item]>,
    len: usize,
}

impl Index {
    /// An index with room for `entries`.
    pub(super) fn with_room(entries: usize) -> Self {
        let places = (entries / 3 * 4 + 4).next_power_of_two().max(FEWEST);
        Self { items: vec![EMPTY; places].into_boxed_slice(), len: 0 }
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Where the probes for `tag` begin.
    #[inline]
    fn home(&self, tag: u32) -> usize {
        ((u64::from(tag) * self.items.len() as u64) >> 32) as usize
    }

    /// The place and the number of the item with `tag` whose number is meant.
    #[inline]
    pub(super) fn find(&self, tag: u32, mut meant: impl FnMut(u32) -> bool) -> Option<(usize, u32)> {
        if self.len == 0 {
            return None;
        }
        let mask = self.items.len() - 1;
        let mut at = self.home(tag);
        loop {
            let item = self.items[at & mask];
            if item.number == EMPTY.number {
                return None;
            }
            if item.tag == tag && meant(item.number) {
                return Some((at & mask, item.number));
            }
            at += 1;
        }
    }

    /// The number that a look-up sees first: as a rule it is the one that is meant.
    #[inline]
    pub(super) fn first(&self, tag: u32) -> Option<u32> {
        if self.len == 0 { None } else { Some(self.items[self.home(tag)].number) }
    }

    pub(super) fn insert(&mut self, tag: u32, number: u32) {
        if self.len >= self.items.len() / 4 * 3 {
            self.resize((self.items.len() * 2).max(FEWEST));
        }
        self.put(Item { tag, number });
        self.len += 1;
    }

    fn resize(&mut self, places: usize) {
        let items = std::mem::replace(&mut self.items, vec![EMPTY; places].into_boxed_slice());
        items.iter().filter(|item| item.number != EMPTY.number).for_each(|item| self.put(*item));
    }

    #[inline]
    fn put(&mut self, item: Item) {
        let mask = self.items.len() - 1;
        let mut at = self.home(item.tag);
        while self.items[at].number != EMPTY.number {
            at = (at + 1) & mask;
        }
        self.items[at] = item;
    }

    /// Takes the item at a place out. Those behind it that it pushed on move back, so that probes need no marks.
    pub(super) fn remove(&mut self, mut hole: usize) {
        let mask = self.items.len() - 1;
        let mut at = hole;
        loop {
            at = (at + 1) & mask;
            let item = self.items[at];
            if item.number == EMPTY.number {
                break;
            }
            // It may stand in the hole only if that does not lie before its home.
            let (from_home, from_hole) = (at.wrapping_sub(self.home(item.tag)), at.wrapping_sub(hole));
            if from_home & mask >= from_hole & mask {
                self.items[hole] = item;
                hole = at;
            }
        }
        self.items[hole] = EMPTY;
        self.len -= 1;
        if self.len < self.items.len() / 8 && self.items.len() > FEWEST {
            self.resize(self.items.len() / 2);
        }
    }

    /// Replaces all numbers, in the order of the array.
    pub(super) fn renumber(&mut self, mut new: impl FnMut(u32) -> u32) {
        for item in self.items.iter_mut().filter(|item| item.number != EMPTY.number) {
            item.number = new(item.number);
        }
    }

    /// Calls `each` with the numbers of about `count` items whose tags are `cursor` or more. Returns the cursor to go
    /// on with, 0 at the end.
    pub(super) fn scan(&self, cursor: u32, count: usize, mut each: impl FnMut(u32)) -> u32 {
        if self.len == 0 {
            return 0;
        }
        let (start, count) = (self.home(cursor), count.max(1));
        let mut seen = 0;
        for (at, item) in self.items.iter().enumerate().skip(start) {
            if item.number != EMPTY.number {
                // Items that probes carried around the end come last, not first.
                if item.tag >= cursor && self.home(item.tag) <= at {
                    each(item.number);
                    seen += 1;
                }
            } else if seen >= count || at - start >= count.saturating_mul(LOOKS) {
                return self.bound(at + 1);
            }
        }
        let wrapped = self.items.iter().enumerate().take_while(|(_, item)| item.number != EMPTY.number);
        wrapped
            .filter(|(at, item)| item.tag >= cursor && self.home(item.tag) > *at)
            .for_each(|(_, item)| each(item.number));
        0
    }

    /// The least tag whose home is `place`, 0 behind the last.
    fn bound(&self, place: usize) -> u32 {
        if place == self.items.len() { 0 } else { (((place as u64) << 32) / self.items.len() as u64) as u32 }
    }

    /// Bytes allocated. O(1).
    pub(super) fn memory(&self) -> usize {
        size_of_val(&*self.items)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fastrand::Rng;
    use std::collections::BTreeSet;

    /// Many items with few tags: probes run long and around the end, and removals move much back.
    #[test]
    fn an_index_finds_and_scans_what_was_put_in_and_not_what_was_taken_out() {
        let (mut rng, mut index, mut there) = (Rng::with_seed(7), Index::default(), BTreeSet::new());
        for round in 0..20_000 {
            let (tag, number) = (rng.u32(0..8) * 0x2492_4924, rng.u32(0..64));
            match index.find(tag, |candidate| candidate == number) {
                Some((at, _)) => {
                    assert!(there.remove(&(tag, number)), "round {round}");
                    index.remove(at);
                }
                None => {
                    assert!(there.insert((tag, number)), "round {round}");
                    index.insert(tag, number);
                }
            }
            assert_eq!(index.len(), there.len());
            if round % 50 == 0 {
                let (mut seen, mut cursor) = (Vec::new(), 0);
                loop {
                    cursor = index.scan(cursor, 1, |number| seen.push(number));
                    if cursor == 0 {
                        break;
                    }
                }
                let mut meant: Vec<u32> = there.iter().map(|(_, number)| *number).collect();
                seen.sort_unstable();
                meant.sort_unstable();
                assert_eq!(seen, meant, "round {round}");
            }
        }
    }
}
