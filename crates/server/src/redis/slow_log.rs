//! The slow log: the latest commands that took longer than `slowlog-log-slower-than`.

use bytes::Bytes;
use std::collections::VecDeque;
use tidemark_core::Micros;

/// One command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SlowCommand {
    /// Its number; numbers rise.
    pub id: u64,
    /// When it ended, in seconds since 1970.
    pub at_s: u64,
    /// How long it took.
    pub took_us: Micros,
    /// Its arguments, perhaps cut short.
    pub arguments: Vec<Bytes>,
    /// The client's address and port.
    pub address: String,
    /// The connection's name.
    pub name: String,
}

/// The latest slow commands, the last one first.
#[derive(Debug, Default)]
pub(super) struct SlowLog {
    commands: VecDeque<SlowCommand>,
    next_id: u64,
}

impl SlowLog {
    /// Adds a command and gives it its number; forgets the oldest above `length_max`.
    pub(super) fn add(&mut self, command: SlowCommand, length_max: usize) {
        self.commands.push_front(SlowCommand { id: self.next_id, ..command });
        self.next_id += 1;
        self.commands.truncate(length_max);
    }

    /// The commands, the last one first.
    pub(super) fn iter(&self) -> impl ExactSizeIterator<Item = &SlowCommand> {
        self.commands.iter()
    }

    /// Forgets all; numbers go on.
    pub(super) fn reset(&mut self) {
        self.commands.clear();
    }
}
