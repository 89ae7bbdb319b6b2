//! `tidemark demo`

use crate::demo::{self, Stage};
use crate::lab;
use clap::{Args, ValueEnum};
use std::process::ExitCode;

/// Watch two well-known anomalies happen, and then not happen.
///
/// Plays the photo album and the profile picture on real clusters of two regions: first under `eventual`, where
/// an effect is seen without its cause, then under `causal`, where it is not. The link of one partition between two
/// regions is cut, so that the cause is delayed and its effect is not; the reads are printed as a timeline.
///
/// `roaming` plays clients that migrate from one region to another while the two are cut off from each other, in the
/// simulator, and prints the cost of each way to serve them.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Demo {
    /// The demo to play.
    #[arg(value_enum, default_value_t = Play::Anomalies)]
    play: Play,
    /// Play under this protocol only, instead of `eventual` and then `causal`.
    #[arg(long)]
    protocol: Option<String>,
    /// The first of the ports that the cluster takes; 0 for any free ones.
    #[arg(long, default_value_t = 7301)]
    base_port: u16,
    /// Of roaming: the seed of the schedule.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Of roaming: print JSON.
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  tidemark demo
  tidemark demo --protocol gentlerain
  tidemark demo roaming                 the cost of migrating between regions that are cut off";

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum Play {
    /// The photo album and the profile picture, on real clusters.
    Anomalies,
    /// Clients that migrate to another region under a cut, in the simulator: the cost of each remedy.
    Roaming,
}

impl Demo {
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        if self.play == Play::Roaming {
            return lab::roaming(self.seed, self.json);
        }
        let protocols = match self.protocol {
            Some(protocol) => vec![protocol],
            None => vec!["eventual".into(), "causal".into()],
        };
        let mut verdicts = Vec::new();
        for protocol in protocols {
            let stage = Stage { protocol, base_port: self.base_port };
            verdicts.extend(demo::play(&stage)?);
        }
        demo::conclude(&verdicts);
        let broken = verdicts.iter().any(|verdict| verdict.anomaly && verdict.promised);
        Ok(if broken { ExitCode::FAILURE } else { ExitCode::SUCCESS })
    }
}
