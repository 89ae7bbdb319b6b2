//! Sessions that share one past.

use crate::harness::{Cluster, get, layout, set};
use tidemark_core::{Failure, Found, Key, Op, Outcome};
use tidemark_node::{Factory, NodeLayout, PastName, SessionId};
use tidemark_protocols::{Cops, Eventual, Tidemark, Wren};
use tidemark_registry::factory_of;
use tidemark_store::log::Fsync;

fn one(factory: &'static dyn Factory) -> Cluster {
    Cluster::start(factory, layout(1, 2, 1))
}

fn share(cluster: &mut Cluster, at: usize, name: &str) -> SessionId {
    let session = cluster.open(at);
    cluster.node(at).share(session, Some(PastName::of(name.as_bytes())));
    session
}

/// The token of a session that knows what another one knows is the same, as far as tests can see: it is as long.
fn knows(cluster: &mut Cluster, at: usize, session: SessionId) -> usize {
    cluster.export(at, session).len()
}

#[test]
fn what_was_told_to_one_session_the_next_operation_of_another_knows() {
    let mut cluster = one(factory_of::<Tidemark>());
    let (one, other) = (share(&mut cluster, 0, "ann"), share(&mut cluster, 0, "ann"));
    let stranger = share(&mut cluster, 0, "bob");
    let empty = knows(&mut cluster, 0, other);
    cluster.set(0, one, "k", "v");
    assert_eq!(knows(&mut cluster, 0, stranger), empty);
    let known = knows(&mut cluster, 0, other);
    assert!(known > empty, "{known}");
    cluster.node(0).share(other, None);
    assert_eq!(knows(&mut cluster, 0, other), empty, "it had not begun an operation since");
}

/// A write that is not durable may be lost with the machine: nobody else may depend on it.
#[test]
fn what_is_not_released_is_not_shared() {
    let mut cluster = Cluster::stopped(factory_of::<Tidemark>(), layout(1, 1, 1));
    cluster.fsync = Fsync::Always;
    cluster.boot(0);
    let (one, other) = (share(&mut cluster, 0, "ann"), share(&mut cluster, 0, "ann"));
    let empty = knows(&mut cluster, 0, other);
    let now = tidemark_replica::Now { wall: 1_700_000_001_000_000, mono: cluster.now_us };
    assert!(cluster.node(0).begin(now, one, set("k", "v")).is_some());
    let batch = cluster.node(0).commit(now, false).unwrap();
    assert!(cluster.node(0).released().clients < batch, "the log is not synced");
    assert_eq!(knows(&mut cluster, 0, other), empty);
    while let Some(output) = cluster.node(0).poll() {
        if let tidemark_node::Output::Job(job) = output {
            let done = job.run();
            cluster.node(0).done(now, done);
        }
    }
    cluster.node(0).commit(now, false).unwrap();
    assert!(cluster.node(0).released().clients >= batch);
    assert!(knows(&mut cluster, 0, other) > empty);
}

/// A leader that is replaced has written what was never committed. The sessions that were told of it end; those that share a past
/// with them go on without it.
#[test]
fn what_a_deposed_leader_has_not_committed_is_not_shared() {
    let mut cluster = Cluster::start(factory_of::<Tidemark>(), layout(1, 1, 3));
    cluster.run_for(10_000_000);
    let leader = cluster.leader(0..3).expect("somebody leads");
    let (writer, idle) = (share(&mut cluster, leader, "ann"), share(&mut cluster, leader, "ann"));
    let empty = knows(&mut cluster, leader, idle);
    cluster.run_for(1_000_000);
    cluster.silent.push(leader);
    cluster.begin(leader, writer, set("k", "lost"));
    cluster.run_for(10_000_000);
    cluster.silent.clear();
    cluster.run_for(10_000_000);
    assert_eq!(cluster.processes[leader].ended, [writer]);
    assert_eq!(knows(&mut cluster, leader, idle), empty);
    assert_eq!(cluster.get(leader, idle, "k"), None);
}

#[test]
fn a_name_is_remembered_when_no_session_has_it() {
    let mut cluster = one(factory_of::<Tidemark>());
    let session = share(&mut cluster, 0, "ann");
    let empty = knows(&mut cluster, 0, session);
    cluster.set(0, session, "k", "v");
    cluster.node(0).close(session);
    let session = share(&mut cluster, 0, "ann");
    assert!(knows(&mut cluster, 0, session) > empty);
}

/// A session that is closed before its last batch has ended adds what it knows all the same: its reply may have left.
#[test]
fn what_a_session_knew_when_it_was_closed_is_shared() {
    let mut cluster = one(factory_of::<Tidemark>());
    let (session, other) = (share(&mut cluster, 0, "ann"), share(&mut cluster, 0, "ann"));
    let empty = knows(&mut cluster, 0, other);
    let now = tidemark_replica::Now { wall: 1_700_000_001_000_000, mono: cluster.now_us };
    assert!(cluster.node(0).begin(now, session, set("k", "v")).is_some());
    cluster.node(0).close(session);
    cluster.end_batch(0);
    assert!(knows(&mut cluster, 0, other) > empty);
}

/// Anybody can choose names. However many there are, little is kept of those that nobody has, and nothing is forgotten.
#[test]
fn of_many_names_that_nobody_has_nothing_is_forgotten() {
    let mut cluster = one(factory_of::<Tidemark>());
    let session = share(&mut cluster, 0, "first");
    let empty = knows(&mut cluster, 0, session);
    cluster.set(0, session, "k", "v");
    cluster.node(0).close(session);
    for n in 0..10_100 {
        let session = share(&mut cluster, 0, &n.to_string());
        cluster.node(0).close(session);
    }
    let session = share(&mut cluster, 0, "first");
    assert!(knows(&mut cluster, 0, session) > empty);
}

/// Under Wren a session keeps what it wrote until snapshots have it, and nobody else can see that: the operation of another session
/// waits for it.
#[test]
fn an_operation_waits_until_the_shared_past_can_be_taken_over() {
    let mut cluster = one(factory_of::<Wren>());
    let (one, other) = (share(&mut cluster, 0, "ann"), share(&mut cluster, 0, "ann"));
    for n in 0..5 {
        let value = n.to_string();
        cluster.set(0, one, "k", &value);
        assert_eq!(cluster.get(0, other, "k"), Some(value));
    }
    let keys = ["k", "l"].map(Key::from).to_vec();
    cluster.set(0, one, "k", "last");
    let Outcome::FoundAll(found) = cluster.call(0, other, Op::Rotx { keys }) else { panic!("a snapshot") };
    assert_eq!(found[0].value.as_deref(), Some(&b"last"[..]));
    assert_eq!(found[1], Found::default());
}

/// What an operation waits for may not come: it has not begun then.
#[test]
fn an_operation_whose_past_cannot_be_taken_over_fails_and_the_next_tries_again() {
    let mut layout = layout(1, 2, 1);
    let mut second = NodeLayout { name: "A-1".into(), peer_address: "0.1".into(), ..layout.nodes[0].clone() };
    layout.nodes[0].partitions.truncate(1);
    second.partitions.remove(0);
    layout.nodes.push(second);
    let here = |key: &String| layout.topology.partition_of(key.as_bytes()).0 == 0;
    let key = (0..).map(|n| format!("key-{n}")).find(here).expect("one of them");
    let mut cluster = Cluster::start(factory_of::<Wren>(), layout);
    let (one, other) = (share(&mut cluster, 0, "ann"), share(&mut cluster, 0, "ann"));
    cluster.silent.push(1);
    cluster.set(0, one, &key, "v");
    for op in [get(&key), set(&key, "never")] {
        let outcome = cluster.call(0, other, op);
        assert!(matches!(outcome, Outcome::Failed(Failure::StaleSession(_))), "{outcome:?}");
    }
    cluster.silent.clear();
    cluster.run_for(10_000_000);
    assert_eq!(cluster.get(0, other, &key).as_deref(), Some("v"));
}

/// Sessions that write at once and read each other's writes: the shared past is not the list of everything.
#[test]
fn a_shared_list_of_dependencies_does_not_grow_for_ever() {
    let mut cluster = Cluster::start(factory_of::<Cops>(), layout(2, 1, 1));
    cluster.silent.push(1); // nothing is applied everywhere
    let sessions: Vec<SessionId> = (0..8).map(|_| share(&mut cluster, 0, "ann")).collect();
    let newcomer = share(&mut cluster, 0, "ann");
    let mut longest = [0, 0];
    for n in 0..400 {
        let session = sessions[n * 7 % 8];
        cluster.set(0, session, &format!("key-{n}"), "v");
        cluster.run_for(10_000);
        longest[n / 200] = longest[n / 200].max(knows(&mut cluster, 0, newcomer));
    }
    assert!(longest[1] < longest[0] + 20, "{longest:?}");
}

#[test]
fn a_protocol_without_pasts_says_so() {
    assert!(factory_of::<Tidemark>().remembers());
    assert!(!factory_of::<Eventual>().remembers());
}
