//! Partitions that are groups of nodes: they outlive the node that leads them.

use crate::support::{Client, Cluster, eventually, text};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use tidemark_server::NodeConfig;
use tidemark_wire::resp::Reply;

/// The node among `nodes` that leads its group, once one does.
fn leader(cluster: &Cluster, nodes: &[usize]) -> usize {
    let mut found = None;
    eventually("a leader", || {
        found = nodes.iter().copied().find(|node| cluster.status(*node)["group"]["role"] == "leader");
        found.is_some()
    });
    found.unwrap()
}

/// A region of one partition and three nodes, and another.
fn two_regions(protocol: &str) -> Cluster {
    two_regions_with(protocol, |_| ())
}

/// The same, of nodes that are configured otherwise.
fn two_regions_with(protocol: &str, adjust: impl Fn(&mut NodeConfig)) -> Cluster {
    let shape: Vec<(u8, &[u16])> = [0, 0, 0, 1, 1, 1].map(|dc| (dc, &[0_u16][..])).to_vec();
    Cluster::start(protocol, &shape, adjust)
}

/// Says something until it is heard: a write may be under way when its leader dies.
fn say(client: &mut Client, command: &[&str]) {
    eventually(format!("{command:?}"), || client.call(command) == Reply::Simple("OK".into()));
}

#[test]
fn every_node_of_a_group_serves_and_one_leads() {
    let cluster = two_regions("causal");
    let lead = leader(&cluster, &[0, 1, 2]);
    for node in 0..3 {
        let value = format!("by {node}");
        cluster.client(node).ok(&["SET", "k", &value]);
        assert_eq!(cluster.client((node + 1) % 3).text(&["GET", "k"]), value);
    }
    let mut far = cluster.client(4);
    eventually("it shows in the other region", || far.text(&["GET", "k"]) == "by 2");
    let status = cluster.status((lead + 1) % 3);
    assert_eq!(status["group"]["leader"], format!("n{lead}"), "{status:#}");
    assert_eq!(status["group"]["voters"].as_array().unwrap().len(), 3);
}

#[test]
fn a_group_goes_on_without_its_leader() {
    let mut cluster = two_regions("causal");
    let lead = leader(&cluster, &[0, 1, 2]);
    let other = (lead + 1) % 3;
    let mut client = cluster.client(other);
    client.ok(&["SET", "before", "1"]);
    cluster.stop(lead);
    // The client stays connected: it waits, and nothing else.
    assert_eq!(client.text(&["GET", "before"]), "1");
    say(&mut client, &["SET", "after", "2"]);
    let mut far = cluster.client(3);
    eventually("the links to the other region go on", || far.text(&["GET", "after"]) == "2");
    far.ok(&["SET", "back", "3"]);
    eventually("both ways", || client.text(&["GET", "back"]) == "3");
    cluster.restart(lead);
    eventually("who comes back follows", || cluster.status(lead)["group"]["role"] == "follower");
    let mut client = cluster.client(lead);
    assert_eq!((client.text(&["GET", "before"]), client.text(&["GET", "after"])), ("1".into(), "2".into()));
}

#[test]
fn a_whole_group_that_stops_has_forgotten_nothing() {
    let mut cluster = two_regions("gentlerain");
    leader(&cluster, &[0, 1, 2]);
    let mut client = cluster.client(0);
    (0..100).for_each(|n| client.ok(&["SET", &format!("k{n}"), "v"]));
    (0..3).for_each(|node| cluster.stop(node));
    (0..3).for_each(|node| cluster.restart(node));
    let mut client = cluster.client(2);
    for n in 0..100 {
        assert_eq!(client.text(&["GET", &format!("k{n}")]), "v");
    }
    client.ok(&["SET", "more", "1"]);
    let mut far = cluster.client(5);
    eventually("the feeds go on", || far.text(&["GET", "more"]) == "1");
    assert_eq!(far.text(&["GET", "k99"]), "v");
}

/// The names under which the nodes of a group belong to it.
fn names(cluster: &Cluster, nodes: &[usize]) -> Vec<u64> {
    nodes.iter().map(|node| cluster.status(*node)["group"]["member"].as_u64().unwrap()).collect()
}

#[test]
fn who_loses_its_disk_is_taken_in_again_with_a_copy_of_everything() {
    let mut cluster = two_regions("causal");
    let lead = leader(&cluster, &[0, 1, 2]);
    assert_eq!(
        names(&cluster, &[0, 1, 2, 3, 4, 5]),
        [1, 2, 3, 1, 2, 3],
        "they founded their groups together"
    );
    let mut client = cluster.client(lead);
    (0..100).for_each(|n| client.ok(&["SET", &format!("k{n}"), "v"]));
    let lost = (lead + 1) % 3;
    cluster.stop(lost);
    std::fs::remove_dir_all(&cluster.nodes[lost].config.data_dir).unwrap();
    client.ok(&["SET", "meanwhile", "1"]);
    cluster.restart(lost);
    eventually("it votes under another name", || {
        let status = cluster.status(lost);
        status["group"]["role"] == "follower" && status["group"]["member"].as_u64().unwrap() > 256
    });
    let held = |node: usize| cluster.status(node)["host"]["partitions"][0]["keys"].clone();
    eventually("it holds what the others hold", || held(lost) == held(lead) && held(lost) == 101);
    // It counts: without another one, the two agree.
    cluster.stop((lead + 2) % 3);
    say(&mut cluster.client(lost), &["SET", "after", "2"]);
}

#[test]
fn a_follower_answers_by_itself_who_has_seen_no_more_than_it() {
    let mut cluster = two_regions_with("nukv", |config| config.op_deadline_us = 5_000_000);
    let lead = leader(&cluster, &[0, 1, 2]);
    let (follower, other) = ((lead + 1) % 3, (lead + 2) % 3);
    let mut client = cluster.client(follower);
    eventually("it is written", || client.text(&["SET", "k", "1"]) == "OK");
    assert_eq!(text(&client.answered(&["GET", "k"])), "1", "its own write, whoever answers");
    eventually("the follower has applied it", || {
        cluster.status(follower)["host"]["partitions"][0]["written"].as_u64() >= Some(1)
    });
    cluster.stop(lead);
    cluster.stop(other);
    // Nobody leads, and nobody can be elected: what is here is all that the session has seen.
    assert_eq!(client.text(&["GET", "k"]), "1");
    assert_eq!(cluster.client(follower).text(&["GET", "k"]), "1");
    assert!(client.text(&["SET", "k", "2"]).starts_with("!UNAVAILABLE"));
}

/// A leader that is stopped hands over. Nobody's request fails: what a leader takes with it unanswered is indefinite.
#[test]
fn who_is_stopped_hands_over_and_nothing_fails() {
    let mut cluster = two_regions_with("causal", |config| config.election_timeout_us = 3_000_000);
    let lead = leader(&cluster, &[0, 1, 2]);
    let mut far = cluster.client(3 + leader(&cluster, &[3, 4, 5]) % 3);
    let mut clients: Vec<Client> =
        (1..3).flat_map(|step| [(lead + step) % 3; 4]).map(|node| cluster.client(node)).collect();
    let (stop, written) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        for (number, client) in clients.iter_mut().enumerate() {
            let (stop, written, key) = (&stop, &written, format!("k{number}"));
            scope.spawn(move || {
                for value in (1..).map(|value: u64| value.to_string()) {
                    client.ok(&["SET", &key, &value]);
                    assert_eq!(client.text(&["GET", &key]), value);
                    written.fetch_add(1, Ordering::Relaxed);
                    if stop.load(Ordering::Relaxed) {
                        return;
                    }
                }
            });
        }
        eventually("they write", || written.load(Ordering::Relaxed) > 100);
        cluster.stop(lead);
        let then = written.load(Ordering::Relaxed);
        eventually("they go on", || written.load(Ordering::Relaxed) > then + 100);
        stop.store(true, Ordering::Relaxed);
    });
    let last = clients[0].text(&["GET", "k0"]);
    eventually("the other region is fed by who leads now", || far.text(&["GET", "k0"]) == last);
    cluster.restart(lead);
    eventually("who comes back follows", || cluster.status(lead)["group"]["role"] == "follower");
}

/// A read that the leader has taken, and not answered, when it goes away: the next one is asked, and the client notices nothing.
#[test]
fn a_read_that_a_leader_takes_with_it_is_asked_again() {
    let mut cluster = two_regions("nukv");
    let lead = leader(&cluster, &[0, 1, 2]);
    leader(&cluster, &[3, 4, 5]);
    (0..6).for_each(|node| drop(cluster.admin(node, "/admin/cut", r#"{"from": "A", "to": "B"}"#)));
    let (mut near, mut far) = (cluster.client((lead + 1) % 3), cluster.client(3));
    far.ok(&["SET", "k", "1"]);
    let token = far.text(&["TIDE.SESSION", "EXPORT"]);
    near.ok(&["TIDE.SESSION", "IMPORT", &token]);
    near.send(b"GET k\r\n"); // it waits for what the session has seen
    eventually("the leader has taken it", || cluster.status(lead)["host"]["partitions"][0]["blocked"] == 1);
    cluster.stop(lead);
    let others = (0..6).filter(|node| *node != lead);
    others.for_each(|node| drop(cluster.admin(node, "/admin/heal", "{}")));
    assert_eq!(near.reply().map(|reply| text(&reply)).as_deref(), Some("1"));
}

/// Its name is smaller than the one that it had: names are in no order.
#[test]
fn who_loses_its_disk_twice_is_taken_in_again_whatever_its_names_are() {
    let mut cluster = two_regions("causal");
    let lead = leader(&cluster, &[0, 1, 2]);
    let lost = (lead + 1) % 3;
    for count in [9, 5] {
        let name = lost as u64 + 1 + 256 * count;
        cluster.stop(lost);
        let directory = cluster.nodes[lost].config.data_dir.clone();
        std::fs::remove_dir_all(&directory).unwrap();
        std::fs::create_dir(&directory).unwrap();
        std::fs::write(directory.join("member"), name.to_string()).unwrap();
        cluster.restart(lost);
        eventually("it follows under its new name", || {
            let status = cluster.status(lost);
            status["group"]["role"] == "follower" && status["group"]["member"] == name
        });
        eventually("and under no other", || {
            cluster.status(lead)["group"]["voters"].as_array().unwrap().len() == 3
        });
    }
}

/// An order.
const HOLD: &str = r#"{"dc": 1, "round": 1, "step": "hold"}"#;

/// The followers have gone, so that the order cannot be committed, and the leader notices it when its lease is over.
#[test]
fn an_order_that_is_open_when_leadership_is_lost_says_so() {
    let mut cluster = two_regions_with("gentlerain", |config| config.election_timeout_us = 700_000);
    // A machine may be so slow that the lease is over before the order is given.
    let (lead, answer) = loop {
        let lead = leader(&cluster, &[0, 1, 2]);
        let followers = [1, 2].map(|step| (lead + step) % 3);
        let stopping = followers.map(|follower| cluster.stopping(follower));
        stopping.into_iter().for_each(|follower| follower.join().expect("no panic").expect("a clean end"));
        let answer = cluster.admin(lead, "/admin/membership", HOLD);
        if !answer.contains("does not lead its Raft group:") {
            break (lead, answer);
        }
        followers.into_iter().for_each(|follower| cluster.restart(follower));
    };
    assert!(
        answer.contains("does not lead its Raft group any more") && answer.contains("new leader"),
        "{answer}"
    );
    let refused = cluster.admin(lead, "/admin/membership", HOLD);
    assert!(refused.contains("does not lead its Raft group:"), "{refused}");
}
