//! `tidemark edge` as processes: offline and back, killed while they write, over the end of a region; and a load of many clients.

use crate::harness::{Up, binary, eventually, has, said, some_port, tidemark};
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;
use tempfile::TempDir;

/// Three regions, and the ports of their gateways.
struct Regions {
    up: Up,
    gateways: Vec<String>,
}

impl Regions {
    fn start() -> Self {
        let port = some_port() + 30; // beside the ports of others
        let up = Up::start(&["--regions", "3", "--edge", &port.to_string()]);
        let gateways = (0..3).map(|region| format!("ws://127.0.0.1:{}/edge", port + region)).collect();
        Self { up, gateways }
    }

    /// `--connect` for each gateway.
    fn connect(&self) -> Vec<&str> {
        self.gateways.iter().flat_map(|gateway| ["--connect", gateway]).collect()
    }

    fn client(&self, k: &str) -> Folder {
        let folder = Folder(TempDir::new().unwrap());
        let mut all = self.connect();
        all.extend(["-k", k, "status"]);
        folder.ok(&all);
        folder
    }
}

/// The folder of a client.
struct Folder(TempDir);

impl Folder {
    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(binary());
        command.arg("edge").arg("--data").arg(self.0.path()).args(args);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn run(&self, args: &[&str]) -> Output {
        self.command(args).output().unwrap()
    }

    /// What a command that has to succeed prints.
    #[track_caller]
    fn ok(&self, args: &[&str]) -> String {
        let output = self.run(args);
        assert!(output.status.success(), "{args:?}: {}", said(&output));
        String::from_utf8(output.stdout).unwrap()
    }

    /// What a command says that has to fail.
    #[track_caller]
    fn fails(&self, code: i32, args: &[&str]) -> String {
        let output = self.run(args);
        assert_eq!(output.status.code(), Some(code), "{args:?}: {}", said(&output));
        said(&output)
    }

    fn json(&self, args: &[&str]) -> Value {
        serde_json::from_str(&self.ok(&[&["--json"], args].concat())).unwrap()
    }

    /// Gives a shell these lines.
    fn shell(&self, lines: &str) -> Output {
        let mut shell = self.command(&[]).stdin(Stdio::piped()).spawn().unwrap();
        shell.stdin.take().unwrap().write_all(lines.as_bytes()).unwrap();
        shell.wait_with_output().unwrap()
    }
}

/// A child that does not outlive its test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn what_is_written_offline_is_kept_and_counts_once_when_the_client_is_back() {
    if !has("redis-cli") {
        return;
    }
    let regions = Regions::start();
    let client = regions.client("2");
    assert_eq!(client.ok(&["get", "likes"]), "\n");
    assert!(client.fails(1, &["--offline", "get", "other"]).contains("not kept here"));
    for n in 1..=3 {
        assert_eq!(client.ok(&["--offline", "incr", "likes"]), format!("{n}\n"));
    }
    assert_eq!(client.ok(&["--offline", "tx", "hset cart apples 2", "sadd tags 'on a train'"]), "OK\n");
    assert_eq!(client.ok(&["--offline", "get", "likes"]), "3\n");
    let status = client.json(&["--offline", "status"]);
    assert_eq!(
        (&status["status"], &status["pending"], &status["unsent"]),
        (&"offline".into(), &4.into(), &4.into())
    );
    assert_eq!(regions.up.redis("b", &["get", "likes"]), "");
    assert_eq!(client.ok(&["sync"]).lines().last(), Some("everything is delivered"));
    for region in ["a", "b", "c"] {
        eventually("3".to_string(), || regions.up.redis(region, &["get", "likes"]));
        assert_eq!(regions.up.redis(region, &["hget", "cart", "apples"]), "2");
    }
    assert_eq!(regions.up.redis("c", &["incrby", "likes", "39"]), "42");
    eventually("42\n".to_string(), || client.ok(&["get", "likes"]));
    assert_eq!(client.ok(&["smembers", "tags"]), "on a train\n");
    assert_eq!(client.json(&["hgetall", "cart"])["value"]["apples"], "2");
    lists(&regions, &client);
    // What it has read is kept, with all regions gone.
    for region in ["a", "b", "c"] {
        regions.up.order(&["kill", region]);
    }
    let output = client.run(&["get", "likes"]);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "42\n");
    assert!(said(&output).contains("no gateway answers at ws://"), "{}", said(&output));
    let output = client.run(&["incr", "likes"]);
    assert!(output.status.success() && said(&output).contains("not delivered yet: 1"), "{}", said(&output));
    assert_eq!(client.json(&["get", "likes"])["value"], "43");
}

fn lists(regions: &Regions, client: &Folder) {
    assert_eq!(client.ok(&["rpush", "steps", "two", "three", "three"]), "OK\n");
    assert_eq!(client.ok(&["lrange", "steps"]), "two\nthree\nthree\n");
    assert_eq!(client.ok(&["tx", "lpush steps one", "linsert steps after two 'two and a half'"]), "OK\n");
    assert_eq!(client.ok(&["lset", "steps", "-1", "four"]), "OK\n");
    assert_eq!(client.ok(&["lrange", "steps", "1", "-2"]), "two\ntwo and a half\nthree\n");
    let all = "one\ntwo\ntwo and a half\nthree\nfour";
    eventually(all.to_string(), || regions.up.redis("c", &["lrange", "steps", "0", "-1"]));
    assert_eq!(regions.up.redis("c", &["rpush", "steps", "two"]), "6");
    eventually(format!("{all}\ntwo\n"), || client.ok(&["lrange", "steps"]));
    assert_eq!(client.ok(&["lrem", "steps", "-1", "two"]), "OK\n");
    assert_eq!(client.json(&["lrange", "steps", "0", "1"])["value"], serde_json::json!(["one", "two"]));
    assert!(client.fails(1, &["lset", "steps", "9", "x"]).contains("none at 9"));
    assert!(client.fails(1, &["linsert", "steps", "before", "nine", "x"]).contains("no element nine"));
    assert!(client.fails(1, &["rpush", "likes", "x"]).contains("a string"));
    assert!(client.fails(1, &["get", "steps"]).contains("lrange"));
    // Nothing of it is left to be delivered.
    client.ok(&["sync"]);
}

/// Processes are killed at any moment of their writes. What one has said is done is there, and nothing is there twice.
#[test]
fn a_killed_process_loses_nothing_that_it_has_said_and_nothing_counts_twice() {
    if !has("redis-cli") {
        return;
    }
    let regions = Regions::start();
    let client = regions.client("1");
    client.ok(&["get", "count"]);
    let mut said = Vec::new();
    for n in 0..30 {
        let transaction = ["tx", "incr count", &format!("sadd who {n}")];
        let mut process = client.command(&transaction).spawn().unwrap();
        // From before it has opened its folder to after its write was delivered.
        std::thread::sleep(Duration::from_millis(3 * n));
        process.kill().unwrap(); // SIGKILL
        let mut printed = String::new();
        process.stdout.take().unwrap().read_to_string(&mut printed).unwrap();
        process.wait().unwrap();
        if printed == "OK\n" {
            said.push(n.to_string());
        }
    }
    client.ok(&["sync"]);
    for region in ["a", "b", "c"] {
        eventually(client.ok(&["get", "count"]).trim().to_string(), || {
            regions.up.redis(region, &["get", "count"])
        });
        let who = regions.up.redis(region, &["smembers", "who"]);
        let who: Vec<&str> = who.lines().collect();
        assert_eq!(regions.up.redis(region, &["get", "count"]), who.len().to_string(), "each counts once");
        assert!(said.iter().all(|n| who.contains(&n.as_str())), "said {said:?}, and there are {who:?}");
    }
    assert!(!said.is_empty(), "none was quick enough");
}

#[test]
fn a_client_goes_on_at_another_region_when_its_own_has_gone() {
    if !has("redis-cli") {
        return;
    }
    let regions = Regions::start();
    let (client, other) = (regions.client("2"), regions.client("1"));
    let mut watch = Running(client.command(&["watch", "likes", "--json"]).spawn().unwrap());
    let mut lines = BufReader::new(watch.0.stdout.take().unwrap()).lines();
    let mut next =
        || serde_json::from_str::<Value>(&lines.next().unwrap().unwrap()).unwrap()["value"].clone();
    assert_eq!(next(), Value::Null);
    assert_eq!(regions.up.redis("b", &["incr", "likes"]), "1");
    assert_eq!(next(), "1");
    assert_eq!(other.json(&["status"])["region"], "a");
    regions.up.order(&["kill", "a"]);
    assert_eq!(other.ok(&["incr", "likes"]), "2\n", "at b");
    assert_eq!(other.json(&["status"])["region"], "b");
    assert_eq!(next(), "2", "b and c are two");
    regions.up.order(&["restart", "a"]);
    eventually("2".to_string(), || regions.up.redis("a", &["get", "likes"]));
}

/// Its region is cut off, and it knows no other: with `--lower` it sees what is written there, and without it does not.
#[test]
fn k_is_lowered_in_an_isolated_region_if_that_is_wanted() {
    if !has("redis-cli") {
        return;
    }
    let regions = Regions::start();
    let client = || Folder(TempDir::new().unwrap());
    let (lowers, stays) = (client(), client());
    let here = ["--connect", &regions.gateways[2], "-k", "2"];
    let args = |how: &[&'static str]| [&here[..], how].concat();
    stays.ok(&args(&["get", "key"]));
    let watch = args(&["--lower", "watch", "key", "--json"]);
    let mut watch = Running(lowers.command(&watch).spawn().unwrap());
    let mut lines = BufReader::new(watch.0.stdout.take().unwrap()).lines();
    let mut next =
        || serde_json::from_str::<Value>(&lines.next().unwrap().unwrap()).unwrap()["value"].clone();
    assert_eq!(next(), Value::Null);
    for other in ["a", "b"] {
        regions.up.order(&["cut", "c", other]);
    }
    assert_eq!(regions.up.redis("c", &["set", "key", "lonely"]), "OK");
    assert_eq!(next(), "lonely", "one region has it");
    let status = stays.json(&args(&["status"]));
    assert_eq!((&status["region"], &status["isolated"]), (&"c".into(), &true.into()));
    assert_eq!(stays.ok(&args(&["get", "key"])).trim(), "");
    regions.up.order(&["heal"]);
    eventually("lonely".to_string(), || stays.ok(&args(&["get", "key"])).trim().to_string());
}

#[test]
fn the_shell_does_what_the_commands_do() {
    let regions = Regions::start();
    let client = regions.client("1");
    let lines = "\
        set greeting \"hello\\tworld\"\n\n# a comment\nget greeting\nincr n 5\nincr n -2\nhset h a 1 b 2\nhget h b\nhincr h a 10\n\
        tx incr n ; sadd s x y ; srem s x\nsmembers s\nget n\nkeys\nforget n\nkeys\nwatch s --count 1\n";
    let output = client.shell(lines);
    let wanted = "OK\nhello\tworld\n5\n3\nOK\n2\n11\nOK\ny\n4\ngreeting\nh\nn\ns\ngreeting\nh\ns\ns y\n";
    assert_eq!(String::from_utf8_lossy(&output.stdout), wanted, "{}", said(&output));
    assert!(output.status.success(), "{}", said(&output));
    // What does not fit is not written; others are.
    let output = client.shell("sadd h x\ntx incr n ; incr greeting\nnonsense\nget \"n\nget n\n");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "4\n", "{}", said(&output));
    for what in [
        "h is a hash, and this wants a set",
        "greeting is a string, and this wants a number of 64 bits",
        "nonsense",
        "quote",
    ] {
        assert!(said(&output).contains(what), "{what}: {}", said(&output));
    }
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn wrong_calls_say_what_to_do() {
    let regions = Regions::start();
    let client = regions.client("1");
    let mut watch = Running(client.command(&["watch", "key"]).spawn().unwrap());
    let mut line = String::new();
    BufReader::new(watch.0.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    assert!(client.fails(1, &["get", "key"]).contains("another process uses"), "one process a folder");
    drop(watch);
    assert!(client.fails(2, &["hset", "h", "a"]).contains("followed by its value"));
    assert!(client.fails(2, &["tx", "incr n", "bla"]).contains("nothing was written"));
    assert_eq!(client.ok(&["get", "n"]), "\n");
    assert!(client.fails(2, &["--connect", "wss://host:1", "status"]).contains("not encrypted"));
    let new = Folder(TempDir::new().unwrap());
    assert!(new.fails(2, &["get", "key"]).contains("--connect ws://127.0.0.1:9001/edge"));
    std::fs::write(new.0.path().join("client"), "something else").unwrap();
    assert!(new.fails(1, &["--connect", &regions.gateways[0], "get", "key"]).contains("damaged"));
}

/// A node whose limit of open files cannot be raised turns away the clients that it has no files for, and says why.
#[test]
fn where_too_few_files_may_be_open_clients_are_told() {
    let (dir, port) = (TempDir::new().unwrap(), some_port());
    let limited = |limit: &str, args: &[&str]| {
        let mut command = Command::new("sh");
        command.args(["-c", &format!("ulimit {limit} && exec \"$0\" \"$@\"")]).arg(binary()).args(args);
        command.env("XDG_RUNTIME_DIR", dir.path()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().unwrap()
    };
    let ports = [port, port + 10, port + 30].map(|port| port.to_string());
    let data = dir.path().join("cluster");
    let mut up = vec!["up", "--regions", "1", "--dir", data.to_str().unwrap(), "--base-port", &ports[0]];
    up.extend(["--http-port", &ports[1], "--edge", &ports[2]]);
    let mut up = Running(limited("-n 300", &up));
    let (mut told, mut ready) = (BufReader::new(up.0.stdout.take().unwrap()).lines(), false);
    let mut warning = String::new();
    while !ready || warning.is_empty() {
        // What the node and `up` say comes in either order.
        let line = told.next().expect("it says both").unwrap();
        ready |= line == "ready";
        if line.contains("may open 300 files") {
            warning = line;
        }
    }
    assert!(warning.contains("44 clients") && warning.contains("ulimit -n"), "{warning}");
    let gateway = format!("127.0.0.1:{}", ports[2]);
    let bench = ["edge", "--connect", &gateway, "bench", "--duration", "1s", "--warm-up", "0s", "--clients"];
    // It raises its own limit where it may.
    let output = limited("-Sn 60", &[&bench[..], &["44"]].concat()).wait_with_output().unwrap();
    assert!(output.status.success(), "{}", said(&output));
    let output = limited("-n 300", &[&bench[..], &["1000"]].concat()).wait_with_output().unwrap();
    assert!(said(&output).contains("ulimit -n 1064"), "{}", said(&output));
}

/// Some hundred clients of one node, over real sockets: all are served, each update is acknowledged and seen, and a client costs the node
/// little memory. Then the node is killed, and all go on at another one.
#[test]
fn hundreds_of_clients_of_one_node_are_served_and_go_on_when_it_is_killed() {
    let regions = Regions::start();
    let pid = regions.up.node("a")["pid"].to_string();
    let mut all = vec!["edge"];
    all.extend(regions.connect());
    all.extend(["-k", "2", "bench", "--json", "--warm-up", "1s", "--rate", "20", "--seen-by", "50"]);
    let report = |output: &Output| -> Value {
        assert!(output.status.success(), "{}", said(output));
        serde_json::from_slice(&output.stdout).unwrap()
    };
    let long = ["--clients", "500", "--duration", "4s", "--pid", &pid];
    let load = report(&tidemark(&[&all[..], &long].concat()));
    assert_eq!((&load["load"]["count"], &load["unacknowledged"]), (&500.into(), &0.into()), "{load}");
    assert!(load["to_ack"]["count"].as_u64() > Some(0) && load["failover"].is_null(), "{load}");
    // Each is seen by the 49 others, but for what another update has replaced before that.
    let (seen, unseen) = (load["to_visible"]["count"].as_u64().unwrap(), load["unseen"].as_u64().unwrap());
    assert_eq!(seen + unseen, 49 * load["updates"].as_u64().unwrap(), "{load}");
    assert!(seen > unseen, "{load}");
    let memory = load["node"]["memory_a_client"].as_f64().unwrap();
    assert!(memory < f64::from(64 << 10), "{memory} bytes a client: is there a large buffer for each?");

    let duration = ["--clients", "200", "--duration", "5s"];
    let mut bench = Command::new(binary());
    bench.args(&all).args(duration).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut bench = bench.spawn().unwrap();
    let mut told = BufReader::new(bench.stderr.take().unwrap()).lines();
    assert!(told.any(|line| line.unwrap().contains("200 clients are live")));
    regions.up.order(&["kill", "a"]);
    let load = report(&bench.wait_with_output().unwrap());
    assert_eq!(
        (&load["failover"]["lost"], &load["failover"]["times"]["count"]),
        (&200.into(), &200.into()),
        "{load}"
    );
    assert_eq!(load["unacknowledged"], 0, "{load}");
}

/// Clients with an application: what they keep they read at once, what they do not they are sent, and all that they write is taken, and is
/// there for Redis clients.
#[test]
fn clients_of_a_social_network_read_what_they_keep_at_once() {
    let regions = Regions::start();
    let mut all = vec!["edge"];
    all.extend(regions.connect());
    all.extend(["-k", "2", "bench", "--workload", "social", "--set", "keys=1600", "--set", "friends=5"]);
    all.extend(["--clients", "20", "--rate", "400", "--cache", "64", "--fill", "--json", "--duration", "4s"]);
    let output = tidemark(&all);
    assert!(output.status.success(), "{}", said(&output));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let number = |name: &str, field: &str| report[name][field].as_f64().unwrap();
    let transactions = report["transactions"].as_u64().unwrap();
    assert!(transactions > 800, "{report}");
    let hits = report["hit_share"].as_f64().unwrap();
    assert!((0.4..0.99).contains(&hits), "{report}");
    assert!(number("hit", "p50_us") < number("miss", "p50_us"), "{report}");
    // Twelve percent are updates.
    let acknowledged = number("to_ack", "count");
    assert!(acknowledged > 0.05 * transactions as f64, "{report}");
    if has("redis-cli") {
        let friends = || regions.up.redis("a", &["scard", "user:7:friends"]).parse::<u32>().ok();
        eventually(true, || friends() >= Some(5));
    }
}
