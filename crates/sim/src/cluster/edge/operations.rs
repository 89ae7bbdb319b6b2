//! What schedules have edge clients do, as their applications do it.

use crate::typed::{Family, field};
use bytes::Bytes;
use tidemark_core::history::Read;
use tidemark_core::{Command, Found, Key, Op, Update, Verb};
use tidemark_edge::client::Transaction;
use tidemark_edge::frames::{Operation, OperationKind, Value};

/// What an operation writes that nobody else writes.
pub(super) fn value_of(operation: &Operation) -> Option<Bytes> {
    match &operation.kind {
        OperationKind::Set(value)
        | OperationKind::MapSet(_, value)
        | OperationKind::ListSet(_, value)
        | OperationKind::SetAdd(value) => Some(value.clone()),
        _ => None,
    }
}

/// Does what a schedule says in a transaction. What was done, as regions do it: elements of lists have their positions. Nothing if there is
/// no such element.
pub(super) fn does(transaction: &mut Transaction, op: &Op) -> Option<Op> {
    let Op::Put { key, update: Update { command: Some(command), .. } } = op else {
        panic!("edge clients do commands: {op:?}")
    };
    if !matches!(command.verb, Verb::RPush | Verb::LPush | Verb::LInsert | Verb::LSet | Verb::LRem) {
        transaction.push(key.0.clone(), kind(command));
        return Some(op.clone());
    }
    edit(transaction, key, command)?;
    let (verb, args) = match &transaction.operations().last()?.kind {
        OperationKind::ListSet(position, value) => (Verb::PutAt, vec![position.clone(), value.clone()]),
        OperationKind::ListRemove(position) => (Verb::TakeAt, vec![position.clone()]),
        _ => return None,
    };
    Some(Op::Put { key: key.clone(), update: Update::call(Command::new(verb, args)) })
}

/// Edits a list. Nothing if there is no such element.
fn edit(transaction: &mut Transaction, Key(key): &Key, command: &Command) -> Option<()> {
    let arg = |at: usize| command.args[at].clone();
    let len = match transaction.read(key) {
        Some(Value::List(elements)) => elements.len(),
        Some(Value::Absent) => 0,
        _ if matches!(command.verb, Verb::LSet | Verb::LRem) => return None,
        // It was not read, or is something else: then regions refuse what is pushed.
        _ => {
            transaction.push_back(key.clone(), command.args.last()?.clone());
            return Some(());
        }
    };
    let index = |of: usize| {
        let index: usize = std::str::from_utf8(&command.args[0]).ok()?.parse().ok()?;
        index.checked_rem(of)
    };
    match command.verb {
        Verb::RPush => transaction.push_back(key.clone(), arg(0)),
        Verb::LPush => transaction.insert(key.clone(), 0, arg(0)).ok()?,
        Verb::LInsert => transaction.insert(key.clone(), index(len + 1)?, arg(1)).ok()?,
        Verb::LSet => transaction.set_at(key.clone(), index(len)?, arg(1)).ok()?,
        Verb::LRem => transaction.remove_at(key.clone(), index(len)?).ok()?,
        other => panic!("{other:?} edits no list"),
    }
    Some(())
}

/// An operation of a schedule, as edge clients say it.
fn kind(command: &Command) -> OperationKind {
    let arg = |at: usize| command.args[at].clone();
    let number = |at: usize| std::str::from_utf8(&command.args[at]).ok().and_then(|text| text.parse().ok());
    let by = |at: usize| number(at).expect("it is a number");
    match command.verb {
        Verb::Set => OperationKind::Set(arg(0)),
        Verb::Del => OperationKind::Delete,
        Verb::IncrBy => OperationKind::Add(by(0)),
        Verb::HSet => OperationKind::MapSet(arg(0), arg(1)),
        Verb::HDel => OperationKind::MapDelete(arg(0)),
        Verb::SAdd => OperationKind::SetAdd(arg(0)),
        Verb::SRem => OperationKind::SetRemove(arg(0)),
        Verb::HIncrBy => OperationKind::MapAdd(arg(0), by(1)),
        other => panic!("edge clients have no {other:?}"),
    }
}

/// The fields of hashes in schedules.
const FIELDS: [&str; 3] = ["e0", "e1", "e2"];

/// The register that an operation of an edge client assigns, if it does.
pub(super) fn register(op: &Op) -> Option<Key> {
    let Op::Put { key, update: Update { command: Some(command), .. } } = op else { return None };
    match (Family::find(key)?, command.verb) {
        (Family::Register, Verb::Set) => Some(key.clone()),
        (Family::Hash, Verb::HSet) => Some(field(key, &command.args[0])),
        _ => None,
    }
}

/// What a client's value of a key says of registers; none if it is of another type.
pub(super) fn registers(key: &Key, value: &Value) -> Option<Vec<Read>> {
    let found = |bytes: Option<&Bytes>| Found::new(None, bytes.map(|bytes| bytes[..].into()));
    let fields = |of: &dyn Fn(&str) -> Found| {
        FIELDS.iter().map(|name| Read::new(field(key, name.as_bytes()), of(name))).collect()
    };
    match (Family::find(key)?, value) {
        (Family::Register, Value::Absent) => Some(vec![Read::new(key.clone(), found(None))]),
        (Family::Register, Value::String(written)) => {
            Some(vec![Read::new(key.clone(), found(Some(&written.bytes)))])
        }
        (Family::Hash, Value::Absent) => Some(fields(&|_| found(None))),
        (Family::Hash, Value::Map(map)) => {
            Some(fields(&|name| found(map.get(name.as_bytes()).map(|written| &written.bytes))))
        }
        _ => None,
    }
}
