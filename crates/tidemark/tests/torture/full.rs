//! Nodes that are killed while their disk is full: they start again, answer reads, and take writes as soon as there is room.

use crate::findings::told;
use crate::harness::admin::{http, status};
use crate::harness::nodes::{Nodes, Plan};
use crate::harness::resp::Client;
use crate::harness::{Cluster, Scratch, wait_for};
use std::fs;
use tidemark_patience::until;
use tidemark_wire::resp::Reply;

const LIMITS: &str = "log_segment = \"1MiB\"\nlog_retain = \"4MiB\"\nsnapshot_every = \"64MiB\"";

fn plan() -> Plan {
    Plan { regions: vec![vec!["all"], vec!["all"]], limits: LIMITS, ..Plan::default() }
}

fn ok() -> Reply {
    Reply::Simple("OK".into())
}

fn error(reply: &Reply) -> String {
    reply.error().map_or_else(String::new, |text| String::from_utf8_lossy(text).into_owned())
}

/// Writes until nothing is taken any more, and kills the node. Returns how many keys it has.
fn kill_when_full(nodes: &Nodes) -> usize {
    let mut client = nodes.client(0);
    assert_eq!(client.ask(&["SET", "key0", &"x".repeat(10_000)]), ok());
    nodes.set_quota(Some(0));
    let mut written = 1;
    for size in [10_000, 0] {
        while client.ask(&["SET", &format!("key{written}"), &"x".repeat(size)]) == ok() {
            written += 1;
            assert!(written < 200_000, "the disk never fills");
        }
    }
    nodes.kill(0);
    written
}

fn all_there(client: &mut Client, written: usize) -> bool {
    (0..written).all(|n| client.ask(&["EXISTS", &format!("key{n}")]) == Reply::Integer(1))
}

/// Once there is room the process takes writes, and other regions get them.
fn goes_on_when_there_is_room(nodes: &Nodes, written: usize) {
    let pid = nodes.pid(0);
    nodes.set_quota(None);
    until("writes are taken", || {
        Client::connect(nodes.nodes()[0].redis)
            .is_ok_and(|mut client| client.call(&["SET", "new", "1"]).ok() == Some(ok()))
    });
    assert_eq!(nodes.pid(0), pid);
    assert!(all_there(&mut nodes.client(0), written));
    let arrived = || nodes.client(1).ask(&["GET", "new"]) == Reply::Bulk("1".into());
    until("the other region gets them", arrived);
    assert!(all_there(&mut nodes.client(1), written));
    until("the node is well", || {
        http(nodes.nodes()[0].admin, "GET", "/healthz", "").is_some_and(|(code, _)| code == 200)
    });
    // The next one starts as well.
    nodes.set_quota(Some(0));
    nodes.kill(0);
    nodes.restart(0);
    assert!(all_there(&mut nodes.client(0), written));
}

#[test]
fn a_node_that_was_killed_on_a_full_disk_starts_with_its_ballast() {
    let scratch = Scratch::new("full-ballast");
    let nodes = Nodes::start(&scratch, &plan());
    let written = kill_when_full(&nodes);
    let ballast = nodes.data(0).join("ballast");
    assert!(ballast.exists());
    nodes.restart(0);
    assert!(!ballast.exists(), "the log goes on in it");
    let mut client = nodes.client(0);
    assert!(all_there(&mut client, written));
    let refused = client.ask(&["SET", "small", ""]);
    assert!(error(&refused).contains("the disk is full"), "{refused:?}");
    told(&nodes.nodes()[0], "disk_full", &nodes.nodes()[0].name);
    let said = wait_for("its status", || status(&nodes.nodes()[0]));
    assert!(said["mute"].is_null() && said["writes_refused"].is_string(), "{said}");
    goes_on_when_there_is_room(&nodes, written);
}

#[test]
fn without_ballast_a_node_only_answers_reads_until_there_is_room() {
    let scratch = Scratch::new("full-mute");
    let nodes = Nodes::start(&scratch, &plan());
    let written = kill_when_full(&nodes);
    fs::remove_file(nodes.data(0).join("ballast")).expect("the ballast");
    assert_eq!(nodes.client(1).ask(&["SET", "elsewhere", "1"]), ok());
    nodes.restart(0);
    let mut client = nodes.client(0);
    assert!(all_there(&mut client, written));
    for refused in [
        &["SET", "small", ""][..],
        &["DEL", "key0"],
        &["EVAL", "return 1", "0"],
        &["TIDE.SESSION", "EXPORT"],
        &["BLPOP", "key0", "1"],
        &["PUBLISH", "channel", "1"],
    ] {
        let reply = client.ask(refused);
        assert!(error(&reply).starts_with("LOADING"), "{refused:?}: {reply:?}");
    }
    assert_eq!(client.ask(&["GET", "elsewhere"]), Reply::Null, "it hears nobody");
    let Reply::Bulk(info) = client.ask(&["INFO", "persistence"]) else { panic!("INFO is answered") };
    assert!(String::from_utf8_lossy(&info).contains("loading:1"));
    assert!(matches!(client.ask(&["CONFIG", "GET", "dir"]), Reply::Array(_)));
    let health = http(nodes.nodes()[0].admin, "GET", "/healthz", "");
    assert!(
        health.as_ref().is_some_and(|(code, why)| *code == 503 && why.contains("the disk is full")),
        "{health:?}"
    );
    let said = wait_for("its status", || status(&nodes.nodes()[0]));
    assert!(said["mute"]["since_us"].is_u64(), "{said}");
    let found = told(&nodes.nodes()[0], "mute", &nodes.nodes()[0].name);
    assert!(found["remedy"].as_str().is_some_and(|text| text.contains("Free space")), "{found}");
    let (ready, _) = http(nodes.nodes()[0].admin, "GET", "/readyz", "").expect("it answers");
    assert_eq!(ready, 503);
    let order = r#"{"dc": 1, "round": 1, "step": "hold"}"#;
    let refused = http(nodes.nodes()[0].admin, "POST", "/admin/membership", order);
    assert!(refused.as_ref().is_some_and(|(code, _)| *code >= 400), "{refused:?}");
    goes_on_when_there_is_room(&nodes, written);
    until("it hears others", || nodes.client(0).ask(&["GET", "elsewhere"]) == Reply::Bulk("1".into()));
}
