//! The server.

use crate::redis::prelude::*;

commands! {
    bgrewriteaof, bgsave, cluster, command, config, dbsize, debug, flushall, flushdb, info, lastsave, latency, lolwut,
    memory, module, monitor, replicaof, role, shutdown, slaveof, slowlog, time,
}

pub(super) mod refused;

const ADMIN: &[&str] = &["admin", "loading", "stale"];
/// What is said of logs that nothing is written to.
const EMPTY: &str = "Always empty.";

/// An empty list.
fn empty(_: &mut Connection, _: &Call, cx: &mut Context<'_>) -> Answer {
    cx.out.array(0);
    Ok(Next::Continue)
}

/// Whether it is ASYNC or SYNC, which make no difference here.
pub(super) fn is_flush_mode(mode: &[u8]) -> bool {
    is(mode, "async") || is(mode, "sync")
}
