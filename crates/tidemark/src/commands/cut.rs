//! `tidemark cut`

use crate::running::Which;
use crate::supervisor::api::Action;
use clap::Args;
use std::process::ExitCode;

/// Cut the links between two regions, or two servers, of a running cluster.
///
/// Messages under way are lost, as when a cable breaks. Later writes arrive after `heal`. The cut ends, too, half a minute after `tidemark up`
/// has ceased to run, and holds again when that goes on.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  tidemark cut a b\n  tidemark cut virginia oregon --one-way\n  tidemark cut a/0 b/0"
)]
pub(crate) struct Cut {
    /// A region by name or letter, or the server of one of its partitions: a, virginia, a/0.
    from: String,
    /// The other side.
    to: String,
    /// Drop only messages from the first to the second.
    #[arg(long)]
    one_way: bool,
    #[command(flatten)]
    which: Which,
}

impl Cut {
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        self.which.act(&Action::Cut { from: self.from, to: self.to, one_way: self.one_way })
    }
}
