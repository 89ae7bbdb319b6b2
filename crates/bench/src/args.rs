//! The measurement as arguments of a command.

use crate::progress::Shown;
use crate::{Arrivals, BenchError, Limit, Pace, Plan, Region, Report, Stop, Visibility, plan, run};
use clap::Args;
use std::time::Duration;
use tidemark_workload::Workload;

const HELP: &str = "\
Examples:
  tidemark bench                                     the cluster that `tidemark up` runs, YCSB's workload A
  tidemark bench --region localhost:6379 --load      any server that speaks the Redis protocol, filled first
  tidemark bench --workload transactions --set span=8 --set write-share=0.1
  tidemark bench --rate 5000                         open loop: 5000 requests a second
  tidemark bench --visibility --connections 0        no load: only visibility latency in other regions
  tidemark bench --region virginia=10.0.0.1:7001 --region oregon=10.1.0.1:7001 --visibility --json > run.json

Closed loop (the default): each connection sends its next request when the previous one has been answered. This finds the
capacity of the servers. When a server stalls, all connections wait, and each counts one slow request.
Open loop (--rate): requests arrive by the clock, and latency counts from the arrival, even if a request had to wait because
its connection was still busy. A stall counts in every request that arrived during it, as users notice it.

A connection is a session. Reads are GET, writes SET, read-only transactions and snapshots MGET, scans SCAN. Errors are counted
by their first word. When a server dies, the measurements so far are reported, and the exit code is 1.

The tables have microseconds (µs), milliseconds (ms) or seconds. 99% of operations did not exceed p99.
docs/bench.md explains each number.";

/// Load servers that speak the Redis protocol, and measure throughput and latency.
#[derive(Args, Clone, Debug)]
#[command(after_help = HELP)]
pub struct Bench {
    /// A server, and the region that it is in; several servers of one region, or several regions. Connections are
    /// spread evenly over regions. Without any: the cluster that `tidemark up` runs.
    #[arg(long = "region", value_name = "NAME=HOST:PORT")]
    pub regions: Vec<Region>,
    /// The operations of clients; `--list` describes the workloads.
    #[arg(long, value_name = "NAME", default_value = "ycsb-a")]
    pub workload: String,
    /// Changes a parameter of the workload; may be repeated. `--list` has their names.
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = setting)]
    pub settings: Vec<(String, String)>,
    /// List the workloads with their parameters, and exit.
    #[arg(long)]
    pub list: bool,
    /// The number of partitions over which the workload spreads its keys: that of the servers, or a multiple.
    #[arg(long, value_name = "COUNT", default_value_t = 8)]
    pub partitions: usize,
    /// How many connections, in all regions together.
    #[arg(long, short, value_name = "COUNT", default_value_t = 50)]
    pub connections: usize,
    /// The number of threads; they share this machine with servers that run here [default: half the processors, up to 4].
    #[arg(long, value_name = "COUNT")]
    pub threads: Option<usize>,
    /// How many requests are under way on one connection.
    #[arg(long, short = 'P', value_name = "COUNT", default_value_t = 1)]
    pub pipeline: usize,
    /// Requests a second at all connections together: an open loop.
    #[arg(long, value_name = "PER SECOND")]
    pub rate: Option<f64>,
    /// How the requests of an open loop are spread over time.
    #[arg(long, value_name = "HOW", default_value = "poisson", requires = "rate")]
    pub arrivals: Arrivals,
    /// How long to measure.
    #[arg(long, short, value_name = "TIME", default_value = "10s", value_parser = humantime::parse_duration)]
    pub duration: Duration,
    /// Stop after so many operations instead.
    #[arg(long, short = 'n', value_name = "COUNT", conflicts_with = "duration")]
    pub operations: Option<u64>,
    /// How long to load before anything counts.
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = humantime::parse_duration)]
    pub warm_up: Duration,
    /// Write every key once before: each in one of the regions.
    #[arg(long)]
    pub load: bool,
    /// Measure visibility latency: each region writes fresh keys, and the others poll them.
    #[arg(long)]
    pub visibility: bool,
    /// How many fresh keys each region writes a second for that.
    #[arg(long, value_name = "PER SECOND", default_value_t = 10.0, requires = "visibility")]
    pub probes: f64,
    /// The interval of polling, and the resolution of the measurement.
    #[arg(long, value_name = "TIME", default_value = "1ms", requires = "visibility", value_parser = humantime::parse_duration)]
    pub poll: Duration,
    /// After this time a write that is not visible counts as never.
    #[arg(long, value_name = "TIME", default_value = "10s", requires = "visibility", value_parser = humantime::parse_duration)]
    pub patience: Duration,
    /// The round-trip time from clients to another region, for clusters on one machine: clients of
    /// a workload with `remote` leave their region for that share of requests. [default: that of the network]
    #[arg(long, value_name = "TIME", default_value = "0s", hide_default_value = true, value_parser = humantime::parse_duration)]
    pub remote_rtt: Duration,
    /// The user for AUTH [default: none, which means the default user].
    #[arg(long, value_name = "NAME", requires = "password")]
    pub user: Option<String>,
    /// The password for AUTH.
    #[arg(long, value_name = "PASSWORD", env = "REDISCLI_AUTH", hide_env_values = true)]
    pub password: Option<String>,
    /// Every connection gives this name (CLIENT SETNAME), as the connections of a pool do.
    #[arg(long, value_name = "NAME")]
    pub client_name: Option<String>,
    /// How long a server may owe a reply before its connections count as lost.
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = humantime::parse_duration)]
    pub timeout: Duration,
    /// How long the slices of throughput and latency over time are (in JSON).
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = humantime::parse_duration)]
    pub slice: Duration,
    /// The seed of keys and operations.
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    pub seed: u64,
    /// Print JSON, with latency and throughput over time and the whole distribution of visibility.
    #[arg(long)]
    pub json: bool,
    /// Print no progress.
    #[arg(long, short)]
    pub quiet: bool,
}

/// What a command prints, and how it ends.
#[derive(Debug)]
pub struct Output {
    /// Text or JSON for standard output.
    pub text: String,
    /// Whether all is well; if not, the text says what is not.
    pub whole: bool,
    /// What was measured, if something was.
    pub report: Option<Report>,
}

fn setting(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("write NAME=VALUE, such as value-bytes=64")?;
    Ok((name.into(), value.into()))
}

impl Bench {
    /// Measures, and shows on standard error how it goes. Without regions of its own it needs `regions`. Ctrl-C ends it
    /// early, and what was measured is reported.
    pub fn run(self, regions: impl FnOnce() -> anyhow::Result<Vec<Region>>) -> anyhow::Result<Output> {
        if self.list {
            return Ok(Output { text: list(), whole: true, report: None });
        }
        // What is wrong with the command itself comes before what is wrong elsewhere.
        self.workload()?;
        let regions =
            if self.regions.is_empty() { regions()? } else { Plan::join_regions(self.regions.clone()) };
        let plan = self.plan(regions)?;
        let stop = Stop::default();
        stop_at_interrupt(&stop)?;
        let mut shown = Shown::new(self.quiet);
        let report = run(&plan, &stop, &mut |tick| shown.update(tick));
        shown.end();
        let report: Report = report?;
        let text = if self.json { serde_json::to_string_pretty(&report)? + "\n" } else { report.text() };
        Ok(Output { text, whole: report.is_whole(), report: Some(report) })
    }

    /// The workload with its changed settings.
    pub fn workload(&self) -> Result<Workload, BenchError> {
        let settings = self.settings.iter().map(|(name, value)| {
            let value =
                serde_json::from_str(value).unwrap_or_else(|_| serde_json::Value::from(value.as_str()));
            (name.clone(), value)
        });
        Ok(Workload::named(&self.workload)?.with(settings)?)
    }

    /// What the arguments mean, for servers in `regions`.
    pub fn plan(&self, regions: Vec<Region>) -> Result<Plan, BenchError> {
        let (count, way) = (regions.len(), self.remote_rtt / 2);
        let away =
            |home| (0..count).map(|region| if region == home { Duration::ZERO } else { way }).collect();
        let plan = Plan {
            ways: (0..count).map(away).collect(),
            partitions: self.partitions,
            connections: self.connections,
            threads: self.threads.unwrap_or_else(plan::default_threads),
            pipeline: self.pipeline,
            pace: self
                .rate
                .map_or(Pace::Closed, |per_second| Pace::Open { per_second, arrivals: self.arrivals }),
            warm_up: self.warm_up,
            limit: self.operations.map_or(Limit::Time(self.duration), Limit::Operations),
            fill: self.load,
            user: self.user.clone(),
            password: self.password.clone(),
            client_name: self.client_name.clone(),
            seed: self.seed,
            slice: self.slice,
            timeout: self.timeout,
            visibility: self.visibility.then_some(Visibility {
                per_second: self.probes,
                poll: self.poll,
                patience: self.patience,
            }),
            ..Plan::new(regions, self.workload()?)
        };
        plan.validate()?;
        Ok(plan)
    }
}

/// The workloads, each with its settings.
fn list() -> String {
    let mut text = String::new();
    for (name, line) in Workload::catalogue() {
        let settings = Workload::named(name).map(|workload| workload.settings()).unwrap_or_default();
        let settings =
            settings.iter().filter(|(name, _)| !["base", "name", "pattern"].contains(&name.as_str()));
        let settings: Vec<String> =
            settings.map(|(name, value)| format!("{name}={}", value.to_string().trim_matches('"'))).collect();
        text += &format!("{name}\n  {line}\n  {}\n", settings.join(" "));
    }
    text
}

/// From now on, Ctrl-C asks `stop` once; a second one ends the process as usual.
fn stop_at_interrupt(stop: &Stop) -> std::io::Result<()> {
    let stop = stop.clone();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    std::thread::Builder::new().name("interrupt".into()).spawn(move || {
        runtime.block_on(async {
            if tokio::signal::ctrl_c().await.is_ok() {
                stop.ask();
            }
            // The handler stays for ever: from here on it is up to us.
            if tokio::signal::ctrl_c().await.is_ok() {
                std::process::exit(130);
            }
        });
    })?;
    Ok(())
}
