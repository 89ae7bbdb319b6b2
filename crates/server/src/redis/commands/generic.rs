//! Keys of any type: whether they exist, which there are, what they take.

use super::super::command::Command;
use super::super::error::ErrorReply;
use super::super::table::{Group, Handler, Keys, Spec};
use super::help;
use super::string::{key, keys};
use bytes::Bytes;
use std::str::from_utf8;
use tidemark_wire::resp::{Request, parse_i64};

const GENERIC: Spec = Spec { group: Group::Generic, ..Spec::DEFAULT };
/// How many keys SCAN looks at unless told.
const SCAN_COUNT: u64 = 10;

pub(in super::super) const SPECS: &[Spec] = &[
    Spec {
        name: "del",
        arity: -2,
        flags: &["write"],
        keys: Keys::ALL,
        syntax: "key [key ...]",
        summary: "Deletes keys; returns how many there were.",
        remark: "Against a concurrent write in another region the later of the two wins.",
        handler: Handler::Store(del),
        ..GENERIC
    },
    Spec {
        name: "unlink",
        arity: -2,
        flags: &["write", "fast"],
        since: "4.0.0",
        keys: Keys::ALL,
        syntax: "key [key ...]",
        summary: "The same as DEL.",
        handler: Handler::Store(del),
        ..GENERIC
    },
    Spec {
        name: "exists",
        arity: -2,
        flags: &["readonly", "fast"],
        keys: Keys::ALL,
        syntax: "key [key ...]",
        summary: "Returns how many of the keys exist.",
        handler: Handler::Store(exists),
        ..GENERIC
    },
    Spec {
        name: "type",
        arity: 2,
        flags: &["readonly", "fast"],
        keys: Keys::FIRST,
        syntax: "key",
        summary: "Returns the type of a key's value, or none.",
        handler: Handler::Store(kind),
        ..GENERIC
    },
    Spec {
        name: "keys",
        arity: 2,
        flags: &["readonly"],
        syntax: "pattern",
        summary: "Returns the keys that match a pattern.",
        remark: "Walks every key: for debugging. Use SCAN.",
        handler: Handler::Store(keys_by_pattern),
        ..GENERIC
    },
    Spec {
        name: "scan",
        arity: -2,
        flags: &["readonly"],
        since: "2.8.0",
        syntax: "cursor [MATCH pattern] [COUNT count] [TYPE type]",
        summary: "Walks the keys, some at a time.",
        handler: Handler::Store(scan),
        ..GENERIC
    },
    Spec {
        name: "dbsize",
        flags: &["readonly", "fast"],
        summary: "Returns how many keys there are.",
        remark: "Counts what this region sees, partition by partition.",
        handler: Handler::Store(|_| Ok(Command::DbSize)),
        ..Spec::DEFAULT
    },
    FLUSHALL,
    Spec { name: "flushdb", summary: "The same as FLUSHALL: there is one database.", ..FLUSHALL },
    Spec {
        name: "object",
        arity: -2,
        since: "2.2.3",
        summary: "How a value is kept.",
        subcommands: &[
            Spec {
                name: "object|encoding",
                arity: 3,
                flags: &["readonly"],
                since: "2.2.3",
                keys: Keys::SECOND,
                syntax: "key",
                summary: "Returns how a value is encoded.",
                handler: Handler::Store(object_encoding),
                ..GENERIC
            },
            help::row("object|help"),
        ],
        ..GENERIC
    },
    Spec {
        name: "memory",
        arity: -2,
        since: "4.0.0",
        summary: "How much memory is used.",
        subcommands: &[
            Spec {
                name: "memory|usage",
                arity: -3,
                flags: &["readonly"],
                since: "4.0.0",
                keys: Keys::SECOND,
                syntax: "key [SAMPLES count]",
                summary: "Estimates how many bytes a key takes.",
                remark: "All versions that are kept of it are counted; SAMPLES changes nothing.",
                handler: Handler::Store(memory_usage),
                ..Spec::DEFAULT
            },
            help::row("memory|help"),
        ],
        ..Spec::DEFAULT
    },
];

const FLUSHALL: Spec = Spec {
    name: "flushall",
    arity: -1,
    flags: &["write"],
    syntax: "[ASYNC | SYNC]",
    summary: "Deletes every key.",
    remark: "Every key that this region sees, one by one: not atomic, and what has not arrived yet stays.",
    handler: Handler::Store(flush),
    ..Spec::DEFAULT
};

fn del(request: &mut Request<'_>) -> Result<Command, ErrorReply> {
    Ok(Command::Del { keys: keys(request, 1) })
}

fn exists(request: &mut Request<'_>) -> Result<Command, ErrorReply> {
    Ok(Command::Exists { keys: keys(request, 1) })
}

fn kind(request: &mut Request<'_>) -> Result<Command, ErrorReply> {
    Ok(Command::Type { key: key(request, 1) })
}

fn keys_by_pattern(request: &mut Request<'_>) -> Result<Command, ErrorReply> {
    Ok(Command::Keys { pattern: request.take(1) })
}

fn scan(request: &mut Request<'_>) -> Result<Command, ErrorReply> {
    let cursor = from_utf8(&request[1]).ok().and_then(|text| text.parse().ok());
    let cursor = cursor.ok_or(ErrorReply::INVALID_CURSOR)?;
    let (mut pattern, mut count, mut kind) = (None, SCAN_COUNT, None);
    let mut index = 2;
    while index < request.len() {
        let value = request.get(index + 1).ok_or(ErrorReply::SYNTAX)?;
        let is = |name: &str| request[index].eq_ignore_ascii_case(name.as_bytes());
        if is("match") {
            pattern = Some(Bytes::copy_from_slice(value));
        } else if is("type") {
            kind = Some(Bytes::copy_from_slice(value));
        } else if is("count") {
            let number = parse_i64(value).ok_or(ErrorReply::NOT_AN_INTEGER)?;
            count = u64::try_from(number).ok().filter(|count| *count > 0).ok_or(ErrorReply::SYNTAX)?;
        } else {
            return Err(ErrorReply::SYNTAX);
        }
        index += 2;
    }
    Ok(Command::Scan { cursor, pattern, count, kind })
}

fn flush(request: &mut Request<'_>) -> Result<Command, ErrorReply> {
    match request.get(1) {
        None => Ok(Command::Flush),
        Some(mode) if request.len() == 2 && is_flush_mode(mode) => Ok(Command::Flush),
        Some(_) => Err(ErrorReply::SYNTAX),
    }
}

/// Whether it is ASYNC or SYNC, which make no difference here.
pub(super) fn is_flush_mode(mode: &[u8]) -> bool {
    mode.eq_ignore_ascii_case(b"async") || mode.eq_ignore_ascii_case(b"sync")
}

fn object_encoding(request: &mut Request<'_>) -> Result<Command, ErrorReply> {
    Ok(Command::ObjectEncoding { key: key(request, 2) })
}

fn memory_usage(request: &mut Request<'_>) -> Result<Command, ErrorReply> {
    let mut index = 3;
    while let Some(option) = request.get(index) {
        let samples = request.get(index + 1).filter(|_| option.eq_ignore_ascii_case(b"samples"));
        let samples = parse_i64(samples.ok_or(ErrorReply::SYNTAX)?).ok_or(ErrorReply::NOT_AN_INTEGER)?;
        if samples < 0 {
            return Err(ErrorReply::SYNTAX);
        }
        index += 2;
    }
    Ok(Command::MemoryUsage { key: key(request, 2) })
}
