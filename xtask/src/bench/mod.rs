//! `./x bench`: Tidemark beside redis-server, in the same minutes.
//!
//! A machine's speed drifts, so every figure here is a ratio of runs that were interleaved, the median over rounds;
//! beside it stands the server's CPU time a request, which drifts less. Nothing is asserted: this is a measurement.

mod groups;
mod load;
mod memory;
mod servers;
mod talk;

use anyhow::{Result, bail};
use load::{Load, Run};
use servers::{Server, Setup};
use std::fmt::Write as _;
use std::time::{Duration, Instant};

const HELP: &str = "\
./x bench [WHAT…] [--protocol NAME] [--rounds N] [--requests N] [--json]

Runs Tidemark and redis-server interleaved and prints ratios (Tidemark / Redis), medians over rounds.

WHAT (default: throughput):
  throughput  one region, one partition, everysec: GET and SET at -P 1 and -P 16, and eventual beside
  regions     three regions against Redis with two replicas: SET and GET at one region
  types       one region, one partition, everysec on both sides: commands of data types at -P 1 and -P 16
  memory      resident memory with strings, hashes, sets, sorted sets and lists
  idle        CPU of an idle cluster of three regions with two partitions each
  all         all of these
  groups      one member, and a group of three, against etcd: writes with fsync

--protocol NAME  which protocol stands beside Redis, and beside `eventual`: `causal` by default

Needs redis-server and redis-benchmark (Debian: redis-server, redis-tools), for `groups` etcd (etcd-server) and Go, and
builds the binary of packages (profile `dist`), unless TIDEMARK_BIN names another one.
";

struct Options {
    what: Vec<String>,
    protocol: String,
    rounds: usize,
    requests: usize,
    json: bool,
}

/// Runs the benchmarks that `args` name.
pub(crate) fn run(args: &[String]) -> Result<()> {
    let Some(options) = parse(args)? else {
        print!("{HELP}");
        return Ok(());
    };
    servers::build()?;
    let mut report = Vec::new();
    for what in &options.what {
        match what.as_str() {
            "throughput" => report.extend(throughput(&options)?),
            "regions" => report.extend(regions(&options)?),
            "types" => report.extend(types(&options)?),
            "memory" => report.extend(memory::memory(&options)?),
            "idle" => report.extend(idle(&options)?),
            "groups" => report.extend(groups::groups(&options)?),
            other => bail!("there is no benchmark '{other}'\n\n{HELP}"),
        }
    }
    if options.json {
        println!("{}", json(&report));
    }
    Ok(())
}

fn parse(args: &[String]) -> Result<Option<Options>> {
    let mut options =
        Options { what: Vec::new(), protocol: "causal".into(), rounds: 7, requests: 200_000, json: false };
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        let mut number = || -> Result<usize> {
            let Some(value) = args.next() else { bail!("{arg} takes a number") };
            Ok(value.parse()?)
        };
        match arg.as_str() {
            "-h" | "--help" => return Ok(None),
            "--rounds" => options.rounds = number()?.max(1),
            "--requests" => options.requests = number()?.max(1_000),
            "--json" => options.json = true,
            "--protocol" => {
                let Some(name) = args.next() else { bail!("{arg} takes a name") };
                options.protocol = name.clone();
            }
            "all" => {
                options.what.extend(["throughput", "types", "regions", "memory", "idle"].map(String::from))
            }
            flag if flag.starts_with('-') => bail!("unknown option {flag}\n\n{HELP}"),
            what => options.what.push(what.into()),
        }
    }
    if options.what.is_empty() {
        options.what.push("throughput".into());
    }
    Ok(Some(options))
}

/// One figure of the report.
struct Figure {
    name: String,
    value: f64,
    unit: &'static str,
}

fn figure(name: impl Into<String>, value: f64, unit: &'static str) -> Figure {
    Figure { name: name.into(), value, unit }
}

fn json(report: &[Figure]) -> String {
    let mut text = String::from("[");
    for (i, Figure { name, value, unit }) in report.iter().enumerate() {
        let comma = if i == 0 { "" } else { "," };
        write!(text, "{comma}\n  {{\"name\": \"{name}\", \"value\": {value:.4}, \"unit\": \"{unit}\"}}")
            .expect("writing to a string cannot fail");
    }
    text + "\n]"
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    match values.len() {
        0 => f64::NAN,
        n if n % 2 == 1 => values[n / 2],
        n => (values[n / 2 - 1] + values[n / 2]) / 2.0,
    }
}

/// Runs each load against each server in turn, `rounds` times; the order rotates.
fn interleave(servers: &[&Server], loads: &[Load], rounds: usize) -> Result<Vec<Vec<Vec<Run>>>> {
    let mut runs = vec![vec![Vec::new(); servers.len()]; loads.len()];
    for round in 0..rounds {
        for (l, load) in loads.iter().enumerate() {
            for s in (0..servers.len()).map(|s| (s + round) % servers.len()) {
                runs[l][s].push(load.run(servers[s])?);
            }
        }
        eprintln!("round {} of {rounds}", round + 1);
    }
    Ok(runs)
}

/// Prints a table of `runs`, each server against the first, and returns its figures.
fn compare(title: &str, servers: &[&Server], loads: &[Load], runs: &[Vec<Vec<Run>>]) -> Vec<Figure> {
    println!("\n{title}: against {}", servers[0].name);
    println!("{:<12} {:<22} {:>8} {:>14} {:>14}", "", "", "ratio", "requests/s", "CPU µs/request");
    let mut report = Vec::new();
    for (load, runs) in loads.iter().zip(runs) {
        for (server, mine) in servers.iter().zip(runs) {
            let ratio = median(mine.iter().zip(&runs[0]).map(|(a, b)| a.rate / b.rate).collect());
            let rate = median(mine.iter().map(|run| run.rate).collect());
            let cpu = median(mine.iter().map(|run| run.cpu_us).collect());
            println!("{:<12} {:<22} {ratio:>8.3} {rate:>14.0} {cpu:>14.3}", load.name(), server.name);
            let name = format!("{} {} {}", title, server.name, load.name());
            report.push(figure(format!("{name} ratio"), ratio, "x"));
            report.push(figure(format!("{name} cpu"), cpu, "us/request"));
        }
    }
    report
}

fn throughput(options: &Options) -> Result<Vec<Figure>> {
    let redis = Server::redis("redis", 17_000, None)?;
    let protocol = &options.protocol;
    let chosen = Server::tidemark(&format!("tidemark {protocol}"), &Setup::new(protocol, 1, 1, 17_101))?;
    let eventual = Server::tidemark("tidemark eventual", &Setup::new("eventual", 1, 1, 17_201))?;
    let servers = [&redis, &chosen, &eventual];
    let loads = Load::standard(options.requests);
    let runs = interleave(&servers, &loads, options.rounds)?;
    let mut report = compare("throughput", &servers, &loads, &runs);
    println!("\n{protocol} / eventual, the same runs");
    for (load, runs) in loads.iter().zip(&runs) {
        let ratio = median(runs[1].iter().zip(&runs[2]).map(|(a, b)| a.rate / b.rate).collect());
        println!("{:<12} {ratio:>8.3}", load.name());
        report.push(figure(format!("{protocol}/eventual {}", load.name()), ratio, "x"));
    }
    Ok(report)
}

fn regions(options: &Options) -> Result<Vec<Figure>> {
    let redis = Server::redis("redis, 2 replicas", 17_000, None)?;
    let replicas = vec![
        Server::redis("replica 1", 17_001, Some(redis.port))?,
        Server::redis("replica 2", 17_002, Some(redis.port))?,
    ];
    let redis = redis.with(replicas);
    let tidemark = Server::tidemark("tidemark, 3 regions", &Setup::new(&options.protocol, 3, 1, 17_101))?;
    let servers = [&redis, &tidemark];
    let loads = Load::standard(options.requests);
    let runs = interleave(&servers, &loads, options.rounds)?;
    let report = compare("regions", &servers, &loads, &runs);
    println!("(CPU is that of all three: the primary with its replicas, or the three regions)");
    Ok(report)
}

fn types(options: &Options) -> Result<Vec<Figure>> {
    let redis = Server::redis("redis", 17_000, None)?;
    let setup = Setup::new(&options.protocol, 1, 1, 17_101);
    let tidemark = Server::tidemark(&format!("tidemark {}", options.protocol), &setup)?;
    let servers = [&redis, &tidemark];
    let loads = Load::types(options.requests);
    let runs = interleave(&servers, &loads, options.rounds)?;
    let report = compare("types", &servers, &loads, &runs);
    println!(
        "(Both log every write before they answer, and sync the log once a second: appendfsync everysec)"
    );
    Ok(report)
}

fn idle(options: &Options) -> Result<Vec<Figure>> {
    let tidemark = Server::tidemark("tidemark, 3 regions", &Setup::new(&options.protocol, 3, 2, 17_101))?;
    std::thread::sleep(Duration::from_secs(3));
    let (before, start) = (tidemark.cpu_seconds()?, Instant::now());
    std::thread::sleep(Duration::from_secs(20));
    let share = (tidemark.cpu_seconds()? - before) / start.elapsed().as_secs_f64();
    println!("\nidle: three regions with two partitions each use {:.1}% of one core in all", share * 100.0);
    Ok(vec![figure("idle", share * 100.0, "% of a core")])
}
