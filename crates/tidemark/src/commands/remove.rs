//! `tidemark remove`

use crate::running::Which;
use crate::supervisor::api::Action;
use clap::Args;
use std::process::ExitCode;

/// Remove one node from its Raft group, and stop it.
///
/// The node no longer counts for the quorum: of three, the remaining two must both run. `tidemark replace` adds it again.
#[derive(Args)]
pub(crate) struct Remove {
    /// A node, by name.
    node: String,
    #[command(flatten)]
    which: Which,
}

impl Remove {
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        self.which.act(&Action::Remove { node: self.node })
    }
}
