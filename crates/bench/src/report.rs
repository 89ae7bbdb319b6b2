//! What was measured: for people as tables, for programs as JSON.

use crate::format::{count, rate, time};
use crate::visibility::{Seen, Written};
use crate::worker::{Tally, Times};
use crate::{Arrivals, Pace, Plan};
use comfy_table::{CellAlignment, Table, presets};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use tidemark_workload::{Cdf, Latency, Point, Recorder, Summary, Workload};

/// One measurement, and under which conditions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// What clients did.
    pub workload: Workload,
    /// Over how many partitions keys were spread.
    pub partitions: usize,
    /// How many connections there were.
    pub connections: usize,
    /// On how many threads.
    pub threads: usize,
    /// How many requests were under way on one connection, at most.
    pub pipeline: usize,
    /// How many requests arrived a second; none in a closed loop.
    pub arrivals_per_second: Option<f64>,
    /// How arrivals were spread; none in a closed loop.
    pub arrivals: Option<Arrivals>,
    /// What chose keys and operations, together with the workload.
    pub seed: u64,
    /// How long nothing counted, in microseconds.
    pub warm_up_us: u64,
    /// All regions together.
    pub summary: Summary,
    /// Operations that the plan wanted recorded apart.
    pub apart: Option<Summary>,
    /// Each region.
    pub regions: BTreeMap<String, Summary>,
    /// How long requests of an open loop waited for their turn on a connection: part of their latency.
    pub waited: Option<Latency>,
    /// How many requests of an open loop had arrived at the end and were never sent.
    pub unsent: u64,
    /// How many keys were read by name.
    pub keys_read: u64,
    /// Of how many of them there was nothing.
    pub keys_absent: u64,
    /// Of each kind of error that was answered, the first.
    pub errors: BTreeMap<String, String>,
    /// Servers whose connections broke.
    pub lost: Vec<Lost>,
    /// Whether somebody stopped it early.
    pub stopped: bool,
    /// When writes showed, for each ordered pair of regions.
    pub visibility: Vec<Pair>,
    /// What was wrong with measuring that.
    pub visibility_problems: Vec<String>,
}

/// Connections to one server that broke.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Lost {
    /// The region.
    pub region: String,
    /// The server.
    pub address: String,
    /// When the first of them broke, in microseconds after the measurement began.
    pub after_us: u64,
    /// How: in one way or several, for a server that dies closes some connections and resets others.
    pub reasons: Vec<String>,
    /// How many.
    pub connections: usize,
}

/// When writes of one region showed in another.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Pair {
    /// Where they were written.
    pub from: String,
    /// Where they were looked for.
    pub to: String,
    /// From the acknowledgement to the first read that had it.
    pub times: Latency,
    /// How many did not show in time.
    pub never: u64,
    /// The whole distribution.
    pub cdf: Vec<Point>,
}

impl Report {
    pub(crate) fn new(
        plan: &Plan,
        times: &Times,
        tallies: &[Tally],
        (seen, written): &(Vec<Seen>, Vec<Written>),
        stopped: bool,
    ) -> Self {
        let recorder = || Recorder::new(plan.slice.as_micros() as u64);
        let (mut all, mut apart) = (recorder(), recorder());
        let mut regions: Vec<Recorder> = plan.regions.iter().map(|_| recorder()).collect();
        let mut waited = Cdf::new();
        let mut errors = BTreeMap::new();
        for tally in tallies {
            waited.merge(&tally.waited);
            apart.merge(&tally.apart);
            errors.extend(tally.errors.clone());
            for (region, recorder) in regions.iter_mut().zip(&tally.recorders) {
                region.merge(recorder);
                all.merge(recorder);
            }
        }
        // Without load, it lasted as long as others looked.
        if tallies.is_empty() {
            all.lasted(times.begin.elapsed().as_micros() as u64);
        }
        let (arrivals_per_second, arrivals) = match plan.pace {
            Pace::Closed => (None, None),
            Pace::Open { per_second, arrivals } => (Some(per_second), Some(arrivals)),
        };
        let names = plan.regions.iter().map(|region| region.name.clone());
        Self {
            workload: plan.workload.clone(),
            partitions: plan.partitions,
            connections: plan.connections,
            threads: plan.threads.min(plan.connections),
            pipeline: plan.pipeline,
            arrivals_per_second,
            arrivals,
            seed: plan.seed,
            warm_up_us: plan.warm_up.as_micros() as u64,
            summary: all.summary(),
            apart: plan.apart.is_some().then(|| apart.summary()),
            regions: names.zip(regions.iter().map(Recorder::summary)).collect(),
            waited: arrivals.map(|_| waited.summary()),
            unsent: tallies.iter().map(|tally| tally.unsent).sum(),
            keys_read: tallies.iter().map(|tally| tally.asked).sum(),
            keys_absent: tallies.iter().map(|tally| tally.absent).sum(),
            errors,
            lost: lost(plan, tallies),
            stopped,
            visibility: pairs(plan, seen),
            visibility_problems: problems(plan, seen, written),
        }
    }

    /// Whether all servers served until the end, and anything was answered at all.
    pub fn is_whole(&self) -> bool {
        let nothing = self.summary.operations.is_empty() && self.summary.failures() > 0;
        self.lost.is_empty() && self.visibility_problems.is_empty() && !nothing
    }

    /// Tables and remarks for people, ending with a line end.
    pub fn text(&self) -> String {
        let mut text = self.heading();
        if self.connections > 0 {
            _ = writeln!(text, "\n{}", self.latencies().trim_fmt());
        }
        if !self.visibility.is_empty() {
            let title = "\nFrom the acknowledgement of a write to the first read elsewhere that has it:\n";
            _ = writeln!(text, "{title}{}", self.sightings().trim_fmt());
        }
        for remark in self.remarks() {
            _ = writeln!(text, "\n{remark}");
        }
        text
    }

    fn heading(&self) -> String {
        let seconds = self.summary.duration_us as f64 / 1e6;
        if self.connections == 0 {
            return format!("no load, {seconds:.1} s\n");
        }
        let pace = match (self.arrivals_per_second, self.arrivals) {
            (Some(per_second), Some(arrivals)) => {
                let how = if arrivals == Arrivals::Poisson { "at random" } else { "in even steps" };
                format!("open loop: {} requests a second {how}", rate(per_second))
            }
            _ => "closed loop".into(),
        };
        let deep =
            if self.pipeline > 1 { format!(", {} requests at a time", self.pipeline) } else { String::new() };
        let summary = &self.summary;
        format!(
            "{}, {} connections{deep}, {pace}, {seconds:.1} s after {:.1} s of warm-up\n\
             {} operations a second, {} requests a second, {} failed\n",
            self.workload.name,
            self.connections,
            self.warm_up_us as f64 / 1e6,
            rate(summary.throughput),
            rate(summary.requests_per_second),
            count(summary.failures()),
        )
    }

    /// A row for each kind of operation and of request; and for each region, if there are several.
    fn latencies(&self) -> Table {
        let mut table = table("");
        let rows = |table: &mut Table, region: &str, summary: &Summary| {
            for (name, latency) in &summary.operations {
                table.add_row(row(format!("{region}{name}"), latency));
            }
        };
        rows(&mut table, "", &self.summary);
        for (name, latency) in &self.summary.requests {
            // A request that is one operation says the same again.
            if !self.summary.operations.values().any(|operation| operation == latency) {
                table.add_row(row(format!("{name} (request)"), latency));
            }
        }
        if self.regions.len() > 1 {
            self.regions
                .iter()
                .for_each(|(region, summary)| rows(&mut table, &format!("{region}: "), summary));
        }
        if let Some(waited) = &self.waited {
            table.add_row(row("waited to be sent".into(), waited));
        }
        table
    }

    fn sightings(&self) -> Table {
        let mut table = table("never");
        for pair in &self.visibility {
            let mut cells = row(format!("{} → {}", pair.from, pair.to), &pair.times);
            cells.push(count(pair.never));
            table.add_row(cells);
        }
        table
    }

    fn remarks(&self) -> Vec<String> {
        let mut remarks = Vec::new();
        if self.stopped {
            remarks.push("It was stopped early.".to_owned());
        }
        for (reason, failed) in &self.summary.failed {
            let text = self.errors.get(reason).map(|text| format!(", the first: {text}"));
            remarks.push(format!("{} failed with {reason}{}", count(*failed), text.unwrap_or_default()));
        }
        if self.keys_absent > 0 {
            let (absent, read) = (count(self.keys_absent), count(self.keys_read));
            let advice = "If that is not what you measure, fill the store first with --load.";
            remarks.push(format!("Of {read} keys that were read, {absent} held nothing. {advice}"));
        }
        if self.unsent > 0 {
            let unsent = count(self.unsent);
            let why = "the servers, or this load generator, cannot keep up with this rate";
            remarks.push(format!(
                "{unsent} requests had arrived and were never sent: {why}, and latencies would go on growing."
            ));
        }
        for lost in &self.lost {
            let (seconds, connections) = (lost.after_us as f64 / 1e6, lost.connections);
            let what =
                if connections == 1 { "a connection".into() } else { format!("{connections} connections") };
            let (Lost { region, address, .. }, reasons) = (lost, lost.reasons.join(" or "));
            remarks.push(format!(
                "LOST: {what} to region {region}: after {seconds:.1} s the server at {address} {reasons}. \
                 The figures above have what was measured until then."
            ));
        }
        remarks.extend(self.visibility_problems.iter().map(|problem| format!("VISIBILITY: {problem}")));
        remarks
    }
}

/// An empty table of latencies with a column more, if that has a name.
fn table(more: &str) -> Table {
    let mut table = Table::new();
    let mut header =
        vec!["", "count", "a second", "mean", "p50", "p90", "p95", "p99", "p99.9", "p99.99", "max"];
    if !more.is_empty() {
        header.push(more);
    }
    let columns = header.len();
    table.load_style(presets::NOTHING).set_header(header);
    for column in 1..columns {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table
}

fn row(name: String, latency: &Latency) -> Vec<String> {
    let per_second = if latency.per_second > 0.0 { rate(latency.per_second) } else { "–".into() };
    let mut cells = vec![name, count(latency.count), per_second, time(latency.mean_us)];
    let percentiles = [latency.p50_us, latency.p90_us, latency.p95_us, latency.p99_us, latency.p99_9_us];
    let times = percentiles.into_iter().chain([latency.p99_99_us, latency.max_us]);
    cells.extend(times.map(|us| time(us as f64)));
    cells
}

/// Broken connections, those of one server together.
fn lost(plan: &Plan, tallies: &[Tally]) -> Vec<Lost> {
    let mut all: Vec<Lost> = Vec::new();
    for (region, address, after_us, reason) in tallies.iter().flat_map(|tally| &tally.broken) {
        match all.iter_mut().find(|lost| lost.address == *address) {
            Some(lost) => {
                lost.connections += 1;
                if !lost.reasons.contains(reason) {
                    lost.reasons.push(reason.clone());
                }
                lost.after_us = lost.after_us.min(*after_us);
            }
            None => all.push(Lost {
                region: plan.regions[*region].name.clone(),
                address: address.clone(),
                after_us: *after_us,
                reasons: vec![reason.clone()],
                connections: 1,
            }),
        }
    }
    all
}

fn pairs(plan: &Plan, seen: &[Seen]) -> Vec<Pair> {
    let name = |region: usize| plan.regions[region].name.clone();
    let mut seen: Vec<&Seen> = seen.iter().collect();
    seen.sort_by_key(|seen| (seen.from, seen.to));
    let pair = |seen: &&Seen| Pair {
        from: name(seen.from),
        to: name(seen.to),
        times: seen.times.summary(),
        never: seen.never,
        cdf: seen.times.points(),
    };
    seen.iter().map(pair).collect()
}

fn problems(plan: &Plan, seen: &[Seen], written: &[Written]) -> Vec<String> {
    let name = |region: usize| &plan.regions[region].name;
    let writing = written.iter().filter_map(|written| {
        let problem = written.problem.as_ref()?;
        let (region, good, bad) = (name(written.region), written.acknowledged, written.refused);
        Some(format!("writing in {region}, {good} acknowledged and {bad} refused: {problem}"))
    });
    let reading = seen.iter().filter_map(|seen| {
        let broken = seen.broken.as_ref()?;
        Some(format!("looking in {} for what {} wrote: {broken}", name(seen.to), name(seen.from)))
    });
    writing.chain(reading).collect()
}
