//! `tidemark kill`

use crate::running::Which;
use crate::supervisor::api::Action;
use clap::Args;
use std::process::ExitCode;

/// Kill a region of a running cluster with SIGKILL, as a crash would.
///
/// Nothing that it acknowledged is lost: `tidemark restart` brings it back.
#[derive(Args)]
pub(crate) struct Kill {
    /// A region by name or letter, one node by name, or `a/0`: the node that now serves partition 0 of region A.
    target: String,
    #[command(flatten)]
    which: Which,
}

impl Kill {
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        self.which.act(&Action::Kill { target: self.target })
    }
}
