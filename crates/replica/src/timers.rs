//! The timers of the partitions: what is armed, and what fires.

use crate::config::Now;
use crate::host::Host;
use tidemark_contract::Protocol;
use tidemark_core::{Hlc, Micros};

/// How many keys of a partition are noticed to have expired at once.
const DEADLINES_A_TURN: usize = 200;

/// What one partition has armed, and when it is due. A protocol has few timers, so they stand in a vector, in their order.
pub(crate) struct Timers<T> {
    armed: Vec<(T, Micros)>,
}

impl<T> Default for Timers<T> {
    fn default() -> Self {
        Self { armed: Vec::new() }
    }
}

impl<T: Copy + Ord> Timers<T> {
    /// Arms `timer` for `at`, in place of when it was armed for before.
    pub(crate) fn arm(&mut self, timer: T, at: Micros) {
        match self.armed.binary_search_by_key(&timer, |(timer, _)| *timer) {
            Ok(place) => self.armed[place].1 = at,
            Err(place) => self.armed.insert(place, (timer, at)),
        }
    }

    /// Disarms the first timer that is due.
    pub(crate) fn take_due(&mut self, now: Micros) -> Option<T> {
        let place = self.armed.iter().position(|(_, at)| *at <= now)?;
        Some(self.armed.remove(place).0)
    }

    /// When the next one is due.
    #[inline]
    pub(crate) fn next(&self) -> Option<Micros> {
        self.armed.iter().map(|(_, at)| *at).min()
    }
}

impl<P: Protocol> Host<P> {
    /// Notices keys whose deadlines have passed, then fires the timers that are due.
    pub fn fire_timers(&mut self, now: Now) {
        for place in self.places.iter_mut().filter(|place| place.protocol.is_some()) {
            place.store.pass_deadlines(Hlc::at(now.wall), DEADLINES_A_TURN);
        }
        for at in 0..self.places.len() {
            let partition = self.places[at].id;
            while let Some(timer) = self.places[at].timers.take_due(now.mono) {
                self.event(now, partition, |protocol, cx| protocol.on_timer(timer, cx));
            }
        }
    }

    /// When the next timer is due, on the monotonic clock.
    pub fn next_timer(&self) -> Option<Micros> {
        self.places.iter().filter_map(|place| place.timers.next()).min()
    }
}
