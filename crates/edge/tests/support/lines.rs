//! Rows, events and effects as lines of a transcript.

use super::json;
use serde_json::{Value as Json, json};
use tidemark_edge::client::*;
use tidemark_edge::durable::{Durable, Row};

/// The rows that lead to a durable state.
pub(crate) fn rows_of(disk: &Durable) -> Vec<Row> {
    let mut rows = vec![Row::Secret(disk.secret.clone()), Row::Base(disk.base.clone())];
    rows.push(Row::Regions(disk.regions));
    rows.extend(disk.log.values().map(|logged| Row::Entry(logged.clone())));
    rows
}

pub(crate) fn row(row: &Row) -> Json {
    let mut line = match row {
        Row::Secret(secret) => json!({"row": "Secret", "secret": json::hex(&secret.0)}),
        Row::Base(one) => json!({
            "row": "Base", "base": json::base(&one.base), "g": json::number(one.in_base),
            "chainK": json::number(one.chain_k), "chain": json::hex(&one.chain.0),
        }),
        Row::Entry(logged) => {
            let mut line = json::body(&logged.body);
            line["row"] = json!("Entry");
            line["sent"] = json!(logged.sent);
            line
        }
        Row::Drop(k) => json!({"row": "Drop", "k": json::number(*k)}),
        Row::Regions(regions) => json!({"row": "Regions", "K": json::number(*regions)}),
        // Clients in other languages need not keep values, and transcripts have none.
        Row::Value(key, _) => json!({"row": "Value", "key": json::hex(key)}),
        Row::Forget(key) => json!({"row": "Forget", "key": json::hex(key)}),
        Row::ForgetAll => json!({"row": "ForgetAll"}),
    };
    line["hex"] = json!(json::hex(&row.encode()));
    line
}

pub(crate) fn event_line(event: &Event) -> Json {
    let of = |name: &str, connection: &u64| json!({"type": name, "connection": json::number(*connection)});
    match event {
        Event::Start => json!({"type": "Start"}),
        Event::Stop => json!({"type": "Stop"}),
        Event::Connected { connection } => of("Connected", connection),
        Event::Disconnected { connection } => of("Disconnected", connection),
        Event::Frame { connection, bytes } => {
            json!({"type": "Frame", "connection": json::number(*connection), "hex": json::hex(bytes)})
        }
        Event::Persisted { id } => json!({"type": "Persisted", "id": json::number(*id)}),
        Event::PersistFailed { id } => json!({"type": "PersistFailed", "id": json::number(*id)}),
        Event::Secret(secret) => json!({"type": "Secret", "secret": json::hex(&secret.0)}),
        Event::Timer => json!({"type": "Timer"}),
        Event::Watch { key } => json!({"type": "Watch", "key": json::hex(key)}),
        Event::Unwatch { key } => json!({"type": "Unwatch", "key": json::hex(key)}),
        Event::SetRegions { regions } => json!({"type": "SetK", "K": json::number(*regions)}),
        Event::Commit { .. } => json!({"type": "Commit"}),
    }
}

pub(crate) fn told_line(effect: &Effect) -> Json {
    match effect {
        Effect::Committed { id, k } => {
            json!({"type": "Committed", "id": json::number(*id), "k": json::number(*k)})
        }
        Effect::CommitFailed { id, .. } => json!({"type": "CommitFailed", "id": json::number(*id)}),
        Effect::Changed { keys } => {
            json!({"type": "Changed", "keys": keys.iter().map(|key| json::hex(key)).collect::<Vec<_>>()})
        }
        Effect::Status(status) => json!({"type": "Status", "status": format!("{status:?}").to_lowercase()}),
        Effect::Report(report) => report_line(report),
        other => panic!("it has its line elsewhere: {other:?}"),
    }
}

fn report_line(report: &Report) -> Json {
    match report {
        Report::Refused { k, operation, code, text } => json!({
            "type": "Refused", "k": json::number(*k), "op": json::number(*operation), "code": json::hex(code),
            "text": json::hex(text),
        }),
        Report::Forked { dropped } => {
            json!({"type": "Forked", "dropped": dropped.iter().map(|k| json::number(*k)).collect::<Vec<_>>()})
        }
        Report::Lost { k } => json!({"type": "Lost", "k": json::number(*k)}),
        Report::Error { code, .. } => json!({"type": "Error", "code": json::hex(code)}),
    }
}
