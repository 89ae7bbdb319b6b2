//! Commands that only read several keys of data types. If the keys are in one partition, the command is evaluated there. If not,
//! what they hold is read in one snapshot over their partitions, and the command is evaluated here, by the same code.

use super::error::ErrorReply;
use super::keyspace::Keyspace;
use super::operations::found_all;
use super::task::{Step, Steps};
use super::typed;
use bytes::Bytes;
use tidemark_contract::several::evaluate_contents;
use tidemark_core::{Command, Found, Key, Op, Outcome, Reply, Verb};
use tidemark_wire::resp::Encoder;

/// Such a command.
pub(super) struct Spread {
    /// The first of its keys.
    key: Key,
    /// The command, with the other keys.
    command: Command,
    /// Whether its contents are read.
    apart: bool,
}

impl Spread {
    /// The command on `key` and on its own keys.
    pub(super) fn new(key: Key, command: Command) -> Self {
        Self { key, command, apart: false }
    }

    fn keys(&self) -> impl Iterator<Item = &Key> {
        std::iter::once(&self.key).chain(&self.command.keys)
    }
}

impl Steps for Spread {
    fn begin(&mut self, keyspace: &Keyspace<'_>, _: &mut Encoder<'_>) -> Result<Step, ErrorReply> {
        self.apart = !self.command.keys.iter().all(|key| keyspace.together(&self.key, key));
        if self.apart {
            let keys = self.keys().cloned().collect();
            return Ok(Step::Op(read_contents(keys, Vec::new(), keyspace)));
        }
        Ok(Step::Op(typed::call(self.key.clone(), self.command.clone())))
    }

    fn step(
        &mut self,
        outcome: Outcome,
        _: &Keyspace<'_>,
        out: &mut Encoder<'_>,
    ) -> Result<Step, ErrorReply> {
        if !self.apart {
            typed::reply(outcome, out)?;
            return Ok(Step::Done);
        }
        let contents = contents(outcome)?;
        match evaluate_contents(&self.command, &self.keys().collect::<Vec<_>>(), &contents) {
            Reply::Error(text) => Err(ErrorReply::new(text.as_bytes())),
            reply => {
                typed::write(&reply, out);
                Ok(Step::Done)
            }
        }
    }
}

/// Reads what keys hold in one snapshot: of a hash these `fields`. Under a protocol without data types that can only be strings.
pub(super) fn read_contents(keys: Vec<Key>, fields: Vec<Bytes>, keyspace: &Keyspace<'_>) -> Op {
    if !keyspace.types {
        return Op::Rotx { keys };
    }
    Op::Query { keys, command: Box::new(Command::new(Verb::Content, fields)) }
}

/// What was read of each key.
pub(super) fn contents(outcome: Outcome) -> Result<Vec<Reply>, ErrorReply> {
    let content = |found: Found| match (found.reply, found.value) {
        (Some(reply), _) => *reply,
        (None, Some(value)) => Reply::bulk(&value),
        (None, None) => Reply::Null,
    };
    Ok(found_all(outcome)?.into_iter().map(content).collect())
}
