//! The versions of one key, one after the other.

use super::Version;
use super::older::Older;

/// The versions of one key, newest first.
pub struct Versions<'a, M> {
    newest: Option<&'a Version<M>>,
    older: &'a Older<M>,
    next: u32,
}

impl<'a, M> Versions<'a, M> {
    /// `newest`, and then the list `next` of `older`.
    #[inline]
    pub(super) fn new(newest: Option<&'a Version<M>>, older: &'a Older<M>, next: u32) -> Self {
        Self { newest, older, next }
    }
}

impl<'a, M> Iterator for Versions<'a, M> {
    type Item = &'a Version<M>;

    #[inline]
    fn next(&mut self) -> Option<&'a Version<M>> {
        self.newest.take().or_else(|| {
            let (version, next) = self.older.at(self.next)?;
            self.next = next;
            Some(version)
        })
    }
}
