//! Frames as JSON: numbers of 64 bits as decimal strings, bytes in hexadecimal, maps as lists of pairs.

use bytes::Bytes;
use serde_json::{Value as Json, json};
use std::collections::{BTreeMap, BTreeSet};
use tidemark_edge::frames::*;

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

pub(crate) fn unhex(text: &str) -> Vec<u8> {
    (0..text.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&text[at..at + 2], 16).expect("it is hex"))
        .collect()
}

pub(crate) fn number(number: u64) -> Json {
    json!(number.to_string())
}

pub(crate) fn base(base: &Base) -> Json {
    base.0.iter().map(|entry| number(entry.0)).collect()
}

fn list(list: &BTreeSet<Bytes>) -> Json {
    list.iter().map(|one| json!(hex(one))).collect()
}

fn fields(fields: &BTreeMap<Bytes, Written>) -> Json {
    let field = |(field, written): (&Bytes, &Written)| json!({"field": hex(field), "ts": number(written.at_us), "value": hex(&written.bytes)});
    fields.iter().map(field).collect()
}

pub(crate) fn value(value: &Value) -> Json {
    match value {
        Value::Absent => json!({"kind": "absent"}),
        Value::String(written) => {
            json!({"kind": "string", "ts": number(written.at_us), "value": hex(&written.bytes)})
        }
        Value::List(elements) => json!({"kind": "list", "fields": fields(elements)}),
        Value::Map(map) => json!({"kind": "map", "fields": fields(map)}),
        Value::Set(members) => json!({"kind": "set", "members": list(members)}),
        Value::Other(name) => json!({"kind": "other", "type": hex(name)}),
    }
}

fn update(update: &Update) -> Json {
    let reference = number(update.reference);
    match &update.change {
        Change::Whole(whole) => json!({"ref": reference, "kind": "whole", "value": value(whole)}),
        Change::Fields(set, removed) => {
            json!({"ref": reference, "kind": "mapChange", "fields": fields(set), "removed": list(removed)})
        }
        Change::Set(added, removed) => {
            json!({"ref": reference, "kind": "setChange", "added": list(added), "removed": list(removed)})
        }
    }
}

pub(crate) fn operation(operation: &Operation) -> Json {
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

pub(crate) fn body(body: &Body) -> Json {
    let operations: Json = body.operations.iter().map(operation).collect();
    json!({"k": number(body.k), "h": number(body.h_us), "dep": base(&body.dep), "ops": operations})
}

/// The name of a frame, and its fields.
pub(crate) fn to_gateway(frame: &ToGateway) -> (&'static str, Json) {
    match frame {
        ToGateway::Hello(hello) => {
            let fields = json!({
                "secret": hex(&hello.secret.0), "K": number(hello.regions), "base": base(&hello.base),
                "g": number(hello.in_base), "first": number(hello.first), "check": hex(&hello.check),
                "token": hex(&hello.token),
            });
            ("Hello", fields)
        }
        ToGateway::Transfer { body: one, sent_before } => {
            let mut fields = body(one);
            fields["sentBefore"] = json!(sent_before);
            ("Transfer", fields)
        }
        ToGateway::Watch { reference, key, have } => {
            ("Watch", json!({"ref": number(*reference), "key": hex(key), "have": hex(have)}))
        }
        ToGateway::Unwatch { reference } => ("Unwatch", json!({"ref": number(*reference)})),
        ToGateway::SetK { regions } => ("SetK", json!({"K": number(*regions)})),
        ToGateway::Sync => ("Sync", json!({})),
    }
}

/// The name of a frame, and its fields.
pub(crate) fn to_client(frame: &ToClient) -> (&'static str, Json) {
    match frame {
        ToClient::Welcome(welcome) => {
            let fields = json!({
                "region": welcome.region, "regions": welcome.regions, "time": number(welcome.time_us),
                "head": number(welcome.head), "check": hex(&welcome.check), "period": number(welcome.period_ms),
                "retain": number(welcome.retain_ms), "covered": welcome.covered, "name": hex(&welcome.name),
            });
            ("Welcome", fields)
        }
        ToClient::Ack { k } => ("Ack", json!({"k": number(*k)})),
        ToClient::Missing { k } => ("Missing", json!({"k": number(*k)})),
        ToClient::Later { wait_ms } => ("Later", json!({"ms": number(*wait_ms)})),
        ToClient::Behind { wait_ms } => ("Behind", json!({"ms": number(*wait_ms)})),
        ToClient::Forked { k } => ("Forked", json!({"k": number(*k)})),
        ToClient::Retime { k } => ("Retime", json!({"k": number(*k)})),
        ToClient::Shared { regions } => ("Shared", json!({"K": number(*regions)})),
        ToClient::Refused { k, operation, code, text } => {
            let fields = json!({
                "k": number(*k), "op": number(*operation), "code": hex(code), "text": hex(text),
            });
            ("Refused", fields)
        }
        ToClient::Value { reference, value: one } => {
            ("Value", json!({"ref": number(*reference), "value": value(one)}))
        }
        ToClient::Tick(tick) => {
            let updates: Json = tick.updates.iter().map(update).collect();
            let fields = json!({
                "to": base(&tick.to), "K": number(tick.regions), "g": number(tick.in_base), "check": hex(&tick.check),
                "have": number(tick.have), "updates": updates,
            });
            ("Tick", fields)
        }
        ToClient::Error { code, text } => ("Error", json!({"code": hex(code), "text": hex(text)})),
    }
}
