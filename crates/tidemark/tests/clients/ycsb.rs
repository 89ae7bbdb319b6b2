//! YCSB itself, in Go and in Java, against clusters: nothing fails, what is read back is what was written, and every
//! region ends up with it. `docs/ycsb.md` is about the programs.

use crate::harness::nodes::{Nodes, Plan};
use crate::harness::resp::{Client, text};
use crate::harness::up::Up;
use crate::harness::{Cluster, Scratch, address, wait_for};
use crate::install;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::process::{Command, Output, Stdio};

const RECORDS: u64 = 1000;
const OPERATIONS: u64 = 2000;

/// How often each thing was done, as a report tells: `READ`, or `READ_ERROR` if it failed, of YCSB in Go; `[READ]
/// OK`, or another result, of YCSB in Java.
struct Report {
    counts: BTreeMap<String, u64>,
    said: String,
}

impl Report {
    /// From a line `READ   - Takes(s): 0.1, Count: 528, OPS: …` for each.
    fn of_go(said: String) -> Self {
        let count = |line: &str| {
            let (name, rest) = line.split_once(" - Takes(s): ")?;
            let count = rest.split_once("Count: ")?.1.split(',').next()?;
            Some((name.trim().to_string(), count.parse().ok()?))
        };
        Self { counts: said.lines().filter_map(count).collect(), said }
    }

    /// From a line `[READ], Return=OK, 485` for each.
    fn of_java(said: String) -> Self {
        let count = |line: &str| {
            let (name, rest) = line.split_once(", Return=")?;
            let (result, count) = rest.split_once(", ")?;
            Some((format!("{name} {result}"), count.trim().parse().ok()?))
        };
        Self { counts: said.lines().filter_map(count).collect(), said }
    }

    fn count(&self, name: &str) -> u64 {
        self.counts.get(name).copied().unwrap_or(0)
    }

    /// There are these and no others, and the first `counted` of them are so many together.
    #[track_caller]
    fn holds(&self, names: &[&str], counted: usize, total: u64) {
        let found: Vec<&str> = self.counts.keys().map(String::as_str).collect();
        let mut expected = names.to_vec();
        expected.sort_unstable();
        assert_eq!(found, expected, "{}", self.said);
        let sum: u64 = names[..counted].iter().map(|name| self.count(name)).sum();
        assert_eq!(sum, total, "{}", self.said);
    }
}

fn workload(letter: &str) -> String {
    format!("{}/workloads/workload{letter}", install::CLIENTS)
}

fn with_properties(command: &mut Command, properties: &[(&str, &str)]) {
    for (name, value) in properties {
        command.args(["-p", &format!("{name}={value}")]);
    }
}

/// `ycsb-go load|run` with four threads; none if there is no Go.
fn go(phase: &str, letter: &str, node: SocketAddr, properties: &[(&str, &str)]) -> Option<Command> {
    let mut command = Command::new(install::ycsb_go()?);
    command.args([phase, "-threads", "4", "-P", &workload(letter)]);
    with_properties(&mut command, &[("redis.addr", &node.to_string())]);
    with_properties(&mut command, &[("operationcount", &OPERATIONS.to_string()), ("dataintegrity", "true")]);
    with_properties(&mut command, properties);
    Some(command)
}

/// YCSB in Java, `-load` or `-t`, with six threads that take turns with `nodes`; none if there is no Java.
fn java(phase: &str, letter: &str, nodes: &[SocketAddr], properties: &[(&str, &str)]) -> Option<Command> {
    let nodes: Vec<String> = nodes.iter().map(SocketAddr::to_string).collect();
    let mut command = Command::new("java");
    command.arg("-cp").arg(install::ycsb_java()?.join("*"));
    command.args(["site.ycsb.Client", phase, "-db", "dev.tidemark.ycsb.TidemarkClient", "-threads", "6"]);
    command.args(["-P", &workload(letter)]);
    with_properties(&mut command, &[("tidemark.regions", &nodes.join(","))]);
    with_properties(&mut command, &[("operationcount", &OPERATIONS.to_string()), ("dataintegrity", "true")]);
    with_properties(&mut command, properties);
    Some(command)
}

/// Everything that a command said, and its exit code.
fn ends(command: &mut Command) -> (Option<i32>, String) {
    let Output { status, stdout, stderr } = command.output().expect("the program runs");
    (status.code(), String::from_utf8_lossy(&[stdout, stderr].concat()).into_owned())
}

/// How many keys a node's region has; 0 if it does not serve.
fn keys(node: SocketAddr) -> u64 {
    Client::connect(node).map_or(0, |mut client| dbsize(&mut client))
}

fn dbsize(client: &mut Client) -> u64 {
    let reply = client.ask(&["DBSIZE"]);
    let keys = reply.integer().unwrap_or_else(|| panic!("no number of keys: {reply:?}"));
    u64::try_from(keys).expect("a number of keys")
}

fn wait_for_keys(nodes: &[SocketAddr], count: u64) {
    wait_for(format!("{count} keys in every region"), || {
        nodes.iter().all(|node| keys(*node) == count).then_some(())
    });
}

fn addresses(cluster: &dyn Cluster) -> Vec<SocketAddr> {
    cluster.nodes().iter().map(|node| node.redis).collect()
}

#[test]
fn ycsb_of_go() {
    if install::ycsb_go().is_none() {
        return;
    }
    let scratch = Scratch::new("clients-ycsb-go");
    let up = Up::start(&scratch, &[]);
    let regions = addresses(&up);
    let run = |phase: &str, letter: &str| {
        let mut command = go(phase, letter, regions[0], &[]).expect("it was there");
        Report::of_go(install::run(&mut command))
    };
    run("load", "a").holds(&["INSERT", "TOTAL"], 1, RECORDS);
    wait_for_keys(&regions, RECORDS);
    run("run", "a").holds(&["READ", "UPDATE", "TOTAL"], 2, OPERATIONS);
    run("run", "b").holds(&["READ", "UPDATE", "TOTAL"], 2, OPERATIONS);
    run("run", "c").holds(&["READ", "TOTAL"], 1, OPERATIONS);
    // Half of the operations read and then update, besides being counted as one.
    run("run", "f").holds(&["READ", "UPDATE", "READ_MODIFY_WRITE", "TOTAL"], 1, OPERATIONS);
    let newest = run("run", "d");
    newest.holds(&["READ", "INSERT", "TOTAL"], 2, OPERATIONS);
    wait_for_keys(&regions, RECORDS + newest.count("INSERT"));
}

#[test]
fn ycsb_of_java() {
    if install::ycsb_java().is_none() {
        return;
    }
    let scratch = Scratch::new("clients-ycsb-java");
    let up = Up::start(&scratch, &[]);
    let regions = addresses(&up);
    let sessions = scratch.join("sessions");
    let sessions = [("tidemark.sessions", sessions.to_str().expect("a path in UTF-8"))];
    let run = |phase: &str, letter: &str, nodes: &[SocketAddr]| {
        let mut command = java(phase, letter, nodes, &sessions).expect("it was there");
        Report::of_java(install::run(&mut command))
    };
    run("-load", "a", &regions).holds(&["[INSERT] OK"], 1, RECORDS);
    // The fields of every record that was read are those that belong to its key.
    let updates = run("-t", "a", &regions);
    updates.holds(&["[READ] OK", "[UPDATE] OK", "[VERIFY] OK"], 2, OPERATIONS);
    assert_eq!(updates.count("[VERIFY] OK"), updates.count("[READ] OK"));
    // Half of the operations read and then update.
    run("-t", "f", &regions).holds(&["[READ] OK", "[UPDATE] OK", "[VERIFY] OK"], 1, OPERATIONS);
    wait_for_keys(&regions, RECORDS);
    // What one region has just inserted another need not have yet: the newest are read where they were written.
    let newest = run("-t", "d", &regions[1..2]);
    newest.holds(&["[READ] OK", "[INSERT] OK", "[VERIFY] OK"], 2, OPERATIONS);
    wait_for_keys(&regions, RECORDS + newest.count("[INSERT] OK"));
}

/// Workload E: names of records are in a sorted set, from which every region scans.
#[test]
fn ycsb_of_java_scans() {
    if install::ycsb_java().is_none() {
        return;
    }
    let scratch = Scratch::new("clients-ycsb-java-scans");
    let up = Up::start(&scratch, &[]);
    let regions = addresses(&up);
    let run = |phase: &str| {
        let mut command = java(phase, "e", &regions, &[]).expect("it was there");
        Report::of_java(install::run(&mut command))
    };
    run("-load").holds(&["[INSERT] OK"], 1, RECORDS);
    wait_for_keys(&regions, RECORDS + 1);
    let ranges = run("-t");
    ranges.holds(&["[INSERT] OK", "[SCAN] OK"], 2, OPERATIONS);
    let records = RECORDS + ranges.count("[INSERT] OK");
    wait_for_keys(&regions, records + 1);
    for region in &regions {
        let mut client = Client::connect(*region).expect("a node serves");
        let names = client.ask(&["ZCARD", "usertable"]).integer();
        assert_eq!(names, i64::try_from(records).ok(), "every record has its name in {region}");
    }
}

/// Without names in order there are no scans.
#[test]
fn ycsb_of_java_says_that_it_cannot_scan() {
    if install::ycsb_java().is_none() {
        return;
    }
    let scratch = Scratch::new("clients-ycsb-java-no-scans");
    let up = Up::start(&scratch, &[]);
    let mut command =
        java("-t", "e", &addresses(&up)[..1], &[("tidemark.scans", "false")]).expect("it was there");
    let ranges = Report::of_java(install::run(&mut command));
    ranges.holds(&["[INSERT] OK", "[SCAN] NOT_IMPLEMENTED"], 2, OPERATIONS);
}

#[test]
fn ycsb_of_java_takes_its_sessions_along() {
    if install::ycsb_java().is_none() {
        return;
    }
    let scratch = Scratch::new("clients-ycsb-sessions");
    let up = Up::start(&scratch, &["--regions", "2"]);
    let regions = addresses(&up);
    let file = scratch.join("sessions");
    let sessions = [("tidemark.sessions", file.to_str().expect("a path in UTF-8"))];
    up.cut("A", "B", false);
    install::run(&mut java("-load", "c", &regions[..1], &sessions).expect("it was there"));
    assert_eq!(std::fs::read_to_string(&file).expect("tokens").lines().count(), 6, "one token a thread");
    // Elsewhere threads begin too early, or, with the sessions, not at all, …
    let early = install::run(&mut java("-t", "c", &regions[1..], &[]).expect("it was there"));
    Report::of_java(early).holds(&["[READ] NOT_FOUND", "[VERIFY] ERROR"], 1, OPERATIONS);
    let (_, said) = ends(&mut java("-t", "c", &regions[1..], &sessions).expect("it was there"));
    assert!(said.contains(&format!("no session with {}: STALESESSION", regions[1])), "{said}");
    Report::of_java(said).holds(&[], 0, 0);
    // … until all is there.
    up.heal();
    wait_for_keys(&regions, RECORDS);
    let reads = install::run(&mut java("-t", "c", &regions[1..], &sessions).expect("it was there"));
    Report::of_java(reads).holds(&["[READ] OK", "[VERIFY] OK"], 1, OPERATIONS);
}

#[test]
fn ycsb_says_what_is_wrong() {
    let scratch = Scratch::new("clients-ycsb-wrong");
    let nodes = Nodes::start(&scratch, &Plan { cluster: "requirepass = \"secret\"", ..Plan::default() });
    let (node, nobody) = (nodes.nodes()[0].redis, address());
    let mut client = Client::connect(node).expect("it serves");
    client.ask(&["AUTH", "secret"]);
    assert_eq!(text(&client.ask(&["CONFIG", "SET", "proto-max-bulk-len", "1048576"])), "OK");
    // Without values that can be verified: to make long ones takes YCSB minutes.
    let large = [("fieldlength", "200000"), ("recordcount", "8"), ("dataintegrity", "false")];
    if install::ycsb_go().is_some() {
        let go =
            |node, properties: &[(&str, &str)]| ends(&mut go("load", "a", node, properties).expect("Go"));
        let (code, said) = go(nobody, &[]);
        assert!(code == Some(1) && said.contains(&format!("no session with {nobody}: dial tcp")), "{said}");
        for properties in [&[][..], &[("redis.password", "wrong")]] {
            let (code, said) = go(node, properties);
            assert!(code == Some(1) && said.contains(&format!("no session with {node}:")), "{said}");
            assert!(said.contains("NOAUTH") || said.contains("WRONGPASS"), "{said}");
        }
        let (code, said) = go(node, &[&large[..], &[("redis.password", "secret")]].concat());
        // What it is told depends on whether it still reads when the server has closed.
        assert!(code == Some(1) && said.contains("8 operations failed"), "{said}");
        let (code, said) = go(node, &[("redis.datatype", "hash")]);
        assert!(code == Some(1) && said.contains("Tidemark's values are strings"), "{said}");
    }
    if install::ycsb_java().is_some() {
        let java = |node, properties: &[(&str, &str)]| {
            ends(&mut java("-load", "a", &[node], properties).expect("Java")).1
        };
        let said = java(nobody, &[]);
        assert!(said.contains(&format!("cannot connect to {nobody}: ")), "{said}");
        let said = java(node, &[]);
        assert!(said.contains(&format!("{node} does not take tidemark.password: NOAUTH")), "{said}");
        let said = java(node, &[("tidemark.password", "wrong")]);
        assert!(said.contains(&format!("{node} does not take tidemark.password: WRONGPASS")), "{said}");
        let said = java(node, &[&large[..], &[("tidemark.password", "secret")]].concat());
        assert!(said.contains(&format!("INSERT at {node}: ")), "{said}");
        let report = Report::of_java(said);
        let failed = report.count("[INSERT] BAD_REQUEST") + report.count("[INSERT] INDEFINITE");
        assert_eq!((failed, report.count("[INSERT] OK")), (6, 0), "{}", report.said);
    }
    assert_eq!(dbsize(&mut client), 0, "nothing of all that was written");
}

#[test]
fn ycsb_of_java_tells_when_its_server_dies_and_what_it_counted_is_there() {
    if install::ycsb_java().is_none() {
        return;
    }
    let scratch = Scratch::new("clients-ycsb-dies");
    let up = Up::start(&scratch, &["--regions", "1"]);
    let node = addresses(&up)[0];
    let endless = [("recordcount", "1000000000")];
    let mut command = java("-load", "a", &[node], &endless).expect("it was there");
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("java runs");
    wait_for("some records", || (keys(node) > 1000).then_some(()));
    up.kill(0);
    // Each thread ends at its first record that fails.
    let output = child.wait_with_output().expect("it ends");
    let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    assert!(said.contains(&format!("INSERT at {node}: ")), "{said}");
    let report = Report::of_java(said);
    let (done, unknown) = (report.count("[INSERT] OK"), report.count("[INSERT] INDEFINITE"));
    let failed = unknown + report.count("[INSERT] SERVICE_UNAVAILABLE");
    assert!(done > 0 && unknown > 0 && failed == 6, "{}", report.said);
    up.restart(0);
    let found = wait_for("the node serves", || Some(keys(node)).filter(|n| *n > 0));
    assert!((done..=done + unknown).contains(&found), "{found} keys: {}", report.said);
}
