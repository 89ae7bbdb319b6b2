//! `tidemark restart`

use crate::running::Which;
use crate::supervisor::api::Action;
use clap::Args;
use std::process::ExitCode;

/// Start a region of a running cluster again; if it runs, stop it cleanly first.
#[derive(Args)]
pub(crate) struct Restart {
    /// A region by name or letter, or one node by name.
    target: String,
    #[command(flatten)]
    which: Which,
}

impl Restart {
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        self.which.act(&Action::Restart { target: self.target })
    }
}
