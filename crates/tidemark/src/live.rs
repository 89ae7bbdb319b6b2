//! A cluster of real processes for demos and measurements, run by the same commands that a user would type.

use crate::supervisor::api::{ClusterStatus, NOT_TOLD, NodeStatus};
use anyhow::{Context, bail};
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// How long nodes may be too busy to hear of something.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

/// A running cluster; dropping it stops it and removes its files.
pub(crate) struct Live {
    child: Child,
    dir: PathBuf,
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
        let status: ClusterStatus = serde_json::from_slice(&live.tell(&["status", "--json"])?.stdout)?;
        live.nodes = status.nodes;
        Ok(live)
    }

    /// Runs another command of ours on the cluster, such as `tidemark slow a-2 --by 5ms`; again while a node is too busy to hear of it.
    pub(crate) fn tell(&self, words: &[&str]) -> anyhow::Result<Output> {
        let begun = Instant::now();
        loop {
            let output =
                Command::new(std::env::current_exe()?).args(words).arg("--dir").arg(&self.dir).output()?;
            if output.status.success() {
                return Ok(output);
            }
            let why = String::from_utf8_lossy(&output.stderr);
            if !why.contains(NOT_TOLD) || begun.elapsed() > PATIENCE {
                bail!("`tidemark {}`: {}", words.join(" "), why.trim());
            }
        }
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        // Closing its door politely: SIGTERM, as Ctrl-C would.
        let _ = Command::new("kill").arg(self.child.id().to_string()).status();
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.dir);
    }
}
