//! Waiting is data: work parked until what it waits for has risen far enough, or until its deadline.
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

struct Parked<T, W> {
    threshold: T,
    deadline: Micros,
    work: W,
}

/// Parked work, in the order in which it was parked.
pub struct Waiters<T, W> {
    parked: Vec<Parked<T, W>>,
}

impl<T, W> Default for Waiters<T, W> {
    fn default() -> Self {
        Self { parked: Vec::new() }
    }
}

impl<T: Threshold, W> Waiters<T, W> {
    /// Parks `work` until the awaited value reaches `threshold`, at most until `deadline`.
    pub fn park(&mut self, threshold: T, deadline: Micros, work: W) {
        self.parked.push(Parked { threshold, deadline, work });
    }

    /// Takes out the work whose threshold `level` has reached, in the order in which it was parked.
    pub fn wake(&mut self, level: &T) -> Vec<W> {
        self.take(|parked| parked.threshold.reached(level))
    }

    /// Takes out the work whose deadline has passed: what it waited for did not come in time.
    pub fn expire(&mut self, now: Micros) -> Vec<W> {
        self.take(|parked| parked.deadline <= now)
    }

    /// The earliest deadline: when to call [`Self::expire`].
    pub fn next_deadline(&self) -> Option<Micros> {
        self.parked.iter().map(|parked| parked.deadline).min()
    }

    /// The least threshold: where what is awaited is time itself, when to look again.
    pub fn least(&self) -> Option<&T>
    where
        T: Ord,
    {
        self.parked.iter().map(|parked| &parked.threshold).min()
    }

    /// The thresholds, in the order in which the work was parked.
    pub fn thresholds(&self) -> impl Iterator<Item = &T> {
        self.parked.iter().map(|parked| &parked.threshold)
    }

    /// The work, in the order in which it was parked.
    pub fn iter(&self) -> impl Iterator<Item = &W> {
        self.parked.iter().map(|parked| &parked.work)
    }

    /// How much work is parked.
    pub fn len(&self) -> usize {
        self.parked.len()
    }

    /// Whether nothing is parked.
    pub fn is_empty(&self) -> bool {
        self.parked.is_empty()
    }

    fn take(&mut self, mut due: impl FnMut(&Parked<T, W>) -> bool) -> Vec<W> {
        if !self.parked.iter().any(&mut due) {
            return Vec::new();
        }
        let (out, kept) = std::mem::take(&mut self.parked).into_iter().partition(due);
        self.parked = kept;
        let out: Vec<Parked<T, W>> = out;
        out.into_iter().map(|parked| parked.work).collect()
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
