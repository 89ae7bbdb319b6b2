//! What operations ask for, through Redis clients: `TIDE.GUARANTEE` under NuKV, which heeds it, and elsewhere.

use crate::support::{Client, Cluster, eventually};
use std::sync::Arc;

/// Two regions of two partitions whose reads wait for half a second at most.
fn nukv() -> Cluster {
    let all: &[u16] = &[0, 1];
    Cluster::start("nukv", &[(0, all), (1, all)], |config| {
        let mut cluster = (*config.cluster).clone();
        cluster.params = serde_json::json!({ "wait_limit_us": 500_000 });
        config.cluster = Arc::new(cluster);
    })
}

fn cut(cluster: &Cluster) {
    cluster.admin(0, "/admin/cut", r#"{"from": "A", "to": "B"}"#);
}

/// `there` goes on where `here` is: under NuKV nobody waits for that.
fn moves(here: &mut Client, there: &mut Client) {
    let token = here.text(&["TIDE.SESSION", "EXPORT"]);
    there.ok(&["TIDE.SESSION", "IMPORT", &token]);
}

fn is_stale(answer: &str) -> bool {
    answer.starts_with("!STALESESSION this region has not received")
}

#[test]
fn a_read_waits_for_what_it_asks_for_and_for_nothing_else() {
    let cluster = nukv();
    let (mut a, mut b) = (cluster.client(0), cluster.client(1));
    cut(&cluster);
    a.ok(&["SET", "k", "1"]);
    moves(&mut a, &mut b);
    assert!(is_stale(&b.text(&["GET", "k"])), "everything is asked for");
    let with = |level: &'static str| ["TIDE.GUARANTEE", level, "GET", "k"];
    assert!(is_stale(&b.text(&with("read=read-your-writes"))));
    assert_eq!(b.text(&with("read=eventual")), "-");
    assert_eq!(b.text(&with("read=monotonic-read")), "-", "it has written k, and never read it");
    assert_eq!(b.text(&["GET", "another"]), "-");
    assert!(is_stale(&b.text(&["MGET", "another", "k"])));
    assert!(is_stale(&b.text(&["SETNX", "k", "2"])), "it looks before it writes");
    b.ok(&["SET", "k", "2"]);
    assert_eq!(b.text(&with("read=eventual")), "2", "writes do not wait");
    cluster.admin(0, "/admin/heal", "{}");
    eventually("the versions of A", || !is_stale(&b.text(&["GET", "k"])));
    assert_eq!(b.text(&["GET", "k"]), "2", "the later write wins");
    eventually("the version of B", || a.text(&["GET", "k"]) == "2");
}

/// Reads that were waiting when the link came back are answered.
#[test]
fn a_read_that_waits_is_answered_when_what_it_waits_for_arrives() {
    let cluster = Cluster::regions("nukv", 2, 1);
    let (mut a, mut b) = (cluster.client(0), cluster.client(1));
    for n in 0..50 {
        let value = n.to_string();
        a.ok(&["SET", "k", &value]);
        moves(&mut a, &mut b);
        assert_eq!(b.text(&["GET", "k"]), value);
    }
}

#[test]
fn a_connection_chooses_for_all_that_follows() {
    let cluster = nukv();
    let (mut a, mut b) = (cluster.client(0), cluster.client(1));
    let asks = |client: &mut Client| client.list(&["TIDE.GUARANTEE"]).join(" ");
    assert_eq!(asks(&mut b), "read both write both heeded yes");
    cut(&cluster);
    a.ok(&["SET", "k", "1"]);
    moves(&mut a, &mut b);
    b.ok(&["TIDE.GUARANTEE", "read=eventual"]);
    assert_eq!(asks(&mut b), "read eventual write both heeded yes");
    assert_eq!(b.text(&["GET", "k"]), "-");
    assert!(is_stale(&b.text(&["TIDE.GUARANTEE", "read=both", "GET", "k"])), "one command asks for more");
    assert_eq!(b.text(&["EXISTS", "k", "k"]), "0");
    b.ok(&["TIDE.GUARANTEE", "write=monotonic-writes", "read=monotonic-read"]);
    assert_eq!(asks(&mut b), "read monotonic-read write monotonic-writes heeded yes");
    assert!(b.text(&["TIDE.GUARANTEE", "read=none"]).starts_with("!ERR no read level is called 'none'"));
    assert_eq!(asks(&mut b), "read monotonic-read write monotonic-writes heeded yes", "nothing has changed");
    assert_eq!(b.text(&["RESET"]), "RESET");
    assert_eq!(asks(&mut b), "read both write both heeded yes");
    assert!(is_stale(&b.text(&["GET", "k"])), "the session has stayed");
    let mut other = cluster.client(1);
    assert_eq!(other.text(&["GET", "k"]), "-", "who has seen nothing waits for nothing");
}

/// A protocol that knows no weaker operations gives more than was asked for, and says so.
#[test]
fn other_protocols_accept_it_and_give_all_that_they_promise() {
    let cluster = Cluster::regions("causal", 1, 2);
    let mut client = cluster.client(0);
    client.ok(&["TIDE.GUARANTEE", "read=eventual", "write=eventual"]);
    let heeded = "heeded no: tidemark always provides its full guarantees";
    assert_eq!(client.list(&["TIDE.GUARANTEE"]).join(" "), format!("read eventual write eventual {heeded}"));
    client.ok(&["TIDE.GUARANTEE", "write=both", "SET", "k", "v"]);
    assert_eq!(client.text(&["TIDE.GUARANTEE", "read=both", "GET", "k"]), "v");
    client.ok(&["TIDE.GUARANTEE", "read=both", "MSET", "a", "1", "b", "2"]);
    assert_eq!(client.text(&["TIDE.GUARANTEE", "read=eventual", "DEL", "a", "b", "k"]), "3");
    assert_eq!(client.text(&["TIDE.GUARANTEE", "read=eventual", "PING"]), "PONG");
}
