//! A cluster of real processes for measurements, run by the same commands that a user would type.

use crate::http;
use crate::supervisor::api::{ClusterStatus, NodeStatus};
use anyhow::{Context, bail};
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// How long a node may take to say how it is.
const PATIENCE: Duration = Duration::from_secs(5);

/// A running cluster; dropping it stops it and removes its files.
pub(crate) struct Live {
    child: Child,
    pub(crate) dir: PathBuf,
    pub(crate) nodes: Vec<NodeStatus>,
}

impl Live {
    /// Runs `tidemark up` with these arguments until it is ready.
    pub(crate) fn start(arguments: &[impl AsRef<str>]) -> anyhow::Result<Self> {
        static STARTED: AtomicU32 = AtomicU32::new(0);
        let number = STARTED.fetch_add(1, Ordering::Relaxed);
        let dir = std::env::temp_dir().join(format!("tidemark-live-{}-{number}", std::process::id()));
        let mut command = Command::new(std::env::current_exe()?);
        let arguments: Vec<&str> = arguments.iter().map(AsRef::as_ref).collect();
        command.args(["up", "--dir"]).arg(&dir).args(&arguments);
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
        let output = child.stdout.take().context("the cluster has no output")?;
        let mut lines = BufReader::new(output).lines();
        let ready = lines.by_ref().map_while(Result::ok).any(|line| line.trim() == "ready");
        let mut live = Self { child, dir, nodes: Vec::new() };
        if !ready {
            bail!("the cluster did not start: `tidemark up {}`", arguments.join(" "));
        }
        // Somebody has to read what the cluster goes on to say.
        std::thread::spawn(move || lines.for_each(drop));
        live.nodes = live.status()?.nodes;
        Ok(live)
    }

    fn status(&self) -> anyhow::Result<ClusterStatus> {
        let mut command = Command::new(std::env::current_exe()?);
        let output = command.args(["status", "--json", "--dir"]).arg(&self.dir).output()?;
        serde_json::from_slice(&output.stdout).context("the cluster does not say how it is")
    }

    /// Does something to it from outside, as `tidemark slow a-2 --by 5ms` would.
    pub(crate) fn order(&self, verb: &[&str]) -> anyhow::Result<()> {
        let mut command = Command::new(std::env::current_exe()?);
        let output = command.args(verb).arg("--dir").arg(&self.dir).output()?;
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

impl Drop for Live {
    fn drop(&mut self) {
        // Closing its door politely: SIGTERM, as Ctrl-C would.
        let _ = Command::new("kill").arg(self.child.id().to_string()).status();
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.dir);
    }
}
