//! A list: values in the order of positions, found by position and by index.
//!
//! Positions are byte strings; those of neighbours begin alike. Values stand in chunks of up to 128, each with what
//! its positions have in common, under a tree that counts. A short list of short values is one array of bytes; then it
//! is converted, and stays so until it is empty.

mod chunk;
mod large;
mod packed;
mod position;
mod range;

use super::Text;
use large::Large;
use packed::Packed;
pub use position::Position;
pub use range::SequenceRange;
use std::fmt;
use std::ops::Range;

/// Values in the order of their positions.
///
/// Positions are distinct and compare as byte strings. They cost least if neighbours share long prefixes.
#[derive(Clone, Default)]
pub struct Sequence {
    form: Form,
}

#[derive(Clone)]
enum Form {
    Packed(Packed),
    Large(Box<Large>),
}

impl Default for Form {
    fn default() -> Self {
        Self::Packed(Packed::default())
    }
}

/// Calls a method of the form at hand.
macro_rules! either {
    ($self:ident, $form:ident => $call:expr) => {
        match &$self.form {
            Form::Packed($form) => $call,
            Form::Large($form) => $call,
        }
    };
}

impl Sequence {
    /// An empty list; it allocates nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// The number of values. O(1).
    #[inline]
    pub fn len(&self) -> usize {
        either!(self, form => form.len())
    }

    /// Whether there are no values. O(1).
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Puts a value at a position, in place of an older one; true if there was none. O(log n), least at the ends.
    pub fn insert(&mut self, position: &[u8], value: &[u8]) -> bool {
        if let Form::Packed(packed) = &mut self.form {
            if let Some(new) = packed.insert(position, value) {
                return new;
            }
            let large = Large::collect(packed.longest(), packed.range(0..packed.len()));
            self.form = Form::Large(Box::new(large));
        }
        match &mut self.form {
            Form::Large(large) => large.insert(position, value),
            Form::Packed(_) => unreachable!("it was converted"),
        }
    }

    /// Takes the value at a position out; true if there was one. O(log n), least at the ends.
    pub fn remove(&mut self, position: &[u8]) -> bool {
        let found = match &mut self.form {
            Form::Packed(packed) => packed.remove(position),
            Form::Large(large) => large.remove(position),
        };
        if self.is_empty() {
            self.form = Form::default();
        }
        found
    }

    /// The value at a position. O(log n), a walk over the values if there are few.
    pub fn get(&self, position: &[u8]) -> Option<&[u8]> {
        either!(self, form => form.get(position))
    }

    /// The position and the value with that index. O(log n), a walk over the values if there are few.
    pub fn at(&self, index: usize) -> Option<(Position<'_>, &[u8])> {
        if index >= self.len() {
            return None;
        }
        match &self.form {
            Form::Packed(packed) => packed.range(index..index + 1).next(),
            Form::Large(large) => Some(large.at(index)),
        }
    }

    /// The number of values before a position, whether there is one at it or not. O(log n).
    pub fn index_of(&self, position: &[u8]) -> usize {
        either!(self, form => form.index_of(position))
    }

    /// The first position and its value. As [`Self::at`].
    pub fn first(&self) -> Option<(Position<'_>, &[u8])> {
        self.at(0)
    }

    /// The last position and its value. As [`Self::at`].
    pub fn last(&self) -> Option<(Position<'_>, &[u8])> {
        self.at(self.len().checked_sub(1)?)
    }

    /// Positions and values with these indices, as far as there are any, from either end. O(log n), and O(1) for each.
    pub fn range(&self, indices: Range<usize>) -> SequenceRange<'_> {
        match &self.form {
            Form::Packed(packed) => SequenceRange::packed(packed.range(indices)),
            Form::Large(large) => SequenceRange::large(large.range(indices)),
        }
    }

    /// All positions and values in their order.
    pub fn iter(&self) -> SequenceRange<'_> {
        self.range(0..self.len())
    }

    /// The length in bytes of the longest value that was inserted since the list was empty. O(1).
    pub fn longest(&self) -> usize {
        either!(self, form => form.longest())
    }

    /// Bytes allocated, without the list's own 16. O(1).
    pub fn memory(&self) -> usize {
        match &self.form {
            Form::Packed(packed) => packed.memory(),
            Form::Large(large) => size_of::<Large>() + large.memory(),
        }
    }
}

impl fmt::Debug for Sequence {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let entries = self.iter().map(|(position, value)| (position, Text(value)));
        formatter.debug_map().entries(entries).finish()
    }
}
