//! `tidemark slow`

use crate::running::Which;
use crate::supervisor::api::Action;
use crate::supervisor::plan::micros;
use clap::Args;
use std::process::ExitCode;
use tidemark_server::config::Span;

/// Make the way between two regions of a running cluster longer.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  tidemark slow a b --by 200ms\n  tidemark slow a b --by 0s      as fast as before"
)]
pub(crate) struct Slow {
    /// A region, by name or letter.
    from: String,
    /// The other one.
    to: String,
    /// By how much each message is later than it was.
    #[arg(long, value_name = "TIME")]
    by: Span,
    /// Only from the first to the second.
    #[arg(long)]
    one_way: bool,
    #[command(flatten)]
    which: Which,
}

impl Slow {
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        let (from, to, one_way) = (self.from, self.to, self.one_way);
        self.which.act(&Action::Slow { from, to, by_us: micros(self.by), one_way })
    }
}
