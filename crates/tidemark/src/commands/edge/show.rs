//! Values for people and for programs.

use bytes::Bytes;
use serde_json::{Value as Json, json};
use std::io::IsTerminal;
use tidemark_edge::frames::Value;

/// A value in words: of which type it is.
pub(super) fn kind(value: &Value) -> String {
    match value {
        Value::Absent => "not there".into(),
        Value::String(_) => "a string".into(),
        Value::Map(_) => "a hash".into(),
        Value::Set(_) => "a set".into(),
        Value::List(_) => "a list".into(),
        Value::Other(name) => format!("of the type {}", String::from_utf8_lossy(name)),
    }
}

/// Bytes as JSON: a string, or hexadecimal digits in an object.
pub(super) fn json_bytes(bytes: &[u8]) -> Json {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.into(),
        Err(_) => json!({ "hex": hex(bytes) }),
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A value as JSON, with its type in the words of Redis.
pub(super) fn json_value(key: &[u8], value: &Value) -> Json {
    let (kind, value) = match value {
        Value::Absent => ("none".into(), Json::Null),
        Value::String(written) => ("string".into(), json_bytes(&written.bytes)),
        Value::Map(fields) => {
            let name = |field: &Bytes| match std::str::from_utf8(field) {
                Ok(text) => text.to_string(),
                Err(_) => format!("hex:{}", hex(field)),
            };
            let fields = fields.iter().map(|(field, written)| (name(field), json_bytes(&written.bytes)));
            ("hash".into(), Json::Object(fields.collect()))
        }
        Value::Set(members) => ("set".into(), members.iter().map(|member| json_bytes(member)).collect()),
        Value::List(elements) => {
            ("list".into(), elements.values().map(|written| json_bytes(&written.bytes)).collect())
        }
        Value::Other(name) => (String::from_utf8_lossy(name).into_owned(), Json::Null),
    };
    json!({ "key": json_bytes(key), "type": kind, "value": value })
}

/// A value in lines, as redis-cli prints it to a pipe.
pub(super) fn lines(value: &Value) -> Vec<Bytes> {
    match value {
        Value::Absent => vec![nothing()],
        Value::String(written) => vec![written.bytes.clone()],
        Value::Map(fields) => {
            fields.iter().flat_map(|(field, written)| [field.clone(), written.bytes.clone()]).collect()
        }
        Value::Set(members) => members.iter().cloned().collect(),
        Value::List(elements) => elements.values().map(|written| written.bytes.clone()).collect(),
        Value::Other(name) => vec![Bytes::from(format!("({})", String::from_utf8_lossy(name)))],
    }
}

/// A value that is not there: said to people, an empty line for programs.
pub(super) fn nothing() -> Bytes {
    Bytes::from_static(if std::io::stdout().is_terminal() { b"(nil)" } else { b"" })
}

/// A value in one line, for people.
pub(super) fn one_line(value: &Value) -> Vec<u8> {
    let pairs = |(field, written): (&Bytes, &tidemark_edge::frames::Written)| {
        [&field[..], b"=", &written.bytes[..]].concat()
    };
    match value {
        Value::Absent => b"(nil)".to_vec(),
        Value::Map(fields) => fields.iter().map(pairs).collect::<Vec<_>>().join(&b' '),
        _ => lines(value).join(&b' '),
    }
}
