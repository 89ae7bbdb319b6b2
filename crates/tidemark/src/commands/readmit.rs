//! `tidemark readmit`

use crate::running::Which;
use crate::supervisor::api::Action;
use clap::Args;
use std::process::ExitCode;

/// Readmit an excluded region, once its links are healed; or cancel an exclusion that was begun and not finished.
///
/// Under `tidemark` a region that is excluded stays excluded, and this cancels only.
/// Its writes become visible everywhere as soon as all of them have arrived.
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
