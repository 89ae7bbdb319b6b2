//! A command of operations: which ones it asks of its session, one after the other, and the reply that their
//! outcomes make.
//!
//! ```text
//! let (mut step, mut pending) = task.begin(&keyspace, &mut out)?;
//! loop {
//!     match step {
//!         Step::Op(op) => the session carries it out, now or later; step = pending.step(outcome, …)?,
//!         Step::Import(token) => likewise,
//!         Step::Done => the reply is written
//!     }
//! }
//! ```
//!
//! Most commands are one operation: [`Task::once`]. Commands on many keys and scans are several: they implement
//! [`Steps`]. A [`Pending`] is all that a connection keeps of a command while its operation waits.
//!
//! **Invariants**
//! - I1: a reply is written when the last operation has ended, so that a command which fails half-way replies nothing
//!   but the failure.
//! - I2: GET and SET need no allocation and no call through a pointer; a command of one operation needs no allocation
//!   unless its reply captures something.

use super::blocking::Wanted;
use super::commands::string::{get, set};
use super::error::ErrorReply;
use super::failure::in_words;
use super::keyspace::Keyspace;
use super::scripts::Scripts;
use super::typed;
use bytes::Bytes;
use tidemark_core::{Failure, Key, Op, Outcome, Write};
use tidemark_wire::resp::Encoder;

mod together;

/// What a command does next.
pub enum Step {
    /// The session carries out an operation.
    Op(Op),
    /// The session takes over the past of a token, given as text.
    Import(Bytes),
    /// The command waits until it may find something ([`Pending::wanted`]); then [`Pending::again`], or else
    /// [`Pending::give_up`].
    Block,
    /// The connection answers a command by itself: [`Pending::answered`] takes the reply.
    Local(Box<super::command::Command>),
    /// Nothing: its reply is written.
    Done,
}

/// A command of several operations.
pub trait Steps {
    /// The first step.
    fn begin(&mut self, keyspace: &Keyspace<'_>, out: &mut Encoder<'_>) -> Result<Step, ErrorReply>;

    /// The step that follows `outcome`, which is no failure. REQUIRES: nothing is written before a step that returns
    /// an error or another operation.
    fn step(
        &mut self,
        outcome: Outcome,
        keyspace: &Keyspace<'_>,
        out: &mut Encoder<'_>,
    ) -> Result<Step, ErrorReply>;

    /// The step that follows an operation that has failed; none if the command fails with it. REQUIRES: as for [`Self::step`].
    fn after_failure(
        &mut self,
        _: &Failure,
        _keyspace: &Keyspace<'_>,
        _out: &mut Encoder<'_>,
    ) -> Result<Option<Step>, ErrorReply> {
        Ok(None)
    }

    /// For what it waits, if it is a command that waits.
    fn wanted(&self) -> Option<&Wanted> {
        None
    }

    /// Whether it is known to change nothing, though commands of its name may.
    fn only_reads(&self, _: &Scripts) -> bool {
        false
    }

    /// The step that follows the reply of the connection to a command of it.
    fn answered(&mut self, _reply: &[u8], _: &Keyspace<'_>, _: &mut Encoder<'_>) -> Result<Step, ErrorReply> {
        Err(ErrorReply::UNEXPECTED)
    }

    /// Writes the reply of a command that has waited too long.
    fn give_up(&self, _: &mut Encoder<'_>) {}

    /// Writes the reply of a command that would wait where nothing waits.
    fn find_nothing(&self, out: &mut Encoder<'_>) {
        self.give_up(out);
    }

    /// Writes the reply of a command that has waited for confirmations: whether what was written is synced here, and how
    /// many other regions have it.
    fn confirmed(&self, _synced: bool, _regions: usize, _: &mut Encoder<'_>) {}
}

/// A command that was understood, before its first operation.
pub struct Task(Start);

enum Start {
    Once(Op, Then),
    Several(Box<dyn Steps>),
}

/// What takes the outcomes.
enum Then {
    Get,
    Set,
    Typed,
    /// So many commands of a data type.
    Together(usize),
    Reply(Box<Reply>),
    Steps(Box<dyn Steps>),
}

impl Then {
    #[inline]
    fn times(&self) -> usize {
        if let Self::Together(times) = self { *times } else { 1 }
    }
}

/// Writes the reply to the outcome of a single operation, which is no failure.
type Reply = dyn Fn(Outcome, &mut Encoder<'_>) -> Result<(), ErrorReply>;

impl Task {
    /// A command of one operation; `reply` takes its outcome, which is no failure.
    pub fn once(
        op: Op,
        reply: impl Fn(Outcome, &mut Encoder<'_>) -> Result<(), ErrorReply> + 'static,
    ) -> Self {
        Self(Start::Once(op, Then::Reply(Box::new(reply))))
    }

    /// A command of several operations.
    pub fn several(steps: impl Steps + 'static) -> Self {
        Self(Start::Several(Box::new(steps)))
    }

    /// Whether it is known to change nothing, though commands of its name may.
    #[cold]
    pub fn only_reads(&self, scripts: &Scripts) -> bool {
        matches!(&self.0, Start::Several(steps) if steps.only_reads(scripts))
    }

    /// What it writes, if that is all that it does: it overwrites a key, whatever is there, and answers OK.
    pub(super) fn overwrites(&self) -> Option<(&Key, &Write)> {
        match &self.0 {
            Start::Once(Op::Put { key, update }, Then::Set) if !update.observes() => {
                Some((key, &update.write))
            }
            _ => None,
        }
    }

    /// GET.
    #[inline]
    pub(super) fn get(op: Op) -> Self {
        Self(Start::Once(op, Then::Get))
    }

    /// SET that does not return the previous value.
    #[inline]
    pub(super) fn set(op: Op) -> Self {
        Self(Start::Once(op, Then::Set))
    }

    /// A command of a data type.
    #[inline]
    pub(super) fn typed(op: Op) -> Self {
        Self(Start::Once(op, Then::Typed))
    }

    /// The first step, and what takes its outcome.
    #[inline]
    pub fn begin(
        self,
        keyspace: &Keyspace<'_>,
        out: &mut Encoder<'_>,
    ) -> Result<(Step, Pending), ErrorReply> {
        let (step, then) = match self.0 {
            Start::Once(op, then) => (Step::Op(op), then),
            Start::Several(mut steps) => (steps.begin(keyspace, out)?, Then::Steps(steps)),
        };
        Ok((step, Pending { then, changed: false }))
    }
}

/// A command whose operation is under way.
pub struct Pending {
    then: Then,
    /// Whether an earlier operation has changed something.
    changed: bool,
}

impl Pending {
    /// How many commands of the client it stands for.
    #[inline]
    pub fn times(&self) -> usize {
        self.then.times()
    }

    /// The errors of single commands, where it stands for several and not all of them failed.
    #[inline]
    pub fn errors(&self, outcome: &Outcome) -> Vec<ErrorReply> {
        if self.times() > 1 { typed::errors(outcome) } else { Vec::new() }
    }

    /// Takes the outcome of the operation. REQUIRES: it is no failure.
    #[inline]
    pub fn step(
        &mut self,
        outcome: Outcome,
        keyspace: &Keyspace<'_>,
        out: &mut Encoder<'_>,
    ) -> Result<Step, ErrorReply> {
        match &mut self.then {
            Then::Get => get::reply(outcome, out)?,
            Then::Set => set::reply(outcome, out)?,
            Then::Typed => typed::reply(outcome, out)?,
            Then::Together(times) => typed::replies(outcome, *times, out)?,
            Then::Reply(reply) => reply(outcome, out)?,
            Then::Steps(steps) => {
                self.changed |= matches!(outcome, Outcome::Written { stamp: Some(_), .. });
                return steps.step(outcome, keyspace, out);
            }
        }
        Ok(Step::Done)
    }

    /// Takes the failure of the operation: the next step, or none if the command fails.
    #[cold]
    pub fn after_failure(
        &mut self,
        failure: &Failure,
        keyspace: &Keyspace<'_>,
        out: &mut Encoder<'_>,
    ) -> Result<Option<Step>, ErrorReply> {
        match &mut self.then {
            Then::Steps(steps) => steps.after_failure(failure, keyspace, out),
            _ => Ok(None),
        }
    }

    /// Takes the reply of the connection to a command of it.
    pub fn answered(
        &mut self,
        reply: &[u8],
        keyspace: &Keyspace<'_>,
        out: &mut Encoder<'_>,
    ) -> Result<Step, ErrorReply> {
        match &mut self.then {
            Then::Steps(steps) => steps.answered(reply, keyspace, out),
            _ => Err(ErrorReply::UNEXPECTED),
        }
    }

    /// For what the command waits. REQUIRES: it has asked for that.
    pub fn wanted(&self) -> Option<&Wanted> {
        match &self.then {
            Then::Steps(steps) => steps.wanted(),
            _ => None,
        }
    }

    /// The command has waited, and tries again from its first step.
    pub fn again(&mut self, keyspace: &Keyspace<'_>, out: &mut Encoder<'_>) -> Result<Step, ErrorReply> {
        match &mut self.then {
            Then::Steps(steps) => steps.begin(keyspace, out),
            _ => Err(ErrorReply::UNEXPECTED),
        }
    }

    /// The command has waited in vain: writes its reply.
    pub fn give_up(&self, out: &mut Encoder<'_>) {
        if let Then::Steps(steps) = &self.then {
            steps.give_up(out);
        }
    }

    /// The command would wait, and stands where nothing waits: writes its reply.
    pub fn find_nothing(&self, out: &mut Encoder<'_>) {
        if let Then::Steps(steps) = &self.then {
            steps.find_nothing(out);
        }
    }

    /// The command has waited for confirmations: writes its reply.
    pub fn confirmed(&self, synced: bool, regions: usize, out: &mut Encoder<'_>) {
        if let Then::Steps(steps) = &self.then {
            steps.confirmed(synced, regions, out);
        }
    }

    /// The error reply to a failure of the operation. A command that has changed something cannot be said not to have
    /// happened.
    #[cold]
    pub fn failed(&self, failure: &Failure) -> ErrorReply {
        let why = in_words(failure);
        ErrorReply::new(if self.changed && failure.is_definite() {
            in_words(&Failure::Indefinite(format!("some of its keys were changed, then {why}")))
        } else {
            why
        })
    }
}

#[cfg(test)]
mod tests;
