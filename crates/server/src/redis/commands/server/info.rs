//! INFO.

use crate::redis::REDIS_VERSION;
use crate::redis::prelude::*;
use crate::redis::server_info::Facts;
use std::fmt::Write as _;

pub(super) static SPEC: Spec = Spec {
    name: "info",
    arity: -1,
    flags: &["loading", "stale"],
    syntax: "[section [section ...]]",
    summary: "Returns figures about the server.",
    remark: "Sections: server, clients, memory, persistence, stats, replication, cluster, keyspace, \
             tidemark.",
    handler: Handler::Local(answer),
    ..Spec::DEFAULT
};

const SECTIONS: &[&str] = &[
    "server",
    "clients",
    "memory",
    "persistence",
    "stats",
    "replication",
    "cluster",
    "keyspace",
    "tidemark",
];

fn answer(_: &mut Connection, call: &Call, cx: &mut Context<'_>) -> Answer {
    let asked = |name: &str| call.arguments.iter().any(|word| is(word, name));
    let all = call.arguments.is_empty() || ["all", "default", "everything"].iter().any(|name| asked(name));
    let facts = cx.info.facts();
    let mut text = String::new();
    for name in SECTIONS {
        if all || asked(name) {
            if !text.is_empty() {
                text.push_str("\r\n");
            }
            section(&mut text, name, cx, &facts);
        }
    }
    cx.out.verbatim(*b"txt", text);
    Ok(Next::Continue)
}

/// Appends one section, title included.
fn section(text: &mut String, name: &str, cx: &Context<'_>, facts: &Facts) {
    let _ = write!(text, "# {}{}\r\n", name[..1].to_ascii_uppercase(), &name[1..]);
    let mut line = |key: &str, value: &dyn std::fmt::Display| {
        let _ = write!(text, "{key}:{value}\r\n");
    };
    match name {
        "server" => {
            let uptime = cx.now.saturating_sub(facts.started_at) / 1_000_000;
            line("redis_version", &REDIS_VERSION);
            line("tidemark_version", &env!("CARGO_PKG_VERSION"));
            line("redis_mode", &"standalone");
            line("os", &std::env::consts::OS);
            line("arch_bits", &usize::BITS);
            line("process_id", &facts.process_id);
            line("run_id", &facts.run_id);
            line("tcp_port", &facts.tcp_port);
            line("server_time_usec", &cx.now);
            line("uptime_in_seconds", &uptime);
            line("uptime_in_days", &(uptime / 86_400));
        }
        "clients" => {
            line("connected_clients", &cx.registry.len());
            line("cluster_connections", &0);
            line("maxclients", &cx.config.get("maxclients").unwrap_or_default());
            line("blocked_clients", &0);
            line("tracking_clients", &0);
        }
        "memory" => {
            line("used_memory", &facts.used_memory_bytes);
            line("used_memory_human", &human(facts.used_memory_bytes));
            line("used_memory_peak", &facts.used_memory_peak_bytes);
            line("used_memory_peak_human", &human(facts.used_memory_peak_bytes));
            line("maxmemory", &cx.config.get("maxmemory").unwrap_or_default());
            line("maxmemory_policy", &cx.config.get("maxmemory-policy").unwrap_or_default());
        }
        "persistence" => {
            line("loading", &u8::from(facts.loading));
            line("async_loading", &0);
            line("rdb_bgsave_in_progress", &0);
            line("aof_enabled", &1);
            line("aof_rewrite_in_progress", &0);
            line("aof_last_write_status", &if facts.log_is_good { "ok" } else { "err" });
        }
        "stats" => {
            line("total_connections_received", &facts.connections_received);
            line("total_commands_processed", &facts.commands_processed);
            line("instantaneous_ops_per_sec", &facts.commands_per_second);
            line("total_net_input_bytes", &facts.input_bytes);
            line("total_net_output_bytes", &facts.output_bytes);
            line("rejected_connections", &facts.connections_rejected);
            line("expired_keys", &0);
            line("evicted_keys", &0);
            line("keyspace_hits", &facts.keyspace_hits);
            line("keyspace_misses", &facts.keyspace_misses);
        }
        "replication" => {
            line("role", &"master");
            line("connected_slaves", &0);
            line("master_replid", &facts.run_id);
            line("master_repl_offset", &0);
        }
        "cluster" => line("cluster_enabled", &0),
        "keyspace" if facts.keys > 0 => line("db0", &format_args!("keys={},expires=0,avg_ttl=0", facts.keys)),
        "tidemark" => facts.tidemark.iter().for_each(|(key, value)| line(key, value)),
        _ => {}
    }
}

/// `1.50M` and the like.
fn human(bytes: u64) -> String {
    match bytes {
        0..1024 => format!("{bytes}B"),
        1024..0x10_0000 => format!("{:.2}K", bytes as f64 / 1024.0),
        0x10_0000..0x4000_0000 => format!("{:.2}M", bytes as f64 / 1_048_576.0),
        _ => format!("{:.2}G", bytes as f64 / 1_073_741_824.0),
    }
}
