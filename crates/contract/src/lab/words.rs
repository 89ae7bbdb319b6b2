//! Operations and outcomes in few words, for tests.

use tidemark_core::{Failure, Found, Hlc, Key, Op, Outcome, Update, Write};
use tidemark_store::Version;

/// An unconditional PUT.
pub fn put(key: &Key, value: &str) -> Op {
    Op::Put { key: key.clone(), update: Update::put(Write::Assign(value.as_bytes().into())) }
}

/// A ROTX.
pub fn rotx(keys: &[&Key]) -> Op {
    Op::Rotx { keys: owned(keys) }
}

/// An outcome as text: values with `-` for none, keys in order, counts; blanks between them.
pub fn text(outcome: &Outcome) -> String {
    let value = |found: &Found| match &found.value {
        Some(value) => String::from_utf8_lossy(value).into_owned(),
        None => "-".to_string(),
    };
    match outcome {
        Outcome::Found(found) => value(found),
        Outcome::FoundAll(all) => all.iter().map(value).collect::<Vec<_>>().join(" "),
        Outcome::Keys { keys, .. } => {
            let mut keys: Vec<_> = keys.iter().map(Key::to_string).collect();
            keys.sort();
            keys.join(" ")
        }
        Outcome::Count(count) => count.to_string(),
        Outcome::Written { stamp: Some(stamp), .. } => stamp.to_string(),
        Outcome::Written { stamp: None, .. } => "not written".to_string(),
        Outcome::Adopted => "adopted".to_string(),
        Outcome::Failed(Failure::Unavailable(_) | Failure::Misconfigured(_)) => "unavailable".to_string(),
        Outcome::Failed(Failure::ClockSkew { .. }) => "clock skew".to_string(),
        Outcome::Failed(Failure::StaleSession(_)) => "stale session".to_string(),
        Outcome::Failed(Failure::Indefinite(_)) => "indefinite".to_string(),
    }
}

pub(super) fn owned(keys: &[&Key]) -> Vec<Key> {
    keys.iter().map(|key| (*key).clone()).collect()
}

pub(super) fn written(outcome: &Outcome) -> Option<Hlc> {
    match outcome {
        Outcome::Written { stamp, .. } => stamp.map(|stamp| stamp.ts),
        _ => None,
    }
}

pub(super) fn shown<M: std::fmt::Debug>(key: &Key, version: &Version<M>) -> String {
    format!("{key}={:?} {}, meta {:?}", version.write, version.stamp, version.meta)
}
