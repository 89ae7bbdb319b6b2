//! `tidemark exclude`

use crate::running::Which;
use crate::supervisor::api::Action;
use clap::Args;
use std::process::ExitCode;

/// Exclude a region, so that the others do not wait for it.
///
/// Under `tidemark`, the default protocol, this is for a region that is lost: stop its nodes first if any of them runs. The other regions
/// agree on what they have received of it; what none of them has counts as never written. That cannot be taken back, so it needs --for-good.
///
/// Under `gentlerain` it is for a region that is cut off. It keeps serving its own clients; their writes become visible in other
/// regions after `tidemark readmit`.
///
/// A node that runs and does not answer is waited for: the command fails and says so, and the order is carried out once all nodes answer.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  tidemark exclude c --for-good      # tidemark: c is lost\n  tidemark exclude c                 # gentlerain: c is cut off"
)]
pub(crate) struct Exclude {
    /// The region, by name or letter.
    region: String,
    /// It is lost, and will not come back.
    #[arg(long)]
    for_good: bool,
    #[command(flatten)]
    which: Which,
}

impl Exclude {
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        self.which.act(&Action::Exclude { region: self.region, for_good: self.for_good })
    }
}
