//! What a process asks of its machine: how many files, and so connections, it may open; and which start of the machine this is.

use crate::NodeConfig;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// What a node opens beside clients: its log, snapshots, and links to other nodes.
const RESERVED: usize = 256;

/// Raises the limit to what all clients need, as far as the system lets it; and takes fewer clients if that is not enough for them, so that
/// they are told rather than left waiting.
pub(super) fn make_room(config: &mut NodeConfig) {
    let kinds = 1 + usize::from(config.edge_listen.is_some());
    let needed = config.max_clients.saturating_mul(kinds).saturating_add(RESERVED);
    let limit = raise(needed as u64);
    // Clients of one kind may take all that there is: not often are there as many of the other.
    let most = usize::try_from(limit).unwrap_or(usize::MAX).saturating_sub(RESERVED).max(1);
    if config.max_clients <= most {
        return;
    }
    config.max_clients = most;
    tracing::warn!(
        "this process may open {limit} files: it takes {most} clients of a kind, and not max_clients; \
         raise the limit to {needed} (ulimit -n, or LimitNOFILE), or lower max_clients"
    );
}

/// Returns how many files may be opened then.
fn raise(needed: u64) -> u64 {
    let now = getrlimit(Resource::Nofile);
    if now.current.is_none_or(|current| current >= needed) {
        return now.current.unwrap_or(u64::MAX);
    }
    let wanted = Rlimit { current: Some(now.maximum.unwrap_or(needed).min(needed)), ..now };
    let _ = setrlimit(Resource::Nofile, wanted);
    getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)
}

/// Tests lose power by it: whatever ends the process takes with it what was not synced, and each start is another one of the machine.
const LOSES_POWER: &str = "TIDEMARK_LOSES_POWER";

/// Whether the end of this process is to be a loss of power.
pub(super) fn loses_power() -> bool {
    std::env::var_os(LOSES_POWER).is_some()
}

/// Names the start of this machine, as far as the system says.
pub(super) fn boot_id() -> String {
    if loses_power() {
        return format!("{:x}", fastrand::u128(..));
    }
    let known = std::fs::read_to_string("/proc/sys/kernel/random/boot_id");
    known.unwrap_or_default().trim().to_string()
}
