//! A node that comes back with another log than its peers know: its directory was emptied, or an old copy was put
//! back. What it wrote from then on would reach nobody.

use crate::findings::{over, told};
use crate::harness::admin::{http, settled, status};
use crate::harness::nodes::{Nodes, Plan, wait_for_siblings};
use crate::harness::resp::{Client, text};
use crate::harness::up::Up;
use crate::harness::{Cluster, Node, Scratch, alone, at, wait_for};
use std::path::Path;
use std::process::Command;
use tidemark_wire::resp::Reply;

fn ok() -> Reply {
    Reply::Simple("OK".into())
}

fn copy(from: &Path, to: &Path) {
    let copied = Command::new("cp").arg("-a").args([from, to]).status();
    assert!(copied.is_ok_and(|status| status.success()), "cannot copy {}", from.display());
}

/// Waits until `client` is refused to write `key`; the error.
fn refusal(client: &mut Client, key: &str) -> String {
    wait_for("writes are refused", || {
        let reply = client.ask(&["SET", key, "lost"]);
        reply.error().is_some().then(|| text(&reply))
    })
}

/// Everything that an operator looks at says `why`.
fn says_so_everywhere(node: &Node, why: &str) {
    let (code, body) = http(node.admin, "GET", "/healthz", "").expect("it answers");
    assert!(code == 503 && body.contains(why), "{code} {body}");
    let status = status(node).expect("it answers");
    assert!(at(&status, &["writes_refused"]).as_str().is_some_and(|text| text.contains(why)), "{status}");
    let (_, metrics) = http(node.admin, "GET", "/metrics", "").expect("it answers");
    for metric in ["tidemark_writes_refused 1", "tidemark_log_disowned 1"] {
        assert!(metrics.contains(metric), "no {metric}");
    }
    told(node, "writes_refused", &node.name);
    let log = std::fs::read_to_string(&node.log).expect("its log");
    let said = |line: &&str| {
        line.contains("ERROR") && line.contains("finding: writes_refused") && line.contains(why)
    };
    assert_eq!(log.lines().filter(said).count(), 1, "it is an error, said once:\n{log}");
}

/// Before, such a node went on acknowledging writes that no other region would ever have.
#[test]
fn an_emptied_directory_is_noticed_and_ends_writes_until_the_right_one_is_back() {
    let _turn = alone();
    let scratch = Scratch::new("disowned-emptied");
    let up = Up::start(&scratch, &["--regions", "3"]);
    let connect = |node: usize| Client::connect(up.nodes()[node].redis).expect("it serves");
    let mut others = connect(1);
    wait_for("it is written", || (connect(0).ask(&["MSET", "foo", "1", "bar", "1"]) == ok()).then_some(()));
    settled(&up, true);
    up.kill(0);
    let data = scratch.join("cluster").join("data").join(&up.nodes()[0].name);
    let aside = scratch.join("aside");
    std::fs::rename(&data, &aside).expect("its data directory");
    std::fs::create_dir(&data).expect("an empty one");
    up.restart(0);

    let mut client = connect(0);
    let error = refusal(&mut client, "foo");
    assert!(error.starts_with("MISCONF") && error.contains("emptied or replaced"), "{error}");
    for write in [&["DEL", "foo"][..], &["SETNX", "new", "1"], &["GETSET", "bar", "2"], &["MSET", "bar", "2"]]
    {
        let reply = client.ask(write);
        assert!(reply.error().is_some() && text(&reply).starts_with("MISCONF"), "{write:?}: {reply:?}");
    }
    assert_eq!(client.ask(&["PING"]), Reply::Simple("PONG".into()));
    assert!(client.ask(&["MGET", "foo", "bar"]).items().is_some(), "reads go on");
    says_so_everywhere(&up.nodes()[0], "emptied or replaced");
    let status = up.verb(&["status"]);
    let name = &up.nodes()[0].name;
    let line = format!("{name}: writes_refused (stuck) {name}, for ");
    assert!(status.contains(&line) && status.contains("emptied"), "{status}");
    told(&up.nodes()[1], "feed_needs_seeding", "A/0->B/0");

    assert_eq!(others.ask(&["SET", "foo", "2"]), ok(), "the others go on");
    let mut third = connect(2);
    wait_for("what the others write arrives", || {
        (third.ask(&["GET", "foo"]) == Reply::Bulk("2".into())).then_some(())
    });

    up.kill(0);
    std::fs::remove_dir_all(&data).expect("the wrong directory");
    std::fs::rename(&aside, &data).expect("the right one");
    up.restart(0);
    let mut client = connect(0);
    assert_eq!(client.ask(&["SET", "bar", "3"]), ok());
    settled(&up, true);
    over(&up.nodes()[1], "feed_needs_seeding");
    assert_eq!(client.ask(&["GET", "foo"]), Reply::Bulk("2".into()));
    assert_eq!(third.ask(&["GET", "bar"]), Reply::Bulk("3".into()));
    assert_eq!(http(up.nodes()[0].admin, "GET", "/healthz", "").map(|(code, _)| code), Some(200));
}

/// Each node has a log of its own: the other one of the region goes on, and says what its sibling says.
#[test]
fn a_log_that_was_rolled_back_ends_the_writes_of_its_own_partitions() {
    let _turn = alone();
    let scratch = Scratch::new("disowned-rolled-back");
    let nodes =
        Nodes::start(&scratch, &Plan { regions: vec![vec!["0", "1"], vec!["all"]], ..Plan::default() });
    // `bar` is in the first half of the slots, `foo` in the second.
    assert_eq!(nodes.client(0).ask(&["SET", "bar", "1"]), ok());
    settled(&nodes, false);
    nodes.stop(0);
    let old = scratch.join("old");
    copy(&nodes.data(0), &old);
    nodes.restart(0);
    assert_eq!(nodes.client(0).ask(&["SET", "bar", "2"]), ok());
    settled(&nodes, false);
    nodes.stop(0);
    std::fs::remove_dir_all(nodes.data(0)).expect("its data directory");
    copy(&old, &nodes.data(0));
    nodes.restart(0);

    let refuses =
        |node: &Node| status(node).filter(|status| !at(status, &["writes_refused"]).is_null()).map(|_| ());
    nodes.nodes()[..2].iter().for_each(wait_for_siblings);
    wait_for("the node has met a peer", || refuses(&nodes.nodes()[0]));
    says_so_everywhere(&nodes.nodes()[0], "rolled back");
    for node in [0, 1] {
        let mut client = nodes.client(node);
        let error = text(&client.ask(&["SET", "bar", "3"]));
        assert!(error.starts_with("MISCONF") && error.contains("rolled back"), "{error}");
        assert_eq!(client.ask(&["GET", "bar"]), Reply::Bulk("1".into()), "reads go on");
        assert_eq!(client.ask(&["SET", "foo", "3"]), ok(), "the other node's partition takes writes");
    }
    assert_eq!(http(nodes.nodes()[1].admin, "GET", "/healthz", "").map(|(code, _)| code), Some(200));
    // What is stable in the other region waits for every node of this one, so nobody can see it there yet.
    wait_for("what is written elsewhere in the region arrives", || {
        let status = status(&nodes.nodes()[2])?;
        (at(&status, &["host", "partitions"])[1]["peers"][0]["received"] == 2).then_some(())
    });
}
