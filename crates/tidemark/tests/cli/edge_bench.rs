//! `tidemark edge bench` as a process: a load of many clients.

use crate::edge::{Regions, Running};
use crate::harness::{binary, eventually, has, said, tidemark, up_ports};
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

/// A node whose limit of open files cannot be raised turns away the clients that it has no files for, and says why.
#[test]
fn where_too_few_files_may_be_open_clients_are_told() {
    let dir = TempDir::new().unwrap();
    let limited = |limit: &str, args: &[&str]| {
        let mut command = Command::new("sh");
        command.args(["-c", &format!("ulimit {limit} && exec \"$0\" \"$@\"")]).arg(binary()).args(args);
        command.env("XDG_RUNTIME_DIR", dir.path()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().unwrap()
    };
    let ([base, http], edge) = (up_ports(), tidemark_patience::port().to_string());
    let data = dir.path().join("data");
    let mut args = vec!["up", "--regions", "1", "--dir", data.to_str().unwrap(), "--base-port", &base];
    args.extend(["--http-port", &http, "--edge", &edge]);
    let mut up = Running(limited("-n 300", &args));
    let mut told = BufReader::new(up.0.stdout.as_mut().unwrap()).lines();
    let (mut ready, mut warning) = (false, String::new());
    // What the node and `up` say comes in either order.
    while !ready || warning.is_empty() {
        let line = told.next().expect("it goes on").unwrap();
        ready |= line == "ready";
        if line.contains("may open 300 files") {
            warning = line;
        }
    }
    assert!(warning.contains("44 clients") && warning.contains("ulimit -n"), "{warning}");
    let gateway = format!("127.0.0.1:{edge}");
    let bench = ["edge", "--connect", &gateway, "bench", "--duration", "1s", "--warm-up", "0s", "--clients"];
    // It raises its own limit where it may.
    let output = limited("-Sn 60", &[&bench[..], &["44"]].concat()).wait_with_output().unwrap();
    assert!(output.status.success(), "{}", said(&output));
    let output = limited("-n 300", &[&bench[..], &["1000"]].concat()).wait_with_output().unwrap();
    assert!(said(&output).contains("ulimit -n 1064"), "{}", said(&output));
}

fn report(output: &Output) -> Value {
    assert!(output.status.success(), "{}", said(output));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Returns the arguments for a load of some clients that see what others write.
fn load<'a>(regions: &'a Regions, more: &[&'a str]) -> Vec<&'a str> {
    let mut all = vec!["edge"];
    all.extend(regions.connect());
    all.extend(["-k", "2", "bench", "--json", "--warm-up", "1s", "--rate", "20", "--seen-by", "50"]);
    all.extend(more);
    all
}

/// The result of a load of some hundred clients at one node.
pub(crate) fn hundreds(regions: &Regions) -> Value {
    let pid = regions.up.node("a")["pid"].to_string();
    report(&tidemark(&load(regions, &["--clients", "500", "--duration", "4s", "--pid", &pid])))
}

/// The result of a load during which the node of all clients is killed.
fn failover(regions: &Regions, duration: &str) -> Value {
    let mut bench = Command::new(binary());
    bench.args(load(regions, &["--clients", "200", "--duration", duration]));
    let mut bench = bench.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut told = BufReader::new(bench.stderr.take().unwrap()).lines();
    assert!(told.any(|line| line.unwrap().contains("200 clients are live")));
    regions.up.order(&["kill", "a"]);
    let report = report(&bench.wait_with_output().unwrap());
    regions.up.order(&["restart", "a"]);
    report
}

/// The result of a load of clients of a social network.
pub(crate) fn social(regions: &Regions) -> Value {
    let mut all = vec!["edge"];
    all.extend(regions.connect());
    all.extend(["-k", "2", "bench", "--workload", "social", "--set", "keys=1600", "--set", "friends=5"]);
    all.extend(["--clients", "20", "--rate", "400", "--cache", "64", "--fill", "--json", "--duration", "4s"]);
    report(&tidemark(&all))
}

/// Some hundred clients of one node, over real sockets: all are served, each update is acknowledged and seen, and a client costs the node
/// little memory. Then the node is killed, and all go on at another one.
#[test]
fn hundreds_of_clients_of_one_node_are_served_and_go_on_when_it_is_killed() {
    let regions = Regions::start();
    let load = hundreds(&regions);
    assert_eq!((&load["load"]["count"], &load["unacknowledged"]), (&500.into(), &0.into()), "{load}");
    assert!(load["to_ack"]["count"].as_u64() > Some(0) && load["failover"].is_null(), "{load}");
    // Each is seen by the 49 others, but for what another update has replaced before that.
    let (seen, unseen) = (load["to_visible"]["count"].as_u64().unwrap(), load["unseen"].as_u64().unwrap());
    assert_eq!(seen + unseen, 49 * load["updates"].as_u64().unwrap(), "{load}");
    assert_eq!(load["local_write"]["count"], load["updates"], "{load}");
    assert!(seen > 0, "{load}");
    let memory = load["node"]["memory_a_client"].as_f64().unwrap();
    assert!(memory < f64::from(64 << 10), "{memory} bytes a client: is there a large buffer for each?");

    // On a busy machine a short load may have ended when the node is killed. Who has lost it is waited for at the end of any.
    let mut loads = ["5s", "20s", "150s"].into_iter().map(|duration| failover(&regions, duration));
    let load =
        loads.find(|load| load["failover"]["lost"] == 200).expect("the node is killed while all are there");
    assert_eq!(
        (&load["failover"]["times"]["count"], &load["unacknowledged"]),
        (&200.into(), &0.into()),
        "{load}"
    );
}

/// Clients with an application: what they keep they read at once, what they do not they are sent, and all that they write is taken, and is
/// there for Redis clients.
#[test]
fn clients_of_a_social_network_read_what_they_keep_at_once() {
    let regions = Regions::start();
    let report = social(&regions);
    let hits = report["hit_share"].as_f64().unwrap();
    assert!(hits > 0.0 && hits < 1.0, "{report}");
    assert!(report["to_ack"]["count"].as_u64() > Some(0), "{report}");
    if has("redis-cli") {
        let friends = || regions.up.redis("a", &["scard", "user:7:friends"]).parse::<u32>().ok();
        eventually(true, || friends() >= Some(5));
    }
}
