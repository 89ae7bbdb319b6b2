//! `tidemark protocols`

use crate::output::{print, print_json, row, table};
use clap::Args;
use serde::Serialize;
use std::process::ExitCode;
use tidemark_protocols::{CAUSAL, NAMES, Protocol, with_protocol};

/// List the consistency protocols, and what each promises.
#[derive(Args)]
pub(crate) struct Protocols {
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Listed {
    name: &'static str,
    default: bool,
    promise: &'static str,
    promise_means: &'static str,
    about: &'static str,
    params: serde_json::Value,
}

impl Protocols {
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        let all: Vec<Listed> = NAMES.iter().filter_map(|name| listed(name)).collect();
        if self.json {
            print_json(&all)?;
            return Ok(ExitCode::SUCCESS);
        }
        let mut rows = vec![row(["PROTOCOL", "PROMISE", "ABOUT"])];
        for listed in &all {
            let name = format!("{}{}", listed.name, if listed.default { " (default)" } else { "" });
            rows.push(row([&name, listed.promise, listed.about]));
        }
        let mut promises: Vec<_> = all.iter().map(|listed| (listed.promise, listed.promise_means)).collect();
        promises.dedup();
        let promises: Vec<_> = promises.iter().map(|(name, means)| row([name, means])).collect();
        print(&format!("{}\nWhat is promised:\n{}", table(&rows), table(&promises)));
        print("\n`causal` means the default. The numbers of each: tidemark protocols --json\n");
        Ok(ExitCode::SUCCESS)
    }
}

fn listed(name: &str) -> Option<Listed> {
    with_protocol!(name, P => Some(Listed {
        name: P::NAME,
        default: P::NAME == CAUSAL,
        promise: P::PROMISE.name(),
        promise_means: P::PROMISE.description(),
        about: P::ABOUT,
        params: json_of(&<P as Protocol>::Params::default()),
    }), otherwise None)
}

fn json_of(params: &impl Serialize) -> serde_json::Value {
    serde_json::to_value(params).unwrap_or_default()
}
