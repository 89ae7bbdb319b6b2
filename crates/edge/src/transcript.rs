//! Transcripts: what a client is told and what it does, as lines of JSON. A client in another language reads them, handles the events,
//! and compares. `tests/fixtures/transcripts/README.md` describes the lines.
//!
//! Numbers of 64 bits are decimal strings, bytes are hexadecimal, maps are lists of pairs.

use crate::client::{Config, Effect, Event, Report, Timing};
use crate::durable::{Durable, Row};
use crate::frames::{Base, Body, Operation, OperationKind, Value, Written};
use bytes::Bytes;
use serde_json::{Value as Json, json};
use std::collections::{BTreeMap, BTreeSet};

/// Bytes.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A number of 64 bits.
pub fn number(number: u64) -> Json {
    json!(number.to_string())
}

/// The entries of a base.
pub fn base(base: &Base) -> Json {
    base.0.iter().map(|entry| number(entry.0)).collect()
}

/// Members of a set, or names of elements.
pub fn names(names: &BTreeSet<Bytes>) -> Json {
    names.iter().map(|one| json!(hex(one))).collect()
}

/// The fields of a map, or the elements of a list.
pub fn elements(elements: &BTreeMap<Bytes, Written>) -> Json {
    let element = |(name, written): (&Bytes, &Written)| json!({"field": hex(name), "ts": number(written.at_us), "value": hex(&written.bytes)});
    elements.iter().map(element).collect()
}

/// The value of a key.
pub fn value(value: &Value) -> Json {
    match value {
        Value::Absent => json!({"kind": "absent"}),
        Value::String(written) => {
            json!({"kind": "string", "ts": number(written.at_us), "value": hex(&written.bytes)})
        }
        Value::List(list) => json!({"kind": "list", "fields": elements(list)}),
        Value::Map(map) => json!({"kind": "map", "fields": elements(map)}),
        Value::Set(members) => json!({"kind": "set", "members": names(members)}),
        Value::Other(name) => json!({"kind": "other", "type": hex(name)}),
    }
}

/// An operation of a transaction.
pub fn operation(operation: &Operation) -> Json {
    let key = hex(&operation.key);
    match &operation.kind {
        OperationKind::Set(value) => json!({"op": "Set", "key": key, "value": hex(value)}),
        OperationKind::Delete => json!({"op": "Delete", "key": key}),
        OperationKind::Add(amount) => json!({"op": "Add", "key": key, "amount": amount.to_string()}),
        OperationKind::MapSet(field, value) => {
            json!({"op": "MapSet", "key": key, "field": hex(field), "value": hex(value)})
        }
        OperationKind::MapDelete(field) => json!({"op": "MapDelete", "key": key, "field": hex(field)}),
        OperationKind::SetAdd(member) => json!({"op": "SetAdd", "key": key, "member": hex(member)}),
        OperationKind::SetRemove(member) => json!({"op": "SetRemove", "key": key, "member": hex(member)}),
        OperationKind::ListSet(position, value) => {
            json!({"op": "ListSet", "key": key, "position": hex(position), "value": hex(value)})
        }
        OperationKind::ListRemove(position) => {
            json!({"op": "ListRemove", "key": key, "position": hex(position)})
        }
        OperationKind::MapAdd(field, amount) => {
            json!({"op": "MapAdd", "key": key, "field": hex(field), "amount": amount.to_string()})
        }
    }
}

/// A transaction.
pub fn body(body: &Body) -> Json {
    let operations: Json = body.operations.iter().map(operation).collect();
    json!({"k": number(body.k), "h": number(body.h_us), "dep": base(&body.dep), "ops": operations})
}

/// A process begins with what its disk has.
pub fn start(disk: &Durable, config: &Config) -> Json {
    let mut rows = vec![Row::Secret(disk.secret.clone()), Row::Base(disk.base.clone())];
    rows.push(Row::Regions(disk.regions));
    rows.extend(disk.log.values().cloned().map(Row::Entry));
    let mut start = json!({
        "disk": rows.iter().map(row).collect::<Json>(), "endpoints": config.endpoints, "seed": number(config.seed),
        "token": hex(&config.token),
    });
    if config.lowers {
        start["lowers"] = json!(true);
    }
    if config.timing != Timing::DEFAULT {
        start["timing"] = timing(&config.timing);
    }
    json!({"start": start})
}

fn timing(timing: &Timing) -> Json {
    let Timing { backoff_min_ms, backoff_max_ms, welcome_within_ms, retry_ms, look_ms } = timing;
    json!({
        "backoffMinMs": backoff_min_ms, "backoffMaxMs": backoff_max_ms, "welcomeWithinMs": welcome_within_ms,
        "retryMs": retry_ms, "lookMs": look_ms,
    })
}

/// A row of the disk, with its bytes.
pub fn row(row: &Row) -> Json {
    let mut line = match row {
        Row::Secret(secret) => json!({"row": "Secret", "secret": hex(&secret.0)}),
        Row::Base(one) => json!({
            "row": "Base", "base": base(&one.base), "g": number(one.in_base), "chainK": number(one.chain_k),
            "chain": hex(&one.chain.0),
        }),
        Row::Entry(one) => {
            let mut line = body(one);
            line["row"] = json!("Entry");
            line
        }
        Row::Drop(k) => json!({"row": "Drop", "k": number(*k)}),
        Row::Regions(regions) => json!({"row": "Regions", "K": number(*regions)}),
        // Clients in other languages need not keep values, and transcripts have none.
        Row::Value(key, _) => json!({"row": "Value", "key": hex(key)}),
        Row::Forget(key) => json!({"row": "Forget", "key": hex(key)}),
        Row::ForgetAll => json!({"row": "ForgetAll"}),
    };
    line["hex"] = json!(hex(&row.encode()));
    line
}

/// What happens to a client.
pub fn event(event: &Event) -> Json {
    let of = |name: &str, connection: &u64| json!({"type": name, "connection": number(*connection)});
    match event {
        Event::Start => json!({"type": "Start"}),
        Event::Stop => json!({"type": "Stop"}),
        Event::Connected { connection } => of("Connected", connection),
        Event::Disconnected { connection } => of("Disconnected", connection),
        Event::Frame { connection, bytes } => {
            json!({"type": "Frame", "connection": number(*connection), "hex": hex(bytes)})
        }
        Event::Persisted { id } => json!({"type": "Persisted", "id": number(*id)}),
        Event::PersistFailed { id } => json!({"type": "PersistFailed", "id": number(*id)}),
        Event::Secret(secret) => json!({"type": "Secret", "secret": hex(&secret.0)}),
        Event::Timer => json!({"type": "Timer"}),
        Event::Watch { key } => json!({"type": "Watch", "key": hex(key)}),
        Event::Unwatch { key } => json!({"type": "Unwatch", "key": hex(key)}),
        Event::SetRegions { regions } => json!({"type": "SetK", "K": number(*regions)}),
        Event::Commit { id, transaction } => {
            let operations: Json = transaction.operations().iter().map(operation).collect();
            json!({"type": "Commit", "id": number(*id), "ops": operations})
        }
    }
}

/// What a client wants, or says.
pub fn effect(effect: &Effect) -> Json {
    match effect {
        Effect::Persist { id, rows } => {
            json!({"type": "Persist", "id": number(*id), "rows": rows.iter().map(row).collect::<Json>()})
        }
        Effect::Connect { endpoint, connection } => {
            json!({"type": "Connect", "endpoint": endpoint, "connection": number(*connection)})
        }
        Effect::Send { connection, bytes } => {
            json!({"type": "Send", "connection": number(*connection), "hex": hex(bytes)})
        }
        Effect::Close { connection } => json!({"type": "Close", "connection": number(*connection)}),
        Effect::WakeAt { at_us } => json!({"type": "WakeAt", "at": number(*at_us)}),
        Effect::DrawSecret => json!({"type": "DrawSecret"}),
        Effect::Committed { id, k } => json!({"type": "Committed", "id": number(*id), "k": number(*k)}),
        Effect::CommitFailed { id, .. } => json!({"type": "CommitFailed", "id": number(*id)}),
        Effect::Changed { keys } => {
            json!({"type": "Changed", "keys": keys.iter().map(|key| hex(key)).collect::<Vec<_>>()})
        }
        Effect::Status(status) => json!({"type": "Status", "status": format!("{status:?}").to_lowercase()}),
        Effect::Report(report) => self::report(report),
    }
}

fn report(report: &Report) -> Json {
    match report {
        Report::Refused { k, operation, code, text } => json!({
            "type": "Refused", "k": number(*k), "op": number(*operation), "code": hex(code), "text": hex(text),
        }),
        Report::Forked { dropped } => {
            json!({"type": "Forked", "dropped": dropped.iter().map(|k| number(*k)).collect::<Vec<_>>()})
        }
        Report::Lost { k } => json!({"type": "Lost", "k": number(*k)}),
        Report::Error { code, .. } => json!({"type": "Error", "code": hex(code)}),
    }
}

/// What a client shows of a key; `null` if it does not have it.
pub fn read(key: &[u8], found: Option<&Value>) -> Json {
    json!({"read": hex(key), "value": found.map(value)})
}
