//! Measuring a running cluster: what its nodes use, and what they count.

use crate::http;
use crate::live::Live;
use anyhow::Context;
use std::time::Duration;

/// The time that a node may take to say how it is.
const PATIENCE: Duration = Duration::from_secs(5);

impl Live {
    /// Nanoseconds of processor time that a node has used.
    pub(crate) fn cpu_ns(&self, node: usize) -> anyhow::Result<u64> {
        cpu_ns(self.nodes[node].pid.context("the node does not run")?)
    }

    /// Counts how often a node has gone to sleep.
    pub(crate) fn sleeps(&self, node: usize) -> anyhow::Result<u64> {
        sleeps(self.nodes[node].pid.context("the node does not run")?)
    }

    /// A counter of a node, by its name in `/metrics`.
    pub(crate) fn counter(&self, node: usize, name: &str) -> anyhow::Result<u64> {
        let (_, text) = http::get(&format!("http://{}/metrics", self.nodes[node].admin), None, PATIENCE)?;
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix("{} "));
        let value =
            line.with_context(|| format!("{} has no counter called {name}", self.nodes[node].name))?;
        Ok(value.trim().parse::<f64>()? as u64)
    }
}

/// Nanoseconds of processor time that the threads which a process has now have used.
pub(crate) fn cpu_ns(pid: u32) -> anyhow::Result<u64> {
    let mut sum = 0;
    for task in std::fs::read_dir(format!("/proc/{pid}/task")).context("processor time is read from /proc")? {
        let text = std::fs::read_to_string(task?.path().join("schedstat"))?;
        sum += text.split(' ').next().and_then(|ns| ns.parse::<u64>().ok()).unwrap_or(0);
    }
    Ok(sum)
}

/// Counts how often those threads have gone to sleep.
pub(crate) fn sleeps(pid: u32) -> anyhow::Result<u64> {
    let mut sum = 0;
    for task in std::fs::read_dir(format!("/proc/{pid}/task"))? {
        let text = std::fs::read_to_string(task?.path().join("status"))?;
        let line = text.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
        sum += line.and_then(|count| count.trim().parse::<u64>().ok()).unwrap_or(0);
    }
    Ok(sum)
}
