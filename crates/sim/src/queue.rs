//! What will happen, in the order of virtual time; what is due at the same time happens in the order in which it
//! was scheduled.
//!
//! Nearly all events are due soon after they are scheduled. They go on a wheel: a bucket for each short span of time
//! from now on, a bit for each bucket that has something, and in a bucket so few events that they are looked through.
//! What is due after the wheel's reach goes on a heap.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use tidemark_core::Micros;

/// Events by time.
pub(crate) struct Queue<E> {
    /// For each bucket, the place of the first of its events. There are a power of two of them.
    wheel: Box<[u32]>,
    occupied: Box<[u64]>,
    /// A bucket spans 2 to the power of this, in microseconds.
    span_bits: u32,
    /// The number of the bucket of now. The wheel holds this one and those after it.
    current: u64,
    /// What was scheduled for later than the wheel reached then.
    far: BinaryHeap<Reverse<(u64, u32)>>,
    /// Events stay where they are put.
    places: Vec<Place<E>>,
    free: Vec<u32>,
    scheduled: u64,
}

struct Place<E> {
    key: u64,
    /// The next one in its bucket.
    next: u32,
    event: Option<E>,
}

const BUCKETS: usize = 1024;

/// Where very many events are due in every microsecond: each has a bucket.
const BUSY_BUCKETS: usize = 1 << 18;

/// No place.
const NONE: u32 = u32::MAX;

/// Bits of a key that hold the order of scheduling; the rest holds the time.
const ORDER_BITS: u32 = 26;

impl<E> Queue<E> {
    /// An empty queue. Most events should be scheduled for less than `reach` from now.
    pub(crate) fn new(reach: Micros) -> Self {
        Self::with_buckets(BUCKETS, (reach / BUCKETS as u64).max(1).ilog2())
    }

    /// Makes ready for a run in which many events are due every microsecond.
    pub(crate) fn grow(&mut self) {
        let mut events = Vec::new();
        while let Some(event) = self.pop() {
            events.push(event);
        }
        *self = Self::with_buckets(BUSY_BUCKETS, 0);
        events.into_iter().for_each(|(at, event)| self.push(at, event));
    }

    fn with_buckets(buckets: usize, span_bits: u32) -> Self {
        Self {
            wheel: vec![NONE; buckets].into(),
            occupied: vec![0; buckets / 64].into(),
            span_bits,
            current: 0,
            far: BinaryHeap::with_capacity(64),
            places: Vec::with_capacity(256),
            free: Vec::with_capacity(256),
            scheduled: 0,
        }
    }

    /// Schedules `event` for `at`. REQUIRES: `at` is below 2^38 µs (three days).
    #[inline]
    pub(crate) fn push(&mut self, at: Micros, event: E) {
        let key = at << ORDER_BITS | self.scheduled & ((1 << ORDER_BITS) - 1);
        self.scheduled += 1;
        let bucket = at >> self.span_bits;
        let near = bucket.wrapping_sub(self.current) < self.wheel.len() as u64;
        let bucket = self.on_wheel(bucket);
        let next = if near { self.wheel[bucket] } else { NONE };
        let new = Place { key, next, event: Some(event) };
        let place = match self.free.pop() {
            Some(place) => {
                self.places[place as usize] = new;
                place
            }
            None => {
                self.places.push(new);
                self.places.len() as u32 - 1
            }
        };
        if near {
            self.wheel[bucket] = place;
            self.occupied[bucket / 64] |= 1 << (bucket % 64);
        } else {
            self.far.push(Reverse((key, place)));
        }
    }

    /// The next event and its time.
    #[inline]
    pub(crate) fn pop(&mut self) -> Option<(Micros, E)> {
        let far = self.far.peek().map(|Reverse((key, _))| *key);
        let place = match self.first_bucket() {
            Some(bucket) => {
                let (before, place) = self.least(bucket);
                if far.is_some_and(|far| far < self.places[place as usize].key) {
                    self.far.pop()?.0.1
                } else {
                    self.unlink(bucket, before, place);
                    place
                }
            }
            None => self.far.pop()?.0.1,
        };
        self.free.push(place);
        let Place { key, event, .. } = &mut self.places[place as usize];
        let at = *key >> ORDER_BITS;
        self.current = at >> self.span_bits;
        event.take().map(|event| (at, event))
    }

    #[inline]
    fn on_wheel(&self, bucket: u64) -> usize {
        bucket as usize & (self.wheel.len() - 1)
    }

    /// The first bucket that has something, from now on.
    #[inline]
    fn first_bucket(&self) -> Option<usize> {
        let start = self.on_wheel(self.current);
        let words = self.occupied.len();
        let here = self.occupied[start / 64] & u64::MAX << (start % 64);
        if here != 0 {
            return Some(start / 64 * 64 + here.trailing_zeros() as usize);
        }
        // The last word looked at is the first one again, for what lies before `start` in it.
        let mut others = (1..=words).map(|n| (start / 64 + n) & (words - 1));
        let word = others.find(|word| self.occupied[*word] != 0)?;
        Some(word * 64 + self.occupied[word].trailing_zeros() as usize)
    }

    /// The first event of a bucket that has some, and what stands before it in the bucket's list.
    #[inline]
    fn least(&self, bucket: usize) -> (u32, u32) {
        let mut least = (NONE, self.wheel[bucket]);
        let mut key = self.places[least.1 as usize].key;
        let mut at = least.1;
        loop {
            let next = self.places[at as usize].next;
            if next == NONE {
                return least;
            }
            let other = self.places[next as usize].key;
            if other < key {
                (least, key) = ((at, next), other);
            }
            at = next;
        }
    }

    #[inline]
    fn unlink(&mut self, bucket: usize, before: u32, place: u32) {
        let next = self.places[place as usize].next;
        if before != NONE {
            self.places[before as usize].next = next;
        } else {
            self.wheel[bucket] = next;
            if next == NONE {
                self.occupied[bucket / 64] &= !(1 << (bucket % 64));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_come_by_time_and_then_in_the_order_of_scheduling() {
        let mut queue = Queue::new(BUCKETS as u64 * 2);
        for (at, name) in [(5, 'd'), (1, 'a'), (3, 'b'), (3, 'c')] {
            queue.push(at, name);
        }
        assert_eq!(queue.pop(), Some((1, 'a')));
        queue.push(3, 'e');
        let rest: Vec<_> = std::iter::from_fn(|| queue.pop()).collect();
        assert_eq!(rest, [(3, 'b'), (3, 'c'), (3, 'e'), (5, 'd')]);
    }

    #[test]
    fn near_and_far_events_come_in_one_order() {
        one_order(Queue::new(10_000));
        let mut busy = Queue::new(10_000);
        busy.grow();
        one_order(busy);
    }

    fn one_order(mut queue: Queue<u64>) {
        let mut rng = fastrand::Rng::with_seed(3);
        let (mut now, mut pending) = (0, std::collections::BTreeSet::new());
        for n in 0..20_000_u64 {
            if n < 10_000 {
                let bits = rng.u32(0..20);
                let at = now + rng.u64(0..1 << bits);
                queue.push(at, n);
                pending.insert((at, n));
            }
            if n > 100 && rng.u32(0..3) > 0 || n >= 10_000 {
                let next = queue.pop();
                assert_eq!(next, pending.pop_first());
                now = next.map_or(now, |(at, _)| at);
            }
        }
        assert_eq!(queue.pop(), None);
    }
}
