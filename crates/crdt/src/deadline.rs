//! When a key expires: of deadlines that were set at once, the longest counts (E1), and none is the longest (E2).

use crate::effect::Kill;
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;
use tidemark_core::{Hlc, Stamp, Vector};

/// Later than every deadline.
const NEVER: u64 = u64::MAX;

/// What a key's deadline is made of, in milliseconds since 1970.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(from = "Parts", into = "Parts")]
pub struct Deadlines(
    /// None if there is nothing in it, as of most keys.
    Option<Box<Parts>>,
);

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Parts {
    settled: Option<u64>,
    /// Oldest first.
    set: SmallVec<[(Stamp, u64); 1]>,
    early: SmallVec<[Stamp; 1]>,
}

impl From<Parts> for Deadlines {
    fn from(parts: Parts) -> Self {
        Self((parts != Parts::default()).then(|| Box::new(parts)))
    }
}

impl From<Deadlines> for Parts {
    fn from(Deadlines(parts): Deadlines) -> Self {
        parts.map_or_else(Self::default, |parts| *parts)
    }
}

impl Deadlines {
    /// A deadline that has been what it is for long, or none.
    pub fn settled(deadline: Option<u64>) -> Self {
        Parts { settled: deadline, ..Parts::default() }.into()
    }

    fn change(&mut self, change: impl FnOnce(&mut Parts)) {
        let mut parts = std::mem::take(self).into();
        change(&mut parts);
        *self = parts.into();
    }

    fn dots(&self) -> &[(Stamp, u64)] {
        self.0.as_ref().map_or(&[], |parts| &parts.set)
    }

    /// Takes away the deadlines that a change had observed: see [`crate::cell::Cell::kill`].
    pub fn kill(&mut self, floor: Hlc, dots: &[Stamp], received: Option<&Vector>) {
        self.change(|parts| {
            parts.settled = None;
            parts.set.retain(|(dot, _)| dot.ts > floor && !dots.contains(dot));
            if let Some(received) = received {
                parts.early.extend(dots.iter().filter(|dot| !received.covers(**dot)).copied());
            }
        });
    }

    /// The version `dot` sets a deadline, or none.
    pub fn set(&mut self, dot: Stamp, deadline: Option<u64>) {
        let deadline = deadline.unwrap_or(NEVER);
        self.change(|Parts { set, early, .. }| {
            if let Some(at) = early.iter().position(|early| *early == dot) {
                early.remove(at);
                return;
            }
            match set.binary_search_by_key(&dot, |(dot, _)| *dot) {
                Ok(at) => set[at].1 = deadline,
                Err(at) => set.insert(at, (dot, deadline)),
            }
        });
    }

    /// The deadlines that a change which is executed now has observed, above `floor`.
    pub fn observed(&self, floor: Hlc) -> Kill {
        let dots = self.dots().iter().map(|(dot, _)| *dot).filter(|dot| dot.ts > floor);
        Kill { dots: dots.collect(), cuts: Vec::new() }
    }

    /// The one that counts; none if the key does not expire.
    #[inline]
    pub fn effective(&self) -> Option<u64> {
        let parts = self.0.as_ref()?;
        let all = parts.set.iter().map(|(_, deadline)| *deadline).chain(parts.settled);
        all.max().filter(|deadline| *deadline != NEVER)
    }

    /// Drops the dots that every operation which can still arrive has observed.
    pub fn settle(&mut self, upto: Hlc) {
        if self.0.is_none() {
            return;
        }
        self.change(|Parts { settled, set, .. }| {
            let old = set.iter().take_while(|(dot, _)| dot.ts <= upto).count();
            for (_, deadline) in set.drain(..old) {
                *settled = Some(settled.map_or(deadline, |settled| settled.max(deadline)));
            }
            if set.is_empty() && *settled == Some(NEVER) {
                *settled = None;
            }
        });
    }

    /// Whether it has no dots.
    #[inline]
    pub fn is_settled(&self) -> bool {
        self.0.as_ref().is_none_or(|parts| parts.set.is_empty() && parts.early.is_empty())
    }

    /// Whether there is nothing to remember.
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }
}
