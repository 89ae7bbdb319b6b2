//! `tidemark heal`

use crate::running::Which;
use crate::supervisor::api::Action;
use clap::Args;
use std::process::ExitCode;

/// End the faults of `cut`, `slow` and `skew`: all of them, or those between two regions or servers.
///
/// Returns when all nodes that run have heard of it. If one does not answer within five seconds, the command fails and names it; that node
/// is told once it answers.
#[derive(Args)]
#[command(after_help = "Examples:\n  tidemark heal\n  tidemark heal a b")]
pub(crate) struct Heal {
    /// One side; by default all faults end.
    #[arg(requires = "to")]
    from: Option<String>,
    /// The other side.
    to: Option<String>,
    #[command(flatten)]
    which: Which,
}

impl Heal {
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        self.which.act(&Action::Heal { between: self.from.zip(self.to) })
    }
}
