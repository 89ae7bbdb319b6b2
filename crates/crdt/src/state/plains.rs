//! The plain forms of a key: one, as a rule.

use crate::shape::Plain;
use smallvec::SmallVec;
use std::ops::{Deref, DerefMut};

/// No more than one form takes unless there are several.
#[derive(Clone, Default)]
pub(super) enum Plains {
    #[default]
    None,
    One(Plain),
    /// As long as several types are there that were written at once (R16).
    #[expect(clippy::box_collection, reason = "a vector would make every key larger")]
    Several(Box<Vec<Plain>>),
}

const _: () = assert!(size_of::<Plains>() == 24);

impl Plains {
    pub(super) fn push(&mut self, plain: Plain) {
        *self = match std::mem::take(self) {
            Self::None => Self::One(plain),
            Self::One(first) => Self::Several(Box::new(vec![first, plain])),
            Self::Several(mut several) => {
                several.push(plain);
                Self::Several(several)
            }
        };
    }

    /// Takes all of them.
    pub(super) fn take(&mut self) -> SmallVec<[Plain; 1]> {
        match std::mem::take(self) {
            Self::None => SmallVec::new(),
            Self::One(one) => SmallVec::from_iter([one]),
            Self::Several(several) => SmallVec::from_vec(*several),
        }
    }

    pub(super) fn retain(&mut self, stays: impl Fn(&Plain) -> bool) {
        if !self.iter().all(&stays) {
            *self = self.take().into_iter().filter(stays).collect();
        }
    }

    pub(super) fn remove(&mut self, at: usize) {
        let mut all = self.take();
        all.remove(at);
        *self = all.into_iter().collect();
    }
}

impl FromIterator<Plain> for Plains {
    fn from_iter<T: IntoIterator<Item = Plain>>(all: T) -> Self {
        let mut plains = Self::None;
        all.into_iter().for_each(|plain| plains.push(plain));
        plains
    }
}

impl Deref for Plains {
    type Target = [Plain];

    #[inline]
    fn deref(&self) -> &[Plain] {
        match self {
            Self::None => &[],
            Self::One(one) => std::slice::from_ref(one),
            Self::Several(several) => several,
        }
    }
}

impl DerefMut for Plains {
    #[inline]
    fn deref_mut(&mut self) -> &mut [Plain] {
        match self {
            Self::None => &mut [],
            Self::One(one) => std::slice::from_mut(one),
            Self::Several(several) => several,
        }
    }
}
