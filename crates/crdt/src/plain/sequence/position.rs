//! A position as a chunk keeps it.

use smallvec::SmallVec;
use std::fmt;

/// Bytes of positions that are few steps deep.
const SHORT: usize = 64;

/// A position in two parts: what its chunk's positions have in common, and the rest.
#[derive(Clone, Copy)]
pub struct Position<'a> {
    prefix: &'a [u8],
    rest: &'a [u8],
}

impl<'a> Position<'a> {
    #[inline]
    pub(super) fn new(prefix: &'a [u8], rest: &'a [u8]) -> Self {
        Self { prefix, rest }
    }

    /// The length in bytes.
    #[inline]
    #[expect(clippy::len_without_is_empty, reason = "positions are not empty")]
    pub fn len(&self) -> usize {
        self.prefix.len() + self.rest.len()
    }

    /// The position as one string: an allocation.
    pub fn to_vec(&self) -> Vec<u8> {
        [self.prefix, self.rest].concat()
    }

    /// The same, without an allocation as long as it is short.
    #[inline]
    pub fn to_bytes(&self) -> SmallVec<[u8; SHORT]> {
        let mut bytes = SmallVec::from_slice(self.prefix);
        bytes.extend_from_slice(self.rest);
        bytes
    }

    /// Appends the position to `to`.
    pub fn write(&self, to: &mut Vec<u8>) {
        to.extend_from_slice(self.prefix);
        to.extend_from_slice(self.rest);
    }

    /// What its chunk's positions do not have in common.
    #[inline]
    pub(super) fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// The two parts without their first `count` bytes.
    pub(super) fn skip(&self, count: usize) -> (&'a [u8], &'a [u8]) {
        let in_rest = count.saturating_sub(self.prefix.len());
        (&self.prefix[count - in_rest..], &self.rest[in_rest..])
    }

    /// How many bytes both positions begin with.
    pub(super) fn common(&self, other: &Self) -> usize {
        let bytes = |position: &Self| position.prefix.iter().chain(position.rest);
        bytes(self).zip(bytes(other)).take_while(|(left, right)| left == right).count()
    }
}

impl PartialEq<[u8]> for Position<'_> {
    #[inline]
    fn eq(&self, other: &[u8]) -> bool {
        other.strip_prefix(self.prefix) == Some(self.rest)
    }
}

impl fmt::Debug for Position<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.prefix.iter().chain(self.rest).try_for_each(|byte| write!(formatter, "{byte:02x}"))
    }
}
