//! Points on clusters of real processes on this machine, with an emulated wide-area network.

use super::settings::Settings;
use crate::calibrate::{Clients, Command, Effort, samples};
use crate::live::Live as Cluster;
use anyhow::{Context, ensure};
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::Write;
use std::time::Duration;
use tidemark_bench::{Arrivals, Limit, Pace, Plan, Region, Report, Stop, Visibility};
use tidemark_experiments::{Point, Row, Runner};
use tidemark_workload::Workload;

/// A load on real servers: a row a point.
pub(crate) struct Live;

/// When writes become visible elsewhere, between real servers: a row for each write that was looked for.
pub(crate) struct LiveVisibility;

/// What a server alone spends on one kind of operation: a row a point.
pub(crate) struct Capacity;

impl Runner for Live {
    fn run(&self, point: &Point<'_>, say: &dyn Fn(&str)) -> anyhow::Result<Vec<Row>> {
        let settings = Settings::new(point);
        let (cluster, mut plan) = started(&settings, say)?;
        plan.workload = settings.workload()?;
        plan.connections = settings.whole("clients", 1)? * plan.regions.len();
        plan.fill = settings.whole("filled_keys", 1)? > 0;
        if let Some(per_second) = settings.number("rate")? {
            plan.pace = Pace::Open {
                per_second: per_second * plan.regions.len() as f64,
                arrivals: Arrivals::Poisson,
            };
        }
        settings.end()?;
        let before = processor_time(&cluster)?;
        let report = bench(&plan, say)?;
        let (cpu_ns, wall_us) = (processor_time(&cluster)? - before, plan.warm_up.as_micros() as f64);
        let mut row = report.summary.row();
        let ran_us = report.summary.duration_us as f64 + wall_us;
        let nodes = cluster.nodes.len() as f64;
        // Filling is part of it, where there is much to fill.
        row.insert("cpu".into(), (cpu_ns / 1e3 / ran_us / nodes).into());
        Ok(vec![row])
    }

    fn parallel(&self) -> bool {
        false
    }
}

impl Runner for LiveVisibility {
    fn run(&self, point: &Point<'_>, say: &dyn Fn(&str)) -> anyhow::Result<Vec<Row>> {
        let settings = Settings::new(point);
        let (_cluster, mut plan) = started(&settings, say)?;
        plan.connections = 0;
        plan.visibility = Some(Visibility {
            per_second: settings.number("writes_per_second")?.unwrap_or(20.0),
            ..Visibility::default()
        });
        settings.end()?;
        let report = bench(&plan, say)?;
        let number = |name: &str| plan.regions.iter().position(|region| region.name == name);
        let mut rows = Vec::new();
        for pair in &report.visibility {
            ensure!(pair.never == 0, "{} writes of {} never showed in {}", pair.never, pair.from, pair.to);
            let mut before = 0.0;
            for step in &pair.cdf {
                let times = ((step.share - before) * pair.times.count as f64).round() as usize;
                before = step.share;
                let columns: [(&str, Value); 3] = [
                    ("from_dc", number(&pair.from).into()),
                    ("to_dc", number(&pair.to).into()),
                    ("visible_us", step.us.into()),
                ];
                let row: Row = columns.map(|(name, value)| (name.to_string(), value)).into();
                rows.extend(std::iter::repeat_n(row, times));
            }
        }
        Ok(rows)
    }

    fn parallel(&self) -> bool {
        false
    }

    fn columns(&self) -> Option<Vec<String>> {
        Some(["from_dc", "to_dc", "visible_us"].map(String::from).into())
    }
}

impl Runner for Capacity {
    fn run(&self, point: &Point<'_>, say: &dyn Fn(&str)) -> anyhow::Result<Vec<Row>> {
        let settings = Settings::new(point);
        let protocol = settings.word("protocol")?.context("a point names its protocol")?;
        let command: Command = settings.word("command")?.context("a point names its command")?.parse()?;
        let value_bytes = settings.whole("value_bytes", 64)?;
        let clients = settings.whole("clients", 32)?;
        let regions = settings.whole("dcs", 1)?.to_string();
        let mut arguments = vec!["--base-port".to_string(), "0".into(), "--fsync".into(), "no".into()];
        arguments
            .extend(["--partitions", "1", "--regions", &regions, "--protocol", protocol].map(String::from));
        for (name, value) in settings.with_prefix("param_") {
            arguments.extend(["--param".to_string(), format!("{name}={}", plain(&value))]);
        }
        settings.end()?;
        say("starting a server");
        let live = Cluster::start(&arguments)?;
        say("measuring");
        let mut clients = Clients::new(&live, 0, clients, command, value_bytes)?;
        // What disturbs only adds: the least of many is what the server itself needs.
        let spent = samples(Effort::CAPACITY, &live, 0, &mut clients)?[0];
        let columns =
            [("cpu_ns", spent.cpu_ns), ("ops_per_core_second", 1e9 / spent.cpu_ns), ("turns", spent.turns)];
        Ok(vec![columns.map(|(name, value)| (name.to_string(), value.into())).into()])
    }

    fn parallel(&self) -> bool {
        false
    }

    fn columns(&self) -> Option<Vec<String>> {
        Some(["cpu_ns", "ops_per_core_second", "turns"].map(String::from).into())
    }
}

/// A cluster as the point describes it, and a plan for its regions.
fn started(settings: &Settings<'_>, say: &dyn Fn(&str)) -> anyhow::Result<(Cluster, Plan)> {
    let protocol = settings.word("protocol")?.context("a point names its protocol")?;
    let dcs = settings.whole("dcs", 3)?;
    let partitions = settings.whole("partitions", 2)?;
    let (count, nodes) = (partitions.to_string(), settings.whole("nodes", 1)?.to_string());
    let mut arguments = [
        "--base-port",
        "0",
        "--fsync",
        "no",
        "--protocol",
        protocol,
        "--partitions",
        &count,
        "--nodes",
        &nodes,
    ]
    .map(String::from)
    .to_vec();
    for (name, value) in settings.with_prefix("param_") {
        arguments.extend(["--param".to_string(), format!("{name}={}", plain(&value))]);
    }
    let distances = tempfile(&settings.rtt_us(dcs)?)?;
    match &distances {
        Some(file) => arguments.extend(["--latency".to_string(), file.path().display().to_string()]),
        None => arguments.extend(["--regions".to_string(), dcs.to_string()]),
    }
    say("starting a cluster");
    let cluster = Cluster::start(&arguments)?;
    let regions = cluster
        .nodes
        .iter()
        .map(|node| Region { name: node.region.clone(), addresses: vec![node.redis.clone()] });
    let mut plan = Plan::new(Plan::join_regions(regions), Workload::named("ycsb-c")?);
    plan.partitions = partitions;
    plan.warm_up = settings.duration("warm_up_ms", 1_000.0)?;
    plan.limit = Limit::Time(Duration::from_secs_f64(settings.number("seconds")?.unwrap_or(5.0)));
    plan.seed = settings.whole("seed", 1)? as u64;
    Ok((cluster, plan))
}

/// The distances as a file for `tidemark up --latency`; none if there are none.
fn tempfile(rtt_us: &[Vec<u64>]) -> anyhow::Result<Option<tempfile::NamedTempFile>> {
    if rtt_us.iter().flatten().all(|us| *us == 0) {
        return Ok(None);
    }
    let name = |dc: usize| format!("r{dc}");
    let mut rtt: BTreeMap<String, BTreeMap<String, String>> = BTreeMap::new();
    for (a, row) in rtt_us.iter().enumerate() {
        for (b, us) in row.iter().enumerate().skip(a + 1) {
            rtt.entry(name(a)).or_default().insert(name(b), format!("{us}us"));
        }
    }
    let mut file = tempfile::NamedTempFile::new()?;
    file.write_all(toml::to_string(&BTreeMap::from([("rtt", rtt)]))?.as_bytes())?;
    Ok(Some(file))
}

fn bench(plan: &Plan, say: &dyn Fn(&str)) -> anyhow::Result<Report> {
    say("measuring");
    let report = tidemark_bench::run(plan, &Stop::default(), &mut |_| {})?;
    if let Some(lost) = report.lost.first() {
        anyhow::bail!("{} of {} was lost: {}", lost.address, lost.region, lost.reason);
    }
    let problem = report.visibility_problems.first();
    ensure!(problem.is_none(), "{}", problem.map_or("", String::as_str));
    Ok(report)
}

fn processor_time(cluster: &Cluster) -> anyhow::Result<f64> {
    let each = (0..cluster.nodes.len()).map(|node| cluster.cpu_ns(node).map(|ns| ns as f64));
    each.sum()
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), String::from)
}
