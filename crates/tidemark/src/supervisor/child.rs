//! One child process: `tidemark serve` for one node.

use super::{Event, Supervisor, tail::Tail};
use anyhow::Context;
use std::fs::File;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;
use tokio::process::Command;
use tokio::sync::{mpsc, watch};

enum Order {
    Stop,
    Kill,
}

/// A child that runs, or has just ended.
pub(super) struct Child {
    /// Its process.
    pub(super) pid: u32,
    orders: mpsc::UnboundedSender<Order>,
    ended: watch::Receiver<bool>,
}

impl Child {
    /// Starts the node `index`. Its log goes to a file; warnings and errors to the terminal, too.
    pub(super) fn spawn(supervisor: &Arc<Supervisor>, index: usize) -> anyhow::Result<Self> {
        let node = &supervisor.cluster.nodes[index];
        let (log, ready) = (supervisor.log_of(node), supervisor.ready_file(node));
        let _ = std::fs::remove_file(&ready);
        let writer = File::options().create(true).append(true).open(&log);
        let writer = writer.with_context(|| format!("cannot write {}", log.display()))?;
        let mut command = Command::new(std::env::current_exe().context("cannot find this program")?);
        command
            .arg("serve")
            .arg("--config")
            .arg(supervisor.dir.join("cluster.toml"))
            .args(["--node", &node.name]);
        command.arg("--ready-file").arg(&ready).arg("--stop-on-eof");
        if let Some(fault) = supervisor.faults_of(node) {
            command.args(["--fault", &fault]);
        }
        // A group of its own: Ctrl-C in the terminal reaches the supervisor alone, which then ends its children.
        command.stdin(Stdio::piped()).stdout(Stdio::null()).process_group(0);
        let mut tail = Tail::at_end_of(&log);
        let mut process =
            command.stderr(writer).spawn().with_context(|| format!("cannot start {}", node.name))?;
        let pid = process.id().unwrap_or_default();
        let mut pipe = process.stdin.take();
        let (orders, mut to_do) = mpsc::unbounded_channel();
        let (has_ended, ended) = watch::channel(false);
        let supervisor = Arc::clone(supervisor);
        let name = node.name.clone();
        tokio::spawn(async move {
            let mut show = tokio::time::interval(Duration::from_millis(100));
            let status = loop {
                tokio::select! {
                    status = process.wait() => break status,
                    order = to_do.recv() => match order {
                        Some(Order::Kill) => drop(process.start_kill()),
                        _ => drop(pipe.take()),
                    },
                    _ = show.tick() => supervisor.show(&name, &mut tail),
                }
            };
            supervisor.show(&name, &mut tail);
            supervisor.ended(index, status.map_or_else(|error| error.to_string(), in_words));
            let _ = has_ended.send(true);
        });
        Ok(Self { pid, orders, ended })
    }

    /// Lets it end cleanly.
    pub(super) fn stop(&self) {
        let _ = self.orders.send(Order::Stop);
    }

    /// Ends it as a crash would.
    pub(super) fn kill(&self) {
        let _ = self.orders.send(Order::Kill);
    }

    /// Becomes true when it has ended.
    pub(super) fn exit(&self) -> watch::Receiver<bool> {
        self.ended.clone()
    }
}

impl Supervisor {
    fn show(&self, node: &str, tail: &mut Tail) {
        for line in tail.alarming() {
            let _ = self.events.send(Event::Logged { node: node.to_string(), line });
        }
    }
}

/// How a process ended.
fn in_words(status: ExitStatus) -> String {
    match (std::os::unix::process::ExitStatusExt::signal(&status), status.code()) {
        (Some(9), _) => "killed by SIGKILL".into(),
        (Some(signal), _) => format!("killed by signal {signal}"),
        (None, code) => format!("ended with exit code {}", code.unwrap_or_default()),
    }
}
