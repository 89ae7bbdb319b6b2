//! Programs in schedules: several commands on keys of one partition, which become one version, or none.
//!
//! What a real EXEC or script says in words its arguments say here as operations: the simulator has an interpreter of its own, and
//! what it calls is what they call.

use super::{Family, call, field, reply, value};
use bytes::Bytes;
use tidemark_contract::programs::{Carry, Interpreted, Program};
use tidemark_core::history::{Event, SessionId};
use tidemark_core::{Command, DcId, Found, Key, Micros, Op, Outcome, Reply, Update, Value, Verb, Write};

/// How many keys are watched: an EXEC begins with that.
const NOTHING_WATCHED: &[u8] = b"0";
/// Ends a program of which nothing happens, as a script that runs into its limit.
const VOID: &[u8] = b"void";

/// A program of these operations on keys of one partition; nothing of it happens if it is `void`.
pub(crate) fn program(verb: Verb, ops: &[Op], void: bool) -> Op {
    let mut keys: Vec<Key> = Vec::new();
    for op in ops {
        if let Op::Put { key, .. } | Op::Get { key } = op
            && !keys.contains(key)
        {
            keys.push(key.clone());
        }
    }
    let encoded = ops.iter().map(|op| serde_json::to_vec(op).expect("operations are plain data").into());
    let args = [Bytes::from_static(NOTHING_WATCHED)].into_iter().chain(encoded);
    let args = args.chain(void.then_some(Bytes::from_static(VOID))).collect();
    let first = keys.remove(0);
    Op::Put { key: first, update: Update::call(Command { keys, ..Command::new(verb, args) }) }
}

/// The operations of a program, and whether nothing of it happens; none of what is no program.
pub(crate) fn read(op: &Op) -> Option<(Vec<Op>, bool)> {
    let Op::Put { update: Update { command: Some(command), .. }, .. } = op else { return None };
    command.verb.is_program().then(|| of(command))
}

/// As [`read`].
pub(crate) fn of(command: &Command) -> (Vec<Op>, bool) {
    let words = command.args.get(1..).unwrap_or_default();
    let ops = words.iter().filter_map(|word| serde_json::from_slice(word).ok()).collect();
    (ops, words.last().is_some_and(|word| word == VOID))
}

/// Carries a program out: it answers what its operations have answered.
pub(crate) fn interpret(program: Program<'_>, carry: Carry<'_>) -> Interpreted {
    let (ops, void) = of(program.command);
    let said = |outcome: Outcome| match outcome {
        Outcome::Found(Found { reply: None, value, .. }) => {
            value.map_or(Reply::Null, |value| Reply::bulk(&value))
        }
        other => reply(&other).cloned().unwrap_or(Reply::Ok),
    };
    Interpreted { reply: Reply::Array(ops.into_iter().map(|op| said(carry(op))).collect()), void }
}

/// What each operation of a program has come to, with the stamp of them all.
pub(super) fn outcomes(count: usize, outcome: &Outcome) -> Vec<Outcome> {
    let Outcome::Written { stamp, .. } = outcome else { return vec![outcome.clone(); count] };
    let replies = match reply(outcome) {
        Some(Reply::Array(replies)) => &replies[..],
        _ => &[],
    };
    let one = |at: usize| {
        let previous = replies.get(at).map(|reply| {
            let reply = Some(Box::new(reply.clone()));
            Found { reply, ..Found::default() }
        });
        Outcome::Written { stamp: *stamp, previous }
    };
    (0..count).map(one).collect()
}

/// A program as what it does to registers: a write transaction, numbered, or a read of a snapshot.
pub(crate) fn events(
    (session, dc): (SessionId, DcId),
    times: (Micros, Micros),
    number: u64,
    op: &Op,
    outcome: &Outcome,
) -> Option<Vec<Event>> {
    let (ops, _) = read(op)?;
    let assigned = |op: &Op| match op {
        Op::Put { key, update: Update { command: Some(command), .. } } => {
            let (register, value) = match (Family::find(key)?, command.verb, &command.args[..]) {
                (Family::Hash, Verb::HSet, [name, value]) => (field(key, name), value),
                (Family::Register, Verb::Set, [value]) => (key.clone(), value),
                _ => return None,
            };
            Some((register, Write::Assign(Value::from(&value[..]))))
        }
        _ => None,
    };
    let asked = |op: &Op| match op {
        Op::Get { key } => Some(key.clone()),
        Op::Put { key, update: Update { command: Some(command), .. } } if command.verb == Verb::HGet => {
            Some(field(key, command.args.first()?))
        }
        _ => None,
    };
    let writes: Vec<(Key, Write)> = ops.iter().filter_map(assigned).collect();
    if !writes.is_empty() {
        let told = match outcome {
            Outcome::Written { stamp, .. } => Outcome::Written { stamp: *stamp, previous: None },
            other => other.clone(),
        };
        return Some(Event::transaction(session, dc, times, number, &writes, &told));
    }
    let keys: Vec<Key> = ops.iter().filter_map(asked).collect();
    let told = match reply(outcome) {
        Some(Reply::Array(all)) if all.len() == keys.len() => {
            Outcome::FoundAll(all.iter().filter_map(value).collect())
        }
        _ => outcome.clone(),
    };
    let is_read = keys.len() == ops.len();
    Some(if is_read {
        Event::of(session, dc, times, &Op::Rotx { keys }, &told).into_iter().collect()
    } else {
        Vec::new()
    })
}

/// A field that [`program`] reads.
pub(crate) fn field_of(hash: &Key, name: &str) -> Op {
    call(Verb::HGet, hash.clone(), &[name])
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidemark_core::history::Action;
    use tidemark_core::{Hlc, Stamp};

    #[test]
    fn a_program_is_read_as_it_was_written_and_recorded_as_a_transaction() {
        let (hash, register) = (Family::Hash.of(&"k".into()), Family::Register.of(&"k".into()));
        let ops = [
            call(Verb::HSet, hash.clone(), &["e0", "v"]),
            call(Verb::Set, register.clone(), &["v"]),
            call(Verb::IncrBy, Family::Counter.of(&"k".into()), &["2"]),
        ];
        for void in [false, true] {
            let op = program(Verb::Exec, &ops, void);
            assert_eq!(read(&op), Some((ops.to_vec(), void)));
        }
        let stamp = Some(Stamp::new(Hlc(1), DcId(0)));
        let outcome = Outcome::Written { stamp, previous: None };
        let events = events((SessionId(1), DcId(0)), (1, 2), 7, &program(Verb::Exec, &ops, false), &outcome);
        let events = events.expect("it is a program");
        let keys: Vec<&Key> = events
            .iter()
            .filter_map(|event| match &event.action {
                Action::Write { key, version, .. } if *version == stamp => Some(key),
                _ => None,
            })
            .collect();
        assert_eq!(keys, [&field(&hash, b"e0"), &register]);
        assert!(events.iter().all(|event| event.txn == Some(7)));
    }
}
