//! When a key expires: of deadlines that were set at once, the longest counts (E1), and none is the longest (E2).

use crate::effect::Kill;
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;
use tidemark_core::{Hlc, Stamp, Vector};

/// Later than every deadline.
const NEVER: u64 = u64::MAX;

/// What a key's deadline is made of, in milliseconds since 1970.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Deadlines {
    settled: Option<u64>,
    /// Oldest first.
    set: SmallVec<[(Stamp, u64); 1]>,
    early: SmallVec<[Stamp; 1]>,
}

impl Deadlines {
    /// Takes away the deadlines that a change had observed: see [`crate::cell::Cell::kill`].
    pub fn kill(&mut self, floor: Hlc, dots: &[Stamp], received: Option<&Vector>) {
        self.settled = None;
        self.set.retain(|(dot, _)| dot.ts > floor && !dots.contains(dot));
        if let Some(received) = received {
            self.early.extend(dots.iter().filter(|dot| !received.covers(**dot)).copied());
        }
    }

    /// The version `dot` sets a deadline, or none.
    pub fn set(&mut self, dot: Stamp, deadline: Option<u64>) {
        if let Some(at) = self.early.iter().position(|early| *early == dot) {
            self.early.remove(at);
            return;
        }
        let deadline = deadline.unwrap_or(NEVER);
        match self.set.binary_search_by_key(&dot, |(dot, _)| *dot) {
            Ok(at) => self.set[at].1 = deadline,
            Err(at) => self.set.insert(at, (dot, deadline)),
        }
    }

    /// The deadlines that a change which is executed now has observed, above `floor`.
    pub fn observed(&self, floor: Hlc) -> Kill {
        Kill {
            dots: self.set.iter().map(|(dot, _)| *dot).filter(|dot| dot.ts > floor).collect(),
            cuts: Vec::new(),
        }
    }

    /// The one that counts; none if the key does not expire.
    pub fn effective(&self) -> Option<u64> {
        let all = self.set.iter().map(|(_, deadline)| *deadline).chain(self.settled);
        all.max().filter(|deadline| *deadline != NEVER)
    }

    /// Drops the dots that every operation which can still arrive has observed.
    pub fn settle(&mut self, upto: Hlc) {
        let old = self.set.iter().take_while(|(dot, _)| dot.ts <= upto).count();
        for (_, deadline) in self.set.drain(..old) {
            self.settled = Some(self.settled.map_or(deadline, |settled| settled.max(deadline)));
        }
        if self.set.is_empty() && self.settled == Some(NEVER) {
            self.settled = None;
        }
    }

    /// Whether it has no dots.
    pub fn is_settled(&self) -> bool {
        self.set.is_empty() && self.early.is_empty()
    }

    /// Whether there is nothing to remember.
    pub fn is_empty(&self) -> bool {
        self.is_settled() && self.settled.is_none()
    }
}
