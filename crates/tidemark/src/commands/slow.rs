//! `tidemark slow`

use crate::running::Which;
use crate::supervisor::api::Action;
use crate::supervisor::plan::micros;
use clap::Args;
use std::process::ExitCode;
use tidemark_server::config::Span;

/// Delay messages between two regions of a running cluster, or all messages of one node.
#[derive(Args)]
#[command(after_help = "Examples:
  tidemark slow a b --by 200ms
  tidemark slow a b --by 0s      as fast as before
  tidemark slow a-2 --by 100ms   delays all messages from node a-2 to other nodes")]
pub(crate) struct Slow {
    /// A region, by name or letter; alone, the name of a node, or a region for all of its nodes.
    from: String,
    /// The other region.
    to: Option<String>,
    /// The delay of each message.
    #[arg(long, value_name = "TIME")]
    by: Span,
    /// Only from the first to the second.
    #[arg(long, requires = "to")]
    one_way: bool,
    #[command(flatten)]
    which: Which,
}

impl Slow {
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        let (from, to, one_way) = (self.from, self.to, self.one_way);
        self.which.act(&Action::Slow { from, to, by_us: micros(self.by), one_way })
    }
}
