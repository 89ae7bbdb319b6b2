//! Frames as JSON.

use serde_json::{Value as Json, json};
use tidemark_edge::frames::*;
pub(crate) use tidemark_edge::transcript::{base, body, elements, hex, names, number, value};

fn update(update: &Update) -> Json {
    let reference = number(update.reference);
    match &update.change {
        Change::Whole(whole) => json!({"ref": reference, "kind": "whole", "value": value(whole)}),
        Change::Fields(set, removed) => {
            json!({"ref": reference, "kind": "mapChange", "fields": elements(set), "removed": names(removed)})
        }
        Change::Set(added, removed) => {
            json!({"ref": reference, "kind": "setChange", "added": names(added), "removed": names(removed)})
        }
    }
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
