//! `tidemark sim calibrate`

use crate::lab::calibrate::{Effort, calibrate};
use crate::output::{print, print_json, row, table};
use anyhow::Context;
use clap::Args;
use std::path::PathBuf;
use std::process::ExitCode;

const USE: &str = "\
Experiments that are simulated use the figures that this binary was built with, those of crates/tidemark/src/lab/calibrate/costs.json,
or those of a file: `tidemark experiment run --costs FILE`.

Example:
  tidemark sim calibrate --out costs.json        takes some minutes; leave the machine alone meanwhile";

/// Measure what each kind of event costs a server's core on this machine, for simulated experiments.
///
/// Starts real nodes of this binary on loopback, gives them one kind of work at a time, and divides their CPU time
/// by the number of events.
#[derive(Args)]
#[command(after_help = USE)]
pub(crate) struct Calibrate {
    /// Write the figures to this file.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Take seconds instead of minutes: rough figures, to see that it works.
    #[arg(long)]
    brief: bool,
    /// Print them as JSON.
    #[arg(long)]
    json: bool,
}

impl Calibrate {
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        let effort = if self.brief { Effort::BRIEF } else { Effort::FULL };
        let measured = calibrate(effort, &mut |what| eprintln!("measuring {what} …"))?;
        let text = serde_json::to_string_pretty(&measured)? + "\n";
        if let Some(path) = &self.out {
            std::fs::write(path, &text).with_context(|| format!("cannot write {}", path.display()))?;
        }
        if self.json {
            print_json(&measured)?;
            return Ok(ExitCode::SUCCESS);
        }
        let mut rows = vec![row(["EVENT", "NANOSECONDS"])];
        let costs = serde_json::to_value(measured.costs)?;
        for (name, ns) in costs.as_object().into_iter().flatten() {
            rows.push(row([name.trim_end_matches("_ns"), &ns.to_string()]));
        }
        for (protocol, ns) in &measured.metadata_byte_ns {
            rows.push(row([&format!("metadata_byte of {protocol}"), &ns.to_string()]));
        }
        print(&format!("{}\n{}", measured.machine, table(&rows)));
        Ok(ExitCode::SUCCESS)
    }
}
