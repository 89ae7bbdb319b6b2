//! The sections of INFO.

use crate::redis::REDIS_VERSION;
use crate::redis::prelude::*;
use crate::redis::server_info::Facts;
use crate::redis::subscriptions::Space;
use std::fmt::{Display, Write as _};

/// Appends one section, title included.
pub(super) fn write(text: &mut String, name: &str, cx: &Context<'_>, facts: &Facts) {
    let title = if name == "cpu" { "CPU".to_string() } else { name[..1].to_ascii_uppercase() + &name[1..] };
    let _ = write!(text, "# {title}\r\n");
    let mut line = |key: &str, value: &dyn Display| {
        let _ = write!(text, "{key}:{value}\r\n");
    };
    match name {
        "server" => server(&mut line, cx, facts),
        "clients" => clients(&mut line, cx),
        "memory" => memory(&mut line, cx, facts),
        "persistence" => persistence(&mut line, facts),
        "stats" => stats(&mut line, cx, facts),
        "replication" => {
            line("role", &"master");
            line("connected_slaves", &0);
            line("master_failover_state", &"no-failover");
            line("master_replid", &facts.run_id);
            line("master_repl_offset", &0);
            line("repl_backlog_active", &0);
        }
        "cpu" => {
            let (system, user) = facts.cpu_seconds;
            line("used_cpu_sys", &format_args!("{system:.6}"));
            line("used_cpu_user", &format_args!("{user:.6}"));
        }
        "commandstats" => command_stats(&mut line, cx),
        "errorstats" => {
            for (word, count) in cx.shared.commands.errors() {
                line(&format!("errorstat_{word}"), &format_args!("count={count}"));
            }
        }
        "latencystats" => latency_stats(&mut line, cx),
        "cluster" => line("cluster_enabled", &0),
        "keyspace" if facts.keys > 0 => {
            let (keys, expires) = (facts.keys, facts.keys_with_deadlines);
            line("db0", &format_args!("keys={keys},expires={expires},avg_ttl=0"));
        }
        "tidemark" => facts.tidemark.iter().for_each(|(key, value)| line(key, value)),
        _ => {}
    }
}

/// Takes a line: its key and its value.
type Line<'a> = dyn FnMut(&str, &dyn Display) + 'a;

fn server(line: &mut Line<'_>, cx: &Context<'_>, facts: &Facts) {
    let uptime = cx.now.saturating_sub(facts.started_at) / 1_000_000;
    line("redis_version", &REDIS_VERSION);
    line("tidemark_version", &env!("CARGO_PKG_VERSION"));
    line("redis_mode", &"standalone");
    line("os", &std::env::consts::OS);
    line("arch_bits", &usize::BITS);
    line("process_id", &facts.process_id);
    line("process_supervised", &"no");
    line("run_id", &facts.run_id);
    line("tcp_port", &facts.tcp_port);
    line("server_time_usec", &cx.now);
    line("uptime_in_seconds", &uptime);
    line("uptime_in_days", &(uptime / 86_400));
    line("config_file", &"");
}

fn clients(line: &mut Line<'_>, cx: &Context<'_>) {
    line("connected_clients", &cx.registry.len());
    line("cluster_connections", &0);
    line("maxclients", &cx.config.get("maxclients").unwrap_or_default());
    line("blocked_clients", &cx.registry.iter().filter(|client| client.blocked).count());
    line("tracking_clients", &cx.shared.tracking.counts()[0]);
    line("pubsub_clients", &cx.registry.iter().filter(|client| client.is_subscriber()).count());
}

fn memory(line: &mut Line<'_>, cx: &Context<'_>, facts: &Facts) {
    let (used, peak) = (facts.used_memory_bytes, facts.used_memory_peak_bytes);
    let limit = cx.config.number("maxmemory") as u64;
    line("used_memory", &used);
    line("used_memory_human", &human(used));
    line("used_memory_rss", &facts.resident_memory_bytes);
    line("used_memory_rss_human", &human(facts.resident_memory_bytes));
    line("used_memory_peak", &peak);
    line("used_memory_peak_human", &human(peak));
    line("used_memory_peak_perc", &format_args!("{:.2}%", percent(used, peak)));
    line("used_memory_dataset", &facts.dataset_bytes);
    line("used_memory_dataset_perc", &format_args!("{:.2}%", percent(facts.dataset_bytes, used)));
    line("total_system_memory", &facts.system_memory_bytes);
    line("total_system_memory_human", &human(facts.system_memory_bytes));
    line("number_of_cached_scripts", &cx.shared.scripts.len());
    line("maxmemory", &limit);
    line("maxmemory_human", &human(limit));
    line("maxmemory_policy", &cx.config.get("maxmemory-policy").unwrap_or_default());
}

fn persistence(line: &mut Line<'_>, facts: &Facts) {
    line("loading", &u8::from(facts.loading));
    line("async_loading", &0);
    line("rdb_bgsave_in_progress", &u8::from(facts.snapshot_is_running));
    line("rdb_last_save_time", &facts.last_snapshot_s);
    line("rdb_last_bgsave_status", &if facts.snapshot_failed { "err" } else { "ok" });
    line("aof_enabled", &1);
    line("aof_rewrite_in_progress", &0);
    line("aof_last_write_status", &if facts.log_is_good { "ok" } else { "err" });
    line("aof_current_size", &facts.log_bytes);
}

fn stats(line: &mut Line<'_>, cx: &Context<'_>, facts: &Facts) {
    let names = |space| cx.shared.subscriptions.names(space).count();
    line("total_connections_received", &facts.connections_received);
    line("total_commands_processed", &facts.commands_processed);
    line("instantaneous_ops_per_sec", &facts.commands_per_second);
    line("total_net_input_bytes", &facts.input_bytes);
    line("total_net_output_bytes", &facts.output_bytes);
    line("rejected_connections", &facts.connections_rejected);
    line("expired_keys", &facts.expired_keys);
    line("evicted_keys", &facts.evicted_keys);
    line("evicted_clients", &0);
    line("keyspace_hits", &facts.keyspace_hits);
    line("keyspace_misses", &facts.keyspace_misses);
    line("pubsub_channels", &names(Space::Channels));
    line("pubsub_patterns", &names(Space::Patterns));
    line("pubsubshard_channels", &names(Space::Shards));
    let [_, keys, items, prefixes] = cx.shared.tracking.counts();
    line("tracking_total_keys", &keys);
    line("tracking_total_items", &items);
    line("tracking_total_prefixes", &prefixes);
    line("total_error_replies", &cx.shared.commands.error_replies);
}

fn command_stats(line: &mut Line<'_>, cx: &Context<'_>) {
    for (spec, counts) in cx.shared.commands.commands() {
        let average = counts.took_us as f64 / counts.calls.max(1) as f64;
        let value = format_args!(
            "calls={},usec={},usec_per_call={average:.2},rejected_calls={},failed_calls={}",
            counts.calls, counts.took_us, counts.rejected, counts.failed
        );
        line(&format!("cmdstat_{}", spec.name), &value);
    }
}

fn latency_stats(line: &mut Line<'_>, cx: &Context<'_>) {
    let percentiles = cx.config.get("latency-tracking-info-percentiles").unwrap_or_default();
    for (spec, counts) in cx.shared.commands.commands() {
        let Some(latencies) = &counts.latencies else { continue };
        let value = |percentile: &str| {
            let percent = percentile.parse().unwrap_or_default();
            format!("p{percentile}={:.3}", latencies.percentile(percent) as f64)
        };
        let values: Vec<String> = percentiles.split_ascii_whitespace().map(value).collect();
        line(&format!("latency_percentiles_usec_{}", spec.name), &values.join(","));
    }
}

fn percent(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { 100.0 * part as f64 / whole as f64 }
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
