//! XREAD and XREADGROUP: one operation for each stream, for they may lie in several partitions.
//!
//! Redis checks all keys, groups and ids before it reads anything, and resolves `$`. So does this, where there is more than
//! one key, or a `$`: with one more operation a key. XREADGROUP would otherwise deliver what its client never sees.

use super::blocking::Wanted;
use super::error::ErrorReply;
use super::keyspace::Keyspace;
use super::task::{Step, Steps, Task};
use super::typed::{self, Answered};
use bytes::Bytes;
use tidemark_core::{Command, Outcome, Reply, Verb};
use tidemark_wire::resp::{Encoder, Version};

/// How many entries of a stream are read at most by one that has waited, if nothing is said.
const COUNT_OF_WAITERS: i64 = 1_000;

/// Who reads for a consumer group.
pub(super) struct Consumer {
    /// The group.
    pub(super) group: Bytes,
    /// The consumer.
    pub(super) name: Bytes,
    /// Whether what is delivered does not become pending.
    pub(super) no_ack: bool,
}

/// What is to be read.
pub(super) struct Reading {
    /// From which streams, and how long it waits.
    pub(super) wanted: Wanted,
    /// Whether it waits at all.
    pub(super) waits: bool,
    /// For whom.
    pub(super) consumer: Option<Consumer>,
    /// Behind which id of each stream.
    pub(super) ids: Vec<Bytes>,
    /// How many entries of each; 0 is no limit.
    pub(super) count: i64,
}

struct Read {
    reading: Reading,
    /// The stream that is checked or read.
    at: usize,
    checks: bool,
    has_waited: bool,
    found: Vec<(usize, Reply)>,
}

/// The task of XREAD or XREADGROUP.
pub(super) fn task(reading: Reading) -> Task {
    Task::several(Read { reading, at: 0, checks: false, has_waited: false, found: Vec::new() })
}

fn flag(yes: bool) -> Bytes {
    Bytes::from_static(if yes { b"1" } else { b"0" })
}

impl Read {
    fn operation(&self) -> Step {
        let Reading { wanted, consumer, ids, count, .. } = &self.reading;
        let (key, id) = (wanted.keys[self.at].clone(), ids[self.at].clone());
        let count = || Bytes::from(count.to_string());
        let command = match consumer {
            _ if self.checks => {
                let group = consumer.iter().map(|consumer| consumer.group.clone());
                Command::new(Verb::XStart, [key.0.clone(), id].into_iter().chain(group).collect())
            }
            None => Command::new(Verb::XRead, vec![id, count()]),
            Some(Consumer { group, name, no_ack }) => {
                let flags = [flag(*no_ack), flag(self.has_waited)];
                let args = [key.0.clone(), group.clone(), name.clone(), id, count()];
                Command::new(Verb::XReadGroup, args.into_iter().chain(flags).collect())
            }
        };
        Step::Op(typed::call(key, command))
    }

    /// A stream was read or checked: the next one, or the reply.
    fn next(&mut self, out: &mut Encoder<'_>) -> Step {
        self.at += 1;
        // One that has waited reads the first stream that has something.
        let is_enough = self.has_waited && !self.found.is_empty();
        if self.at < self.reading.wanted.keys.len() && !is_enough {
            return self.operation();
        }
        if std::mem::take(&mut self.checks) {
            self.at = 0;
            return self.operation();
        }
        if !self.found.is_empty() {
            self.reply(out);
            return Step::Done;
        }
        if !self.reading.waits {
            out.null_array();
            return Step::Done;
        }
        self.has_waited = true;
        if self.reading.count == 0 {
            self.reading.count = COUNT_OF_WAITERS;
        }
        Step::Block
    }

    fn reply(&self, out: &mut Encoder<'_>) {
        let pairs = out.version() != Version::Resp2;
        if pairs {
            out.map(self.found.len());
        } else {
            out.array(self.found.len());
        }
        for (at, entries) in &self.found {
            if !pairs {
                out.array(2);
            }
            out.bulk(&*self.reading.wanted.keys[*at]);
            typed::write(entries, out);
        }
    }
}

impl Steps for Read {
    fn begin(&mut self, _: &Keyspace<'_>, _: &mut Encoder<'_>) -> Result<Step, ErrorReply> {
        self.at = 0;
        let resolves = self.reading.ids.iter().any(|id| &id[..] == b"$");
        self.checks = !self.has_waited && (resolves || self.reading.ids.len() > 1);
        Ok(self.operation())
    }

    fn step(
        &mut self,
        outcome: Outcome,
        _: &Keyspace<'_>,
        out: &mut Encoder<'_>,
    ) -> Result<Step, ErrorReply> {
        match typed::answered(outcome) {
            Answered::Reply(Reply::Bulk(id)) if self.checks => self.reading.ids[self.at] = id,
            Answered::Reply(Reply::NullArray) => {}
            Answered::Reply(entries @ Reply::Array(_)) => self.found.push((self.at, entries)),
            // A key that has another type for a while is waited for.
            Answered::WrongType if self.has_waited => {}
            Answered::WrongType => return Err(ErrorReply::WRONG_TYPE),
            Answered::Error(error) => return Err(error),
            Answered::Reply(_) => return Err(ErrorReply::UNEXPECTED),
        }
        Ok(self.next(out))
    }

    fn wanted(&self) -> Option<&Wanted> {
        Some(&self.reading.wanted)
    }

    fn give_up(&self, out: &mut Encoder<'_>) {
        out.null_array();
    }
}
