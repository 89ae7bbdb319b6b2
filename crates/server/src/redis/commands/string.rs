//! Strings: GET, SET and their kin.

use super::super::command::Command;
use super::super::error::ErrorReply;
use super::super::table::{Group, Handler, Keys, Spec};
use tidemark_core::{Condition, Key, Value};
use tidemark_wire::resp::Request;

const WRITE: &[&str] = &["write", "denyoom"];
const FAST_WRITE: &[&str] = &["write", "denyoom", "fast"];
const READ: &[&str] = &["readonly", "fast"];
const STRING: Spec = Spec { group: Group::String, keys: Keys::FIRST, ..Spec::DEFAULT };

pub(in super::super) const SPECS: &[Spec] = &[
    Spec {
        name: "get",
        arity: 2,
        flags: READ,
        syntax: "key",
        summary: "Returns the value of a key.",
        handler: Handler::Store(get),
        ..STRING
    },
    Spec {
        name: "set",
        arity: -3,
        flags: WRITE,
        syntax: "key value [NX | XX] [GET]",
        summary: "Sets the value of a key.",
        remark: "NX, XX and GET look at what this region sees. No expiry yet: EX, PX, EXAT, PXAT and KEEPTTL are refused.",
        handler: Handler::Store(set),
        ..STRING
    },
    Spec {
        name: "setnx",
        arity: 3,
        flags: FAST_WRITE,
        syntax: "key value",
        summary: "Sets the value of a key unless it has one.",
        remark: "Looks at what this region sees: two regions may both answer 1.",
        handler: Handler::Store(setnx),
        ..STRING
    },
    Spec {
        name: "getset",
        arity: 3,
        flags: FAST_WRITE,
        syntax: "key value",
        summary: "Sets the value of a key and returns the previous one.",
        remark: "The previous value is what this region saw.",
        handler: Handler::Store(getset),
        ..STRING
    },
    Spec {
        name: "mget",
        arity: -2,
        flags: READ,
        keys: Keys::ALL,
        syntax: "key [key ...]",
        summary: "Returns the values of several keys.",
        remark: "One causally consistent snapshot across partitions, under protocols that have them (`tidemark protocols`).",
        handler: Handler::Store(mget),
        ..STRING
    },
    Spec {
        name: "mset",
        arity: -3,
        flags: WRITE,
        since: "1.0.1",
        keys: Keys::PAIRS,
        syntax: "key value [key value ...]",
        summary: "Sets the values of several keys.",
        remark: "Atomic under protocols with write transactions (`tidemark protocols`); else another client may see some of the values before the others.",
        handler: Handler::Store(mset),
        ..STRING
    },
    Spec {
        name: "strlen",
        arity: 2,
        flags: READ,
        since: "2.2.0",
        syntax: "key",
        summary: "Returns the length of a value.",
        handler: Handler::Store(strlen),
        ..STRING
    },
];

/// Takes argument `index` as a key.
#[inline]
pub(super) fn key(request: &mut Request<'_>, index: usize) -> Key {
    Key(request.take(index))
}

/// Copies argument `index` into a value.
#[inline]
fn value(request: &Request<'_>, index: usize) -> Value {
    Value::from(&request[index])
}

/// Takes the arguments from `first` on as keys.
pub(super) fn keys(request: &mut Request<'_>, first: usize) -> Vec<Key> {
    (first..request.len()).map(|index| key(request, index)).collect()
}

/// REQUIRES: two arguments.
#[inline]
pub(in super::super) fn get(request: &mut Request<'_>) -> Result<Command, ErrorReply> {
    Ok(Command::Get { key: key(request, 1) })
}

/// REQUIRES: three arguments or more.
#[inline]
pub(in super::super) fn set(request: &mut Request<'_>) -> Result<Command, ErrorReply> {
    let (condition, get) = if request.len() > 3 { set_options(request)? } else { Default::default() };
    let key = key(request, 1);
    Ok(Command::Set { key, value: value(request, 2), condition, get })
}

fn set_options(request: &Request<'_>) -> Result<(Condition, bool), ErrorReply> {
    let (mut condition, mut get, mut expiry) = (Condition::Always, false, false);
    let mut options = request.iter().skip(3);
    while let Some(option) = options.next() {
        let is = |name: &str| option.eq_ignore_ascii_case(name.as_bytes());
        if is("nx") && condition != Condition::IfPresent {
            condition = Condition::IfAbsent;
        } else if is("xx") && condition != Condition::IfAbsent {
            condition = Condition::IfPresent;
        } else if is("get") {
            get = true;
        } else if is("keepttl") && !expiry {
            expiry = true;
        } else if ["ex", "px", "exat", "pxat"].iter().any(|name| is(name)) && !expiry {
            options.next().ok_or(ErrorReply::SYNTAX)?;
            expiry = true;
        } else {
            return Err(ErrorReply::SYNTAX);
        }
    }
    if expiry { Err(ErrorReply::NO_EXPIRY) } else { Ok((condition, get)) }
}

fn setnx(request: &mut Request<'_>) -> Result<Command, ErrorReply> {
    let key = key(request, 1);
    Ok(Command::SetNx { key, value: value(request, 2) })
}

fn getset(request: &mut Request<'_>) -> Result<Command, ErrorReply> {
    let key = key(request, 1);
    Ok(Command::GetSet { key, value: value(request, 2) })
}

fn mget(request: &mut Request<'_>) -> Result<Command, ErrorReply> {
    Ok(Command::MGet { keys: keys(request, 1) })
}

fn mset(request: &mut Request<'_>) -> Result<Command, ErrorReply> {
    if request.len().is_multiple_of(2) {
        return Err(ErrorReply::arity("mset"));
    }
    let pairs = (1..request.len()).step_by(2).map(|index| {
        let key = key(request, index);
        (key, value(request, index + 1))
    });
    Ok(Command::MSet { pairs: pairs.collect() })
}

fn strlen(request: &mut Request<'_>) -> Result<Command, ErrorReply> {
    Ok(Command::StrLen { key: key(request, 1) })
}
