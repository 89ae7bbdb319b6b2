//! What will happen, in the order of virtual time; what is due at the same time happens in the order in which it
//! was scheduled.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use tidemark_core::Micros;

/// Events by time. Events stay where they are put: only small keys move through the heap.
pub(crate) struct Queue<E> {
    heap: BinaryHeap<Reverse<(u64, u32)>>,
    events: Vec<Option<E>>,
    free: Vec<u32>,
    scheduled: u64,
}

/// Bits of a key that hold the order of scheduling; the rest holds the time.
const ORDER_BITS: u32 = 26;

impl<E> Queue<E> {
    pub(crate) fn new() -> Self {
        Self { heap: BinaryHeap::with_capacity(256), events: Vec::new(), free: Vec::new(), scheduled: 0 }
    }

    /// Schedules `event` for `at`. REQUIRES: `at` is below 2^38 µs (three days).
    #[inline]
    pub(crate) fn push(&mut self, at: Micros, event: E) {
        let place = match self.free.pop() {
            Some(place) => {
                self.events[place as usize] = Some(event);
                place
            }
            None => {
                self.events.push(Some(event));
                self.events.len() as u32 - 1
            }
        };
        let order = self.scheduled & ((1 << ORDER_BITS) - 1);
        self.scheduled += 1;
        self.heap.push(Reverse((at << ORDER_BITS | order, place)));
    }

    /// The next event and its time.
    #[inline]
    pub(crate) fn pop(&mut self) -> Option<(Micros, E)> {
        let Reverse((key, place)) = self.heap.pop()?;
        self.free.push(place);
        let event = self.events[place as usize].take();
        event.map(|event| (key >> ORDER_BITS, event))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_come_by_time_and_then_in_the_order_of_scheduling() {
        let mut queue = Queue::new();
        for (at, name) in [(5, 'd'), (1, 'a'), (3, 'b'), (3, 'c')] {
            queue.push(at, name);
        }
        assert_eq!(queue.pop(), Some((1, 'a')));
        queue.push(3, 'e');
        let rest: Vec<_> = std::iter::from_fn(|| queue.pop()).collect();
        assert_eq!(rest, [(3, 'b'), (3, 'c'), (3, 'e'), (5, 'd')]);
    }
}
