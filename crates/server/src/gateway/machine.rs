//! What the operating system says of this process: zeros where it does not tell.

use std::path::Path;
use std::time::UNIX_EPOCH;

/// Ticks a second in which the system counts processor time: the same on every Linux.
const TICKS: f64 = 100.0;

/// Resident memory of this process and its peak, in bytes.
pub(super) fn memory() -> (u64, u64) {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    (field(&status, "VmRSS:"), field(&status, "VmHWM:"))
}

/// The machine's memory in bytes.
pub(super) fn system_memory() -> u64 {
    field(&std::fs::read_to_string("/proc/meminfo").unwrap_or_default(), "MemTotal:")
}

/// A line in KiB, in bytes.
fn field(text: &str, name: &str) -> u64 {
    let line = text.lines().find(|line| line.starts_with(name));
    let kib = line.and_then(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok());
    kib.unwrap_or(0) * 1024
}

/// Seconds of processor time of this process: system, user.
pub(super) fn processor_time() -> (f64, f64) {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The name in brackets may hold anything.
    let fields = stat.rsplit_once(')').map_or("", |(_, fields)| fields);
    let ticks = |at: usize| fields.split_whitespace().nth(at).and_then(|ticks| ticks.parse::<f64>().ok());
    (ticks(12).unwrap_or(0.0) / TICKS, ticks(11).unwrap_or(0.0) / TICKS)
}

/// When the latest snapshot below `directory` was written, in seconds since 1970.
pub(super) fn last_snapshot(directory: &Path) -> Option<u64> {
    let entries = std::fs::read_dir(directory).ok()?.flatten();
    let written = entries.filter_map(|entry| {
        let metadata = entry.metadata().ok()?;
        if metadata.is_dir() {
            return last_snapshot(&entry.path());
        }
        let is_snapshot = entry.path().extension().is_some_and(|extension| extension == "snapshot");
        let at = metadata.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
        is_snapshot.then_some(at.as_secs())
    });
    written.max()
}
