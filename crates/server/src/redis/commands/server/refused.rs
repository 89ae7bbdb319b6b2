//! Commands of Redis that are refused: what they do is decided elsewhere, or cannot be done.

use crate::redis::prelude::*;

/// A command that is always refused.
macro_rules! refused {
    ($($row:ident $name:literal $arity:literal $flags:tt $since:literal $syntax:literal $summary:literal $error:literal)*) => {
        $(static $row: Spec = Spec {
            name: $name,
            arity: $arity,
            flags: &$flags,
            since: $since,
            syntax: $syntax,
            summary: $summary,
            remark: "Refused.",
            handler: Handler::Local(|_, _, _| Err(ErrorReply::fixed($error))),
            ..Spec::DEFAULT
        };)*

        /// Their rows.
        pub(in crate::redis::commands) static COMMANDS: &[&Spec] = &[$(&$row),*];
    };
}

refused! {
    SAVE "save" 1 ["admin", "noscript", "no_async_loading", "no_multi"] "1.0.0" ""
        "Takes a snapshot while every client waits."
        "ERR SAVE is not supported: every client would wait. BGSAVE takes a snapshot without that"
    FAILOVER "failover" -1 ["admin", "noscript", "stale"] "6.2.0" "[TO host port [FORCE]] [ABORT] [TIMEOUT milliseconds]"
        "Makes a replica the master."
        "ERR FAILOVER is not supported: a Raft group elects its leader by itself"
    SWAPDB "swapdb" 3 ["write", "fast"] "4.0.0" "index1 index2"
        "Swaps two databases."
        "ERR SWAPDB is not supported: there is only one database"
    SYNC "sync" 1 ["admin", "noscript", "no_async_loading", "no_multi"] "1.0.0" ""
        "Begins Redis's replication."
        "ERR SYNC is not supported: a Redis server cannot be a replica of Tidemark. Clients can copy keys"
    PSYNC "psync" -3 ["admin", "noscript", "no_async_loading", "no_multi"] "2.8.0" "replicationid offset"
        "Begins or continues Redis's replication."
        "ERR PSYNC is not supported: a Redis server cannot be a replica of Tidemark. Clients can copy keys"
    REPLCONF "replconf" -1 ["admin", "noscript", "loading", "stale", "allow_busy"] "3.0.0" "option value [option value ...]"
        "Configures Redis's replication."
        "ERR REPLCONF is not supported: a Redis server cannot be a replica of Tidemark. Clients can copy keys"
    RESTORE_ASKING "restore-asking" -4 ["write", "denyoom", "asking"] "3.0.0" "key ttl serialized-value"
        "Creates a key in a slot that is being moved."
        "ERR RESTORE-ASKING is not supported: slots are not moved between nodes by clients"
    MIGRATE "migrate" -6 ["write"] "2.6.0" "host port <key | \"\"> destination-db timeout [option ...]"
        "Moves keys to another server."
        "ERR MIGRATE is not supported: a client has to read the keys here and write them there"
    MOVE "move" 3 ["write", "fast"] "1.0.0" "key db"
        "Moves a key to another database."
        "ERR MOVE is not supported: there is only one database"
    PFSELFTEST "pfselftest" 1 ["admin"] "2.8.9" ""
        "Tests the code of HyperLogLogs."
        "ERR PFSELFTEST is not supported: what it tests is tested when Tidemark is built"
    READONLY "readonly" 1 ["loading", "stale", "fast"] "3.0.0" ""
        "Lets a connection read from a replica of a Redis Cluster."
        "ERR This instance has cluster support disabled"
    READWRITE "readwrite" 1 ["loading", "stale", "fast"] "3.0.0" ""
        "Ends the effect of READONLY."
        "ERR This instance has cluster support disabled"
    ASKING "asking" 1 ["fast"] "3.0.0" ""
        "Lets the next command use a slot that is being moved."
        "ERR This instance has cluster support disabled"
}
