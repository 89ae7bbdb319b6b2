//! What ships with Redis: redis-cli in every mode, and redis-benchmark.

use crate::harness::nodes::{Nodes, Plan};
use crate::harness::{Cluster, Scratch};
use crate::install;
use std::io::Write;
use std::process::{Command, Stdio};

fn command(program: &str, nodes: &Nodes) -> Command {
    let address = nodes.nodes()[0].redis;
    let mut command = Command::new(program);
    command.args(["-h", &address.ip().to_string(), "-p", &address.port().to_string()]);
    command
}

/// One command of redis-cli.
fn cli(nodes: &Nodes, arguments: &[&str]) -> String {
    install::run(command("redis-cli", nodes).args(arguments)).trim_end().to_string()
}

/// redis-cli with something on its standard input.
fn cli_reading(nodes: &Nodes, arguments: &[&str], input: &[u8]) -> String {
    let mut command = command("redis-cli", nodes);
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("redis-cli runs");
    let mut stdin = child.stdin.take().expect("a pipe");
    let input = input.to_vec();
    let writer = std::thread::spawn(move || stdin.write_all(&input));
    let output = child.wait_with_output().expect("redis-cli ends");
    writer.join().expect("a thread").expect("redis-cli reads");
    let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    assert!(output.status.success(), "{said}");
    said
}

#[test]
fn redis_cli_one_command_at_a_time() {
    if !install::has("redis-cli", "--version") {
        return;
    }
    let scratch = Scratch::new("clients-cli");
    let nodes = Nodes::start(&scratch, &Plan { regions: vec![vec!["0", "1"]], ..Plan::default() });
    println!("{}", install::run(Command::new("redis-cli").arg("--version")).trim());
    for version in [&["-2"][..], &["-3"]] {
        let cli = |arguments: &[&str]| cli(&nodes, &[version, arguments].concat());
        assert_eq!(cli(&["set", "greeting", "hello world"]), "OK");
        assert_eq!(cli(&["get", "greeting"]), "hello world");
        assert_eq!(cli(&["--no-raw", "get", "missing"]), "(nil)");
        assert_eq!(cli(&["--no-raw", "setnx", "greeting", "x"]), "(integer) 0");
        assert_eq!(cli(&["mset", "x", "1", "y", "2"]), "OK");
        assert_eq!((cli(&["get", "x"]), cli(&["get", "y"])), ("1".to_string(), "2".to_string()));
        assert_eq!(cli(&["del", "x", "y", "z"]), "2");
        assert!(cli(&["info", "server"]).contains("redis_mode:standalone"));
        assert!(cli(&["nosuch", "x"]).starts_with("ERR unknown command 'nosuch'"));
        assert!(cli(&["tide.session", "export"]).starts_with("tm1."));
        assert_eq!(cli(&["ping"]), "PONG");
    }
    assert_eq!(cli(&nodes, &["-3", "--json", "config", "get", "save"]), "{\"save\":\"\"}");
}

#[test]
fn redis_cli_reads_commands_from_its_input() {
    if !install::has("redis-cli", "--version") {
        return;
    }
    let scratch = Scratch::new("clients-cli-input");
    let nodes = Nodes::start(&scratch, &Plan { regions: vec![vec!["0", "1"]], ..Plan::default() });
    let said = cli_reading(&nodes, &[], b"mset x 1 y 2\nmget x missing y\nget missing\nping\n");
    assert_eq!(said, "OK\n1\n\n2\n\nPONG\n");
    let said = cli_reading(&nodes, &["-3"], b"hello\nset piped 2\nget piped\n");
    assert!(said.contains("version") && said.ends_with("OK\n2\n"), "{said}");
    let large = vec![b'v'; 1 << 20];
    assert_eq!(cli_reading(&nodes, &["-x", "set", "large"], &large), "OK\n");
    assert_eq!(cli(&nodes, &["strlen", "large"]), (1 << 20).to_string());
}

#[test]
fn redis_cli_inserts_a_mass_of_keys_and_finds_them() {
    const COUNT: usize = 20_000;
    if !install::has("redis-cli", "--version") {
        return;
    }
    let scratch = Scratch::new("clients-cli-mass");
    let nodes = Nodes::start(&scratch, &Plan { regions: vec![vec!["0", "1"]], ..Plan::default() });
    let mut mass = Vec::new();
    for n in 0..COUNT {
        tidemark_wire::resp::encode_request(&mut mass, &["SET", &format!("mass:{n}"), &"v".repeat(n % 50)]);
    }
    let said = cli_reading(&nodes, &["--pipe"], &mass);
    assert!(said.contains(&format!("errors: 0, replies: {COUNT}")), "{said}");
    let mut keys: Vec<String> =
        cli(&nodes, &["--scan", "--pattern", "mass:*"]).lines().map(String::from).collect();
    keys.sort();
    keys.dedup();
    assert_eq!(keys.len(), COUNT);
    assert_eq!(cli(&nodes, &["dbsize"]), COUNT.to_string());
    let said = cli(&nodes, &["--bigkeys"]);
    assert!(
        said.contains(&format!("Sampled {COUNT} keys")) && said.contains("Biggest string found"),
        "{said}"
    );
    let said = cli(&nodes, &["--memkeys"]);
    assert!(said.contains(&format!("Sampled {COUNT} keys")), "{said}");
}

#[test]
fn redis_cli_authenticates() {
    if !install::has("redis-cli", "--version") {
        return;
    }
    let scratch = Scratch::new("clients-cli-auth");
    let nodes = Nodes::start(&scratch, &Plan { cluster: "requirepass = \"secret\"", ..Plan::default() });
    assert!(cli(&nodes, &["get", "a"]).starts_with("NOAUTH"));
    assert!(cli(&nodes, &["--no-auth-warning", "-a", "secret", "get", "a"]).is_empty());
    assert_eq!(
        cli(&nodes, &["--no-auth-warning", "--user", "default", "--pass", "secret", "-3", "ping"]),
        "PONG"
    );
    let wrong = cli(&nodes, &["--no-auth-warning", "-a", "wrong", "get", "a"]);
    assert!(wrong.contains("WRONGPASS") && wrong.contains("NOAUTH"), "{wrong}");
}

#[test]
fn redis_benchmark() {
    if !install::has("redis-benchmark", "--version") {
        return;
    }
    let scratch = Scratch::new("clients-benchmark");
    for regions in [vec![vec!["all"]], vec![vec!["0", "1"]]] {
        let nodes = Nodes::start(&scratch, &Plan { regions, ..Plan::default() });
        let mut command = command("redis-benchmark", &nodes);
        command.args(["-t", "ping,set,get,mset", "-P", "16", "-c", "50", "-n", "50000", "-r", "10000", "-q"]);
        let said = install::run(&mut command);
        let results: Vec<&str> = said
            .split(['\r', '\n'])
            .filter(|line| line.contains("requests per second"))
            .map(str::trim)
            .collect();
        for name in ["PING_INLINE", "PING_MBULK", "SET", "GET", "MSET (10 keys)"] {
            assert!(
                results.iter().any(|line| line.starts_with(&format!("{name}:"))),
                "{name} is missing: {said}"
            );
        }
        assert!(!said.contains("rror"), "{said}");
        println!("{}", results.join("\n"));
        drop(nodes);
        let _ = std::fs::remove_dir_all(scratch.join("data"));
    }
}
