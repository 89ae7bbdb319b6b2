//! Operations that several commands ask for, and outcomes as their replies need them: an outcome of another kind than
//! was asked for is an error.

use super::error::ErrorReply;
use super::reserved::is_reserved;
use super::typed;
use tidemark_core::{Condition, Found, Key, Op, Outcome, Update, Value, Write};
use tidemark_wire::resp::Encoder;

/// Sets a key.
#[inline]
pub(super) fn assign(key: Key, value: Value) -> Op {
    Op::Put { key, update: Update::put(Write::Assign(value)) }
}

/// Deletes a key that exists.
pub(super) fn remove(key: Key) -> Op {
    let condition = Condition::IfPresent;
    Op::Put { key, update: Update { condition, ..Update::put(Write::Remove) } }
}

/// Of a read of one key.
#[inline]
pub(super) fn found(outcome: Outcome) -> Result<Found, ErrorReply> {
    match outcome {
        Outcome::Found(found) => Ok(found),
        _ => Err(ErrorReply::UNEXPECTED),
    }
}

/// Of a read of several keys.
pub(super) fn found_all(outcome: Outcome) -> Result<Vec<Found>, ErrorReply> {
    match outcome {
        Outcome::FoundAll(all) => Ok(all),
        _ => Err(ErrorReply::UNEXPECTED),
    }
}

/// Of a write: whether its condition held, and what the key held before if the write observed it.
#[inline]
pub(super) fn written(outcome: Outcome) -> Result<(bool, Option<Found>), ErrorReply> {
    match outcome {
        Outcome::Written { stamp, previous } => Ok((stamp.is_some(), previous)),
        _ => Err(ErrorReply::UNEXPECTED),
    }
}

/// Of a scan: keys, without those that are reserved, and where it goes on.
pub(super) fn scanned(outcome: Outcome) -> Result<(Vec<Key>, u64), ErrorReply> {
    match outcome {
        Outcome::Keys { mut keys, cursor } => {
            keys.retain(|key| !is_reserved(key));
            Ok((keys, cursor))
        }
        _ => Err(ErrorReply::UNEXPECTED),
    }
}

/// Of a count.
pub(super) fn counted(outcome: Outcome) -> Result<u64, ErrorReply> {
    match outcome {
        Outcome::Count(count) => Ok(count),
        _ => Err(ErrorReply::UNEXPECTED),
    }
}

/// Writes a value, or null where there is none.
#[inline]
pub(super) fn value_or_null(found: &Found, out: &mut Encoder<'_>) {
    match (&found.value, &found.reply) {
        (Some(value), _) => out.bulk(value),
        (None, None) => out.null(),
        (None, Some(reply)) => typed::write(reply, out),
    }
}

/// Writes a list of keys.
pub(super) fn write_keys(keys: &[Key], out: &mut Encoder<'_>) {
    out.array(keys.len());
    keys.iter().for_each(|key| out.bulk(&**key));
}
