//! An array of bytes that grows and shrinks, in sixteen bytes and one allocation.
//!
//! Small tables are many. A vector takes eight bytes more for a capacity that it seldom uses; here the array's own
//! length is the capacity, and how much of it is used stands in its first bytes.

use std::ops::{Deref, DerefMut, Range};

/// Bytes of the length.
const LENGTH: usize = size_of::<u16>();

/// At most 65,535 bytes. An empty one allocates nothing.
#[derive(Clone, Default)]
pub(super) struct Block(Box<[u8]>);

impl Block {
    /// Replaces the bytes at `old` by `len` others, which are to be written: what they are is not said.
    /// REQUIRES: the block has room for them.
    #[inline]
    pub(super) fn splice(&mut self, old: Range<usize>, len: usize) -> &mut [u8] {
        let before = self.len();
        let after = before - old.len() + len;
        let (from, to) = (LENGTH + old.end, LENGTH + old.start + len);
        if LENGTH + after > self.0.len() {
            // Little more than is needed: these arrays seldom grow.
            let room = (LENGTH + after).max(self.0.len() + self.0.len() / 8);
            self.resize(room.next_multiple_of(8));
        }
        if from != to {
            self.0.copy_within(from..LENGTH + before, to);
        }
        self.0[..LENGTH].copy_from_slice(&(after as u16).to_le_bytes());
        &mut self.0[LENGTH + old.start..to]
    }

    /// Appends `len` bytes, which are to be written.
    #[inline]
    pub(super) fn append(&mut self, len: usize) -> &mut [u8] {
        let end = self.len();
        self.splice(end..end, len)
    }

    /// Gives memory back if more than half of it is spare.
    pub(super) fn shrink(&mut self) {
        let needed = LENGTH + self.len();
        if needed < self.0.len() / 2 {
            self.resize(needed);
        }
    }

    fn resize(&mut self, size: usize) {
        let mut bytes = std::mem::take(&mut self.0).into_vec();
        bytes.reserve_exact(size.saturating_sub(bytes.len()));
        bytes.resize(size, 0);
        self.0 = bytes.into_boxed_slice();
    }

    /// Bytes allocated.
    pub(super) fn memory(&self) -> usize {
        self.0.len()
    }
}

impl Deref for Block {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        match self.0.split_first_chunk::<LENGTH>() {
            Some((len, bytes)) => &bytes[..usize::from(u16::from_le_bytes(*len))],
            None => &[],
        }
    }
}

impl DerefMut for Block {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u8] {
        match self.0.split_first_chunk_mut::<LENGTH>() {
            Some((len, bytes)) => &mut bytes[..usize::from(u16::from_le_bytes(*len))],
            None => &mut [],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fastrand::Rng;

    #[test]
    fn a_block_holds_what_a_vector_holds() {
        let (mut rng, mut block, mut model) = (Rng::with_seed(3), Block::default(), Vec::new());
        for round in 0..20_000 {
            let (start, growing) = (rng.usize(0..=model.len()), round / 2_000 % 2 == 0);
            let end = start + rng.usize(0..=(model.len() - start).min(if growing { 20 } else { 60 }));
            let new: Vec<u8> = (0..rng.usize(0..40)).map(|_| rng.u8(..)).collect();
            block.splice(start..end, new.len()).copy_from_slice(&new);
            block.shrink();
            model.splice(start..end, new);
            assert_eq!(*block, model[..], "round {round}");
            assert!(
                block.memory() <= (2 * (model.len() + 8)).max(16),
                "{} for {}",
                block.memory(),
                model.len()
            );
        }
    }
}
