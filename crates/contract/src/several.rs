//! Several keys that are read at once, and what is asked of each.

use serde::{Deserialize, Serialize};
use std::fmt;
use tidemark_core::{Command, Key, Verb};

pub use tidemark_crdt::evaluate_contents;

/// They are `Key`s, or each has its place in the whole beside it.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Several<K = Key> {
    /// The keys, in the order of the answer.
    pub keys: Vec<K>,
    /// The command that each of them answers ([`tidemark_core::Op::Query`]); without one, the string that each holds.
    pub command: Option<Box<Command>>,
}

impl<K> Several<K> {
    /// Whether an interactive transaction asks what is known of them ([`crate::Cx::look_in`]).
    pub fn looks(&self) -> bool {
        self.command.as_ref().is_some_and(|command| command.verb == Verb::Look)
    }
}

impl<K> From<Vec<K>> for Several<K> {
    fn from(keys: Vec<K>) -> Self {
        Self { keys, command: None }
    }
}

impl<K: fmt::Debug> fmt::Debug for Several<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.keys.fmt(f)?;
        self.command.as_ref().map_or(Ok(()), |command| write!(f, " {}", command.verb.name()))
    }
}
