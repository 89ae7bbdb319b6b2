//! Places for entries that have a number.
//!
//! An entry keeps its number until it is taken out, and the number of one that was taken out is given to the next
//! that comes. The array grows by blocks of 1,024 places: growth copies nothing, and no more than one block is spare.

const BLOCK: usize = 1024;

#[derive(Clone)]
pub(super) struct Slab<T> {
    /// All full but the last; the first grows by doubling, so that small tables stay small.
    blocks: Vec<Vec<Option<T>>>,
    free: Vec<u32>,
}

impl<T> Slab<T> {
    pub(super) fn new() -> Self {
        Self { blocks: Vec::new(), free: Vec::new() }
    }

    /// An empty one with room for `entries`.
    pub(super) fn with_room(entries: usize) -> Self {
        let first = Vec::with_capacity(entries.min(BLOCK));
        Self { blocks: vec![first], free: Vec::new() }
    }

    /// The number of places, taken or free.
    #[inline]
    pub(super) fn places(&self) -> usize {
        self.blocks.last().map_or(0, |last| (self.blocks.len() - 1) * BLOCK + last.len())
    }

    /// The entry with that number, if there is one. REQUIRES: the number is below `places()`.
    #[inline]
    pub(super) fn get(&self, number: u32) -> Option<&T> {
        self.blocks[number as usize / BLOCK][number as usize % BLOCK].as_ref()
    }

    /// The entry with that number, if there is one.
    #[inline]
    pub(super) fn get_if(&self, number: u32) -> Option<&T> {
        self.blocks.get(number as usize / BLOCK)?.get(number as usize % BLOCK)?.as_ref()
    }

    #[inline]
    fn place(&mut self, number: u32) -> &mut Option<T> {
        &mut self.blocks[number as usize / BLOCK][number as usize % BLOCK]
    }

    /// As [`Self::get`].
    #[inline]
    pub(super) fn get_mut(&mut self, number: u32) -> Option<&mut T> {
        self.place(number).as_mut()
    }

    /// Puts an entry into a free place and returns its number.
    #[inline]
    pub(super) fn insert(&mut self, entry: T) -> u32 {
        if let Some(number) = self.free.pop() {
            *self.place(number) = Some(entry);
            return number;
        }
        if self.blocks.last().is_none_or(|last| last.len() == BLOCK) {
            let room = if self.blocks.is_empty() { 4 } else { BLOCK };
            self.blocks.push(Vec::with_capacity(room));
        }
        let before = (self.blocks.len() - 1) * BLOCK;
        let last = self.blocks.last_mut().expect("it was just pushed");
        if last.len() == last.capacity() {
            last.reserve_exact(last.len().min(BLOCK - last.len()));
        }
        last.push(Some(entry));
        (before + last.len() - 1) as u32
    }

    /// Takes an entry out and frees its place. REQUIRES: the number is below `places()`.
    #[inline]
    pub(super) fn remove(&mut self, number: u32) -> Option<T> {
        let entry = self.place(number).take();
        if entry.is_some() {
            self.free.push(number);
        }
        entry
    }

    /// All entries in the order of their numbers.
    pub(super) fn iter(&self) -> impl Iterator<Item = &T> {
        self.blocks.iter().flatten().flatten()
    }

    /// Bytes allocated for places, without those that entries allocate. O(1).
    pub(super) fn memory(&self) -> usize {
        let first = self.blocks.first().map_or(0, Vec::capacity);
        let places = first + self.blocks.len().saturating_sub(1) * BLOCK;
        places * size_of::<Option<T>>()
            + self.blocks.capacity() * size_of::<Vec<Option<T>>>()
            + self.free.capacity() * size_of::<u32>()
    }
}
