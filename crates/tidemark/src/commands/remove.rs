//! `tidemark remove`

use crate::running::Which;
use crate::supervisor::api::Action;
use clap::Args;
use std::process::ExitCode;

/// Take one node out of its group, and stop it.
///
/// The group counts it no more: of three, the two that are left have to agree. `tidemark replace` takes it in again.
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
