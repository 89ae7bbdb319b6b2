//! The arguments of the command, and what it prints.

use crate::servers::{Redis, fake, usual};
use clap::Parser;
use tidemark_bench::{Bench, Output, Region, Report};

#[derive(Debug, Parser)]
struct Cli {
    #[command(flatten)]
    bench: Bench,
}

/// Runs the command; without regions of its own there is no cluster either.
fn bench(args: &str) -> Result<Output, String> {
    let all = ["bench", "--quiet", "--timeout", "120s"].into_iter().chain(args.split_whitespace());
    let cli = Cli::try_parse_from(all).map_err(|error| error.to_string())?;
    cli.bench.run(|| anyhow::bail!("no cluster runs")).map_err(|error| format!("{error:#}"))
}

#[test]
fn a_run_prints_a_table_or_json() {
    let Some(redis) = Redis::start(&[]) else { return };
    let common = format!(
        "--region here={} --set keys=100 --set value-bytes=8 --load -c 2 -n 300 --warm-up 0s",
        redis.address
    );
    let output = bench(&common).unwrap();
    assert!(output.whole);
    for words in ["ycsb-a, 2 connections, closed loop", "p99.99", "get", "put", "0 failed"] {
        assert!(output.text.contains(words), "{words}: {}", output.text);
    }
    let json = bench(&format!("{common} --json --workload ycsb-f --rate 3000 --arrivals fixed")).unwrap();
    let report: Report = serde_json::from_str(&json.text).unwrap();
    assert_eq!(
        (report.arrivals_per_second, report.connections, report.workload.keys),
        (Some(3000.0), 2, 100)
    );
    assert!(report.summary.requests.contains_key("read-modify-write"));
    assert!(!report.summary.slices.is_empty());
    assert_eq!(report.regions.keys().collect::<Vec<_>>(), ["here"]);
}

#[test]
fn what_is_wrong_with_a_command_is_explained_before_anything_is_asked() {
    let server = fake(|_| panic!("nothing is to be asked"));
    let cases = [
        ("--region junk".into(), "NAME=HOST:PORT"),
        ("--rate 0 --region h:1".into(), "more than 0"),
        ("--arrivals fixed --region h:1".into(), "--rate"),
        ("--duration soon --region h:1".into(), "duration"),
        ("--duration 1s -n 5 --region h:1".into(), "cannot be used with"),
        ("--set span --region h:1".into(), "NAME=VALUE"),
        ("--poll 2ms --region h:1".into(), "--visibility"),
        ("--workload ycsb-z".into(), "no workload is called"),
        ("--set colour=red".into(), "no setting \"colour\""),
        (String::new(), "no cluster runs"),
        (format!("--visibility --region {server}"), "two or more"),
        (format!("--workload transactions --set span=9 --region {server}"), "spans 9 partitions"),
        (format!("-c 0 --region {server}"), "at least one connection"),
        (format!("-c 1 --region a={server} --region b={server}"), "as many connections as regions"),
        (format!("-c 0 -n 5 --visibility --region a={server} --region b={server}"), "--duration"),
    ];
    for (args, words) in cases {
        let error = bench(&args).unwrap_err();
        assert!(error.contains(words), "{args}: {error}");
    }
}

#[test]
fn the_list_has_every_workload_with_its_settings() {
    let list = bench("--list").unwrap().text;
    for words in ["ycsb-a\n", "transactions\n", "write-share=0.05", "factor=100", "value-bytes=1000"] {
        assert!(list.contains(words), "{words}: {list}");
    }
}

#[test]
fn several_settings_are_checked_together_and_several_servers_are_one_region() {
    let addresses = [fake(usual), fake(usual)];
    let args = format!(
        "--region x={} --region x={} --set read=0.25 --set update=0.75 -n 400 -c 4 --warm-up 0s --json",
        addresses[0], addresses[1]
    );
    let report: Report = serde_json::from_str(&bench(&args).unwrap().text).unwrap();
    assert_eq!(report.regions.len(), 1);
    assert!(report.summary.operations["put"].count > report.summary.operations["get"].count);
}

#[test]
fn without_regions_it_is_the_cluster_that_is_measured() {
    let address = fake(usual);
    let cli = Cli::try_parse_from(["bench", "--quiet", "-n", "50", "-c", "2", "--warm-up", "0s"]).unwrap();
    let output =
        cli.bench.run(|| Ok(vec![Region { name: "found".into(), addresses: vec![address] }])).unwrap();
    assert!(output.whole && output.text.contains("2 connections"), "{}", output.text);
}
