//! What a client has to show: the value at its base, and its own log on top. It is written apart from the client's own
//! prediction, and says nothing of elements that the log removes, but that they are the base's or gone.

use bytes::Bytes;
use std::collections::{BTreeMap, BTreeSet};
use tidemark_edge::frames::*;

pub(crate) fn agrees(key: &str, at_base: &Value, own: &[Body], shown: &Value) -> bool {
    let operations = own.iter().flat_map(|body| {
        let of_key = body.operations.iter().filter(|operation| operation.key == key);
        of_key.map(|operation| (body.h_us, &operation.kind))
    });
    let operations: Vec<(u64, &OperationKind)> = operations.collect();
    match key.as_bytes()[0] {
        b'c' => counter(at_base, &operations) == text(shown),
        // By the bytes: what is known of equal hashes is not when a value was written.
        b's' => text(&string(at_base, &operations)) == text(shown),
        _ => elements(at_base, &operations, shown),
    }
}

fn text(value: &Value) -> Option<Bytes> {
    if let Value::String(written) = value { Some(written.bytes.clone()) } else { None }
}

fn counter(at_base: &Value, own: &[(u64, &OperationKind)]) -> Option<Bytes> {
    let amount = |kind: &OperationKind| if let OperationKind::Add(amount) = kind { *amount } else { 0 };
    let before = text(at_base).map(|text| String::from_utf8_lossy(&text).parse::<i64>().expect("a number"));
    let sum = before.unwrap_or(0) + own.iter().map(|(_, kind)| amount(kind)).sum::<i64>();
    (before.is_some() || !own.is_empty()).then(|| sum.to_string().into())
}

/// The last write wins; of an absent value nobody knows when it was deleted.
fn string(at_base: &Value, own: &[(u64, &OperationKind)]) -> Value {
    let base_us = if let Value::String(written) = at_base { written.at_us } else { 0 };
    match own.iter().rev().find(|(h_us, _)| *h_us >= base_us) {
        None => at_base.clone(),
        Some((h_us, OperationKind::Set(bytes))) => {
            Value::String(Written { at_us: *h_us, bytes: bytes.clone() })
        }
        Some(_) => Value::Absent,
    }
}

fn elements_of(value: &Value) -> BTreeMap<Bytes, Written> {
    match value {
        Value::Map(fields) | Value::List(fields) => fields.clone(),
        Value::Set(members) => {
            members.iter().map(|member| (member.clone(), Written { at_us: 0, bytes: Bytes::new() })).collect()
        }
        _ => BTreeMap::new(),
    }
}

fn elements(at_base: &Value, own: &[(u64, &OperationKind)], shown: &Value) -> bool {
    let (base, shown) = (elements_of(at_base), elements_of(shown));
    let mut all: BTreeSet<&Bytes> = base.keys().chain(shown.keys()).collect();
    all.extend(own.iter().map(|(_, kind)| element(kind)));
    all.into_iter().all(|name| {
        let mut expected = base.get(name).cloned();
        let mut removed = false;
        for (h_us, kind) in own.iter().filter(|(_, kind)| element(kind) == name) {
            match kind {
                OperationKind::MapSet(_, bytes) | OperationKind::ListSet(_, bytes) => {
                    if base.get(name).is_none_or(|there| there.at_us <= *h_us) {
                        (expected, removed) = (Some(Written { at_us: *h_us, bytes: bytes.clone() }), false);
                    }
                }
                OperationKind::SetAdd(_) => {
                    let bytes = Bytes::new();
                    (expected, removed) = (Some(Written { at_us: 0, bytes }), false);
                }
                _ => removed = true,
            }
        }
        let there = shown.get(name);
        if removed { there.is_none() || there == base.get(name) } else { there == expected.as_ref() }
    })
}

fn element(kind: &OperationKind) -> &Bytes {
    match kind {
        OperationKind::MapSet(one, _)
        | OperationKind::MapDelete(one)
        | OperationKind::ListSet(one, _)
        | OperationKind::ListRemove(one)
        | OperationKind::SetAdd(one)
        | OperationKind::SetRemove(one) => one,
        other => panic!("the schedule draws no {other:?} here"),
    }
}
