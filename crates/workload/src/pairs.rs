//! Clients in pairs, 2n and 2n + 1: two that take turns, or one that reads what the other writes.
//!
//! Source: the applications App1 and App2 of ACCF's evaluation (000, sections 7 and 7.3).

use crate::Kind;
use tidemark_core::{Key, Op, Update, Value, Write};

/// One of a pair.
#[derive(Clone, Debug)]
pub(crate) struct Partner {
    number: u64,
    /// How many turns it has made, once it has looked.
    turns: Option<u64>,
}

impl Partner {
    pub(crate) fn new(number: usize) -> Self {
        Self { number: number as u64, turns: None }
    }

    /// Of all pairs, which.
    pub(crate) fn pair(&self) -> u64 {
        self.number / 2
    }

    /// The pair's first reads, its second writes.
    pub(crate) fn writes(&self) -> bool {
        self.number % 2 == 1
    }

    /// A turn: to wait until the other has made its own, and to write that this one has, too. Each has a key where it counts
    /// its turns: two that write one key could lose a turn to each other's clocks. It begins by looking at where it left off,
    /// for the store may have seen an earlier run.
    pub(crate) fn turn(&self, key: impl Fn(u64) -> Key, value_bytes: usize, ops: &mut Vec<Op>) -> Kind {
        let own = key(self.number);
        let Some(turns) = self.turns else {
            ops.push(Op::Get { key: own });
            return Kind::Read;
        };
        ops.push(Op::Get { key: key(self.number ^ 1) });
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
