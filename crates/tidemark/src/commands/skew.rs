//! `tidemark skew`

use crate::running::Which;
use crate::supervisor::api::Action;
use crate::supervisor::plan::micros;
use clap::Args;
use std::process::ExitCode;
use tidemark_server::config::Span;

/// Set the clock of a node of a running cluster ahead, or back.
///
/// The node's time changes at once, as when its machine's clock is set. The clocks of the machine
/// and of other nodes do not change. The skew survives a restart of the node.
#[derive(Args)]
#[command(after_help = "Examples:
  tidemark skew a-2 --by 10ms
  tidemark skew b --by=-2s       the clocks of all nodes of region b, back
  tidemark skew a-2 --by 0s      right again")]
pub(crate) struct Skew {
    /// A node, or a region for all of its nodes.
    target: String,
    /// How far the clock is ahead; with a minus, behind.
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = signed)]
    by: i64,
    #[command(flatten)]
    which: Which,
}

impl Skew {
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        self.which.act(&Action::Skew { target: self.target, by_us: self.by })
    }
}

/// Microseconds, of a length of time that may have a minus.
fn signed(text: &str) -> Result<i64, String> {
    let (sign, length) = text.strip_prefix('-').map_or((1, text), |length| (-1, length));
    let length: Span = length.parse().map_err(|error| format!("{error}"))?;
    Ok(sign * micros(length) as i64)
}
