//! Read-only transactions of at most two rounds, which a session puts together itself: those of COPS-GT and Eiger.
//!
//! A transaction asks for all its keys at once. If what it is given does not fit together, it asks once more for some of the
//! keys, exactly for the versions that fit. Where one of those is not kept any more, it begins again.

use crate::{AskId, Parts, Protocol, SessionCx};
use tidemark_core::{Failure, Found, Key, Op, Outcome};

/// How often a transaction begins before it is given up.
const TRIES: u32 = 20;

/// The transaction that runs, or a get: a transaction of one key. `G` is what a key is answered with, and `T` what a server
/// tells with the answers of the first round.
pub struct TwoRounds<G, T> {
    single: bool,
    keys: Vec<Key>,
    /// How often it began.
    tries: u32,
    first: Parts<(G, T)>,
    /// What is returned, but for the places of which the second round is to tell.
    got: Vec<G>,
    late: Vec<usize>,
    second: Parts<G>,
}

/// What an answer completes.
pub enum Round<G, T> {
    /// The first round: [`TwoRounds::second`] is next.
    First(Vec<(G, T)>),
    /// The second: [`TwoRounds::end`] is next.
    Second,
}

impl<G, T> Default for TwoRounds<G, T> {
    fn default() -> Self {
        let (first, second) = (Parts::default(), Parts::default());
        Self { single: false, keys: Vec::new(), tries: 0, first, got: Vec::new(), late: Vec::new(), second }
    }
}

impl<G, T: Clone> TwoRounds<G, T> {
    /// What a GET, ROTX or SNAPSHOT asks. REQUIRES: `op` is one of them.
    pub fn of(op: Op) -> Self {
        let single = matches!(op, Op::Get { .. });
        let keys = match op {
            Op::Get { key } => vec![key],
            Op::Rotx { keys } | Op::Snapshot { keys } => keys,
            other => unreachable!("{other:?} reads no keys"),
        };
        Self { single, keys, ..Self::default() }
    }

    /// Its keys.
    pub fn keys(&self) -> &[Key] {
        &self.keys
    }

    /// The first round, perhaps once more; the operation fails if it was begun too often. `request` makes a question of keys.
    pub fn begin<P: Protocol>(
        &mut self,
        request: impl Fn(Vec<Key>) -> P::Request,
        cx: &mut SessionCx<'_, P>,
    ) {
        self.tries += 1;
        if self.tries > TRIES {
            let why = "the transaction takes longer than overwritten versions are kept".to_string();
            return cx.fail(Failure::Unavailable(why));
        }
        self.second = Parts::default();
        self.first = Parts::ask(&self.keys, request, cx);
    }

    /// Takes the answer to one of its questions, if it is one, and says what that completes.
    pub fn heard(&mut self, ask: AskId, got: Vec<G>, told: &T) -> Option<Round<G, T>> {
        if self.first.awaits(ask) {
            self.first.heard(ask, got.into_iter().map(|got| (got, told.clone())));
            return self.first.whole().map(Round::First);
        }
        if !self.second.heard(ask, got) {
            return None;
        }
        let second = self.second.whole()?;
        let places = std::mem::take(&mut self.late).into_iter();
        places.zip(second).for_each(|(place, got)| self.got[place] = got);
        Some(Round::Second)
    }

    /// Takes the answer to one of the questions of the second round, if it is one, that what was asked for is not kept any more:
    /// then it is to [begin](Self::begin) again.
    pub fn refused(&mut self, ask: AskId) -> bool {
        self.second.heard(ask, [])
    }

    /// The second round, for the keys at the places that are `late` in what the first one `got`. False if there are none: it
    /// [ends](Self::end).
    pub fn second<P: Protocol>(
        &mut self,
        got: impl IntoIterator<Item = (G, T)>,
        late: Vec<usize>,
        request: impl Fn(Vec<Key>) -> P::Request,
        cx: &mut SessionCx<'_, P>,
    ) -> bool {
        self.got = got.into_iter().map(|(got, _)| got).collect();
        self.late = late;
        let keys: Vec<Key> = self.late.iter().map(|place| self.keys[*place].clone()).collect();
        if !keys.is_empty() {
            self.second = Parts::ask(&keys, request, cx);
        }
        !keys.is_empty()
    }

    /// It ends: `see` says of each key what was found, by what it is answered with.
    pub fn end<P: Protocol>(&mut self, mut see: impl FnMut(&Key, G) -> Found, cx: &mut SessionCx<'_, P>) {
        let Self { single, keys, got, .. } = std::mem::take(self);
        let mut found: Vec<Found> = keys.iter().zip(got).map(|(key, got)| see(key, got)).collect();
        cx.done(if single { Outcome::Found(found.remove(0)) } else { Outcome::FoundAll(found) });
    }
}
