//! Commands of one kind that a client has sent one behind the other, on one key or on a key each: one operation carries them out.

use super::{Start, Task, Then};
use crate::redis::is_reserved;
use bytes::Bytes;
use tidemark_contract::Topology;
use tidemark_core::{Command, Key, Op, Update, Verb};
use tidemark_wire::resp::Request;

impl Task {
    /// How many commands of the client it stands for.
    #[inline]
    pub fn times(&self) -> usize {
        if let Start::Once(_, then) = &self.0 { then.times() } else { 1 }
    }

    /// Whether it is one command of a data type, or several.
    #[inline]
    pub fn is_typed(&self) -> bool {
        matches!(&self.0, Start::Once(_, Then::Typed | Then::Together(_)))
    }

    /// Its key and its command, if it is of a data type.
    #[inline]
    fn command(&mut self) -> Option<(&Key, &mut Command, &mut Then)> {
        match &mut self.0 {
            Start::Once(Op::Put { key, update: Update { command: Some(command), .. } }, then) => {
                Some((key, command, then))
            }
            _ => None,
        }
    }

    /// Returns about how many bytes it writes.
    pub fn bytes(&self) -> usize {
        match &self.0 {
            Start::Once(op, _) => op.writes().unwrap_or_default(),
            _ => 0,
        }
    }

    /// Whether a command on `key` of the same kind can be carried out together with it.
    #[inline]
    pub fn joins(&mut self, key: &[u8], topology: &Topology) -> bool {
        let Some((first, command, then)) = self.command() else { return false };
        let verb = match (then, command.verb.joins()) {
            (Then::Together(_), _) => command.verb,
            (Then::Typed, Some((verb, args))) if command.args.len() == args => verb,
            _ => return false,
        };
        match verb {
            Verb::Together => first[..] == *key,
            _ => {
                let is_there = |other: &Key| other[..] == *key;
                !is_reserved(key)
                    && topology.partition_of(first) == topology.partition_of(key)
                    && topology.holders(first) == topology.holders(key)
                    && !is_there(first)
                    && !command.keys.iter().any(is_there)
            }
        }
    }

    /// Takes such a command along. REQUIRES: the task [`Self::joins`] its key; `request` has the same name, and as many arguments.
    pub fn join(&mut self, request: &mut Request<'_>) {
        let Some((_, command, then)) = self.command() else { return };
        if matches!(then, Then::Typed) {
            begin(command);
        }
        if command.verb == Verb::Each {
            command.keys.push(Key(request.take(1)));
        }
        let before = command.args.len();
        command.args.extend((2..request.len()).map(|index| request.take(index)));
        fill(command, before);
        *then = Then::Together(then.times() + 1);
    }
}

/// Makes a command the first of several.
fn begin(command: &mut Command) {
    let Some((verb, _)) = command.verb.joins() else { return };
    let name = Bytes::from_static(command.verb.name().as_bytes());
    fill(command, 0);
    command.args.insert(0, name);
    command.verb = verb;
}

/// One empty argument stands for a command that has none.
fn fill(command: &mut Command, before: usize) {
    if command.args.len() == before {
        command.args.push(Bytes::new());
    }
}
