//! `tidemark serve`

use crate::Usage;
use clap::{Args, ValueEnum};
use rustix::process::{Signal, getpid, kill_process};
use std::io::Read;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;
use tidemark_server::config::{self, Address, Fsync, MemoryPolicy, Overrides, Secret, SessionScope, Size};
use tidemark_server::{FaultOrder, ServeError, run_node};
use tracing_subscriber::filter::Targets;
use tracing_subscriber::prelude::*;

const ENVIRONMENT: &str = "\
Every flag wins over its variable, and both win over the cluster file. Secrets have variables
only, since others on the machine can read command lines:
  TIDEMARK_PEER_SECRET     [cluster] peer_secret
  TIDEMARK_REQUIREPASS     [cluster] requirepass

Example:
  tidemark serve --config /etc/tidemark/cluster.toml --node virginia-1 --log-format json";

/// Run one node of a cluster: what a service manager starts in production.
///
/// All nodes read the same cluster file. The node stops cleanly on SIGTERM and SIGINT; killed in any other way
/// it loses nothing that it acknowledged.
#[derive(Args)]
#[command(after_help = ENVIRONMENT)]
pub(crate) struct Serve {
    /// The cluster file.
    #[arg(long, value_name = "FILE", env = "TIDEMARK_CONFIG")]
    config: PathBuf,
    /// Which node of the file to run.
    #[arg(long, value_name = "NAME", env = "TIDEMARK_NODE")]
    node: String,
    #[command(flatten)]
    set: Set,
    /// What to log: error, warn, info, debug, trace, or a filter such as `info,tidemark_node=debug`.
    #[arg(long, value_name = "FILTER", env = "TIDEMARK_LOG", default_value = "info")]
    log: String,
    /// How to log, to standard error.
    #[arg(long, value_name = "FORMAT", env = "TIDEMARK_LOG_FORMAT", default_value = "text")]
    log_format: LogFormat,
    /// Write this file, one line of JSON, once the node serves.
    #[arg(long, value_name = "FILE")]
    ready_file: Option<PathBuf>,
    /// Stop when standard input ends: how children of `up` notice that it died.
    #[arg(long, hide = true)]
    stop_on_eof: bool,
    /// Have this fault from the first connection on: how children of `up` keep theirs when they are restarted.
    #[arg(long, hide = true, value_name = "FAULT")]
    fault: Vec<FaultOrder>,
}

/// What may differ from the cluster file.
#[derive(Args)]
struct Set {
    /// When a write is made durable: always, everysec or no.
    #[arg(long, value_name = "POLICY", env = "TIDEMARK_FSYNC")]
    fsync: Option<Fsync>,
    /// Which connections share one causal past: connection, client-name or gateway.
    #[arg(long, value_name = "SCOPE", env = "TIDEMARK_SESSION_SCOPE")]
    session_scope: Option<SessionScope>,
    /// Where Redis clients connect.
    #[arg(long, value_name = "HOST:PORT", env = "TIDEMARK_LISTEN")]
    listen: Option<Address>,
    /// Where other nodes connect.
    #[arg(long, value_name = "HOST:PORT", env = "TIDEMARK_PEER_LISTEN")]
    peer_listen: Option<Address>,
    /// Where metrics, health and status are served over HTTP.
    #[arg(long, value_name = "HOST:PORT", env = "TIDEMARK_ADMIN_LISTEN")]
    admin_listen: Option<Address>,
    /// The data directory.
    #[arg(long, value_name = "DIR", env = "TIDEMARK_DIR")]
    dir: Option<String>,
    /// The log kept for a peer that is unreachable, such as 8GiB.
    #[arg(long, value_name = "SIZE", env = "TIDEMARK_LOG_RETAIN")]
    log_retain: Option<Size>,
    /// How many Redis clients are served at once.
    #[arg(long, value_name = "COUNT", env = "TIDEMARK_MAX_CLIENTS")]
    max_clients: Option<u32>,
    /// How much memory may be used before commands that may add data are refused, such as 4GiB.
    #[arg(long, value_name = "SIZE", env = "TIDEMARK_MAX_MEMORY")]
    max_memory: Option<Size>,
    /// Whether keys with deadlines are evicted before that: noeviction or volatile-ttl.
    #[arg(long, value_name = "POLICY", env = "TIDEMARK_MAX_MEMORY_POLICY")]
    max_memory_policy: Option<MemoryPolicy>,
}

#[derive(Clone, Copy, ValueEnum)]
enum LogFormat {
    /// Lines for people.
    Text,
    /// One JSON object a line.
    Json,
}

/// What the environment says about the whole cluster.
pub(crate) fn secrets() -> Overrides {
    let secret = |name: &str| std::env::var(name).ok().map(Secret::from);
    Overrides {
        peer_secret: secret("TIDEMARK_PEER_SECRET"),
        requirepass: secret("TIDEMARK_REQUIREPASS"),
        ..Overrides::default()
    }
}

impl Set {
    fn overrides(self) -> Overrides {
        Overrides {
            fsync: self.fsync,
            session_scope: self.session_scope,
            listen: self.listen,
            peer_listen: self.peer_listen,
            admin_listen: self.admin_listen,
            dir: self.dir,
            log_retain: self.log_retain,
            max_clients: self.max_clients,
            max_memory: self.max_memory,
            max_memory_policy: self.max_memory_policy,
            ..secrets()
        }
    }
}

impl Serve {
    /// Logs to standard error from now on.
    fn log(&self) -> anyhow::Result<()> {
        let filter: Targets =
            self.log.parse().map_err(|error| Usage(format!("--log {}: {error}", self.log)))?;
        let lines = tracing_subscriber::fmt::layer().with_writer(std::io::stderr).with_ansi(false);
        let lines = match self.log_format {
            LogFormat::Text => lines.boxed(),
            LogFormat::Json => lines.json().boxed(),
        };
        tracing_subscriber::registry().with(lines).with(filter).init();
        Ok(())
    }

    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        self.log()?;
        end_at_a_panic();
        if self.stop_on_eof {
            std::thread::spawn(stop_at_end_of_input);
        }
        let overrides = self.set.overrides();
        let loaded = config::load_node(&self.config, &self.node, &overrides);
        let (cluster, me) = loaded.map_err(|error| Usage(error.to_string()))?;
        let mut node = cluster.node_config(me).map_err(Usage)?;
        node.ready_file = self.ready_file;
        node.faults = self.fault;
        match run_node(node) {
            Ok(()) => Ok(ExitCode::SUCCESS),
            Err(ServeError::Config(what)) => Err(Usage(what).into()),
            Err(error) => Err(error.into()),
        }
    }
}

/// A broken assumption ends the process in any build: a task that is gone would leave a node that only looks alive.
fn end_at_a_panic() {
    let report = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        report(panic);
        std::process::abort();
    }));
}

/// Waits until the other end of standard input is gone, then stops this process as SIGTERM would, and by
/// force if that takes too long.
fn stop_at_end_of_input() {
    let mut byte = [0];
    while matches!(std::io::stdin().read(&mut byte), Ok(1..)) {}
    let _ = kill_process(getpid(), Signal::TERM);
    std::thread::sleep(Duration::from_secs(10));
    std::process::exit(1);
}
