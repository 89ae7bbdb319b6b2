//! Scatter and gather: one question to several siblings, one answer when all have replied.
//!
//! Answers are matched by [`GatherId`], which is never used twice by a server, not even across its restarts:
//! an answer to a question of an earlier life finds nothing and is dropped.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use tidemark_core::{Micros, ServerId};

/// Names one question of one life of a server.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct GatherId {
    life: u64,
    number: u64,
}

impl fmt::Debug for GatherId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.life, self.number)
    }
}

impl GatherId {
    pub(crate) fn new(life: u64, number: u64) -> Self {
        Self { life, number }
    }
}

struct Open<A> {
    waiting_for: Vec<ServerId>,
    deadline: Micros,
    answer: A,
}

/// The open questions of one server; `A` is the answer that is being put together.
pub struct Gather<A> {
    life: u64,
    asked: u64,
    open: BTreeMap<GatherId, Open<A>>,
}

impl<A> Gather<A> {
    /// No open question. `life` differs for every start of this server (see `Recovered::life`).
    pub fn new(life: u64) -> Self {
        Self { life, asked: 0, open: BTreeMap::new() }
    }

    /// Opens a question to `waiting_for`, each of which will answer once.
    pub fn open(&mut self, waiting_for: Vec<ServerId>, deadline: Micros, answer: A) -> GatherId {
        self.asked += 1;
        let id = GatherId::new(self.life, self.asked);
        self.open.insert(id, Open { waiting_for, deadline, answer });
        id
    }

    /// Asks once more under the name of a question that was answered.
    pub fn reopen(&mut self, id: GatherId, waiting_for: Vec<ServerId>, deadline: Micros, answer: A) {
        self.open.insert(id, Open { waiting_for, deadline, answer });
    }

    /// Merges what `from` answered; returns the whole answer if it was the last. An answer that nobody waits
    /// for is dropped.
    pub fn answer(&mut self, id: GatherId, from: ServerId, merge: impl FnOnce(&mut A)) -> Option<A> {
        let open = self.open.get_mut(&id)?;
        let place = open.waiting_for.iter().position(|server| *server == from)?;
        open.waiting_for.swap_remove(place);
        merge(&mut open.answer);
        if open.waiting_for.is_empty() { self.open.remove(&id).map(|open| open.answer) } else { None }
    }

    /// Whether question `id` still waits for answers.
    pub fn is_open(&self, id: GatherId) -> bool {
        self.open.contains_key(&id)
    }

    /// Takes back a question: what is still answered finds nothing.
    pub fn withdraw(&mut self, id: GatherId) -> Option<A> {
        self.open.remove(&id).map(|open| open.answer)
    }

    /// Gives up the questions that `peer` will never answer, because it restarted.
    pub fn reset(&mut self, peer: ServerId) -> Vec<A> {
        self.take(|open| open.waiting_for.contains(&peer))
    }

    /// Gives up the questions whose deadline has passed.
    pub fn expire(&mut self, now: Micros) -> Vec<A> {
        self.take(|open| open.deadline <= now)
    }

    /// The answers being put together, for what has to know the oldest of them.
    pub fn pending(&self) -> impl Iterator<Item = &A> {
        self.open.values().map(|open| &open.answer)
    }

    fn take(&mut self, mut due: impl FnMut(&Open<A>) -> bool) -> Vec<A> {
        let ids: Vec<GatherId> = self.open.iter().filter(|(_, open)| due(open)).map(|(id, _)| *id).collect();
        ids.into_iter().filter_map(|id| self.open.remove(&id)).map(|open| open.answer).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidemark_core::{DcId, PartitionId};

    fn server(partition: u16) -> ServerId {
        ServerId::new(DcId(0), PartitionId(partition))
    }

    #[test]
    fn the_answer_comes_when_everybody_has_answered_once() {
        let mut gather = Gather::new(1);
        let id = gather.open(vec![server(1), server(2)], 100, Vec::new());
        assert_eq!(gather.answer(id, server(2), |a| a.push(2)), None);
        assert_eq!(gather.answer(id, server(2), |a| a.push(2)), None, "a repeat does not count");
        assert_eq!(gather.answer(id, server(1), |a| a.push(1)), Some(vec![2, 1]));
        assert_eq!(gather.answer(id, server(1), |a| a.push(1)), None, "late answers find nothing");
    }

    #[test]
    fn an_answer_to_an_earlier_life_is_dropped() {
        let mut before = Gather::<()>::new(1);
        let id = before.open(vec![server(1)], 100, ());
        let mut after = Gather::new(2);
        after.open(vec![server(1)], 100, ());
        assert_eq!(after.answer(id, server(1), |_| ()), None);
    }

    #[test]
    fn a_question_that_is_taken_back_is_answered_in_vain() {
        let mut gather = Gather::new(1);
        let id = gather.open(vec![server(1)], 100, 'a');
        assert_eq!((gather.withdraw(id), gather.withdraw(id)), (Some('a'), None));
        assert_eq!(gather.answer(id, server(1), |_| ()), None);
    }

    #[test]
    fn a_restart_or_a_deadline_gives_up() {
        let mut gather = Gather::new(1);
        gather.open(vec![server(1), server(2)], 100, 'a');
        gather.open(vec![server(2)], 200, 'b');
        gather.open(vec![server(3)], 100, 'c');
        assert_eq!(gather.reset(server(1)), ['a']);
        assert_eq!(gather.expire(150), ['c']);
        assert_eq!(gather.pending().collect::<Vec<_>>(), [&'b']);
    }
}
