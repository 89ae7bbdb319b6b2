//! `tidemark replace`

use crate::running::Which;
use crate::supervisor::api::Action;
use clap::Args;
use std::process::ExitCode;

/// Start one node of a Raft group with an empty directory, as after the loss of its disk.
///
/// Its group removes the old member, adds the node as a new one, and sends it a copy of everything. The others continue meanwhile.
#[derive(Args)]
pub(crate) struct Replace {
    /// A node, by name.
    node: String,
    #[command(flatten)]
    which: Which,
}

impl Replace {
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        self.which.act(&Action::Replace { node: self.node })
    }
}
