//! `tidemark edge`

mod folder;
mod lists;
mod operations;
mod reading;
mod session;
mod shell;
mod show;
mod state;
mod verbs;
mod watch;
mod writing;

use crate::Usage;
use bytes::Bytes;
use clap::Args;
use folder::Folder;
use session::Session;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;
use tidemark_edge_client::Endpoint;
use verbs::Verb;

const EXAMPLES: &str = "\
Examples:
  tidemark up --edge                                                 a cluster to try it with
  tidemark edge --connect 127.0.0.1:9001 --connect 127.0.0.1:9002 -k 2 incr likes
  tidemark edge get likes                                            gateways and K are remembered
  tidemark edge hset post:1 title Hello text \"Good morning\"
  tidemark edge tx 'incr posts' 'sadd authors ann'                   both or neither, everywhere
  tidemark edge watch likes posts --json                             a line for each change
  tidemark edge --offline set note 'written on a train'              at once, and without a network
  tidemark edge sync                                                 until everything is delivered
  tidemark edge                                                      a shell
  tidemark edge bench --clients 1000                                 load a gateway

Exit codes: 0 done (a write is on this disk, and delivered later if it has to be), 1 it failed, 2 the command is wrong.";

/// Use the store as an edge client: from a folder of its own, at once, also offline.
///
/// A write is durable in the folder when the command answers; it is delivered when a gateway is reachable, once, and in order. What was
/// read once is kept in the folder, and can be read offline. Keys are those of Redis clients. Without a command there is a shell. One
/// process at a time uses a folder.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Edge {
    #[command(flatten)]
    common: Common,
    #[command(subcommand)]
    verb: Option<Verb>,
}

/// What all commands share.
#[derive(Args)]
pub(crate) struct Common {
    /// The client's folder [default: tidemark/edge in $XDG_DATA_HOME or ~/.local/share].
    #[arg(long, global = true, value_name = "DIR", env = "TIDEMARK_EDGE_DATA")]
    data: Option<PathBuf>,
    /// A gateway, such as ws://127.0.0.1:9001/edge; may be repeated, the preferred one first. The folder remembers them.
    #[arg(long, global = true, value_name = "URL")]
    connect: Vec<Endpoint>,
    /// How many regions must have what is shown (K). The folder remembers it [default: 1].
    #[arg(short = 'k', long, global = true, value_name = "K", value_parser = clap::value_parser!(u64).range(1..=64))]
    pub(crate) regions: Option<u64>,
    /// Lower K while no region can be reached that shares what is new with as many. What is seen then may be lost with that region.
    #[arg(long, global = true)]
    lower: bool,
    /// The password of the nodes.
    #[arg(long, global = true, value_name = "PASSWORD", env = "REDISCLI_AUTH", hide_env_values = true)]
    password: Option<String>,
    /// How long to wait for a gateway [default: 5s; sync and watch: for ever].
    #[arg(long, global = true, value_name = "TIME", value_parser = humantime::parse_duration)]
    wait: Option<Duration>,
    /// Do not connect: work with what the folder has.
    #[arg(long, global = true)]
    offline: bool,
    /// Print JSON, an object a line.
    #[arg(long, global = true)]
    pub(crate) json: bool,
}

impl Common {
    pub(crate) fn token(&self) -> Bytes {
        self.password.clone().unwrap_or_default().into()
    }

    /// The gateways that were named, or else those of last time.
    pub(crate) fn endpoints(&self, remembered: Vec<Endpoint>) -> anyhow::Result<Vec<Endpoint>> {
        let all = if self.connect.is_empty() { remembered } else { self.connect.clone() };
        if all.is_empty() {
            let how = "say where a gateway is: --connect ws://127.0.0.1:9001/edge, as `tidemark up --edge` prints it";
            return Err(Usage(how.into()).into());
        }
        Ok(all)
    }
}

impl Edge {
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        let Self { common, verb } = self;
        let verb = match verb {
            Some(Verb::Bench(bench)) => return bench.run(&common),
            other => other,
        };
        let folder = Folder::open(&common)?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(async {
            let mut session = Session::start(folder, &common);
            match verb {
                Some(verb) => session.run(verb).await,
                None => shell::run(session).await,
            }
        })
    }
}
