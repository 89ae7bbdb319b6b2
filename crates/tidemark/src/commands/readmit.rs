//! `tidemark readmit`

use crate::running::Which;
use crate::supervisor::api::Action;
use clap::Args;
use std::process::ExitCode;

/// Take back a region that was excluded, once its links are mended.
///
/// What it wrote meanwhile shows everywhere as soon as all of it has arrived.
#[derive(Args)]
#[command(after_help = "Examples:\n  tidemark heal\n  tidemark readmit c")]
pub(crate) struct Readmit {
    /// The region, by name or letter.
    region: String,
    #[command(flatten)]
    which: Which,
}

impl Readmit {
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        self.which.act(&Action::Readmit { region: self.region })
    }
}
