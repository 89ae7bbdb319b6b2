//! From a request to a command: what the store is asked, or a call that the connection answers.
//!
//! GET and SET are recognised by their length and letters before the table is consulted. Keys are slices of the
//! read buffer; values are copied once, into what the store keeps.

use super::commands::guarantee::Levels;
use super::commands::string;
use super::error::ErrorReply;
use super::table::{Handler, Spec, Table};
use bytes::Bytes;
use std::fmt;
use tidemark_core::{Condition, Key, Value};
use tidemark_wire::resp::Request;

/// A request that was understood.
#[derive(Clone, Debug, PartialEq)]
pub enum Command {
    /// The value, or null.
    Get {
        /// The key.
        key: Key,
    },
    /// OK, or null if the condition does not hold; with `get`, the previous value or null in either case.
    Set {
        /// The key.
        key: Key,
        /// Its new value.
        value: Value,
        /// NX or XX.
        condition: Condition,
        /// Whether the previous value is the reply.
        get: bool,
    },
    /// 1 if the key was set, 0 if it was there.
    SetNx {
        /// The key.
        key: Key,
        /// Its value unless it has one.
        value: Value,
    },
    /// The previous value, or null.
    GetSet {
        /// The key.
        key: Key,
        /// Its new value.
        value: Value,
    },
    /// One value or null a key, all from one snapshot.
    MGet {
        /// The keys, at least one.
        keys: Vec<Key>,
    },
    /// OK.
    MSet {
        /// Keys with their new values, at least one.
        pairs: Vec<(Key, Value)>,
    },
    /// How many of the keys there were (DEL and UNLINK).
    Del {
        /// The keys, at least one.
        keys: Vec<Key>,
    },
    /// How many of the keys there are, repetitions counted again.
    Exists {
        /// The keys, at least one.
        keys: Vec<Key>,
    },
    /// The value's length, 0 without one.
    StrLen {
        /// The key.
        key: Key,
    },
    /// How many keys there are.
    DbSize,
    /// The keys that match.
    Keys {
        /// A glob pattern.
        pattern: Bytes,
    },
    /// A cursor and some keys.
    Scan {
        /// 0, then what the last reply said.
        cursor: u64,
        /// A glob pattern, if only some keys are wanted.
        pattern: Option<Bytes>,
        /// About how many keys to look at.
        count: u64,
        /// The name of a type, if only its keys are wanted.
        kind: Option<Bytes>,
    },
    /// `string` or `none`, as a simple string.
    Type {
        /// The key.
        key: Key,
    },
    /// OK, with every key deleted (FLUSHALL and FLUSHDB).
    Flush,
    /// About how many bytes the key takes, or null.
    MemoryUsage {
        /// The key.
        key: Key,
    },
    /// How the value is stored (`raw`), or null.
    ObjectEncoding {
        /// The key.
        key: Key,
    },
    /// The session's token, as a bulk string.
    SessionExport,
    /// OK, once this region covers the token, which the session then has.
    SessionImport {
        /// A token that an export gave, here or in another region.
        token: Bytes,
    },
    /// OK, and the connection asks for these levels from now on; without any, what it asks for.
    Guarantee {
        /// What is asked for.
        levels: Levels,
        /// Only by this command, whose reply it is; not another one of these.
        command: Option<Box<Command>>,
    },
    /// OK, and the connection's operations are answered by these checking groups from now on; without any, which those are and
    /// which there are.
    Checking {
        /// Their names, with commas between them, or `*`.
        groups: Option<String>,
        /// Only this command is, whose reply it is; not another one of these.
        command: Option<Box<Command>>,
    },
    /// For [`super::Connection::handle`].
    Local(Call),
}

/// A command that needs no store.
#[derive(Clone)]
pub struct Call {
    /// Which.
    pub spec: &'static Spec,
    /// What stands behind its name, subcommands' names left out too.
    pub arguments: Vec<Bytes>,
}

impl PartialEq for Call {
    fn eq(&self, other: &Self) -> bool {
        self.spec.name == other.spec.name && self.arguments == other.arguments
    }
}

impl fmt::Debug for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {:?}", self.spec.name, self.arguments)
    }
}

/// What `request` asks for. Takes the arguments that it needs out of the request.
#[inline]
pub fn parse(request: &mut Request<'_>) -> Result<Command, ErrorReply> {
    if let [a, b, b't' | b'T'] = request[0] {
        match (a | 0x20, b | 0x20, request.len()) {
            (b'g', b'e', 2) => return string::get(request),
            (b's', b'e', 3) => return string::set(request),
            _ => {}
        }
    }
    parse_by_table(request)
}

fn parse_by_table(request: &mut Request<'_>) -> Result<Command, ErrorReply> {
    let spec = Table::get().resolve(request)?;
    match spec.handler {
        Handler::Store(parse) => parse(request),
        Handler::Local(_) | Handler::Subcommands => {
            let names = spec.name.split('|').count();
            let arguments = (names..request.len()).map(|index| request.take(index)).collect();
            Ok(Command::Local(Call { spec, arguments }))
        }
    }
}
