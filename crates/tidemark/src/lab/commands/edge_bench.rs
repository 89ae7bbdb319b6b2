//! `tidemark edge bench`

use crate::Usage;
use crate::commands::edge::Common;
use crate::output::{print, print_json, row, table};
use clap::Args;
use std::process::ExitCode;
use std::time::Duration;
use tidemark_bench::format::{count, time};
use tidemark_edge_client::load::{
    LoadError, ObjectsPlan, ObjectsReport, Plan, Report, Times, Used, play, play_objects,
};
use tidemark_workload::Workload;

/// Load a gateway with many clients, and measure what they see.
///
/// All clients run in this process, on one thread, each with its own connection and its disk in memory. They form groups that watch a key
/// together, and at each arrival some client writes the key of its group. The keys `bench:edge:…` stay behind.
#[derive(Args)]
pub(crate) struct EdgeBench {
    /// How many clients.
    #[arg(long, value_name = "COUNT", default_value_t = 1000)]
    clients: usize,
    /// How many clients watch a key, and so see each of its updates.
    #[arg(long, value_name = "COUNT", default_value_t = 100)]
    seen_by: usize,
    /// Updates a second in all, at random times.
    #[arg(long, value_name = "PER SECOND", default_value_t = 5.0)]
    rate: f64,
    /// New connections a second at the beginning.
    #[arg(long, value_name = "PER SECOND", default_value_t = 500.0)]
    connect_rate: f64,
    /// How long to measure.
    #[arg(long, short, value_name = "TIME", default_value = "30s", value_parser = humantime::parse_duration)]
    duration: Duration,
    /// How long to load before anything counts.
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = humantime::parse_duration)]
    warm_up: Duration,
    /// The process of the node that the clients connect to, if it runs on this machine: what it uses is reported.
    #[arg(long, value_name = "PROCESS")]
    pid: Option<u32>,
    /// How the names of keys begin.
    #[arg(long, value_name = "TEXT", default_value = "bench:edge:", conflicts_with = "workload")]
    prefix: String,
    /// Instead, each client runs an application: `social`, `locality`, or another workload of reads and updates of `tidemark bench`.
    /// Then --rate is that of transactions, and clients prefer the gateways in turn.
    #[arg(long, value_name = "NAME")]
    workload: Option<String>,
    /// Change a setting of the workload, such as `keys=8000` or `views=true`; may be repeated.
    #[arg(long, value_name = "SETTING=VALUE", requires = "workload")]
    set: Vec<String>,
    /// How many objects a client of a workload keeps.
    #[arg(long, value_name = "COUNT", default_value_t = 256, requires = "workload")]
    cache: usize,
    /// Write the objects of the workload first that are not empty.
    #[arg(long, requires = "workload")]
    fill: bool,
    /// What transactions of the workload are drawn from.
    #[arg(long, value_name = "NUMBER", default_value_t = 1, requires = "workload")]
    seed: u64,
    /// Print no progress.
    #[arg(long, short)]
    quiet: bool,
}

impl EdgeBench {
    pub(crate) fn run(self, common: &Common) -> anyhow::Result<ExitCode> {
        if let Some(name) = &self.workload {
            return self.run_workload(common, name);
        }
        let plan = Plan {
            endpoints: common.endpoints(Vec::new())?.into(),
            token: common.token(),
            clients: self.clients,
            seen_by: self.seen_by.min(self.clients),
            rate: self.rate,
            regions: common.regions.unwrap_or(1),
            connects: self.connect_rate,
            warm_up: self.warm_up,
            duration: self.duration,
            pid: self.pid,
            prefix: self.prefix,
        };
        let tell = |line: &str| {
            if !self.quiet {
                eprintln!("{line}")
            }
        };
        let report = play(&plan, tell).map_err(|error| match error {
            LoadError::Plan(_) | LoadError::Process { .. } => Usage(error.to_string()).into(),
            other => anyhow::Error::from(other),
        })?;
        if common.json {
            print_json(&report)?
        } else {
            print(&described(&report))
        }
        let is_whole = report.unacknowledged == 0;
        Ok(if is_whole { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }

    fn run_workload(&self, common: &Common, name: &str) -> anyhow::Result<ExitCode> {
        let usage = |error: String| Usage(error);
        let mut workload = Workload::named(name).map_err(|error| usage(error.to_string()))?;
        for set in &self.set {
            let (setting, value) =
                set.split_once('=').ok_or_else(|| usage(format!("--set {set} is not like keys=8000")))?;
            workload.set(setting, value).map_err(|error| usage(error.to_string()))?;
        }
        let plan = ObjectsPlan {
            endpoints: common.endpoints(Vec::new())?.into(),
            token: common.token(),
            workload,
            clients: self.clients,
            cache: self.cache,
            rate: self.rate,
            regions: common.regions.unwrap_or(1),
            connects: self.connect_rate,
            fill: self.fill,
            warm_up: self.warm_up,
            duration: self.duration,
            pid: self.pid,
            seed: self.seed,
        };
        let tell = |line: &str| {
            if !self.quiet {
                eprintln!("{line}")
            }
        };
        let report = play_objects(&plan, tell).map_err(|error| match error {
            LoadError::Plan(_) | LoadError::Process { .. } => Usage(error.to_string()).into(),
            other => anyhow::Error::from(other),
        })?;
        if common.json {
            print_json(&report)?
        } else {
            print(&of_workload(&report))
        }
        Ok(if report.errors.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
}

fn of_workload(report: &ObjectsReport) -> String {
    let mut text = format!(
        "{} clients of {}, K {}; {:.1} s\n{} transactions, {} a second; {:.1} % of them read only what was kept\n\n",
        count(report.clients as u64),
        report.workload,
        report.regions,
        report.seconds,
        count(report.transactions),
        short(report.transactions as f64 / report.seconds),
        report.hit_share * 100.0,
    );
    let mut rows = vec![row(["", "COUNT", "P50", "P99", "MAX"])];
    for (name, times) in [("hit", &report.hit), ("miss", &report.miss), ("commit to ack", &report.to_ack)] {
        let cells = [times.p50_us, times.p99_us, times.max_us].map(fine);
        rows.push(row([name, &count(times.count), &cells[0], &cells[1], &cells[2]]));
    }
    text.push_str(&table(&rows));
    text.push_str(&format!(
        "\na client: {} frames and {} bytes a second in, {} frames and {} bytes out\n",
        short(report.frames_in),
        short(report.bytes_in),
        short(report.frames_out),
        short(report.bytes_out)
    ));
    text.extend(report.node.as_ref().map(|used| uses_line("the node", used)));
    for (what, times) in &report.errors {
        text.push_str(&format!("{}×: {what}\n", count(*times)));
    }
    text
}

fn described(report: &Report) -> String {
    let clients = count(report.clients as u64);
    let mut text = format!(
        "{clients} clients, K {}, each update seen by {}; {:.1} s, all live after {:.1} s\n\
         {} updates, {} a second; {} not acknowledged, {} times not seen\n\n",
        report.regions,
        report.seen_by,
        report.seconds,
        report.connected,
        count(report.updates),
        short(report.updates as f64 / report.seconds),
        report.unacknowledged,
        report.unseen,
    );
    let mut rows = vec![row(["", "COUNT", "P50", "P99", "MAX"])];
    let mut times = |name: &str, times: &Times| {
        let cells = [times.p50_us, times.p99_us, times.max_us].map(fine);
        rows.push(row([name, &count(times.count), &cells[0], &cells[1], &cells[2]]));
    };
    times("connect, and load", &report.load);
    times("commit to ack", &report.to_ack);
    times("commit to visible elsewhere", &report.to_visible);
    times("cached read", &report.cached_read);
    times("local write", &report.local_write);
    if let Some(failover) = &report.failover {
        times("failover", &failover.times);
    }
    text.push_str(&table(&rows));
    text.push_str(&format!(
        "\na client: {} frames and {} bytes a second in, {} frames and {} bytes out\n",
        short(report.frames_in),
        short(report.bytes_in),
        short(report.frames_out),
        short(report.bytes_out)
    ));
    if let Some(cpu) = report.cpu_a_connection {
        text.push_str(&format!("the node: {} of processor time a connection\n", time(cpu * 1e6)));
    }
    let uses = [("the node", &report.node), ("all clients", &report.own)];
    uses.iter().for_each(|(who, used)| text.extend(used.as_ref().map(|used| uses_line(who, used))));
    for (what, times) in &report.errors {
        text.push_str(&format!("{}×: {what}\n", count(*times)));
    }
    text
}

fn uses_line(who: &str, used: &Used) -> String {
    format!(
        "{who}: {:.1} % of a core, {} a second a client; {:.0} MiB, {:.1} KiB more a client\n",
        used.cpu * 100.0,
        time(used.cpu_us_a_client),
        used.memory as f64 / f64::from(1 << 20),
        used.memory_a_client / 1024.0
    )
}

/// A time that may be below a microsecond.
fn fine(us: f64) -> String {
    if us < 9.95 { format!("{us:.1} µs") } else { time(us) }
}

fn short(number: f64) -> String {
    if number < 100.0 { format!("{number:.2}") } else { count(number.round() as u64) }
}
