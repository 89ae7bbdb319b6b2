//! `tidemark demo`

use crate::demo::{self, Stage};
use clap::Args;
use std::process::ExitCode;

/// Watch two well-known anomalies happen, and then not happen.
///
/// Plays the photo album and the profile picture on real clusters of three regions: first under `eventual`, where
/// an effect is seen without its cause, then under `causal`, where it is not. The link of one partition between two
/// regions is cut, so that the cause is delayed and its effect is not; what each reader saw is printed as a timeline.
#[derive(Args)]
#[command(after_help = "Examples:\n  tidemark demo\n  tidemark demo --protocol gentlerain")]
pub(crate) struct Demo {
    /// Play under this protocol only, instead of `eventual` and then `causal`.
    #[arg(long)]
    protocol: Option<String>,
    /// The first of the ports that the cluster takes.
    #[arg(long, default_value_t = 7301)]
    base_port: u16,
}

impl Demo {
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
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
