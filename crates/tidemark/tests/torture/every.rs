//! Every registered protocol, as a user runs it: `tidemark up --protocol NAME`, clients that speak RESP, processes that
//! are killed, regions that are cut off. A protocol is covered by being registered.

use crate::harness::resp::{Client, text};
use crate::harness::up::Up;
use crate::harness::{Cluster, Scratch, alone, said, tidemark, wait_for};
use crate::judge::{self, Evidence, addresses};
use crate::shared::{Log, Shared};
use crate::workload::Worker;
use serde_json::Value;
use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tidemark_core::history::Header;

/// Clients of each cluster, two at home in each region.
const CLIENTS: usize = 6;

/// Clusters that run at a time: most of what one does is waiting.
const AT_A_TIME: usize = 2;

/// A protocol, as `tidemark protocols` lists it.
pub(crate) struct Listed {
    pub(crate) name: String,
    /// What histories are held to.
    promise: String,
    /// Whether MSET is one transaction.
    transactions: bool,
}

/// What servers run.
pub(crate) fn registered() -> Vec<Listed> {
    let listed = tidemark(&["protocols", "--json"]);
    let listed: Value = serde_json::from_slice(&listed.stdout).expect("JSON");
    let word = |protocol: &Value, name: &str| protocol[name].as_str().expect("a word").to_string();
    let one = |protocol: &Value| {
        let (name, promise) = (word(protocol, "name"), word(protocol, "promise"));
        Listed { name, promise, transactions: word(protocol, "mset") == "atomic" }
    };
    let served = listed.as_array().expect("a list").iter().filter(|protocol| protocol["served"] == true);
    served.map(one).collect()
}

#[test]
fn every_protocol_serves_users_through_crashes_and_cuts() {
    each_protocol(|protocol| endure(protocol, &format!("every-{}", protocol.name), &[], harm));
}

/// Does it to all of them, some at a time; fails if any fails.
pub(crate) fn each_protocol(endure: impl Fn(&Listed) + Sync) {
    let _turn = alone();
    let left = Mutex::new(registered().into_iter());
    let failed = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..AT_A_TIME {
            scope.spawn(|| {
                loop {
                    let Some(protocol) = left.lock().expect("no panic here").next() else {
                        return;
                    };
                    if catch_unwind(AssertUnwindSafe(|| endure(&protocol))).is_err() {
                        failed.lock().expect("no panic here").push(protocol.name);
                    }
                }
            });
        }
    });
    let failed = failed.into_inner().expect("no panic here");
    assert!(failed.is_empty(), "these failed, each for a reason above: {}", failed.join(", "));
}

/// One protocol: clients work while things break; then nothing may be lost, and the promise must have been kept.
pub(crate) fn endure(protocol: &Listed, scratch: &str, flags: &[&str], harm: impl FnOnce(&Up)) {
    let Listed { name: protocol, promise, transactions } = protocol;
    let scratch = Scratch::new(scratch);
    let flags = [&["--partitions", "2", "--protocol", protocol], flags].concat();
    let cluster = Up::start(&scratch, &flags);
    let shared = Shared::new(addresses(&cluster), cluster.partitions(), *transactions);
    let worker = |number| {
        let worker = Worker::new(Arc::clone(&shared), number, 7);
        std::thread::spawn(move || worker.run())
    };
    let workers: Vec<_> = (0..CLIENTS).map(worker).collect();
    harm(&cluster);
    shared.stop.store(true, Ordering::Relaxed);
    let logs: Vec<Log> = workers
        .into_iter()
        .map(|worker| worker.join().expect("a client gave up; its reason is above"))
        .collect();
    let header = Header {
        protocol: Some(protocol.to_string()),
        dcs: Some(shared.addresses.len() as u32),
        ..Header::default()
    };
    let evidence = judge::gather(&cluster, &logs, &shared, header);
    let path = judge::write(&evidence.history, &scratch);
    judge::assert_logs_are_calm(&cluster);
    judge::accept(&path, promise);
    assert_lists_are_whole(&shared, &evidence);
    assert_a_session_reads_what_it_wrote(&shared, promise);
    let tally = |what: &str| logs.iter().filter_map(|log| log.tally.get(what)).sum::<u64>();
    println!(
        "{protocol}: {promise} kept over {} events ({} ok, {} unknown) in {:.1} s",
        evidence.history.events.len(),
        tally("ok"),
        tally("unknown"),
        shared.begun.elapsed().as_secs_f64(),
    );
}

/// Everything once: regions cut off, a process killed, a link cut while a process dies.
fn harm(cluster: &Up) {
    let pause = |ms| std::thread::sleep(Duration::from_millis(ms));
    pause(400);
    cluster.cut("A", "B", false);
    pause(500);
    cluster.heal();
    cluster.kill(1);
    pause(200);
    cluster.restart(1);
    pause(200);
    cluster.cut("A/0", "C/0", true);
    pause(300);
    cluster.kill(0);
    pause(100);
    cluster.restart(0);
    cluster.heal();
    pause(400);
    let running = cluster.processes().into_iter().all(|process| process.is_ok_and(|pid| pid.is_some()));
    assert!(running, "a process died by itself");
}

/// DBSIZE and SCAN tell of what GET finds, in every region.
fn assert_lists_are_whole(shared: &Shared, evidence: &Evidence) {
    for (region, nodes) in shared.addresses.iter().enumerate() {
        let held = evidence.finals.iter().filter(|(_, found)| found[region].value.is_some());
        let held: BTreeSet<String> = held.map(|(key, _)| key.clone()).collect();
        let mut client = Client::connect(nodes[0]).expect("it serves");
        assert_eq!(client.ask(&["DBSIZE"]).integer(), Some(held.len() as i64), "DBSIZE in region {region}");
        let (mut cursor, mut listed) = ("0".to_string(), BTreeSet::new());
        loop {
            let reply = client.ask(&["SCAN", &cursor, "COUNT", "100"]);
            let [next, keys] = reply.items().expect("a cursor and keys") else { panic!("SCAN: {reply:?}") };
            listed.extend(keys.items().expect("a list of keys").iter().map(text));
            cursor = text(next);
            if cursor == "0" {
                break;
            }
        }
        assert_eq!(listed, held, "SCAN in region {region}");
    }
}

/// After all that the cluster works as on its first day.
fn assert_a_session_reads_what_it_wrote(shared: &Shared, promise: &str) {
    for nodes in &shared.addresses {
        let mut client = Client::connect(nodes[0]).expect("it serves");
        let (cause, effect) = shared.pair(0);
        for (key, value) in [(&cause, "first"), (&effect, "second")] {
            assert_eq!(text(&client.ask(&["SET", key, value])), "OK");
        }
        if promise != "eventual" {
            // A transaction that a busy machine holds up is refused.
            let both = wait_for("a list", || {
                let both = client.ask(&["MGET", &cause, &effect]);
                Some(both.items()?.iter().map(text).collect::<Vec<String>>())
            });
            assert_eq!(both, ["first", "second"], "{}", said(&tidemark(&["protocols"])));
        }
    }
}
