//! What sessions are told.

use crate::harness::{Cluster, get, layout, set};
use tidemark_core::{DcId, Failure, Outcome};
use tidemark_node::NodeLayout;
use tidemark_protocols::{Accf, Eventual, Tidemark};
use tidemark_registry::factory_of;
use tidemark_replica::Now;
use tidemark_store::log::Fsync;

fn three() -> Cluster {
    Cluster::start(factory_of::<Tidemark>(), layout(3, 2, 1))
}

fn failure(outcome: Outcome) -> Failure {
    match outcome {
        Outcome::Failed(failure) => failure,
        other => panic!("it ended well: {other:?}"),
    }
}

#[test]
fn what_is_written_in_one_region_is_read_in_the_others() {
    let mut cluster = three();
    assert!((0..3).all(|at| cluster.up(at)));
    let (writer, reader) = (cluster.open(0), cluster.open(1));
    assert!(matches!(cluster.set(0, writer, "photo", "beach"), Outcome::Written { stamp: Some(_), .. }));
    assert_eq!(cluster.get(0, writer, "photo").as_deref(), Some("beach"));
    cluster.run_for(100_000);
    assert_eq!(cluster.get(1, reader, "photo").as_deref(), Some("beach"));
}

#[test]
fn a_token_carries_a_session_to_another_region() {
    let mut cluster = three();
    let writer = cluster.open(0);
    cluster.set(0, writer, "photo", "beach");
    let token = cluster.export(0, writer);
    let reader = cluster.open(2);
    cluster.import(2, reader, &token);
    cluster.run_for(1_000_000);
    assert_eq!(cluster.processes[2].outcomes.remove(&reader), Some(Outcome::Adopted));
    assert_eq!(cluster.get(2, reader, "photo").as_deref(), Some("beach"));
}

#[test]
fn nothing_is_told_before_it_is_durable() {
    let mut cluster = Cluster::stopped(factory_of::<Tidemark>(), layout(1, 1, 1));
    cluster.fsync = Fsync::Always;
    cluster.boot(0);
    let session = cluster.open(0);
    let now = tidemark_replica::Now { wall: 1_700_000_001_000_000, mono: cluster.now_us };
    assert!(cluster.node(0).begin(now, session, set("k", "v")).is_some());
    let batch = cluster.node(0).commit(now, false).unwrap();
    assert!(cluster.node(0).released().clients < batch, "the log is not synced");
    let mut jobs = Vec::new();
    while let Some(output) = cluster.node(0).poll() {
        if let tidemark_node::Output::Job(job) = output {
            jobs.push(job);
        }
    }
    assert_eq!(jobs.len(), 1);
    let done = jobs.remove(0).run();
    cluster.node(0).done(now, done);
    cluster.node(0).commit(now, false).unwrap();
    assert!(cluster.node(0).released().clients >= batch);
}

/// A session whose requests were all answered, and which asks nobody else, has nothing that could be lost: its operation ended
/// never.
#[test]
fn a_deadline_ends_an_operation_that_has_no_open_request() {
    let mut cluster = three();
    let writer = cluster.open(0);
    cluster.set(0, writer, "k", "v");
    let token = cluster.export(0, writer);
    cluster.silent.push(0);
    let session = cluster.open(1);
    cluster.set(0, writer, "k", "w");
    let ahead = cluster.export(0, writer);
    drop(token);
    cluster.import(1, session, &ahead);
    cluster.run_for(6_000_000);
    let outcome = cluster.processes[1].outcomes.remove(&session).expect("it ends");
    assert!(matches!(failure(outcome), Failure::StaleSession(_) | Failure::Unavailable(_)));
}

/// Two nodes of one region, a partition each; and a key that the second one holds.
fn two() -> (Cluster, String) {
    let mut two = layout(1, 2, 1);
    let mut second = two.nodes[0].clone();
    two.nodes[0].partitions.truncate(1);
    second.partitions.remove(0);
    (second.name, second.peer_address) = ("A-1".to_string(), "0.1".to_string());
    two.nodes.push(second);
    assert_eq!(two.validate(), Ok(()));
    let there = (0..100).map(|n| format!("k{n}")).find(|key| {
        tidemark_contract::Topology::new(1, 2).partition_of(&tidemark_core::Key::from(key.as_str())).0 == 1
    });
    (Cluster::start(factory_of::<Eventual>(), two), there.expect("some key is elsewhere"))
}

/// What does not fit was dropped, and its requests hung until their deadlines.
#[test]
fn requests_on_a_link_that_takes_too_little_are_lost_at_once() {
    let (mut cluster, there) = two();
    let sessions = [(); 3].map(|()| cluster.open(0));
    cluster.stalled.push(0);
    for session in sessions {
        cluster.begin(0, session, set(&there, &"x".repeat(600_000)));
    }
    cluster.run_for(10_000);
    for session in &sessions[..2] {
        let outcome = cluster.processes[0].outcomes.remove(session).expect("it ends with the link");
        assert!(matches!(failure(outcome), Failure::Indefinite(_)));
    }
    let now = tidemark_replica::Now { wall: 1_700_000_010_000_000, mono: cluster.now_us };
    assert!(
        cluster.node(0).status(now).peers[1].trouble.as_ref().expect("it is told").contains("too little")
    );
    assert!(cluster.node(0).counters().message_bytes_dropped > 1_200_000);
    cluster.stalled.clear();
    cluster.run_for(3_000_000);
    let session = cluster.open(0);
    assert!(matches!(cluster.set(0, session, &there, "v"), Outcome::Written { stamp: Some(_), .. }));
}

#[test]
fn a_partition_that_cannot_be_reached_is_unavailable_and_a_lost_write_is_indefinite() {
    let (mut cluster, there) = two();
    let session = cluster.open(0);
    assert!(matches!(cluster.set(0, session, &there, "v"), Outcome::Written { stamp: Some(_), .. }));
    // The other node takes the request and dies before it replies.
    cluster.begin(0, session, set(&there, "w"));
    cluster.kill(1);
    cluster.run_for(100_000);
    let outcome = cluster.processes[0].outcomes.remove(&session).expect("it ends with the link");
    assert!(matches!(failure(outcome), Failure::Indefinite(_)));
    let outcome = cluster.call(0, session, get(&there));
    assert!(matches!(failure(outcome), Failure::Unavailable(_)));
    cluster.boot(1);
    cluster.run_for(3_000_000);
    assert!(cluster.get(0, session, &there).is_some());
}

#[test]
fn a_session_can_be_closed_in_the_middle_of_an_operation() {
    let mut cluster = three();
    let session = cluster.open(0);
    cluster.silent.extend([1, 2]);
    cluster.begin(0, session, set("k", "v"));
    cluster.node(0).close(session);
    cluster.node(0).close(session);
    cluster.run_for(6_000_000);
    let next = cluster.open(0);
    assert_ne!(next, session);
    assert_eq!(next.slot(), session.slot());
    assert_eq!(cluster.get(0, next, "k").as_deref(), Some("v"));
}

/// A node that has nothing to do wakes for its timers, and not for looking whether there is something to do.
#[test]
fn an_idle_node_ends_few_batches() {
    let mut cluster = three();
    cluster.run_for(1_000_000);
    let before = cluster.node(0).counters().batches;
    cluster.run_for(1_000_000);
    let batches = cluster.node(0).counters().batches - before;
    assert!(batches < 1_500, "{batches} batches in an idle second");
}

/// A session of a node that holds no partition asks which checking groups there are: the node failed.
#[test]
fn a_node_without_partitions_knows_the_checking_groups_that_there_are_at_first() {
    let mut layout = layout(1, 2, 1);
    let (name, peer_address) = ("client".to_string(), "client".to_string());
    layout.nodes.push(NodeLayout { name, dc: DcId(0), partitions: Vec::new(), peer_address });
    let mut cluster = Cluster::start(factory_of::<Accf>(), layout);
    let now = Now { wall: 1_700_000_010_000_000, mono: cluster.now_us };
    let known = |cluster: &mut Cluster, at| cluster.node(at).checking_groups(now).to_vec();
    let there = known(&mut cluster, 0);
    assert!(!there.is_empty());
    assert_eq!(known(&mut cluster, 1), there);
}

/// An import asks a server to wait, and changes nothing. Lost behind a write, it was said to have happened or not.
#[test]
fn an_import_that_is_lost_has_not_happened() {
    let mut layout = layout(2, 2, 1);
    let mut second = NodeLayout { name: "A-1".into(), peer_address: "0.1".into(), ..layout.nodes[0].clone() };
    layout.nodes[0].partitions.truncate(1);
    second.partitions.remove(0);
    layout.nodes.push(second);
    let mut cluster = Cluster::start(factory_of::<Tidemark>(), layout);
    let away = cluster.open(1);
    cluster.silent.push(1);
    cluster.set(1, away, "k", "v");
    let token = cluster.export(1, away);
    let session = cluster.open(2);
    assert!(matches!(cluster.set(2, session, "k", "w"), Outcome::Written { .. }));
    cluster.import(2, session, &token);
    assert_eq!(cluster.processes[2].outcomes.get(&session), None, "the other node waits for the region");
    cluster.kill(0);
    cluster.run_for(6_000_000);
    let outcome = cluster.processes[2].outcomes.remove(&session).expect("it has ended");
    assert!(matches!(failure(outcome), Failure::Unavailable(_)));
}

/// Under `fsync no` nothing else syncs the log: a snapshot that waited for that never ended, and the log grew for ever.
#[test]
fn a_snapshot_is_taken_though_no_policy_syncs_the_log() {
    let mut cluster = Cluster::stopped(factory_of::<Tidemark>(), layout(1, 1, 1));
    cluster.fsync = Fsync::No;
    cluster.boot(0);
    let session = cluster.open(0);
    cluster.set(0, session, "k", "v");
    cluster.node(0).want_snapshot().unwrap();
    let now = cluster.now(0);
    assert!(cluster.node(0).status(now).host.taking_snapshot);
    cluster.run_for(2_000_000);
    let now = cluster.now(0);
    assert!(!cluster.node(0).status(now).host.taking_snapshot);
}
