//! Reads of several keys that a session puts together itself: one question to each partition, answers in the order of
//! the keys.

use crate::{AskId, Protocol, SessionCx};
use tidemark_core::Key;

/// What is still missing of such a read, and what is there; `T` is what a key is answered with.
#[derive(Debug)]
pub struct Parts<T> {
    /// Who has not answered yet, and where what is found there stands in the answer.
    missing: Vec<(AskId, Vec<usize>)>,
    there: Vec<Option<T>>,
}

impl<T> Default for Parts<T> {
    fn default() -> Self {
        Self { missing: Vec::new(), there: Vec::new() }
    }
}

impl<T> Parts<T> {
    /// Asks each partition that holds some of `keys` for them; `request` makes a question of its keys.
    pub fn ask<P: Protocol>(
        keys: &[Key],
        request: impl Fn(Vec<Key>) -> P::Request,
        cx: &mut SessionCx<'_, P>,
    ) -> Self {
        let topology = cx.topology;
        let owner = |place: &usize| topology.partition_of(&keys[*place]);
        let mut places: Vec<usize> = (0..keys.len()).collect();
        places.sort_by_key(owner);
        let parts = places.chunk_by(|a, b| owner(a) == owner(b));
        let missing = parts.map(|part| {
            let asked = part.iter().map(|place| keys[*place].clone()).collect();
            (cx.ask_partition(owner(&part[0]), request(asked)), part.to_vec())
        });
        Self { missing: missing.collect(), there: keys.iter().map(|_| None).collect() }
    }

    /// Forgets the read.
    #[inline]
    pub fn clear(&mut self) {
        self.missing.clear();
        self.there.clear();
    }

    /// Whether a question is open.
    pub fn awaits(&self, ask: AskId) -> bool {
        self.missing.iter().any(|(missing, _)| *missing == ask)
    }

    /// Takes the answer to one of the questions, in the order of its keys; false if it is to none that is open.
    pub fn heard(&mut self, ask: AskId, answer: impl IntoIterator<Item = T>) -> bool {
        let Some(at) = self.missing.iter().position(|(missing, _)| *missing == ask) else { return false };
        let (_, places) = self.missing.swap_remove(at);
        places.into_iter().zip(answer).for_each(|(place, value)| self.there[place] = Some(value));
        true
    }

    /// The whole answer, once every partition has answered; nothing is left then.
    pub fn whole(&mut self) -> Option<Vec<T>> {
        if !self.missing.is_empty() {
            return None;
        }
        std::mem::take(&mut self.there).into_iter().collect()
    }
}
