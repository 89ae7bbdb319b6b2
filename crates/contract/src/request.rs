//! The request of protocols in which an operation is one question: an operation, and what of its session's past the server needs
//! for it.

use crate::Walk;
use crate::several::Several;
use crate::stabilised::Never;
use serde::{Deserialize, Serialize};
use tidemark_core::{Key, Micros, Op, Update};

/// What a session asks. `R` goes with what only reads, `W` with a PUT, `S` with a read of several keys in one snapshot, and `C`
/// with the past of a session that has moved. `T` is the time of a read at a time, in protocols that have any
/// ([`Info::reads_at_a_time`](crate::Info::reads_at_a_time)).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub enum Request<R, W = R, S = R, C = R, T = Never> {
    Get(Key, R),
    Put(Key, Update, W),
    Rotx(Several, S),
    Walk(Walk, R),
    /// Wait until this region covers that.
    Cover(C),
    /// These keys as of that time.
    At(Vec<Key>, T),
}

/// The time of a read at a time, or of none.
pub trait Dated {
    /// The time.
    fn of(time: Micros) -> Self;
}

impl Dated for Micros {
    fn of(time: Micros) -> Self {
        time
    }
}

impl Dated for Never {
    fn of(_: Micros) -> Self {
        unreachable!("a session refuses it, for the protocol cannot")
    }
}

/// What of a session's past goes along with which question. None of it is made before it is known what is asked.
#[derive(Clone, Copy, Debug)]
pub struct Brings<R, W, S, C> {
    /// With a GET, a SCAN or a COUNT.
    pub read: R,
    /// With a PUT.
    pub put: W,
    /// With a read of several keys.
    pub rotx: S,
    /// With nothing else: the session has moved.
    pub cover: C,
}

impl<R, W, S, C> Brings<R, W, S, C> {
    /// The question of an operation, or of none: see [`crate::OneRound::question`].
    #[inline]
    pub fn ask<A, B, D, E, T: Dated>(self, op: Option<Op>) -> Request<A, B, D, E, T>
    where
        R: FnOnce() -> A,
        W: FnOnce() -> B,
        S: FnOnce() -> D,
        C: FnOnce() -> E,
    {
        match op {
            Some(Op::Get { key }) => Request::Get(key, (self.read)()),
            Some(Op::Put { key, update }) => Request::Put(key, update, (self.put)()),
            Some(Op::Rotx { keys } | Op::Snapshot { keys }) => Request::Rotx(keys.into(), (self.rotx)()),
            Some(Op::Query { keys, command }) => {
                Request::Rotx(Several { keys, command: Some(command) }, (self.rotx)())
            }
            Some(Op::At { keys, time }) => Request::At(keys, T::of(time)),
            Some(walk) => Request::Walk(Walk::of(&walk), (self.read)()),
            None => Request::Cover((self.cover)()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;
    use tidemark_core::{PartitionId, Write};

    #[test]
    fn each_question_brings_its_own_part_of_the_past_and_no_other_is_made() {
        let (key, update) = (Key::from("x"), Update::put(Write::Remove));
        let ask = |op| {
            let made = Cell::new(0);
            let make = |part: char| {
                made.set(made.get() + 1);
                part
            };
            let brings =
                Brings { read: || make('r'), put: || make('p'), rotx: || make('s'), cover: || make('c') };
            let asked: Request<char> = brings.ask(op);
            assert_eq!(made.get(), 1);
            asked
        };
        let keys = vec![key.clone()];
        let (partition, cursor, limit) = (PartitionId(0), 3, 9);
        assert_eq!(ask(Some(Op::Get { key: key.clone() })), Request::Get(key.clone(), 'r'));
        let put = Op::Put { key: key.clone(), update: update.clone() };
        assert_eq!(ask(Some(put)), Request::Put(key, update, 'p'));
        assert_eq!(ask(Some(Op::Rotx { keys: keys.clone() })), Request::Rotx(keys.clone().into(), 's'));
        assert_eq!(ask(Some(Op::Snapshot { keys: keys.clone() })), Request::Rotx(keys.into(), 's'));
        let scan = Op::Scan { partition, cursor, limit };
        assert_eq!(ask(Some(scan)), Request::Walk(Walk::Scan { cursor, limit }, 'r'));
        assert_eq!(ask(Some(Op::Count { partition })), Request::Walk(Walk::Count, 'r'));
        assert_eq!(ask(None), Request::Cover('c'));
    }
}
