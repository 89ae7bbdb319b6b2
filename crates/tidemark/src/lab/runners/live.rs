//! Points on clusters of real processes on this machine, with an emulated wide-area network.

use super::settings::Settings;
use crate::lab::calibrate::{Clients, Command, Effort, spent};
use crate::live::Live as Cluster;
use crate::supervisor::api::NodeStatus;
use anyhow::{Context, anyhow, bail, ensure};
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::Write;
use std::time::{Duration, Instant};
use tidemark_bench::{Arrivals, Limit, Pace, Phase, Plan, Region, Report, Stop, Visibility};
use tidemark_core::DcId;
use tidemark_experiments::{Point, Row, Runner};
use tidemark_workload::{Summary, Workload};

/// A load on real servers: a row a point.
pub(crate) struct Live;

/// When writes become visible elsewhere, between real servers: a row for each write that was looked for.
pub(crate) struct LiveVisibility;

/// What a server alone spends on one kind of operation: a row a point.
pub(crate) struct Capacity;

impl Runner for Live {
    fn run(&self, point: &Point<'_>, say: &dyn Fn(&str)) -> anyhow::Result<Vec<Row>> {
        let settings = Settings::new(point);
        let mut wanted = Wanted::new(&settings)?;
        let clients = settings.whole("clients", 1)?;
        let (workload, beside) = (settings.workload()?, settings.beside()?);
        wanted.plan.fill = settings.whole("filled_keys", 1)? > 0;
        let rate = settings.number("rate")?;
        settings.end()?;
        let (cluster, mut plan) = wanted.start(say)?;
        let regions = plan.regions.len();
        let others = beside.map(|(workload, clients)| {
            let limit = Limit::Time(Duration::MAX / 4);
            Plan { workload, connections: clients * regions, fill: false, apart: None, limit, ..plan.clone() }
        });
        plan.workload = workload;
        plan.connections = clients * regions;
        if let Some(per_second) = rate {
            plan.pace = Pace::Open { per_second: per_second * regions as f64, arrivals: Arrivals::Poisson };
        }
        let (report, cpu) = std::thread::scope(|scope| {
            let stop = Stop::default();
            let others = others.map(|plan| {
                let stop = stop.clone();
                scope.spawn(move || tidemark_bench::run(&plan, &stop, &mut |_| {}))
            });
            let measured = measured(&cluster, &plan, say);
            stop.ask();
            if let Some(others) = others {
                whole(others.join().map_err(|_| anyhow!("the other clients panicked"))??)?;
            }
            measured
        })?;
        let mut row = report.summary.row();
        let apart = report.apart.iter().flat_map(Summary::row);
        row.extend(apart.map(|(name, value)| (format!("slow_{name}"), value)));
        row.insert("cpu".into(), cpu.into());
        Ok(vec![row])
    }

    fn parallel(&self) -> bool {
        false
    }
}

impl Runner for LiveVisibility {
    fn run(&self, point: &Point<'_>, say: &dyn Fn(&str)) -> anyhow::Result<Vec<Row>> {
        let settings = Settings::new(point);
        let mut wanted = Wanted::new(&settings)?;
        wanted.plan.connections = 0;
        wanted.plan.visibility = Some(Visibility {
            per_second: settings.number("writes_per_second")?.unwrap_or(20.0),
            ..Visibility::default()
        });
        settings.end()?;
        let (cluster, plan) = wanted.start(say)?;
        let (report, _) = measured(&cluster, &plan, say)?;
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
        let spent = spent(Effort::CAPACITY, &live, 0, &mut clients)?;
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

/// A cluster as a point describes it: to be started, and what to do to it.
struct Wanted {
    /// Of `tidemark up`.
    arguments: Vec<String>,
    distances: Option<tempfile::NamedTempFile>,
    /// How far clients that go elsewhere are from there: as servers are, unless the point says otherwise.
    client_rtt_us: Vec<Vec<u64>>,
    /// Of the nodes that hold each partition: how far their clocks are ahead, in milliseconds.
    clock_offsets_ms: Vec<f64>,
    slow: Option<Slow>,
    /// Regions without clients.
    idle: Vec<usize>,
    /// For whoever loads it; its regions are not known yet.
    plan: Plan,
}

/// Nodes that are slow to speak. No client is theirs, for they are too far from them.
struct Slow {
    partition: u16,
    /// None: in every region.
    dc: Option<usize>,
    ms: f64,
}

impl Wanted {
    fn new(settings: &Settings<'_>) -> anyhow::Result<Self> {
        let protocol = settings.word("protocol")?.context("a point names its protocol")?;
        let dcs = settings.whole("dcs", 3)?;
        let (partitions, nodes) = (settings.whole("partitions", 2)?, settings.whole("nodes", 1)?);
        let replicas = settings.whole("replicas", 1)?;
        let common = ["--base-port", "0", "--fsync", "no", "--protocol", protocol].map(String::from);
        let sizes = [("--partitions", partitions), ("--nodes", nodes * replicas), ("--replicas", replicas)];
        let mut arguments = common.to_vec();
        arguments.extend(sizes.iter().flat_map(|(name, count)| [name.to_string(), count.to_string()]));
        for (name, value) in settings.with_prefix("param_") {
            arguments.extend(["--param".to_string(), format!("{name}={}", plain(&value))]);
        }
        if let Some((every_us, adapt)) = settings.adapt()? {
            arguments.push("--adapt".to_string());
            let (budget, freshness) = (adapt.budget, adapt.freshness);
            for set in
                [format!("every={every_us}us"), format!("budget={budget}"), format!("freshness={freshness}")]
            {
                arguments.extend(["--adapt-set".to_string(), set]);
            }
        }
        for place in settings.places()? {
            arguments.extend(["--place", place].map(String::from));
        }
        let rtt_us = settings.rtt_us(dcs)?;
        let distances = tempfile(&rtt_us)?;
        let client_rtt_us = match settings.number("client_rtt_ms")? {
            Some(ms) => vec![vec![(ms * 1_000.0) as u64; dcs]; dcs],
            None => rtt_us,
        };
        match &distances {
            Some(file) => arguments.extend(["--latency".to_string(), file.path().display().to_string()]),
            None => arguments.extend(["--regions".to_string(), dcs.to_string()]),
        }
        let clock_offsets_ms = settings.numbers("clock_offsets_ms")?;
        let slow = match settings.number("slow_partition")? {
            None => None,
            Some(partition) => Some(Slow {
                partition: partition as u16,
                dc: settings.number("slow_dc")?.map(|dc| dc as usize),
                ms: settings.number("slow_ms")?.unwrap_or_default(),
            }),
        };
        let own = clock_offsets_ms.is_empty() && slow.is_none();
        ensure!(
            own || nodes == partitions,
            "a server with a fault of its own is alone on its node: nodes = {partitions}"
        );
        ensure!(clock_offsets_ms.len() <= partitions, "there are more clock offsets than partitions");
        let mut plan = Plan::new(Vec::new(), Workload::named("ycsb-c")?);
        plan.partitions = partitions;
        plan.warm_up = settings.duration("warm_up_ms", 1_000.0)?;
        plan.limit = Limit::Time(Duration::from_secs_f64(settings.number("seconds")?.unwrap_or(5.0)));
        plan.seed = settings.whole("seed", 1)? as u64;
        plan.apart = slow.as_ref().map(|slow| slow.partition.into());
        let idle = settings.numbers("idle_dcs")?.into_iter().map(|dc| dc as usize).collect();
        Ok(Self { arguments, distances, client_rtt_us, clock_offsets_ms, slow, idle, plan })
    }

    /// The cluster, with all that is to be wrong with it, and the plan with its regions.
    fn start(self, say: &dyn Fn(&str)) -> anyhow::Result<(Cluster, Plan)> {
        say("starting a cluster");
        let cluster = Cluster::start(&self.arguments)?;
        drop(self.distances);
        let mut letters: Vec<&str> = cluster.nodes.iter().map(|node| node.letter.as_str()).collect();
        letters.dedup();
        let dc_of = |node: &NodeStatus| letters.iter().position(|letter| *letter == node.letter);
        let is_slow = |node: &NodeStatus, slow: &Slow| {
            node.partitions.contains(&slow.partition) && (slow.dc.is_none() || slow.dc == dc_of(node))
        };
        let mut regions = Vec::new();
        for node in &cluster.nodes {
            let partition = node.partitions.first().copied().unwrap_or_default();
            if let Some(ms) = self.clock_offsets_ms.get(usize::from(partition)).filter(|ms| **ms != 0.0) {
                cluster.tell(&["skew", &node.name, &format!("--by={ms}ms")])?;
            }
            let slow = self.slow.as_ref().filter(|slow| is_slow(node, slow));
            if let Some(slow) = slow {
                cluster.tell(&["slow", &node.name, "--by", &format!("{}ms", slow.ms)])?;
            }
            if slow.is_none() && !dc_of(node).is_some_and(|dc| self.idle.contains(&dc)) {
                regions.push(Region { name: node.region.clone(), addresses: vec![node.redis.clone()] });
            }
        }
        ensure!(!regions.is_empty(), "no node is left that clients could use");
        let regions = Plan::join_regions(regions);
        let dc_of_region =
            |region: &Region| cluster.nodes.iter().find(|node| node.region == region.name).and_then(&dc_of);
        let dcs: Vec<usize> = regions.iter().filter_map(dc_of_region).collect();
        let way = |home: usize, dc: usize| match home == dc {
            true => Duration::ZERO,
            false => Duration::from_micros(self.client_rtt_us[home][dc] / 2),
        };
        let ways = dcs.iter().map(|home| dcs.iter().map(|dc| way(*home, *dc)).collect()).collect();
        Ok((cluster, Plan { regions, ways, ..self.plan }))
    }
}

/// The distances as a file for `tidemark up --latency`; none if there are none.
fn tempfile(rtt_us: &[Vec<u64>]) -> anyhow::Result<Option<tempfile::NamedTempFile>> {
    if rtt_us.iter().flatten().all(|us| *us == 0) {
        return Ok(None);
    }
    // As they are called without distances, and where keys are placed.
    let name = |dc: usize| DcId(dc as u8).to_string().to_lowercase();
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

/// Plays the plan: what was seen, and which share of a core each node needed while there was load.
fn measured(cluster: &Cluster, plan: &Plan, say: &dyn Fn(&str)) -> anyhow::Result<(Report, f64)> {
    say("measuring");
    let mut before = None;
    let report = tidemark_bench::run(plan, &Stop::default(), &mut |tick| {
        if tick.phase != Phase::Fill && before.is_none() {
            before = Some((processor_time(cluster), Instant::now()));
        }
    })?;
    let report = whole(report)?;
    let (used, since) = before.context("it was over before it began")?;
    let used_ns = processor_time(cluster)? - used?;
    Ok((report, used_ns / since.elapsed().as_nanos() as f64 / cluster.nodes.len() as f64))
}

/// What was measured, unless something was lost on the way.
fn whole(report: Report) -> anyhow::Result<Report> {
    if let Some(lost) = report.lost.first() {
        bail!("{} of {} was lost: {}", lost.address, lost.region, lost.reasons.join(" or "));
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
