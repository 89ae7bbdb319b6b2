//! A region that is away for longer than its peers keep their log.

use crate::findings::{over, told};
use crate::harness::admin::{settled, status};
use crate::harness::nodes::{Nodes, Plan};
use crate::harness::resp::Client;
use crate::harness::{Cluster, Scratch, alone, at, wait_for};
use tidemark_wire::resp::Reply;

const LIMITS: &str = "log_segment = \"1MiB\"\nlog_retain = \"2MiB\"\nsnapshot_every = \"1MiB\"";

fn fill(client: &mut Client, from: usize, to: usize) {
    let value = "x".repeat(1_000);
    for n in from..to {
        assert_eq!(client.ask(&["SET", &format!("key{n}"), &value]), Reply::Simple("OK".into()));
    }
}

/// What `node` says of its first partition's first peer.
fn peer(nodes: &Nodes, node: usize) -> serde_json::Value {
    let status = status(&nodes.nodes()[node]).expect("it serves");
    at(&status, &["host", "partitions"])[0]["peers"][0].clone()
}

/// As long as the log is kept, it goes on where it was, however often the log's segments and snapshots change.
#[test]
fn within_the_limit_it_catches_up_across_segments_and_snapshots() {
    let _turn = alone();
    let scratch = Scratch::new("absent-within");
    let limits = "log_segment = \"1MiB\"\nlog_retain = \"10MiB\"\nsnapshot_every = \"1MiB\"";
    let nodes = Nodes::start(&scratch, &Plan { regions: vec![vec!["all"]; 2], limits, ..Plan::default() });
    nodes.kill(1);
    let mut client = nodes.client(0);
    fill(&mut client, 0, 3_000);
    nodes.kill(0);
    nodes.restart(0);
    let mut client = nodes.client(0);
    fill(&mut client, 3_000, 6_000);
    assert_eq!(peer(&nodes, 0)["needs_seeding"], false);
    let finding = told(&nodes.nodes()[0], "log_fills", "A/0->B/0");
    assert!(finding["what"].as_str().is_some_and(|text| text.contains("of at most 10 MiB")), "{finding}");
    nodes.restart(1);
    let ledger = settled(&nodes, true);
    over(&nodes.nodes()[0], "log_fills");
    assert_eq!(ledger.total(), 6_000);
    let mut other = nodes.client(1);
    assert!((0..6_000).all(|n| other.ask(&["STRLEN", &format!("key{n}")]) == Reply::Integer(1_000)));
    // Nobody needs the old segments any more.
    wait_for("the log is dropped behind a snapshot", || {
        let status = status(&nodes.nodes()[0])?;
        (at(&status, &["host", "log_bytes"]).as_u64()? <= 4 << 20).then_some(())
    });
}

/// Past the limit the peer is given up for what concerns this log: writes go on, the disk does not fill, and both
/// sides say what has happened. The other direction, whose log is complete, goes on.
#[test]
fn past_the_limit_it_is_marked_and_writes_go_on() {
    let _turn = alone();
    let scratch = Scratch::new("absent-past");
    let nodes =
        Nodes::start(&scratch, &Plan { regions: vec![vec!["all"]; 2], limits: LIMITS, ..Plan::default() });
    let mut client = nodes.client(0);
    fill(&mut client, 0, 10);
    settled(&nodes, true);
    nodes.cut("A", "B", false);
    fill(&mut client, 10, 12_000);
    wait_for("B is marked as away for too long", || (peer(&nodes, 0)["needs_seeding"] == true).then_some(()));
    // It is dropped behind a snapshot, which takes a while on a busy machine; 2 MiB are to be kept.
    wait_for("the log takes no more than it may", || {
        let status = status(&nodes.nodes()[0])?;
        (at(&status, &["host", "log_bytes"]).as_u64()? <= 6 << 20).then_some(())
    });
    nodes.heal();
    let says = |text: &str| text.contains("log-retain").then_some(());
    wait_for("B says that it needs a copy", || says(&nodes.log(1)));
    for node in nodes.nodes() {
        let finding = told(node, "feed_needs_seeding", "A/0->B/0");
        assert_eq!(finding["grade"], "stuck");
    }
    let mut other = nodes.client(1);
    assert_eq!(other.ask(&["SET", "from-b", "1"]), Reply::Simple("OK".into()), "B takes writes");
    wait_for("A has what B writes", || {
        let status = status(&nodes.nodes()[0])?;
        let partitions = at(&status, &["host", "partitions"]).as_array()?.iter();
        let received = partitions.map(|partition| partition["peers"][0]["received"].as_u64());
        (received.sum::<Option<u64>>()? == 1).then_some(())
    });
    assert_eq!(
        other.ask(&["GET", "key5"]).bytes().map(|value| value.len()),
        Some(1_000),
        "B serves what it has"
    );
    assert_eq!(other.ask(&["GET", "key11999"]), Reply::Null, "and nothing of what it cannot have whole");
}
