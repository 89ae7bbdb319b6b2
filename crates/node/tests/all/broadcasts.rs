//! What the drivers of nodes say to each other.

use crate::harness::{Cluster, layout, set};
use tidemark_node::{NodeId, Output, Reach};
use tidemark_protocols::Eventual;
use tidemark_registry::factory_of;
use tidemark_replica::Now;
use tidemark_store::log::Fsync;

fn now(cluster: &Cluster) -> Now {
    Now { wall: 1_700_000_000_000_000 + cluster.now_us, mono: cluster.now_us }
}

fn say(cluster: &mut Cluster, at: usize, content: &[u8]) {
    let now = now(cluster);
    cluster.node(at).broadcast(now, Reach::Cluster, content);
}

#[test]
fn every_other_node_hears_it_once_and_in_order() {
    let mut cluster = Cluster::start(factory_of::<Eventual>(), layout(3, 1, 1));
    (0..100_u8).for_each(|number| say(&mut cluster, 1, &[number]));
    cluster.run_for(1_000_000);
    let expected: Vec<_> = (0..100_u8).map(|number| (NodeId(1), vec![number])).collect();
    for at in [0, 2] {
        assert_eq!(cluster.processes[at].heard, expected);
    }
    assert!(cluster.processes[1].heard.is_empty());
    assert_eq!(cluster.node(1).counters().broadcasts_dropped, 0);
}

#[test]
fn what_cannot_leave_is_dropped_and_the_link_stands() {
    let mut cluster = Cluster::start(factory_of::<Eventual>(), layout(3, 1, 1));
    cluster.kill(2);
    cluster.run_for(100_000);
    say(&mut cluster, 0, b"one");
    assert_eq!(cluster.node(0).counters().broadcasts_dropped, 1);
    cluster.run_for(100_000);
    assert_eq!(cluster.processes[1].heard, [(NodeId(0), b"one".to_vec())]);
    cluster.stalled.push(0);
    (0..5).for_each(|_| say(&mut cluster, 0, &[0; 400_000]));
    // Two wait; three more would delay requests. The third node is still gone.
    assert_eq!(cluster.node(0).counters().broadcasts_dropped, 1 + 3 + 5);
    cluster.stalled.clear();
    cluster.run_for(1_000_000);
    assert!(cluster.processes[0].closed.is_empty(), "no link ends for that");
}

/// Somebody else must not hear of a write that a crash takes back.
#[test]
fn it_leaves_when_its_batch_is_durable() {
    let mut cluster = Cluster::stopped(factory_of::<Eventual>(), layout(2, 1, 1));
    cluster.fsync = Fsync::Always;
    (0..2).for_each(|at| cluster.boot(at));
    cluster.run_for(3_000_000);
    let session = cluster.node(0).open();
    let time = now(&cluster);
    assert!(cluster.node(0).begin(time, session, set("k", "v")).is_some());
    cluster.node(0).broadcast(time, Reach::Cluster, b"k is v");
    cluster.node(0).commit(time, false).unwrap();
    let (mut jobs, mut ready) = (Vec::new(), 0);
    while let Some(output) = cluster.node(0).poll() {
        match output {
            Output::Job(job) => jobs.push(job),
            Output::Ready { .. } => ready += 1,
            _ => {}
        }
    }
    assert_eq!(ready, 0, "the log is not synced");
    for job in jobs {
        let done = job.run();
        cluster.node(0).done(time, done);
    }
    cluster.run_for(1_000_000);
    assert_eq!(cluster.processes[1].heard, [(NodeId(0), b"k is v".to_vec())]);
}
