//! Clients, faults and the checker together: no acknowledged write is lost, and what anyone saw was causal.

use crate::chaos::Chaos;
use crate::harness::nodes::{Nodes, Plan};
use crate::harness::up::Up;
use crate::harness::{Cluster, Scratch, alone, said};
use crate::judge::{self, addresses};
use crate::shared::{Log, Shared};
use crate::workload::Worker;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use tidemark_contract::Topology;
use tidemark_core::history::Header;

const CLIENTS: usize = 9;
const ROUNDS: u64 = 12;

/// A number from the environment.
pub(crate) fn number(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name}={text:?} is no number")))
}

/// Names the seed of a test that fails.
struct Seed(u64);

impl Seed {
    fn choose() -> Self {
        Self(number("TORTURE_SEED").unwrap_or_else(|| fastrand::u64(0..1_000_000)))
    }
}

impl Drop for Seed {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("run it again with TORTURE_SEED={}", self.0);
        }
    }
}

/// Which regions hold which keys: all of them, unless the cluster file says otherwise.
fn topology_of(cluster: &dyn Cluster, scratch: &Scratch) -> Topology {
    let file = scratch.join("cluster").join("cluster.toml");
    if !file.exists() {
        return Topology::new(addresses(cluster).len(), cluster.partitions());
    }
    match tidemark_server::config::load(&file, &Default::default()) {
        Ok(cluster) => cluster.topology,
        Err(error) => panic!("{error}"),
    }
}

/// Clients and faults for some rounds; nothing may be lost. The history goes to `judge`.
fn torture(cluster: &dyn Cluster, scratch: &Scratch, protocol: &str, rounds: u64, judge: impl FnOnce(&Path)) {
    torture_until(cluster, scratch, protocol, |done| done >= rounds, judge);
}

/// The same until so many rounds are enough.
fn torture_until(
    cluster: &dyn Cluster,
    scratch: &Scratch,
    protocol: &str,
    enough: impl Fn(u64) -> bool,
    judge: impl FnOnce(&Path),
) {
    let seed = Seed::choose();
    let shared = Shared::placed(addresses(cluster), topology_of(cluster, scratch), false);
    let mut chaos = Chaos::new(cluster, seed.0);
    let worker = |number| {
        let worker = Worker::new(Arc::clone(&shared), number, seed.0);
        std::thread::spawn(move || worker.run())
    };
    let workers: Vec<_> = (0..CLIENTS).map(worker).collect();
    for _ in (0..).take_while(|done| !enough(*done)) {
        chaos.round();
        assert!(!workers.iter().any(|worker| worker.is_finished()), "a client gave up; its reason is above");
    }
    shared.stop.store(true, Ordering::Relaxed);
    let logs: Vec<Log> = workers.into_iter().map(|worker| worker.join().expect("a client gave up")).collect();
    let about = format!("torture of {} nodes", cluster.nodes().len());
    let header = Header {
        protocol: Some(protocol.to_string()),
        dcs: Some(shared.addresses.len() as u32),
        seed: Some(seed.0),
        about: Some(about.clone()),
        ..Header::default()
    };
    let evidence = judge::gather(cluster, &logs, &shared, header);
    let path = judge::write(&evidence.history, scratch);
    judge::assert_logs_are_calm(cluster);
    judge(&path);
    let mut tally: BTreeMap<&str, u64> = BTreeMap::new();
    logs.iter().flat_map(|log| &log.tally).for_each(|(what, count)| *tally.entry(what).or_default() += count);
    println!(
        "{about}, {protocol}, seed {}: {} events in {:.0} s, {} unique keys, {} records; clients {tally:?}; faults {:?}",
        seed.0,
        evidence.history.events.len(),
        shared.begun.elapsed().as_secs_f64(),
        logs.iter().map(|log| log.unique.len()).sum::<usize>(),
        evidence.ledger.total(),
        chaos.done,
    );
}

fn rounds() -> u64 {
    number("TORTURE_ROUNDS").unwrap_or(ROUNDS)
}

fn accept(history: &Path) {
    judge::accept(history, "causal-snapshot");
}

fn on_one_machine(fsync: &str, latency: &str, protocol: &str, rounds: u64, judge: impl FnOnce(&Path)) {
    let _turn = alone();
    let scratch = Scratch::new(&format!("torture-{protocol}-{fsync}"));
    let flags = ["--partitions", "2", "--fsync", fsync, "--latency", latency, "--protocol", protocol];
    torture(&Up::start(&scratch, &flags), &scratch, protocol, rounds, judge);
}

#[test]
fn three_regions_that_sync_every_second() {
    on_one_machine("everysec", "none", "causal", rounds(), accept);
}

/// Far apart, so that more is under way when something breaks.
#[test]
fn three_regions_that_sync_before_they_answer() {
    on_one_machine("always", "gentlerain", "causal", rounds(), accept);
}

#[test]
fn three_regions_under_gentlerain() {
    on_one_machine("everysec", "none", "gentlerain", rounds(), accept);
}

fn placed(name: &str, protocol: &str, regions: &str, rules: &[&str]) {
    let scratch = Scratch::new(&format!("torture-{name}-{protocol}"));
    let mut flags = vec!["--regions", regions, "--partitions", "2", "--protocol", protocol];
    rules.iter().for_each(|rule| flags.extend(["--place", rule]));
    torture(&Up::start(&scratch, &flags), &scratch, protocol, rounds().min(4), accept);
}

/// Causes and effects, and keys that all fight over, are held by one region, by two, or by all; sessions go where they are.
#[test]
fn regions_that_hold_some_keys_only() {
    let _turn = alone();
    let rules = ["cause0=b", "effect1=a,c", "cause2=b,c", "k1=a", "k2=b,c", "k3=c", "k4=a,b"];
    placed("here-and-there", "causal", "3", &rules);
    placed("here-and-there", "accf", "3", &rules);
    // Four by one: each region holds one of the two partitions.
    placed("four-by-one", "accf", "4", &["slots:0-8191=a,c", "slots:8192-16383=b,d"]);
}

/// Two of the regions have two nodes: operations and snapshots go over sockets within the region, and a node's death
/// leaves half of a region. Segments and snapshots are small, so that restarts read what was written in between.
#[test]
fn regions_of_two_nodes() {
    let _turn = alone();
    let scratch = Scratch::new("torture-two-nodes");
    let regions = vec![vec!["0-1", "2"], vec!["all"], vec!["0", "1-2"]];
    let limits = "log_segment = \"1MiB\"\nsnapshot_every = \"1MiB\"";
    let cluster = Nodes::start(&scratch, &Plan { regions, partitions: 3, limits, ..Plan::default() });
    let has_snapshot = || {
        let mut files = std::fs::read_dir(cluster.data(2)).expect("the data directory").flatten();
        files.any(|file| file.file_name().to_string_lossy().ends_with(".snapshot"))
    };
    // On a busy machine clients write less, and there is one later. Without one, no restart has read it.
    let enough = |done| done >= rounds() && (has_snapshot() || done >= 20 * rounds());
    torture_until(&cluster, &scratch, "causal", enough, accept);
    assert!(has_snapshot(), "no snapshot was made");
}

/// The test can fail: the same clients and faults convict a protocol that promises less. Nothing is lost under it either. Most plays
/// show a violation; those that do not, because clients were slow, are followed by others.
#[test]
fn the_same_torture_convicts_last_writer_wins() {
    let convicts = || {
        let mut convicted = false;
        on_one_machine("everysec", "gentlerain", "eventual", 6, |history| {
            let verdict = judge::check(history, "causal-snapshot");
            assert!(matches!(verdict.status.code(), Some(0 | 1)), "{}", said(&verdict));
            convicted = verdict.status.code() == Some(1);
            judge::accept(history, "eventual");
        });
        convicted
    };
    assert!((0..20).any(|_| convicts()), "no play shows a violation");
}
