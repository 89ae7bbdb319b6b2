//! What a node notes of commands: MONITOR, the slow log, latency events, counts.

use crate::support::{Client, Cluster, text};
use tidemark_wire::resp::Reply;

fn one() -> Cluster {
    Cluster::start("causal", &[(0, &[0])], |_| ())
}

/// The lists of a list.
fn rows(client: &mut Client, command: &[&str]) -> Vec<Vec<Reply>> {
    let reply = client.call(command);
    reply.items().expect("a list").iter().map(|row| row.items().expect("a row").to_vec()).collect()
}

fn words(reply: &Reply) -> Vec<String> {
    reply.items().expect("a list").iter().map(text).collect()
}

#[test]
fn the_slow_log_keeps_what_was_slow_enough() {
    let cluster = one();
    let mut client = cluster.client(0);
    assert_eq!(client.text(&["SLOWLOG", "LEN"]), "0");
    client.ok(&["CLIENT", "SETNAME", "foobar"]);
    client.ok(&["CONFIG", "SET", "slowlog-log-slower-than", "0"]);
    client.ok(&["SLOWLOG", "RESET"]);
    client.ok(&["SET", "k", "v"]);
    assert_eq!(client.text(&["GET", "k"]), "v");
    assert!(client.text(&["SET", "k", "v", "EX"]).starts_with('!'));
    assert!(client.text(&["SET", "k"]).starts_with('!'), "is refused before it runs");
    let log = rows(&mut client, &["SLOWLOG", "GET"]);
    let commands: Vec<_> = log.iter().map(|row| words(&row[3]).join(" ")).collect();
    assert_eq!(commands[..3], ["SET k v EX", "GET k", "SET k v"]);
    let row = &log[2];
    assert_eq!(row.len(), 6);
    assert!(row[0].integer().unwrap() > 0 && row[1].integer().unwrap() > 1_600_000_000);
    assert!((0..1_000_000).contains(&row[2].integer().unwrap()));
    assert_eq!(text(&row[4]), client.stream.local_addr().unwrap().to_string());
    assert_eq!(text(&row[5]), "foobar");
    assert!(log[0][0].integer() > log[1][0].integer());
    client.ok(&["CONFIG", "SET", "slowlog-log-slower-than", "100000000"]);
    client.ok(&["SLOWLOG", "RESET"]);
    client.ok(&["SET", "k", "v"]);
    assert_eq!(client.text(&["SLOWLOG", "LEN"]), "0");
    client.ok(&["CONFIG", "SET", "slowlog-log-slower-than", "-1"]);
    client.ok(&["SET", "k", "v"]);
    assert_eq!(client.text(&["SLOWLOG", "LEN"]), "0");
}

#[test]
fn the_slow_log_cuts_short_and_forgets() {
    let cluster = one();
    let mut client = cluster.client(0);
    client.ok(&["CONFIG", "SET", "slowlog-log-slower-than", "0", "slowlog-max-len", "3"]);
    client.ok(&["SLOWLOG", "RESET"]);
    let many: Vec<String> = (3..=33).map(|number| number.to_string()).collect();
    let mut command = vec!["DEL", "set"];
    command.extend(many.iter().map(String::as_str));
    client.call(&command);
    client.ok(&["SET", "foo", &"A".repeat(129)]);
    let log = rows(&mut client, &["SLOWLOG", "GET", "-1"]);
    assert_eq!(words(&log[0][3])[2], "A".repeat(128) + "... (1 more bytes)");
    let shown = words(&log[1][3]);
    assert_eq!(
        (shown.len(), &shown[30], &shown[31]),
        (32, &"31".to_string(), &"... (2 more arguments)".into())
    );
    (0..10).for_each(|_| drop(client.call(&["PING"])));
    assert_eq!(client.text(&["SLOWLOG", "LEN"]), "3");
    assert_eq!(rows(&mut client, &["SLOWLOG", "GET", "1"]).len(), 1);
    assert!(rows(&mut client, &["SLOWLOG", "GET", "0"]).is_empty());
}

#[test]
fn passwords_are_never_shown() {
    let cluster = Cluster::start("causal", &[(0, &[0])], |config| config.requirepass = Some("secret".into()));
    let mut client = cluster.client(0);
    let mut monitor = cluster.client(0);
    client.ok(&["CONFIG", "SET", "slowlog-log-slower-than", "0"]);
    monitor.ok(&["MONITOR"]);
    client.call(&["AUTH", "secret"]);
    client.call(&["AUTH", "wrong-secret"]);
    client.call(&["AUTH", "default", "secret"]);
    client.call(&["HELLO", "2", "AUTH", "default", "secret", "SETNAME", "joe"]);
    client.call(&["CONFIG", "SET", "maxmemory", "0", "requirepass", "secret"]);
    client.call(&["PING"]);
    let shown: Vec<String> = (0..5).map(|_| text(&monitor.reply().unwrap())).collect();
    let expected = [
        r#""AUTH" "(redacted)""#,
        r#""AUTH" "(redacted)""#,
        r#""AUTH" "(redacted)" "(redacted)""#,
        r#""HELLO" "2" "AUTH" "(redacted)" "(redacted)" "SETNAME" "joe""#,
        r#""PING""#,
    ];
    for (line, end) in shown.iter().zip(expected) {
        assert!(line.ends_with(&format!("] {end}")), "{line}");
    }
    let log = rows(&mut client, &["SLOWLOG", "GET", "-1"]);
    let log: Vec<String> = log.iter().map(|row| words(&row[3]).join(" ")).collect();
    assert_eq!(log[1], "CONFIG SET maxmemory 0 requirepass (redacted)");
    assert!(log.iter().all(|command| !command.contains("secret")), "{log:?}");
}

#[test]
fn monitor_shows_commands_as_they_are_carried_out() {
    let cluster = one();
    let mut client = cluster.client(0);
    let mut monitor = cluster.client(0);
    monitor.ok(&["MONITOR"]);
    client.ok(&["SET", "foo", "a\"\\\n\u{1}é"]);
    client.call(&["config", "get", "save"]);
    client.call(&["get"]);
    client.call(&["set", "k", "v", "nonsense"]);
    client.call(&["get", "foo"]);
    let address = client.stream.local_addr().unwrap();
    let mut next = || text(&monitor.reply().unwrap());
    let line = next();
    let (time, rest) = line.split_once(' ').unwrap();
    let (seconds, micros) = time.split_once('.').unwrap();
    assert!(seconds.parse::<u64>().unwrap() > 1_600_000_000 && micros.len() == 6);
    assert_eq!(rest, format!(r#"[0 {address}] "SET" "foo" "a\"\\\n\x01\xc3\xa9""#));
    assert!(next().ends_with(r#""set" "k" "v" "nonsense""#), "commands of administrators are not shown");
    assert!(next().ends_with(r#""get" "foo""#));
    assert!(monitor.text(&["GET", "foo"]).contains("Replica can't interact with the keyspace"));
    assert!(client.text(&["CLIENT", "LIST"]).lines().any(|line| line.contains(" flags=O ")));
    assert_eq!(monitor.text(&["PING"]), "PONG");
    assert!(text(&monitor.reply().unwrap()).ends_with(r#""PING""#), "its own commands, too");
    assert_eq!(monitor.text(&["RESET"]), "RESET");
    client.call(&["get", "foo"]);
    assert_eq!(monitor.text(&["GET", "x"]), "-");
}

#[test]
fn latency_spikes_are_noted_by_event() {
    let cluster = one();
    let mut client = cluster.client(0);
    assert!(client.text(&["LATENCY", "DOCTOR"]).contains("is off"));
    client.ok(&["CONFIG", "SET", "latency-monitor-threshold", "1"]);
    assert!(client.text(&["LATENCY", "DOCTOR"]).contains("No latency spike"));
    let many: Vec<String> = (0..20_000).map(|number| format!("k{number}")).collect();
    let mut command = vec!["DEL"];
    command.extend(many.iter().map(String::as_str));
    client.call(&command);
    let latest = rows(&mut client, &["LATENCY", "LATEST"]);
    let row = latest.iter().find(|row| text(&row[0]) == "command").expect("DEL took more than a millisecond");
    let (last, longest) = (row[2].integer().unwrap(), row[3].integer().unwrap());
    assert!(last >= 1 && longest >= last && row[1].integer().unwrap() > 1_600_000_000);
    let history = rows(&mut client, &["LATENCY", "HISTORY", "command"]);
    assert_eq!(history.last().unwrap()[1], row[2]);
    let graph = client.text(&["LATENCY", "GRAPH", "command"]);
    assert!(graph.starts_with(&format!("command - high {longest} ms, low ")), "{graph}");
    assert!(client.text(&["LATENCY", "GRAPH", "x"]).contains("No samples available for event 'x'"));
    assert!(client.text(&["LATENCY", "DOCTOR"]).contains("command: "));
    assert_eq!(client.text(&["LATENCY", "RESET", "x"]), "0");
    assert!(client.text(&["LATENCY", "RESET"]).parse::<u64>().unwrap() >= 1);
    assert!(rows(&mut client, &["LATENCY", "HISTORY", "command"]).is_empty());
}

#[test]
fn latencies_are_counted_by_command() {
    let cluster = one();
    let mut client = cluster.client(0);
    client.ok(&["CONFIG", "RESETSTAT"]);
    client.ok(&["SET", "a", "b"]);
    client.ok(&["SET", "a", "b"]);
    client.call(&["CLIENT", "ID"]);
    let histogram = client.call(&["LATENCY", "HISTOGRAM", "set", "nonsense", "client"]);
    assert_eq!(histogram.items().unwrap().len(), 4, "SET, and CLIENT ID");
    let set = histogram.lookup("set").unwrap();
    assert_eq!(set.lookup("calls"), Some(&Reply::Integer(2)));
    let counts = set.lookup("histogram_usec").unwrap().items().unwrap();
    assert_eq!(counts.last(), Some(&Reply::Integer(2)), "the last number is that of all runs");
    assert!(histogram.lookup("client|id").is_some());
    assert!(client.call(&["LATENCY", "HISTOGRAM"]).lookup("config|resetstat").is_some());
    client.ok(&["CONFIG", "SET", "latency-tracking", "no"]);
    client.ok(&["CONFIG", "RESETSTAT"]);
    client.ok(&["SET", "a", "b"]);
    assert_eq!(client.call(&["LATENCY", "HISTOGRAM"]).items().unwrap().len(), 0);
}
