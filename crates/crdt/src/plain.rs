//! The plain side of each type: all that a reader sees and nothing that merging needs. It is compact, and as fast as
//! Redis's own encodings.
//!
//! [`Table`] stands behind sets and hashes, [`Ranked`] behind sorted sets, [`Sequence`] behind lists. A small one is
//! one array of bytes. A large one is split into pieces that the processor's caches like: slots of one array for an
//! index, blocks of 1,024 entries, leaves of 128 elements. Nothing here depends on a clock or on a random number from
//! outside: two structures that saw the same calls are equal, down to the order of their iterators.
//!
//! Tables grow and shrink in one step. Growing copies the index alone, in the order of hashes: 10 to 20 ms for a million
//! entries. Shrinking moves the entries that are left, at most a quarter of those that there were.

mod block;
mod index;
mod ranked;
mod sequence;
mod short;
mod slab;
mod table;
mod tree;

pub use ranked::{Ranked, RankedRange};
pub use sequence::{Position, Sequence, SequenceRange};
pub use short::ShortBytes;
use std::fmt;
pub(crate) use table::Near;
pub use table::{Slot, Table};

/// The most entries that a packed structure holds, as in Redis's default configuration.
pub const PACKED_ENTRIES: usize = 128;

/// The longest key or value in bytes that a packed structure holds, as in Redis's default configuration.
pub const PACKED_BYTES: usize = 64;

/// What hashers start from.
const SEED: u64 = 0x7469_6465_6d61_726b;

/// The next of a series of well mixed numbers; the series follows from where `state` stood at first.
fn mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut mixed = *state;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// A number below `bound` for each state of the series. REQUIRES: `bound` is not 0.
fn pick(state: &mut u64, bound: usize) -> usize {
    ((u128::from(mix(state)) * bound as u128) >> 64) as usize
}

/// Bytes as they are printed.
struct Text<'a>(&'a [u8]);

impl fmt::Debug for Text<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "\"{}\"", self.0.escape_ascii())
    }
}

#[cfg(test)]
mod tests;
