//! Checking groups, through Redis clients: `TIDE.CHECKING` under ACCF.

use crate::support::{Client, Cluster, eventually};
use crate::transactions::shown;
use std::sync::Arc;

/// Two regions of two partitions: one group for the first partition, and one for everything.
fn accf() -> Cluster {
    let all: &[u16] = &[0, 1];
    Cluster::start("accf", &[(0, all), (1, all)], |config| {
        let mut cluster = (*config.cluster).clone();
        cluster.params = serde_json::json!({
            "checking": { "first": ["*/0"], "wide": ["*"] },
            "wait_limit_us": 500_000,
        });
        config.cluster = Arc::new(cluster);
    })
}

/// Keys of the first and of the second partition: slots 5061 and 12182 of 16384.
const KEYS: (&str, &str) = ("bar", "foo");

#[test]
fn a_group_waits_for_its_own_servers_alone() {
    let cluster = accf();
    let (mut a, mut b) = (cluster.client(0), cluster.client(1));
    let wide = |client: &mut Client| shown(&client.answered(&["TIDE.CHECKING", "wide", "GET", KEYS.0]));
    let first = |client: &mut Client| shown(&client.answered(&["TIDE.CHECKING", "first", "GET", KEYS.0]));
    a.ok(&["SET", KEYS.0, "before"]);
    eventually("the first write everywhere", || wide(&mut cluster.client(1)) == "before");
    // The second partition's servers hear no more of each other: that is how far everything together is.
    for node in [0, 1] {
        cluster.admin(node, "/admin/cut", r#"{"from": "A/1", "to": "B/1"}"#);
    }
    a.ok(&["SET", KEYS.0, "after"]);
    eventually("the write in the group that it concerns", || first(&mut cluster.client(1)) == "after");
    assert_eq!(wide(&mut cluster.client(1)), "before");
    assert_eq!(first(&mut b), "after");
    assert_eq!(wide(&mut b), "after", "who has seen it keeps seeing it");
    assert!(
        b.text(&["GET", KEYS.1]).starts_with("!UNAVAILABLE what this session depends on has not arrived")
    );
    assert_eq!(
        shown(&cluster.client(1).answered(&["GET", KEYS.1])),
        "-",
        "who has seen nothing waits for nothing"
    );
    for node in [0, 1] {
        cluster.admin(node, "/admin/heal", "{}");
    }
    eventually("the write everywhere", || wide(&mut cluster.client(1)) == "after");
    assert_eq!(shown(&b.answered(&["MGET", KEYS.0, KEYS.1])), "[after -]");
}

#[test]
fn a_connection_chooses_for_all_that_follows_and_is_told_what_there_is() {
    let cluster = accf();
    let mut client = cluster.client(0);
    let chosen = |client: &mut Client| format!("{:?}", client.call(&["TIDE.CHECKING"]));
    assert!(chosen(&mut client).contains("first") && chosen(&mut client).contains("wide"));
    let at_first = chosen(&mut client);
    client.ok(&["TIDE.CHECKING", "WIDE,first"]);
    assert_ne!(chosen(&mut client), at_first);
    client.ok(&["SET", KEYS.0, "1"]);
    assert_eq!(shown(&client.answered(&["GET", KEYS.0])), "1");
    assert_eq!(shown(&client.answered(&["MGET", KEYS.0, KEYS.1])), "[1 -]");
    let unknown = client.text(&["TIDE.CHECKING", "wide,narrow"]);
    assert_eq!(unknown, "!ERR no checking group is called 'narrow'; there are first, wide");
    assert!(client.text(&["TIDE.CHECKING", "narrow", "GET", KEYS.0]).starts_with("!ERR no checking group"));
    client.ok(&["TIDE.CHECKING", "*"]);
    assert_eq!(chosen(&mut client), at_first);
    client.ok(&["TIDE.CHECKING", "first"]);
    assert_eq!(client.text(&["RESET"]), "RESET");
    assert_eq!(chosen(&mut client), at_first);
    let mut other = Cluster::regions("causal", 1, 1);
    let refused = other.client(0).text(&["TIDE.CHECKING", "A"]);
    assert_eq!(refused, "!ERR tidemark has no checking groups");
    other.stop(0);
}

/// What was written and what every group had survive a restart of all nodes, in groupings of all kinds.
#[test]
fn everything_is_there_after_a_restart() {
    let all: &[u16] = &[0, 1];
    for (tracking, checking) in [("server", "server"), ("system", "region"), ("partition", "system")] {
        let mut cluster = Cluster::start("accf", &[(0, all), (1, all)], |config| {
            let mut cluster = (*config.cluster).clone();
            cluster.params = serde_json::json!({ "tracking": tracking, "checking": checking });
            config.cluster = Arc::new(cluster);
        });
        let mut a = cluster.client(0);
        (0..50).for_each(|n| a.ok(&["SET", &format!("k{n}"), &n.to_string()]));
        eventually("everything in B", || cluster.client(1).text(&["GET", "k49"]) == "49");
        (0..2).for_each(|node| cluster.stop(node));
        (0..2).for_each(|node| cluster.restart(node));
        for node in 0..2 {
            for n in 0..50 {
                let key = format!("k{n}");
                eventually("what was written", || cluster.client(node).text(&["GET", &key]) == n.to_string());
            }
        }
    }
}

/// What `/status` says of a group at a node's first partition: its stage, and how often it was asked for. A partition that is busy is missing
/// there.
fn standing(cluster: &Cluster, node: usize, name: &str) -> Option<(String, u64)> {
    let mut groups = Vec::new();
    eventually("the groups of a node", || {
        let status = cluster.status(node);
        let known = status["host"]["partitions"][0]["groupings"]["checking"].as_array();
        groups = known.cloned().unwrap_or_default();
        !groups.is_empty()
    });
    let group = groups.into_iter().find(|group| group["name"] == name)?;
    Some((group["stage"].as_str().expect("a word").to_string(), group["asked"].as_u64().expect("a number")))
}

#[test]
fn groups_come_and_go_and_tracking_changes_while_nodes_run_and_restart() {
    let all: &[u16] = &[0, 1];
    let mut cluster = Cluster::start("accf", &[(0, all), (1, all)], |config| {
        let mut cluster = (*config.cluster).clone();
        cluster.params = serde_json::json!({ "checking": "server", "drain_us": 200_000 });
        config.cluster = Arc::new(cluster);
    });
    let order = |cluster: &Cluster, node, order: &str| cluster.admin(node, "/admin/groupings", order);
    let named =
        |cluster: &Cluster, name: &str| cluster.client(1).text(&["TIDE.CHECKING", name, "GET", KEYS.0]);
    cluster.client(0).ok(&["SET", KEYS.0, "1"]);
    order(&cluster, 0, r#"{"add": {"name": "near", "servers": ["B/*"]}}"#);
    eventually("a group that all know", || named(&cluster, "near") == "1");
    eventually("a group that is used", || {
        standing(&cluster, 1, "near").is_some_and(|(stage, asked)| stage == "active" && asked > 0)
    });
    let mut stays = cluster.client(1);
    stays.ok(&["TIDE.CHECKING", "NEAR"]);
    assert_eq!(stays.text(&["GET", KEYS.0]), "1");
    // Sessions and data go from one tracking to the next, also through a restart of everything.
    let mut session = cluster.client(0);
    for (n, tracking) in ["system", "server", "partition", "region"].into_iter().enumerate() {
        order(&cluster, n % 2, &format!(r#"{{"track": {{"tracking": "{tracking}"}}}}"#));
        session.ok(&["SET", KEYS.0, &format!("{n}a")]);
        session.ok(&["SET", KEYS.1, &format!("{n}b")]);
        let both = [format!("{n}a"), format!("{n}b")];
        assert_eq!(session.list(&["MGET", KEYS.0, KEYS.1]), both);
        eventually("both writes", || cluster.client(1).list(&["MGET", KEYS.0, KEYS.1]) == both);
        let now = |node| cluster.status(node)["host"]["partitions"][1]["groupings"]["tracking"].clone();
        eventually("all track alike", || now(0) == tracking && now(1) == tracking);
    }
    (0..2).for_each(|node| cluster.stop(node));
    (0..2).for_each(|node| cluster.restart(node));
    eventually("the group after a restart", || {
        standing(&cluster, 1, "near").is_some_and(|(stage, _)| stage == "active")
    });
    eventually("what was written", || cluster.client(1).list(&["MGET", KEYS.0, KEYS.1]) == ["3a", "3b"]);
    let mut stays = cluster.client(1);
    stays.ok(&["TIDE.CHECKING", "near"]);
    order(&cluster, 0, r#"{"remove": {"name": "near"}}"#);
    eventually("nobody new", || {
        named(&cluster, "near").starts_with("!ERR no checking group is called 'near'")
    });
    eventually("it is gone", || {
        standing(&cluster, 0, "near").is_none() && standing(&cluster, 1, "near").is_none()
    });
    assert_eq!(stays.text(&["GET", KEYS.0]), "3a", "by another group");
    assert!(format!("{:?}", stays.call(&["TIDE.CHECKING"])).contains('*'), "it has none any more");
    let refused = |body: &str| cluster.admin(0, "/admin/groupings", body);
    assert!(refused(r#"{"remove": {"name": "A/0"}}"#).contains("is of the cluster file"));
    assert!(refused(r#"{"add": {"name": "x", "servers": ["a"]}}"#).contains("names no servers: write A/0"));
}

/// What is stored names tracking groups by their numbers.
#[test]
fn a_directory_of_another_tracking_is_refused() {
    let mut cluster = accf();
    cluster.client(0).ok(&["SET", "k", "1"]);
    cluster.stop(0);
    cluster.configure(0, |config| {
        let mut cluster = (*config.cluster).clone();
        cluster.params = serde_json::json!({ "tracking": "system" });
        config.cluster = Arc::new(cluster);
    });
    let started = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| cluster.restart(0)));
    let why = started.expect_err("it does not start");
    let why = why.downcast_ref::<String>().expect("what it said");
    assert!(why.contains("tracking region, this server is configured with"), "{why}");
}
