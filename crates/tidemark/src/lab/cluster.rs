//! A cluster of real processes that is measured: what its nodes use, and what is done to them.

use crate::http;
use crate::live::Live;
use crate::supervisor::api::{ClusterStatus, NodeStatus};
use anyhow::{Context, bail};
use std::process::Command;
use std::time::Duration;

/// How long a node may take to say how it is.
const PATIENCE: Duration = Duration::from_secs(5);

/// A running cluster; dropping it stops it and removes its files.
pub(crate) struct Cluster {
    live: Live,
    pub(crate) nodes: Vec<NodeStatus>,
}

impl Cluster {
    /// Runs `tidemark up` with these arguments until it is ready.
    pub(crate) fn start(arguments: &[impl AsRef<str>]) -> anyhow::Result<Self> {
        let live = Live::start(arguments)?;
        let nodes = status(&live)?.nodes;
        Ok(Self { live, nodes })
    }

    /// Does something to it from outside, as `tidemark slow a-2 --by 5ms` would.
    pub(crate) fn order(&self, verb: &[&str]) -> anyhow::Result<()> {
        let mut command = Command::new(std::env::current_exe()?);
        let output = command.args(verb).arg("--dir").arg(&self.live.dir).output()?;
        match output.status.success() {
            true => Ok(()),
            false => {
                bail!("`tidemark {}`: {}", verb.join(" "), String::from_utf8_lossy(&output.stderr).trim())
            }
        }
    }

    /// Nanoseconds of processor time that a node has used.
    pub(crate) fn cpu_ns(&self, node: usize) -> anyhow::Result<u64> {
        cpu_ns(self.nodes[node].pid.context("the node does not run")?)
    }

    /// How often a node has gone to sleep.
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

fn status(live: &Live) -> anyhow::Result<ClusterStatus> {
    let mut command = Command::new(std::env::current_exe()?);
    let output = command.args(["status", "--json", "--dir"]).arg(&live.dir).output()?;
    serde_json::from_slice(&output.stdout).context("the cluster does not say how it is")
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

/// How often those threads have gone to sleep.
pub(crate) fn sleeps(pid: u32) -> anyhow::Result<u64> {
    let mut sum = 0;
    for task in std::fs::read_dir(format!("/proc/{pid}/task"))? {
        let text = std::fs::read_to_string(task?.path().join("status"))?;
        let line = text.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
        sum += line.and_then(|count| count.trim().parse::<u64>().ok()).unwrap_or(0);
    }
    Ok(sum)
}
