//! `tidemark edge` as processes: offline and back, killed while they write, over the end of a region.

use crate::harness::{Up, binary, eventually, has, said};
use serde_json::Value;
use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Three regions, and the ports of their gateways.
pub(crate) struct Regions {
    pub(crate) up: Up,
    gateways: Vec<String>,
}

impl Regions {
    pub(crate) fn start() -> Self {
        let port = tidemark_patience::ports(0..3);
        let up = Up::start(&["--regions", "3", "--edge", &port.to_string()]);
        let gateways = (0..3).map(|region| format!("ws://127.0.0.1:{}/edge", port + region)).collect();
        Self { up, gateways }
    }

    /// `--connect` for each gateway.
    pub(crate) fn connect(&self) -> Vec<&str> {
        self.gateways.iter().flat_map(|gateway| ["--connect", gateway]).collect()
    }

    /// Reads in one session of a region: `count`, and then the members of `who`.
    fn counted(&self, region: &str) -> (usize, BTreeSet<String>) {
        let port = self.up.port(region).to_string();
        let mut session = Command::new("redis-cli")
            .args(["-p", &port])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        session.stdin.take().unwrap().write_all(b"GET count\nSMEMBERS who\n").unwrap();
        let output = session.wait_with_output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        // What is not there is an empty line.
        let (count, who) = text.split_once('\n').unwrap();
        let count = if count.is_empty() { 0 } else { count.parse().unwrap() };
        (count, who.lines().filter(|line| !line.is_empty()).map(String::from).collect())
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
        // For a cluster that a busy machine holds up; where no gateway is left it does not wait.
        command.args(["edge", "--wait", "120s", "--data"]).arg(self.0.path()).args(args);
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
pub(crate) struct Running(pub(crate) Child);

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
    let (mut done, mut whole) = (BTreeSet::new(), Duration::ZERO);
    for n in 0..30 {
        let transaction = ["tx", "incr count", &format!("sadd who {n}")];
        let began = Instant::now();
        let mut process = client.command(&transaction).spawn().unwrap();
        let mut out = BufReader::new(process.stdout.take().unwrap());
        let mut printed = String::new();
        if n % 3 == 0 {
            out.read_line(&mut printed).unwrap();
            assert_eq!(printed, "OK\n");
            whole = whole.max(began.elapsed());
        } else {
            // From before it has opened its folder to after its write was delivered, as long as that takes on this machine.
            std::thread::sleep(whole * n / 20);
        }
        process.kill().unwrap(); // SIGKILL
        out.read_to_string(&mut printed).unwrap();
        process.wait().unwrap();
        if printed == "OK\n" {
            done.insert(n.to_string());
        }
    }
    client.ok(&["sync"]);
    let count = client.ok(&["get", "count"]).trim().to_string();
    for region in ["a", "b", "c"] {
        eventually(count.clone(), || {
            // In one session, for which a transaction whose first part it has seen is whole.
            let (count, who) = regions.counted(region);
            assert!(who.len() >= count, "in {region} {count} are counted, and only these are there: {who:?}");
            count.to_string()
        });
        let (count, who) = regions.counted(region);
        assert_eq!(who.len(), count, "each counts once in {region}: {who:?}");
        assert!(done.is_subset(&who), "said {done:?}, and there are {who:?} in {region}");
    }
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
