//! `tidemark exclude`

use crate::running::Which;
use crate::supervisor::api::Action;
use clap::Args;
use std::process::ExitCode;

/// Exclude a region that is cut off, under protocols whose regions wait for each other (gentlerain).
///
/// The other regions choose a time up to which its writes stay visible, and stop waiting for it. It keeps serving its own
/// clients; their writes become visible in other regions after `readmit`.
#[derive(Args)]
#[command(after_help = "Examples:\n  tidemark cut a c\n  tidemark cut b c\n  tidemark exclude c")]
pub(crate) struct Exclude {
    /// The region, by name or letter.
    region: String,
    #[command(flatten)]
    which: Which,
}

impl Exclude {
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        self.which.act(&Action::Exclude { region: self.region })
    }
}
