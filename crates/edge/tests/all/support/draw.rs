//! Frames, values and transactions drawn from a seed.

use bytes::Bytes;
use fastrand::Rng;
use std::collections::{BTreeMap, BTreeSet};
use tidemark_core::Hlc;
use tidemark_edge::frames::*;

pub(crate) fn text(rng: &mut Rng, most: usize) -> Bytes {
    (0..rng.usize(..=most)).map(|_| rng.u8(..)).collect()
}

pub(crate) fn key(rng: &mut Rng) -> Bytes {
    let length = if rng.u8(..) == 0 { KEY_MAX } else { rng.usize(1..8) };
    (0..length).map(|_| rng.u8(..)).collect()
}

/// A number whose length is drawn, too.
pub(crate) fn number(rng: &mut Rng) -> u64 {
    rng.u64(..) >> rng.u32(..64)
}

pub(crate) fn signed(rng: &mut Rng) -> i64 {
    number(rng) as i64
}

pub(crate) fn micros(rng: &mut Rng) -> u64 {
    number(rng) % MICROS_END
}

pub(crate) fn base(rng: &mut Rng) -> Base {
    let length = if rng.u8(..) == 0 { 64 } else { rng.usize(..4) };
    Base((0..length).map(|_| Hlc(number(rng))).collect())
}

/// A base that dominates `last`.
pub(crate) fn later(rng: &mut Rng, last: &Base) -> Base {
    let length = last.0.len().max(rng.usize(..4));
    let step = |rng: &mut Rng| if rng.bool() { 0 } else { number(rng) };
    Base((0..length).map(|region| Hlc(last.entry(region).0.saturating_add(step(rng)))).collect())
}

pub(crate) fn written(rng: &mut Rng) -> Written {
    Written { at_us: micros(rng), bytes: text(rng, 9) }
}

fn map(rng: &mut Rng, least: usize) -> BTreeMap<Bytes, Written> {
    (0..rng.usize(least..5)).map(|_| (text(rng, 3), written(rng))).collect()
}

fn set(rng: &mut Rng, least: usize) -> BTreeSet<Bytes> {
    (0..rng.usize(least..5)).map(|_| text(rng, 3)).collect()
}

pub(crate) fn value(rng: &mut Rng) -> Value {
    match rng.u8(..6) {
        0 => Value::Absent,
        5 => Value::List(map(rng, 1)),
        1 => Value::String(written(rng)),
        2 => Value::Map(map(rng, 1)),
        3 => Value::Set(set(rng, 1)),
        _ => Value::Other(text(rng, 6)),
    }
}

pub(crate) fn change(rng: &mut Rng) -> Change {
    match rng.u8(..4) {
        0 => {
            let (new, mut gone) = (map(rng, 0), set(rng, 0));
            gone.retain(|field| !new.contains_key(field));
            Change::Fields(new, gone)
        }
        1 => {
            let (new, mut gone) = (set(rng, 0), set(rng, 0));
            gone.retain(|member| !new.contains(member));
            Change::Set(new, gone)
        }
        _ => Change::Whole(value(rng)),
    }
}

pub(crate) fn kind(rng: &mut Rng) -> OperationKind {
    match rng.u8(..10) {
        8 => OperationKind::ListSet(text(rng, 3), text(rng, 9)),
        9 => OperationKind::ListRemove(text(rng, 3)),
        0 => OperationKind::Set(text(rng, 9)),
        1 => OperationKind::Delete,
        2 => OperationKind::Add(signed(rng)),
        3 => OperationKind::MapSet(text(rng, 3), text(rng, 9)),
        4 => OperationKind::MapDelete(text(rng, 3)),
        5 => OperationKind::SetAdd(text(rng, 3)),
        6 => OperationKind::SetRemove(text(rng, 3)),
        _ => OperationKind::MapAdd(text(rng, 3), signed(rng)),
    }
}

/// A transaction on some of `keys` or others, prepared at one of `bases` or another.
pub(crate) fn body(rng: &mut Rng, keys: &[Bytes], bases: &[Base]) -> Body {
    let operations = if rng.u8(..8) == 0 { rng.usize(25..40) } else { rng.usize(1..5) };
    let operation = |rng: &mut Rng| {
        let key = rng.choice(keys).filter(|_| rng.bool()).cloned();
        Operation { key: key.unwrap_or_else(|| self::key(rng)), kind: kind(rng) }
    };
    Body {
        k: number(rng).max(1),
        h_us: micros(rng),
        dep: rng.choice(bases).filter(|_| rng.u8(..4) > 0).cloned().unwrap_or_else(|| base(rng)),
        operations: (0..operations).map(|_| operation(rng)).collect(),
    }
}

pub(crate) fn hello(rng: &mut Rng) -> Hello {
    Hello {
        secret: Secret([rng.u8(..); 32]),
        regions: number(rng),
        base: base(rng),
        in_base: number(rng),
        first: number(rng).max(1),
        check: rng.u64(..).to_be_bytes(),
        token: text(rng, 9),
    }
}

pub(crate) fn welcome(rng: &mut Rng) -> Welcome {
    Welcome {
        region: rng.u8(..),
        regions: rng.u8(..),
        time_us: micros(rng),
        head: number(rng),
        check: rng.u64(..).to_be_bytes(),
        period_ms: number(rng),
        retain_ms: number(rng),
        covered: rng.bool(),
        name: text(rng, 9),
    }
}

pub(crate) fn tick(rng: &mut Rng, last: &Base) -> Tick {
    let references: BTreeSet<u64> = (0..rng.usize(..5)).map(|_| number(rng)).collect();
    let updates = references.into_iter().map(|reference| Update { reference, change: change(rng) });
    let updates: Vec<Update> = updates.collect();
    let (to, check) = (later(rng, last), rng.u64(..).to_be_bytes());
    Tick { to, regions: number(rng), in_base: number(rng), check, have: number(rng), updates }
}

/// A frame that a gateway may send on this connection next.
pub(crate) fn to_client(rng: &mut Rng, link: &GatewayLink) -> ToClient {
    match rng.u8(..15) {
        0 => ToClient::Ack { k: number(rng) },
        1 => ToClient::Missing { k: number(rng) },
        2 => ToClient::Later { wait_ms: number(rng) },
        3 => ToClient::Behind { wait_ms: number(rng) },
        4 => ToClient::Forked { k: number(rng) },
        5 => ToClient::Retime { k: number(rng) },
        6 => {
            let (k, operation) = (number(rng), number(rng));
            ToClient::Refused { k, operation, code: text(rng, 9), text: text(rng, 9) }
        }
        7 => ToClient::Error { code: text(rng, 9), text: text(rng, 9) },
        8 => ToClient::Shared { regions: number(rng) },
        9..=10 if link.tick() > 0 => ToClient::Value { reference: number(rng), value: value(rng) },
        _ => ToClient::Tick(tick(rng, link.base())),
    }
}
