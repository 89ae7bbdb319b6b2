//! Programs: updates whose commands are computed where their keys live. Protocols know nothing of them.
//!
//! A driver [`install`]s an interpreter. It is given a program and carries out operations on the keys that the program names, one
//! after the other, each on what the session sees and what the program has written. What it has written becomes one version.
//!
//! A program may be interpreted twice, if a deadline lies between the time at which it was evaluated first and the stamp of its
//! version. Only the last time counts. So an interpreter changes nothing but through its operations.

use bytes::Bytes;
use std::sync::OnceLock;
use tidemark_core::{Command, Key, Micros, Op, Outcome, Reply, Rule, Verb};

/// So that tests can switch them off, and see that the simulator notices.
pub mod rule {
    use super::Rule;

    tidemark_core::rules! {
        from Rule::TYPES + 56;
        PROGRAMS_ARE_WHOLE, // what a program has written happens to all of its keys
        VOID_WRITES_NOTHING, // nothing happens of a program that is void
    }
}

/// A program that is to be interpreted.
#[derive(Clone, Copy, Debug)]
pub struct Program<'a> {
    /// Which interpreter, its text and its arguments; the keys are not read from it.
    pub command: &'a Command,
    /// The keys that it may name, in the client's order; one may come twice.
    pub keys: &'a [&'a Key],
    /// Physical time, by which the deadlines of its commands are judged.
    pub now: Micros,
}

/// Carries out a program's operations: GET, PUT, PUT-ALL and ROTX on its keys. Others fail, and so do those on other keys.
pub type Carry<'a> = &'a mut dyn FnMut(Op) -> Outcome;

/// Interprets a program, and says what it answers. An error is answered like any reply; what was written before it stays, unless
/// [`Interpreted::void`] says that nothing was.
pub type Interpreter = fn(Program<'_>, Carry<'_>) -> Interpreted;

/// What a program has come to.
#[derive(Clone, Debug, PartialEq)]
pub struct Interpreted {
    /// Its answer.
    pub reply: Reply,
    /// Nothing of what it has written happens.
    pub void: bool,
}

/// What the first keys of a transaction have to be like, for it to happen: what [`Verb::Watch`] has answered of each. An EXEC begins
/// with how many there are.
pub(crate) fn watched(command: &Command) -> &[Bytes] {
    let count = || std::str::from_utf8(command.args.first()?).ok()?.parse().ok();
    match command.verb {
        Verb::Exec => count().and_then(|count: usize| command.args.get(1..=count)).unwrap_or_default(),
        _ => &[],
    }
}

static INTERPRETER: OnceLock<Interpreter> = OnceLock::new();

/// Programs are interpreted by this from now on. Of several calls in a process the first one counts.
pub fn install(interpreter: Interpreter) {
    let _ = INTERPRETER.set(interpreter);
}

/// Interprets a program.
pub(crate) fn interpret(program: Program<'_>, carry: Carry<'_>) -> Interpreted {
    match INTERPRETER.get() {
        Some(interpreter) => interpreter(program, carry),
        None => Interpreted { reply: Reply::error("ERR this node interprets no programs"), void: true },
    }
}
