//! `tidemark status`

use crate::output::{print, print_json, row, table};
use crate::running::Which;
use crate::supervisor::api::{ClusterStatus, Fault, NodeStatus};
use clap::Args;
use serde::Deserialize;
use std::collections::BTreeSet;
use std::process::ExitCode;
use tidemark_contract::{Away, Stage};

/// Show the cluster that `tidemark up` runs: its nodes, and the links that are cut or slow.
#[derive(Args)]
pub(crate) struct Status {
    /// Print JSON, with what each node says of itself.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    which: Which,
}

impl Status {
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        let status = self.which.find()?.status()?;
        if self.json {
            print_json(&status)?
        } else {
            print(&described(&status))
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn described(status: &ClusterStatus) -> String {
    let partitions = if status.partitions == 1 { "partition" } else { "partitions" };
    let head = format!(
        "{} ({}), {} {partitions} a region, in {}",
        status.protocol,
        status.promise,
        status.partitions,
        status.dir.display()
    );
    let mut rows = vec![row(["REGION", "NODE", "STATE", "LINKS", "PID", "REDIS", "ADMIN"])];
    for node in &status.nodes {
        let region = format!("{} {}", node.letter, node.region);
        let pid = node.pid.map_or("-".into(), |pid| pid.to_string());
        let admin = format!("http://{}", node.admin);
        rows.push(row([&region, &node.name, &node.state, &links(node), &pid, &node.redis, &admin]));
    }
    let mut text = format!("{head}\n\n{}", table(&rows));
    for node in &status.nodes {
        if let Some(why) = node.detail.as_ref().and_then(|detail| detail["writes_refused"].as_str()) {
            text.push_str(&format!("\n{} refuses writes: {why}\n", node.name));
        }
    }
    for (region, how) in away(status) {
        text.push_str(&format!("\n{region} {how}\n"));
    }
    for fault in &status.faults {
        text.push_str(&format!("\n{}", in_words(fault)));
    }
    if !status.faults.is_empty() {
        text.push_str("\n\n`tidemark heal` mends all of it.\n");
    }
    text
}

/// The regions that others do without, by letter, and how far that is.
fn away(status: &ClusterStatus) -> BTreeSet<(String, String)> {
    let details = status.nodes.iter().filter_map(|node| node.detail.as_ref());
    let partitions = details.filter_map(|detail| detail["host"]["partitions"].as_array()).flatten();
    let away = partitions.filter_map(|partition| Away::deserialize(&partition["away"]).ok());
    away.map(|away| (away.dc.to_string(), stage(&away))).collect()
}

fn stage(Away { dc, stage, .. }: &Away) -> String {
    let letter = dc.to_string().to_lowercase();
    match stage {
        Stage::Held | Stage::Cut { .. } => {
            format!("is to be excluded: `tidemark exclude {letter}` finishes that, `readmit` gives it up")
        }
        Stage::Excluded { .. } => format!("is excluded: `tidemark readmit {letter}` takes it back"),
        Stage::HeldAgain { .. } => format!("is on its way back: `tidemark readmit {letter}` finishes that"),
        Stage::Readmitted { .. } => "is on its way back".to_string(),
    }
}

/// How many of a node's links are up.
fn links(node: &NodeStatus) -> String {
    let Some(links) = node.detail.as_ref().and_then(|detail| detail["links"].as_array()) else {
        return "-".into();
    };
    let up = links.iter().filter(|link| link["up"] == true).count();
    format!("{up} of {} up", links.len())
}

/// A fault as a line of text.
pub(crate) fn in_words(fault: &Fault) -> String {
    let slow = if fault.slow_us > 0 {
        format!("slower by {} ms", fault.slow_us as f64 / 1e3)
    } else {
        String::new()
    };
    let what = match (fault.cut, fault.slow_us > 0) {
        (true, true) => format!("cut, and {slow}"),
        (true, false) => "cut".to_string(),
        _ => slow,
    };
    format!("{} → {}: {what}", fault.from, fault.to)
}
