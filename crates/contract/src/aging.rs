//! What is kept for a while: until nobody can need it any more who does not take longer than one should.

use std::collections::VecDeque;
use tidemark_core::Micros;

/// Things, each with the time when it is ripe. All are kept equally long, so they ripen in the order in which they came.
pub struct Aging<T>(VecDeque<(Micros, T)>);

impl<T> Default for Aging<T> {
    fn default() -> Self {
        Self(VecDeque::new())
    }
}

impl<T> Aging<T> {
    /// Keeps `thing` until `ripe`.
    pub fn keep(&mut self, ripe: Micros, thing: T) {
        self.0.push_back((ripe, thing));
    }

    /// Takes out the oldest, if it is ripe at `now`.
    pub fn ripe(&mut self, now: Micros) -> Option<T> {
        self.0.front().filter(|(ripe, _)| *ripe <= now)?;
        self.0.pop_front().map(|(_, thing)| thing)
    }

    /// The youngest.
    pub fn youngest(&self) -> Option<&T> {
        self.0.back().map(|(_, thing)| thing)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn things_are_taken_out_in_order_once_they_are_ripe() {
        let mut aging = Aging::default();
        aging.keep(10, 'a');
        aging.keep(10, 'b');
        aging.keep(20, 'c');
        assert_eq!((aging.ripe(9), aging.youngest()), (None, Some(&'c')));
        assert_eq!([aging.ripe(10), aging.ripe(10), aging.ripe(10)], [Some('a'), Some('b'), None]);
        assert_eq!([aging.ripe(30), aging.ripe(30)], [Some('c'), None]);
    }
}
