//! What COMMAND says of commands beyond their rows: how they use their keys, and tips for clients.
//!
//! Source: `COMMAND INFO` of redis-server 7.0, for all of its commands, so that a command needs no entry when it is added.

use crate::redis::prelude::*;

type Names = &'static [&'static str];

/// How commands use their keys, where that does not follow from `readonly` and `write`.
const USES: &[(Names, Names)] = &[
    (&["OW", "insert"], &["msetnx", "setnx"]),
    (
        &["OW", "update"],
        &[
            "bitop",
            "geosearchstore",
            "mset",
            "psetex",
            "restore",
            "sdiffstore",
            "setex",
            "sunionstore",
            "zdiffstore",
            "zinterstore",
            "zrangestore",
            "zunionstore",
        ],
    ),
    (&["RM", "delete"], &["del", "unlink"]),
    (
        &["RO"],
        &[
            "exists",
            "hexists",
            "hlen",
            "hstrlen",
            "llen",
            "memory|usage",
            "object|encoding",
            "object|freq",
            "object|idletime",
            "object|refcount",
            "scard",
            "sismember",
            "strlen",
            "touch",
            "type",
            "watch",
            "xlen",
            "zcard",
        ],
    ),
    (&["RO", "access"], &["copy", "georadius", "georadiusbymember", "sort", "xreadgroup"]),
    (&["RW", "access"], &["pfcount"]),
    (
        &["RW", "access", "delete"],
        &[
            "blmove",
            "blmpop",
            "blpop",
            "brpop",
            "brpoplpush",
            "bzmpop",
            "bzpopmax",
            "bzpopmin",
            "getdel",
            "lmove",
            "lmpop",
            "lpop",
            "rename",
            "renamenx",
            "rpop",
            "rpoplpush",
            "smove",
            "spop",
            "zmpop",
            "zpopmax",
            "zpopmin",
        ],
    ),
    (&["RW", "access", "insert"], &["pfmerge"]),
    (&["RW", "access", "update", "variable_flags"], &["bitfield", "set"]),
    (
        &["RW", "delete"],
        &[
            "hdel",
            "lrem",
            "ltrim",
            "srem",
            "xautoclaim",
            "xdel",
            "xgroup|delconsumer",
            "xgroup|destroy",
            "xtrim",
            "zrem",
            "zremrangebylex",
            "zremrangebyrank",
            "zremrangebyscore",
        ],
    ),
    (
        &["RW", "insert"],
        &[
            "append",
            "hsetnx",
            "linsert",
            "lpush",
            "lpushx",
            "pfadd",
            "rpush",
            "rpushx",
            "sadd",
            "xgroup|create",
            "xgroup|createconsumer",
        ],
    ),
    (
        &["RW", "update"],
        &[
            "expire",
            "expireat",
            "geoadd",
            "hmset",
            "hset",
            "lset",
            "persist",
            "pexpire",
            "pexpireat",
            "setrange",
            "sinterstore",
            "xack",
            "xadd",
            "xclaim",
            "xgroup|setid",
            "xsetid",
            "zadd",
        ],
    ),
];

/// Tips, and the commands that have them.
const TIPS: &[(&str, Names)] = &[
    (
        "nondeterministic_output",
        &[
            "client|info",
            "client|list",
            "dump",
            "function|stats",
            "hrandfield",
            "hscan",
            "info",
            "lastsave",
            "latency|doctor",
            "latency|graph",
            "latency|histogram",
            "latency|history",
            "latency|latest",
            "memory|doctor",
            "memory|malloc-stats",
            "memory|stats",
            "object|encoding",
            "object|freq",
            "object|idletime",
            "object|refcount",
            "pttl",
            "randomkey",
            "scan",
            "slowlog|get",
            "slowlog|len",
            "spop",
            "srandmember",
            "sscan",
            "time",
            "ttl",
            "xadd",
            "xautoclaim",
            "xclaim",
            "xinfo|consumers",
            "xpending",
            "xtrim",
            "zrandmember",
            "zscan",
        ],
    ),
    (
        "nondeterministic_output_order",
        &[
            "command",
            "command|docs",
            "command|info",
            "command|list",
            "function|list",
            "hgetall",
            "hkeys",
            "hvals",
            "keys",
            "module|list",
            "sdiff",
            "sinter",
            "smembers",
            "sunion",
        ],
    ),
];

/// How a command uses its keys.
pub(super) fn uses(spec: &Spec) -> Names {
    let special = USES.iter().find(|(_, names)| names.contains(&spec.name));
    match special {
        Some((uses, _)) => uses,
        None if spec.has("readonly") => &["RO", "access"],
        None => &["RW", "access", "update"],
    }
}

/// How a call uses the key at `place` among its keys: SET that returns nothing does not read.
pub(super) fn uses_of_key(spec: &Spec, arguments: &[Bytes], place: usize) -> Names {
    match spec.name {
        "blmove" | "brpoplpush" | "lmove" | "rpoplpush" | "smove" if place > 0 => &["RW", "insert"],
        "copy" | "georadius" | "georadiusbymember" | "rename" | "sort" if place > 0 => &["OW", "update"],
        "renamenx" if place > 0 => &["OW", "insert"],
        "bitop" | "pfmerge" if place > 0 => &["RO", "access"],
        name if place > 0 && name.ends_with("store") => &["RO", "access"],
        "set" if !arguments.iter().skip(3).any(|option| is(option, "get")) => &["OW", "update"],
        "set" | "bitfield" => &["RW", "access", "update"],
        _ => uses(spec),
    }
}

/// The flags of a command as clients are told: those of its row, and whether its keys move with its other arguments.
pub(super) fn flags(spec: &Spec) -> Vec<&'static str> {
    let by_arguments = matches!(spec.handler, Handler::Group(..)) && spec.keys == Keys::NONE;
    let stores = ["georadius", "georadiusbymember", "migrate", "sort", "sort_ro"].contains(&spec.name);
    let moves = (by_arguments || stores) && !spec.has("movablekeys");
    spec.flags.iter().copied().chain(moves.then_some("movablekeys")).collect()
}

/// The tips that a command has.
pub(super) fn tips(spec: &Spec) -> Vec<&'static str> {
    TIPS.iter().filter(|(_, names)| names.contains(&spec.name)).map(|(tip, _)| *tip).collect()
}
