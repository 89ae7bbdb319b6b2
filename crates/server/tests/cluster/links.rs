//! Regions: what is written in one arrives in the others, through cuts and restarts.

use crate::support::{Cluster, eventually};

fn arrives(cluster: &Cluster, node: usize, key: &str, value: &str) {
    let mut client = cluster.client(node);
    eventually(format!("{key}={value} at node {node}"), || client.text(&["GET", key]) == value);
}

#[test]
fn a_write_in_one_region_is_seen_in_the_others_under_every_protocol() {
    for protocol in tidemark_registry::NAMES {
        let cluster = Cluster::regions(protocol, 3, 2);
        let mut first = cluster.client(0);
        // A transaction that a busy machine holds up is refused.
        eventually("it is written", || first.text(&["MSET", "a", "1", "b", "2", "c", "3"]) == "OK");
        first.ok(&["SET", "own", "1"]);
        assert_eq!(first.text(&["GET", "own"]), "1", "{protocol}");
        for node in 1..3 {
            arrives(&cluster, node, "a", "1");
            arrives(&cluster, node, "b", "2");
            arrives(&cluster, node, "c", "3");
            let mut client = cluster.client(node);
            eventually("a snapshot", || client.list(&["MGET", "a", "b", "c"]) == ["1", "2", "3"]);
            // A key of its own: what other nodes are asked for must not be overwritten meanwhile.
            client.ok(&["SET", &format!("from {node}"), "1"]);
        }
        for (key, others) in [("from 1", [0, 2]), ("from 2", [0, 1])] {
            others.iter().for_each(|node| arrives(&cluster, *node, key, "1"));
        }
        cluster.client(2).ok(&["SET", "a", "2"]);
        arrives(&cluster, 0, "a", "2");
        arrives(&cluster, 1, "a", "2");
    }
}

#[test]
fn a_cut_holds_back_and_a_healed_link_catches_up() {
    let shape: &[(u8, &[u16])] = &[(0, &[0, 1]), (1, &[0, 1]), (2, &[0, 1])];
    // Else the third region soon brings what is cut off.
    let cluster = Cluster::start("eventual", shape, |config| config.relay_after_us = 0);
    cluster.client(0).ok(&["SET", "k", "before"]);
    arrives(&cluster, 1, "k", "before");
    // One node of either side is enough.
    assert!(cluster.admin(1, "/admin/cut", r#"{"from": "A", "to": "B"}"#).contains("200 OK"));
    eventually("the link is down", || {
        let page = cluster.page(0, "/status");
        page.contains(r#""stream_in":false"#) && page.contains(r#""stream_out":false"#)
    });
    let mut a = cluster.client(0);
    (0..500).for_each(|i| a.ok(&["SET", &format!("k{i}"), "during"]));
    a.ok(&["SET", "k", "during"]);
    arrives(&cluster, 2, "k", "during");
    assert_eq!(cluster.client(1).text(&["GET", "k"]), "before", "nothing passes a cut");
    cluster.client(1).ok(&["SET", "from-b", "1"]);
    arrives(&cluster, 2, "from-b", "1");
    assert_eq!(a.text(&["GET", "from-b"]), "-");
    assert!(cluster.admin(1, "/admin/heal", "{}").contains("200 OK"));
    arrives(&cluster, 1, "k", "during");
    arrives(&cluster, 1, "k499", "during");
    arrives(&cluster, 0, "from-b", "1");
}

#[test]
fn a_cut_of_one_direction_lets_the_other_pass() {
    let cluster = Cluster::regions("eventual", 2, 1);
    let order = r#"{"from": "A", "to": "B", "one_way": true}"#;
    assert!(cluster.admin(0, "/admin/cut", order).contains("200 OK"));
    eventually("the cut", || cluster.page(0, "/status").contains(r#""stream_out":false"#));
    cluster.client(0).ok(&["SET", "a", "1"]);
    cluster.client(1).ok(&["SET", "b", "1"]);
    arrives(&cluster, 0, "b", "1");
    assert_eq!(cluster.client(1).text(&["GET", "a"]), "-");
    assert!(cluster.admin(0, "/admin/heal", r#"{"from": "A", "to": "B"}"#).contains("200 OK"));
    arrives(&cluster, 1, "a", "1");
}

#[test]
fn a_cut_of_one_partition_lets_the_others_pass() {
    for at in 0..2 {
        let cluster = Cluster::regions("eventual", 2, 2);
        let mut a = cluster.client(0);
        // Slots 0 to 8191 are partition 0: "bar" is in slot 5061, "foo" in 12182.
        a.ok(&["MSET", "bar", "0", "foo", "0"]);
        arrives(&cluster, 1, "foo", "0");
        arrives(&cluster, 1, "bar", "0");
        assert!(cluster.admin(at, "/admin/cut", r#"{"from": "A/0", "to": "B/0"}"#).contains("200 OK"));
        if at == 1 {
            // The receiver closes the feed; the sender, which knows of no cut, has to hear of it.
            eventually("the feed is closed", || {
                let status = cluster.status(0);
                status["host"]["partitions"][0]["peers"][0]["streaming"] == false
            });
        }
        a.ok(&["MSET", "bar", "1", "foo", "1"]);
        arrives(&cluster, 1, "foo", "1");
        assert_eq!(cluster.client(1).text(&["GET", "bar"]), "0");
        assert!(cluster.admin(at, "/admin/heal", r#"{"from": "A/0", "to": "B/0"}"#).contains("200 OK"));
        arrives(&cluster, 1, "bar", "1");
    }
}

#[test]
fn a_slow_link_is_slow_and_keeps_order() {
    let cluster = Cluster::regions("eventual", 2, 1);
    cluster.client(0).ok(&["SET", "k", "0"]);
    arrives(&cluster, 1, "k", "0");
    let order = r#"{"from": "A", "to": "B", "ms": 150}"#;
    assert!(cluster.admin(0, "/admin/slow", order).contains("200 OK"));
    let start = std::time::Instant::now(); // time: a slow link is what is tested
    cluster.client(0).ok(&["SET", "k", "1"]);
    arrives(&cluster, 1, "k", "1");
    assert!(start.elapsed().as_millis() >= 150, "{:?}", start.elapsed());
    assert!(cluster.page(0, "/status").contains(r#""delay_us":150000"#));
}

/// A node that was restarted was told of its faults when it served, and had connected to others by then.
#[test]
fn a_node_that_starts_with_faults_has_them_from_its_first_connection_on() {
    let mut cluster = Cluster::regions("eventual", 2, 1);
    cluster.client(0).ok(&["SET", "k", "before"]);
    arrives(&cluster, 1, "k", "before");
    cluster.stop(1);
    cluster.client(0).ok(&["SET", "k", "late"]);
    cluster.stop(0);
    let hour = r#"slow {"from": "A", "to": "B", "one_way": true, "ms": 3600000}"#;
    let faults = [hour, r#"skew {"ms": 60000}"#, r#"cut {"from": "B", "to": "A", "one_way": true}"#];
    cluster.configure(0, |config| config.faults = faults.map(|fault| fault.parse().unwrap()).to_vec());
    cluster.restart(0);
    let status = cluster.status(0);
    assert_eq!(status["clock_ahead_us"], 60_000_000);
    let (cut, slow) = (&status["faults"][1], &status["faults"][0]);
    assert_eq!((&cut["from"], &cut["cut"]), (&"B".into(), &true.into()), "{status}");
    assert_eq!((&slow["from"], &slow["slow_us"]), (&"A".into(), &3_600_000_000_u64.into()), "{status}");
    cluster.restart(1);
    // What the emulated network holds is still to be sent, an hour from now.
    eventually("the write is under way", || cluster.status(0)["links"][0]["queued_bytes"] != 0);
    assert_eq!(cluster.client(1).text(&["GET", "k"]), "before");
    cluster.client(1).ok(&["SET", "from-b", "1"]);
    assert_eq!(cluster.client(0).text(&["GET", "from-b"]), "-");
}

#[test]
fn wrong_orders_are_refused_in_words() {
    let cluster = Cluster::regions("eventual", 2, 1);
    for (path, body, word) in [
        ("/admin/cut", "{}", "between which"),
        ("/admin/cut", r#"{"from": "A", "to": "Z"}"#, "no region"),
        ("/admin/cut", r#"{"from": "A", "to": "A"}"#, "one region"),
        ("/admin/slow", r#"{"from": "A", "to": "B"}"#, "ms"),
        ("/admin/slow", r#"{"ms": -1}"#, "0 to 3600000"),
        ("/admin/skew", "{}", "ms"),
        ("/admin/skew", r#"{"ms": 3600001}"#, "-3600000"),
        ("/admin/skew", r#"{"from": "A", "to": "B", "ms": 5}"#, "no places"),
        ("/admin/cut", r#"{"from": "A/7", "to": "B/7"}"#, "no partition"),
    ] {
        let answer = cluster.admin(0, path, body);
        assert!(answer.contains("400") && answer.contains(word), "{path} {body}: {answer}");
    }
}

#[test]
fn a_restarted_region_catches_up_and_goes_on() {
    let mut cluster = Cluster::regions("causal", 3, 2);
    cluster.client(1).ok(&["SET", "b", "1"]);
    arrives(&cluster, 0, "b", "1");
    cluster.stop(1);
    let mut a = cluster.client(0);
    (0..300).for_each(|i| a.ok(&["SET", &format!("k{i}"), "v"]));
    a.ok(&["SET", "b", "2"]);
    cluster.restart(1);
    arrives(&cluster, 1, "b", "2");
    arrives(&cluster, 1, "k299", "v");
    cluster.client(1).ok(&["SET", "b", "3"]);
    arrives(&cluster, 0, "b", "3");
    arrives(&cluster, 2, "b", "3");
}

#[test]
fn the_admin_server_tells_how_things_stand() {
    let cluster = Cluster::regions("causal", 3, 2);
    cluster.client(0).ok(&["SET", "k", "v"]);
    arrives(&cluster, 1, "k", "v");
    assert!(cluster.page(0, "/healthz").contains("200 OK"));
    let metrics = cluster.page(0, "/metrics");
    for line in [
        "tidemark_commands_total{family=\"set\",outcome=\"ok\"} 1",
        "tidemark_command_latency_seconds_bucket",
        "tidemark_clients ",
        "tidemark_peer_behind_records{partition=\"0\",peer=\"B\"}",
        "tidemark_stable_lag_microseconds{partition=\"0\",origin=\"C\"}",
        "tidemark_link_up{node=\"n1\",region=\"B\"} ",
        "# EOF",
    ] {
        assert!(metrics.contains(line), "{line} is not in\n{metrics}");
    }
    eventually("everything is confirmed", || cluster.page(0, "/metrics").contains("peer=\"B\"} 0"));
    let status = cluster.page(0, "/status");
    let status: serde_json::Value =
        serde_json::from_str(&status[status.find("\r\n\r\n").unwrap()..]).unwrap();
    assert_eq!(status["node"], "n0");
    assert_eq!(status["links"].as_array().unwrap().len(), 2);
    assert_eq!(status["host"]["partitions"].as_array().unwrap().len(), 2);
}
