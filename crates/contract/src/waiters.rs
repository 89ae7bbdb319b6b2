//! Waiting is data: work blocked until what it waits for has risen far enough, or until its deadline.
//!
//! The papers' "wait until" never blocks a thread here. A handler parks what is left to do, returns, and takes
//! it up again when the awaited value rises.

use tidemark_core::{Hlc, Micros, Vector};

/// Something that rises, and that work can wait for.
pub trait Threshold {
    /// Whether `level` has reached this threshold.
    fn reached(&self, level: &Self) -> bool;
}

impl Threshold for Hlc {
    fn reached(&self, level: &Self) -> bool {
        self <= level
    }
}

impl Threshold for Vector {
    fn reached(&self, level: &Self) -> bool {
        self.le(level)
    }
}

struct Blocked<T, W> {
    threshold: T,
    deadline: Micros,
    work: W,
}

/// Blocked work, in the order in which it was blocked.
pub struct Waiters<T, W> {
    blocked: Vec<Blocked<T, W>>,
}

impl<T, W> Default for Waiters<T, W> {
    fn default() -> Self {
        Self { blocked: Vec::new() }
    }
}

impl<T: Threshold, W> Waiters<T, W> {
    /// Parks `work` until the awaited value reaches `threshold`, at most until `deadline`.
    pub fn park(&mut self, threshold: T, deadline: Micros, work: W) {
        self.blocked.push(Blocked { threshold, deadline, work });
    }

    /// Takes out the work whose threshold `level` has reached, in the order in which it was blocked.
    pub fn wake(&mut self, level: &T) -> Vec<W> {
        self.take(|blocked| blocked.threshold.reached(level))
    }

    /// Takes out the work whose deadline has passed: what it waited for did not come in time.
    pub fn expire(&mut self, now: Micros) -> Vec<W> {
        self.take(|blocked| blocked.deadline <= now)
    }

    /// The earliest deadline: when to call [`Self::expire`].
    pub fn next_deadline(&self) -> Option<Micros> {
        self.blocked.iter().map(|blocked| blocked.deadline).min()
    }

    /// The least threshold: where what is awaited is time itself, when to look again.
    pub fn least(&self) -> Option<&T>
    where
        T: Ord,
    {
        self.blocked.iter().map(|blocked| &blocked.threshold).min()
    }

    /// The thresholds, in the order in which the work was blocked.
    pub fn thresholds(&self) -> impl Iterator<Item = &T> {
        self.blocked.iter().map(|blocked| &blocked.threshold)
    }

    /// The work, in the order in which it was blocked.
    pub fn iter(&self) -> impl Iterator<Item = &W> {
        self.blocked.iter().map(|blocked| &blocked.work)
    }

    /// How much work is blocked.
    pub fn len(&self) -> usize {
        self.blocked.len()
    }

    /// Whether nothing is blocked.
    pub fn is_empty(&self) -> bool {
        self.blocked.is_empty()
    }

    fn take(&mut self, mut due: impl FnMut(&Blocked<T, W>) -> bool) -> Vec<W> {
        if !self.blocked.iter().any(&mut due) {
            return Vec::new();
        }
        let (out, kept) = std::mem::take(&mut self.blocked).into_iter().partition(due);
        self.blocked = kept;
        let out: Vec<Blocked<T, W>> = out;
        out.into_iter().map(|blocked| blocked.work).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_wakes_in_order_when_its_threshold_is_reached_and_only_once() {
        let mut waiters = Waiters::default();
        waiters.park(Hlc(5), 100, 'a');
        waiters.park(Hlc(9), 100, 'b');
        waiters.park(Hlc(4), 100, 'c');
        assert_eq!(waiters.wake(&Hlc(3)), []);
        assert_eq!(waiters.least(), Some(&Hlc(4)));
        assert_eq!(waiters.wake(&Hlc(5)), ['a', 'c']);
        assert_eq!(waiters.wake(&Hlc(9)), ['b']);
        assert!(waiters.is_empty());
    }

    #[test]
    fn a_deadline_takes_out_what_waited_in_vain() {
        let mut waiters = Waiters::default();
        waiters.park(Hlc(5), 100, 'a');
        waiters.park(Hlc(5), 50, 'b');
        assert_eq!(waiters.next_deadline(), Some(50));
        assert_eq!(waiters.expire(50), ['b']);
        assert_eq!(waiters.expire(99), []);
        assert_eq!(waiters.wake(&Hlc(5)), ['a']);
    }
}
