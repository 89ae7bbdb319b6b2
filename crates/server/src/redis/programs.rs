//! Programs: operations whose commands are computed, or listed, and carried out where their keys live.

use super::ErrorReply;
use super::events::{Happened, events, happened};
use super::keyspace::Keyspace;
use super::scripts::{self, News, Scripts};
use super::task::{Step, Task};
use super::transaction;
use bytes::Bytes;
use std::sync::LazyLock;
use tidemark_contract::Topology;
use tidemark_contract::programs::{Carry, Interpreted, Program};
use tidemark_core::{Micros, Op, Outcome, Verb};
use tidemark_wire::resp::Encoder;

/// All keys of a program are in one partition. Commands that go through all keys need more; the others do not ask.
static ONE: LazyLock<Topology> = LazyLock::new(|| Topology::new(1, 1));

/// The interpreter of programs: see [`tidemark_contract::programs`].
pub fn interpret(program: Program<'_>, carry: Carry<'_>) -> Interpreted {
    match program.command.verb {
        Verb::Exec => transaction::interpret(program, carry),
        _ => scripts::interpret(program, carry),
    }
}

/// Carries out an operation of a program. If somebody wants to know of events, those that it has caused are noted.
pub(super) fn carry_out_and_tell(op: Op, tells: bool, carry: Carry<'_>, news: &mut Vec<News>) -> Outcome {
    let expected = if tells { events(&op) } else { Vec::new() };
    let outcome = carry(op);
    if matches!(outcome, Outcome::Written { stamp: Some(_), .. }) {
        news.extend(happened(expected, &outcome).map(|Happened { class, name, key }| News::Event {
            class,
            name: Bytes::from_static(name.as_bytes()),
            key: key.0,
        }));
    }
    outcome
}

/// Carries out a command of a program, and writes its reply. What it does to `scripts` the program has to tell in its answer.
pub(super) fn carry_out(
    task: Task,
    now: Micros,
    scripts: &Scripts,
    carry: Carry<'_>,
    out: &mut Encoder<'_>,
) -> Result<(), ErrorReply> {
    let keyspace = Keyspace { topology: &ONE, write_transactions: false, types: true, now, scripts };
    let (mut step, mut pending) = task.begin(&keyspace, out)?;
    loop {
        step = match step {
            Step::Op(op) => match carry(op) {
                Outcome::Failed(failure) => return Err(pending.failed(&failure)),
                outcome => pending.step(outcome, &keyspace, out)?,
            },
            // What would wait finds nothing.
            Step::Block => {
                pending.find_nothing(out);
                Step::Done
            }
            Step::Import(_) | Step::Local(_) => return Err(ErrorReply::UNEXPECTED),
            Step::Done => return Ok(()),
        }
    }
}
