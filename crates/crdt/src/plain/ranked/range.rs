//! Members between two ranks.

use super::{large, packed};

/// Members and their scores in order, from either end.
pub struct RankedRange<'a>(Form<'a>);

enum Form<'a> {
    Packed(packed::Entries<'a>),
    Large(large::Entries<'a>),
}

impl<'a> RankedRange<'a> {
    pub(super) fn packed(entries: packed::Entries<'a>) -> Self {
        Self(Form::Packed(entries))
    }

    pub(super) fn large(entries: large::Entries<'a>) -> Self {
        Self(Form::Large(entries))
    }
}

impl<'a> Iterator for RankedRange<'a> {
    type Item = (&'a [u8], f64);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        match &mut self.0 {
            Form::Packed(entries) => entries.next(),
            Form::Large(entries) => entries.next(),
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        match &self.0 {
            Form::Packed(entries) => entries.size_hint(),
            Form::Large(entries) => entries.size_hint(),
        }
    }
}

impl DoubleEndedIterator for RankedRange<'_> {
    #[inline]
    fn next_back(&mut self) -> Option<Self::Item> {
        match &mut self.0 {
            Form::Packed(entries) => entries.next_back(),
            Form::Large(entries) => entries.next_back(),
        }
    }
}

impl ExactSizeIterator for RankedRange<'_> {}
