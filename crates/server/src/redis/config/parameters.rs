//! The parameters of CONFIG: names, defaults, and what their values may be.
//!
//! Source: names, defaults and ranges as redis-server 7.0 and 7.2 have them.

use Kind::{Choice, Fixed, Memory, Number, Switch, Text};

/// What a parameter's value may be.
#[derive(Clone, Copy, Debug)]
pub(super) enum Kind {
    /// `yes` or `no`.
    Switch,
    /// An integer in a range.
    Number(i64, i64),
    /// Bytes, perhaps written with a unit.
    Memory,
    /// Bytes of a value.
    Value,
    /// Bytes, or a percentage.
    MemoryOrPercent,
    /// What is done where memory is at its limit.
    Policy,
    /// One of some words.
    Choice(&'static [&'static str]),
    /// Anything.
    Text,
    /// Pairs of seconds and changes.
    Save,
    /// A limit of output buffers for each class of clients.
    OutputLimits,
    /// Numbers from 0 to 100.
    Percentiles,
    /// Letters for classes of events.
    Events,
    /// Set when the server starts.
    Fixed,
}

/// Name, value unless set, what it may be.
pub(super) type Parameter = (&'static str, &'static str, Kind);

/// More than a node can tell apart.
const CLIENTS_MAX: i64 = 1_000_000;

const COUNT: Kind = Number(0, i64::MAX);
const SMALL: Kind = Number(0, i32::MAX as i64);
pub(super) const PARAMETERS: &[Parameter] = &[
    ("requirepass", "", Text),
    ("masteruser", "", Text),
    ("masterauth", "", Text),
    ("proto-max-bulk-len", "536870912", Kind::Value),
    ("client-query-buffer-limit", "1073741824", Memory),
    (
        "client-output-buffer-limit",
        "normal 0 0 0 slave 268435456 67108864 60 pubsub 33554432 8388608 60",
        Kind::OutputLimits,
    ),
    ("maxclients", "10000", Number(1, CLIENTS_MAX)),
    ("timeout", "0", SMALL),
    ("tcp-keepalive", "300", SMALL),
    ("appendonly", "yes", Switch),
    ("appendfsync", "everysec", Choice(&["always", "everysec", "no"])),
    ("no-appendfsync-on-rewrite", "no", Switch),
    ("auto-aof-rewrite-percentage", "100", SMALL),
    ("auto-aof-rewrite-min-size", "67108864", Memory),
    ("aof-use-rdb-preamble", "yes", Switch),
    ("aof-load-truncated", "yes", Switch),
    ("save", "", Kind::Save),
    ("stop-writes-on-bgsave-error", "yes", Switch),
    ("rdbcompression", "yes", Switch),
    ("sanitize-dump-payload", "no", Choice(&["no", "yes", "clients"])),
    ("maxmemory", "0", Memory),
    ("maxmemory-clients", "0", Kind::MemoryOrPercent),
    ("maxmemory-policy", "noeviction", Kind::Policy),
    ("maxmemory-samples", "5", Number(1, i32::MAX as i64)),
    ("maxmemory-eviction-tenacity", "10", Number(0, 100)),
    ("lfu-log-factor", "10", SMALL),
    ("lfu-decay-time", "1", SMALL),
    ("hash-max-listpack-entries", "512", COUNT),
    ("hash-max-listpack-value", "64", Memory),
    ("list-max-listpack-size", "-2", Number(i32::MIN as i64, i32::MAX as i64)),
    ("list-compress-depth", "0", SMALL),
    ("set-max-intset-entries", "512", COUNT),
    ("set-max-listpack-entries", "128", COUNT),
    ("set-max-listpack-value", "64", Memory),
    ("zset-max-listpack-entries", "128", COUNT),
    ("zset-max-listpack-value", "64", Memory),
    ("hll-sparse-max-bytes", "3000", Memory),
    ("stream-node-max-bytes", "4096", Memory),
    ("stream-node-max-entries", "100", COUNT),
    ("activerehashing", "yes", Switch),
    ("activedefrag", "no", Switch),
    ("active-expire-effort", "1", Number(1, 10)),
    ("hz", "10", SMALL),
    ("dynamic-hz", "yes", Switch),
    ("lazyfree-lazy-eviction", "no", Switch),
    ("lazyfree-lazy-expire", "no", Switch),
    ("lazyfree-lazy-server-del", "no", Switch),
    ("lazyfree-lazy-user-del", "no", Switch),
    ("lazyfree-lazy-user-flush", "no", Switch),
    ("busy-reply-threshold", "50", COUNT),
    ("slowlog-log-slower-than", "10000", Number(-1, i64::MAX)),
    ("slowlog-max-len", "128", COUNT),
    ("latency-monitor-threshold", "0", COUNT),
    ("latency-tracking", "yes", Switch),
    ("latency-tracking-info-percentiles", "50 99 99.9", Kind::Percentiles),
    ("acllog-max-len", "128", COUNT),
    ("acl-pubsub-default", "resetchannels", Choice(&["allchannels", "resetchannels"])),
    ("tracking-table-max-keys", "1000000", COUNT),
    ("notify-keyspace-events", "", Kind::Events),
    ("loglevel", "notice", Choice(&["debug", "verbose", "notice", "warning"])),
    ("protected-mode", "yes", Switch),
    ("crash-log-enabled", "yes", Switch),
    ("repl-backlog-size", "1048576", Memory),
    ("repl-backlog-ttl", "3600", COUNT),
    ("repl-timeout", "60", Number(1, i32::MAX as i64)),
    ("repl-ping-replica-period", "10", Number(1, i32::MAX as i64)),
    ("repl-diskless-sync", "yes", Switch),
    ("repl-diskless-sync-delay", "5", SMALL),
    ("repl-disable-tcp-nodelay", "no", Switch),
    ("replica-serve-stale-data", "yes", Switch),
    ("replica-read-only", "yes", Switch),
    ("replica-priority", "100", SMALL),
    ("replica-lazy-flush", "no", Switch),
    ("min-replicas-to-write", "0", SMALL),
    ("min-replicas-max-lag", "10", SMALL),
    ("shutdown-timeout", "10", SMALL),
    ("databases", "1", Fixed),
    ("port", "6379", Fixed),
    ("bind", "", Fixed),
    ("dir", "", Fixed),
    ("daemonize", "no", Fixed),
    ("supervised", "no", Fixed),
    ("logfile", "", Fixed),
    ("pidfile", "", Fixed),
    ("unixsocket", "", Fixed),
    ("tcp-backlog", "1024", Fixed),
    ("io-threads", "1", Fixed),
    ("replicaof", "", Fixed),
    ("cluster-enabled", "no", Fixed),
    ("enable-debug-command", "no", Fixed),
    ("enable-module-command", "no", Fixed),
    ("enable-protected-configs", "no", Fixed),
    ("tidemark-session-scope", "connection", Fixed),
    ("tidemark-multi", "atomic", Choice(&["atomic", "loose"])),
];

/// Old names that clients still use.
pub(super) const ALIASES: &[(&str, &str)] = &[
    ("hash-max-ziplist-entries", "hash-max-listpack-entries"),
    ("hash-max-ziplist-value", "hash-max-listpack-value"),
    ("list-max-ziplist-size", "list-max-listpack-size"),
    ("zset-max-ziplist-entries", "zset-max-listpack-entries"),
    ("zset-max-ziplist-value", "zset-max-listpack-value"),
    ("lua-time-limit", "busy-reply-threshold"),
    ("repl-ping-slave-period", "repl-ping-replica-period"),
    ("slave-serve-stale-data", "replica-serve-stale-data"),
    ("slave-read-only", "replica-read-only"),
    ("slave-priority", "replica-priority"),
    ("slave-lazy-flush", "replica-lazy-flush"),
    ("min-slaves-to-write", "min-replicas-to-write"),
    ("min-slaves-max-lag", "min-replicas-max-lag"),
    ("slaveof", "replicaof"),
];

/// Those whose values MONITOR and the slow log do not show.
pub(super) const SENSITIVE: &[&str] = &["requirepass", "masteruser", "masterauth"];

/// The parameter called `name`, in any case, or by an old name.
pub(super) fn find(name: &str) -> Option<Parameter> {
    let canonical =
        ALIASES.iter().find(|(old, _)| old.eq_ignore_ascii_case(name)).map_or(name, |(_, new)| new);
    PARAMETERS.iter().copied().find(|(known, ..)| known.eq_ignore_ascii_case(canonical))
}
