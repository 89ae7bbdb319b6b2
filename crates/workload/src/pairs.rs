//! Clients in pairs, 2n and 2n + 1: two that take turns, or one that reads what the other writes.
//!
//! Source: the applications App1 and App2 of ACCF's evaluation (000, sections 7 and 7.3).

use crate::{Kind, Pattern};
use std::ops::Range;
use tidemark_core::{Key, Op, Update, Value, Write};

impl Pattern {
    /// How many keys of every partition a pair of clients has to itself: where they take turns, each has one that it counts them
    /// in, and where they alternate, both share one. Nobody may write the other application's.
    pub(crate) fn keys_of_a_pair(&self) -> u64 {
        match self {
            Self::Turns { .. } => 2,
            Self::Alternate { .. } => 1,
            Self::Apps { .. } => 3,
            _ => 0,
        }
    }
}

/// One of a pair.
#[derive(Clone, Debug)]
pub(crate) struct Partner {
    number: u64,
    /// The index of the pair's first key, in every partition, and that of the next pair's.
    keys: Range<u64>,
    /// Whether the request that runs is a turn, or the look before the first.
    pub(crate) in_turn: bool,
    /// How many turns it has made, once it has looked.
    turns: Option<u64>,
}

impl Partner {
    pub(crate) fn new(number: usize, pattern: &Pattern) -> Self {
        let (number, keys) = (number as u64, pattern.keys_of_a_pair());
        let pair = number / 2;
        Self { number, keys: pair * keys..(pair + 1) * keys, in_turn: false, turns: None }
    }

    /// Whether its pair takes turns so long after the run's clients began.
    pub(crate) fn takes_turns(&self, pattern: &Pattern, at_us: u64) -> bool {
        match *pattern {
            Pattern::Turns { .. } => true,
            Pattern::Apps { swap_after_us, .. } => {
                let swapped = swap_after_us > 0 && at_us >= swap_after_us;
                (self.number / 2).is_multiple_of(2) != swapped
            }
            _ => false,
        }
    }

    /// The pair's first reads, its second writes.
    pub(crate) fn writes(&self) -> bool {
        self.number % 2 == 1
    }

    /// The index of the key that one of the pair writes in every partition and the other reads: the last of theirs, for turns are
    /// counted in the others.
    pub(crate) fn shared(&self) -> u64 {
        self.keys.end - 1
    }

    /// A turn: to wait until the other has made its own, and to write that this one has, too. Each has a key where it counts
    /// its turns: two that write one key could lose a turn to each other's clocks. It begins by looking at where it left off,
    /// for the store may have seen an earlier run.
    pub(crate) fn turn(&self, key: impl Fn(u64) -> Key, value_bytes: usize, ops: &mut Vec<Op>) -> Kind {
        let [own, others] = [self.number, self.number ^ 1].map(|one| key(self.keys.start + one % 2));
        let Some(turns) = self.turns else {
            ops.push(Op::Get { key: own });
            return Kind::Read;
        };
        ops.push(Op::Get { key: others });
        let value = Value::from(format!("{:0value_bytes$}", turns + 1).into_bytes());
        ops.push(Op::Put { key: own, update: Update::put(Write::Assign(value)) });
        Kind::Turn
    }

    /// What came of operation `at` of a turn. Whether it is to be made again.
    pub(crate) fn answered(&mut self, at: usize, read: Option<&[u8]>) -> bool {
        // What somebody else has written there, or nobody, is no turn.
        let read = read.and_then(|text| std::str::from_utf8(text).ok()?.parse().ok()).unwrap_or(0);
        match (self.turns, at) {
            (None, _) => self.turns = Some(read),
            // The pair's first begins.
            (Some(turns), 0) => return read < turns + self.number % 2,
            (Some(turns), _) => self.turns = Some(turns + 1),
        }
        false
    }
}
