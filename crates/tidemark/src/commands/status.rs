//! `tidemark status`

use crate::output::{print, print_json, row, table};
use crate::running::Which;
use crate::supervisor::api::{ClusterStatus, Fault, NOT_TOLD, NodeFault, NodeStatus, Untold};
use crate::supervisor::membership::excludes_for_good;
use clap::Args;
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::process::ExitCode;
use std::time::Duration;
use tidemark_contract::removal::{Away, Stage};

/// Show the cluster that `tidemark up` runs: its nodes, their findings, and all cuts, delays and skews.
#[derive(Args)]
pub(crate) struct Status {
    /// Print JSON, with the full status of each node.
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
    let mut rows = vec![row(["REGION", "NODE", "STATE", "ROLE", "LINKS", "PID", "REDIS", "ADMIN"])];
    for node in &status.nodes {
        let region = format!("{} {}", node.letter, node.region);
        let pid = node.pid.map_or("-".into(), |pid| pid.to_string());
        let admin = format!("http://{}", node.admin);
        rows.push(row([
            &region,
            &node.name,
            &node.state,
            role(node),
            &links(node),
            &pid,
            &node.redis,
            &admin,
        ]));
    }
    if status.nodes.iter().all(|node| role(node) == "-") {
        rows.iter_mut().for_each(|row| drop(row.remove(3)));
    }
    let mut text = format!("{head}\n\n{}", table(&rows));
    for node in &status.nodes {
        text.push_str(&found(node));
    }
    for Untold { node, since_s, why } in &status.untold {
        text.push_str(&format!("\n{node} {NOT_TOLD}; it has not answered for {since_s} s: {why}\n"));
    }
    if let Some(change) = &status.membership_waits {
        text.push_str(&format!("\n`{change}` waits, and is carried out once all nodes answer\n"));
    }
    for (region, how) in away(status) {
        text.push_str(&format!("\n{region} {how}\n"));
    }
    let faults = in_words(&status.faults, &status.node_faults);
    for fault in &faults {
        text.push_str(&format!("\n{fault}"));
    }
    if !faults.is_empty() {
        text.push_str("\n\n`tidemark heal` ends all of these.\n");
    }
    text
}

/// So many findings of a kind are told of a node: where a region is cut off, each of its partitions has some.
const FINDINGS_MAX: usize = 4;

/// What a node has found, one line each; and that it refuses writes, also before that is a finding.
fn found(node: &NodeStatus) -> String {
    let (mut text, mut counts) = (String::new(), BTreeMap::<&str, usize>::new());
    let Some(detail) = &node.detail else { return text };
    let now_us = detail["now_us"].as_u64().unwrap_or_default();
    let findings = detail["findings"].as_array().map_or(&[][..], Vec::as_slice);
    for finding in findings {
        let word = |name: &str| finding[name].as_str().unwrap_or_default();
        let count = counts.entry(word("code")).or_default();
        *count += 1;
        if *count > FINDINGS_MAX {
            continue;
        }
        let held = Duration::from_secs(
            now_us.saturating_sub(finding["since_us"].as_u64().unwrap_or(now_us)) / 1_000_000,
        );
        text.push_str(&format!(
            "\n{}: {} ({}) {}, for {}: {}; waits for {}. {}\n",
            node.name,
            word("code"),
            word("grade"),
            word("place"),
            humantime::format_duration(held),
            word("what"),
            word("waits_for"),
            word("remedy")
        ));
    }
    for (code, count) in counts.iter().filter(|(_, count)| **count > FINDINGS_MAX) {
        let more = count - FINDINGS_MAX;
        text.push_str(&format!("\n{}: {code}, {more} more of them: see --json\n", node.name));
    }
    let refused = detail["writes_refused"].as_str().filter(|_| !counts.contains_key("writes_refused"));
    if let Some(why) = refused {
        text.push_str(&format!("\n{} refuses writes: {why}\n", node.name));
    }
    text
}

/// The regions that others do without, by letter, and how far that is.
fn away(status: &ClusterStatus) -> BTreeSet<(String, String)> {
    let details = status.nodes.iter().filter_map(|node| node.detail.as_ref());
    let partitions = details.filter_map(|detail| detail["host"]["partitions"].as_array()).flatten();
    let away = partitions.filter_map(|partition| Away::deserialize(&partition["away"]).ok());
    let for_good = excludes_for_good(&status.protocol);
    away.map(|away| (away.dc.to_string(), stage(&away, for_good))).collect()
}

fn stage(Away { dc, stage, .. }: &Away, for_good: bool) -> String {
    let letter = dc.to_string().to_lowercase();
    let flag = if for_good { " --for-good" } else { "" };
    match stage {
        Stage::Held | Stage::Cut { .. } => {
            format!(
                "is to be excluded: `tidemark exclude {letter}{flag}` finishes that, `readmit` cancels it"
            )
        }
        Stage::Excluded { .. } if for_good => "is excluded for good".to_string(),
        Stage::Excluded { .. } => format!("is excluded: `tidemark readmit {letter}` readmits it"),
        Stage::HeldAgain { .. } => format!("is being readmitted: `tidemark readmit {letter}` finishes that"),
        Stage::Readmitted { .. } => "is being readmitted".to_string(),
    }
}

/// What a node is in its group.
fn role(node: &NodeStatus) -> &str {
    node.detail.as_ref().and_then(|detail| detail["group"]["role"].as_str()).unwrap_or("-")
}

/// How many of a node's links are up.
fn links(node: &NodeStatus) -> String {
    let Some(links) = node.detail.as_ref().and_then(|detail| detail["links"].as_array()) else {
        return "-".into();
    };
    let up = links.iter().filter(|link| link["up"] == true).count();
    format!("{up} of {} up", links.len())
}

/// Each fault as a line of text.
pub(crate) fn in_words(links: &[Fault], nodes: &[NodeFault]) -> Vec<String> {
    links.iter().map(of_link).chain(nodes.iter().map(of_node)).collect()
}

/// A link's.
pub(crate) fn of_link(fault: &Fault) -> String {
    let slow = (fault.slow_us > 0).then(|| format!("slower by {} ms", ms(fault.slow_us)));
    let what = [fault.cut.then(|| "cut".to_string()), slow].into_iter().flatten().collect::<Vec<_>>();
    format!("{} → {}: {}", fault.from, fault.to, what.join(", and "))
}

fn of_node(fault: &NodeFault) -> String {
    let slow = (fault.slow_us > 0).then(|| format!("speaks {} ms late", ms(fault.slow_us)));
    let where_to = if fault.ahead_us > 0 { "ahead" } else { "back" };
    let clock = format!("its clock was put {where_to} by {} ms", ms(fault.ahead_us.unsigned_abs()));
    let what = [slow, (fault.ahead_us != 0).then_some(clock)].into_iter().flatten().collect::<Vec<_>>();
    format!("{}: {}", fault.node, what.join(", and "))
}

fn ms(us: u64) -> f64 {
    us as f64 / 1e3
}
