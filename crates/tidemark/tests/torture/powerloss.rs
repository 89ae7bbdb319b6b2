//! Losses of power: a node that is killed takes with it what it had not synced, and any part of that may stay. It starts at once, nobody
//! is asked, all regions agree, and nothing is lost that another region, or the holder of a token, has seen.

use crate::chaos::Chaos;
use crate::harness::admin::{settled, status};
use crate::harness::nodes::{Nodes, Plan};
use crate::harness::resp::{Client, text};
use crate::harness::{Cluster, Scratch, alone, wait_for};
use crate::judge::{self, addresses};
use crate::shared::{Log, Shared};
use crate::workload::Worker;
use fastrand::Rng;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tidemark_core::DcId;
use tidemark_core::history::{Header, Lost};
use tidemark_wire::resp::Reply;

/// More than the time that anything waits for a sync under `everysec`: what was written earlier is synced.
// time: what a loss may have taken, and no wait.
const UNSYNCED: Duration = Duration::from_secs(3);

/// Returns how often power is lost, at least once in each way.
fn rounds(few: usize) -> usize {
    std::env::var("ROUNDS").map_or(few, |rounds| rounds.parse().expect("a number"))
}

fn seed() -> u64 {
    let seed = std::env::var("TORTURE_SEED")
        .map_or_else(|_| fastrand::u64(0..1_000_000), |seed| seed.parse().expect("a number"));
    println!("losses of seed {seed}");
    seed
}

fn plan(regions: Vec<Vec<&'static str>>, cluster: &'static str) -> Plan {
    Plan { regions, cluster, protocol: "tidemark", power: true, ..Plan::default() }
}

/// Writes that clients were told of, and those that may not be lost any more.
struct Told<'n> {
    nodes: &'n Nodes,
    rng: Rng,
    /// Names members, and values.
    written: u64,
    /// Members of the set that no loss of power may take.
    owed: BTreeSet<String>,
    /// The least and the highest value that the counter may have.
    counted: (i64, i64),
}

impl<'n> Told<'n> {
    fn new(nodes: &'n Nodes, seed: u64) -> Self {
        Self { nodes, rng: Rng::with_seed(seed), written: 0, owed: BTreeSet::new(), counted: (0, 0) }
    }

    /// Writes through a node; the member that it added to the set.
    fn write(&mut self, node: usize) -> String {
        self.written += 1;
        let (mut client, number) = (self.nodes.client(node), self.written.to_string());
        let member = format!("m{number}");
        assert_eq!(client.ask(&["SADD", "set", &member]), Reply::Integer(1));
        assert!(client.ask(&["INCR", "counter"]).integer().is_some());
        self.counted.1 += 1;
        let (one, other) = (format!("one{number}"), format!("other{number}"));
        for write in [&["MSET", &one, &number, &other, &number][..], &["SET", "register", &number]] {
            assert_eq!(client.ask(write), Reply::Simple("OK".into()));
        }
        member
    }

    /// Reads all that is written through a node. MSET is whole.
    fn read(&self, node: usize) -> Seen {
        let mut client = self.nodes.client(node);
        let members = client.ask(&["SMEMBERS", "set"]);
        let members = members.items().expect("a set").iter().map(text).collect();
        let count = match client.ask(&["GET", "counter"]) {
            Reply::Null => 0,
            count => text(&count).parse().expect("a number"),
        };
        let pairs = (1..=self.written).map(|n| {
            let both = client.ask(&["MGET", &format!("one{n}"), &format!("other{n}")]);
            let [one, other] = both.items().expect("two values") else { panic!("{both:?}") };
            assert_eq!(one, other, "MSET {n} is whole");
            *one != Reply::Null
        });
        let pairs = pairs.collect();
        let register = client.ask(&["GET", "register"]);
        Seen { members, count, pairs, register: format!("{register:?}") }
    }

    /// From now on nothing of it may be lost.
    fn owe(&mut self, seen: Seen) {
        self.owed.extend(seen.members);
        self.counted.0 = self.counted.0.max(seen.count);
    }

    /// Waits until all regions return the same; none of what is owed is missing.
    fn all_agree(&mut self, readers: &[usize]) {
        settled(self.nodes, true);
        let seen = wait_for("all regions return the same", || {
            let seen: Vec<Seen> = readers.iter().map(|node| self.read(*node)).collect();
            seen.iter().all(|other| *other == seen[0]).then(|| seen.into_iter().next())
        });
        let seen = seen.expect("a region");
        let missing: Vec<&String> = self.owed.difference(&seen.members).collect();
        assert!(missing.is_empty(), "lost, although it was seen elsewhere, or synced: {missing:?}");
        let (least, most) = self.counted;
        assert!((least..=most).contains(&seen.count), "{} of {least} to {most}", seen.count);
        self.owe(seen);
    }
}

/// Everything, as a node returns it.
#[derive(Debug, PartialEq)]
struct Seen {
    members: BTreeSet<String>,
    count: i64,
    pairs: Vec<bool>,
    register: String,
}

/// Power fails in nodes, and comes back; the log says nothing that it should not.
fn lose_power(nodes: &Nodes, victims: &[usize]) {
    victims.iter().for_each(|node| nodes.kill(*node));
    victims.iter().for_each(|node| nodes.spawn(*node));
    victims.iter().for_each(|node| nodes.wait_until_it_serves(*node));
}

fn without_findings(nodes: &Nodes) {
    for node in nodes.nodes() {
        wait_for(format!("{} finds nothing wrong", node.name), || {
            let status = status(node)?;
            status["findings"].as_array().filter(|findings| findings.is_empty()).map(drop)
        });
    }
    judge::assert_logs_are_calm(nodes);
}

/// Under `everysec`, which is the default, such regions differed for ever, or refused writes for ever.
#[test]
fn regions_of_one_node_lose_power_and_agree() {
    let _turn = alone();
    let scratch = Scratch::new("powerloss");
    let nodes = Nodes::start(&scratch, &plan(vec![vec!["all"], vec!["all"]], ""));
    let seed = seed();
    let mut told = Told::new(&nodes, seed);
    for round in 0..rounds(8) {
        let victims: &[usize] = [&[0][..], &[1], &[0, 1]][round % 3];
        let cut = told.rng.bool();
        if cut {
            nodes.cut("A", "B", false);
        }
        for _ in 0..told.rng.usize(0..30) {
            let node = told.rng.usize(0..2);
            told.write(node);
        }
        let token = told.rng.bool().then(|| {
            let mut client = nodes.client(victims[0]);
            let value = format!("{round}");
            assert_eq!(client.ask(&["SET", "known", &value]), Reply::Simple("OK".into()));
            (text(&client.ask(&["TIDE.SESSION", "EXPORT"])), value)
        });
        // What a region has of another one is synced there, and nothing takes it.
        if !cut && told.rng.bool() {
            settled(&nodes, false);
            let seen = told.read(0);
            told.owe(seen);
        }
        lose_power(&nodes, victims);
        for node in victims {
            let member = told.write(*node);
            if !cut && !told.rng.bool() {
                told.owed.insert(member);
            }
        }
        nodes.heal();
        told.all_agree(&[0, 1]);
        if let Some((token, value)) = token {
            for node in [0, 1] {
                let mut client = nodes.client(node);
                assert_eq!(client.ask(&["TIDE.SESSION", "IMPORT", &token]), Reply::Simple("OK".into()));
                assert_eq!(text(&client.ask(&["GET", "known"])), value, "what a token stands for");
            }
        }
    }
    without_findings(&nodes);
}

/// A follower, the leader, a quorum, all: nothing that a group has acknowledged is lost, and no member needs a copy, or panics.
#[test]
fn members_of_groups_lose_power_and_nothing_is_lost() {
    let _turn = alone();
    let scratch = Scratch::new("powerloss-group");
    let regions = vec![vec!["all"; 3], vec!["all"; 3]];
    let nodes = Nodes::start(&scratch, &plan(regions, "replicas = 3"));
    let seed = seed();
    let mut told = Told::new(&nodes, seed);
    let leads = |node: &usize| {
        status(&nodes.nodes()[*node]).is_some_and(|status| status["group"]["role"] == "leader")
    };
    for round in 0..rounds(4) {
        let leader = wait_for("a leader", || (0..3).find(leads));
        let others: Vec<usize> = (0..3).filter(|node| *node != leader).collect();
        let victims = match round % 4 {
            0 => vec![others[told.rng.usize(0..2)]],
            1 => vec![leader],
            2 => vec![leader, others[told.rng.usize(0..2)]],
            _ => vec![0, 1, 2],
        };
        if told.rng.bool() {
            nodes.cut("A", "B", false);
        }
        for _ in 0..told.rng.usize(1..20) {
            let node = told.rng.usize(0..6);
            let member = told.write(node);
            told.owed.insert(member);
            told.counted.0 += 1;
        }
        lose_power(&nodes, &victims);
        wait_for("it takes writes", || {
            let mut client = Client::connect(nodes.nodes()[victims[0]].redis).ok()?;
            let added = client.call(&["SADD", "set", &format!("after{round}")]).ok()?;
            added.integer()
        });
        told.owed.insert(format!("after{round}"));
        nodes.heal();
        told.all_agree(&[0, 3]);
    }
    without_findings(&nodes);
    for node in 0..6 {
        assert!(!nodes.log(node).contains("copy of everything"), "no member needs a copy");
    }
}

/// Clients work on three regions while power fails; the checker knows what may be lost, and misses nothing else.
#[test]
fn histories_with_losses_of_power_are_what_was_promised() {
    let _turn = alone();
    let scratch = Scratch::new("powerloss-history");
    let nodes = Nodes::start(&scratch, &plan(vec![vec!["all"]; 3], ""));
    let shared = Shared::new(addresses(&nodes), nodes.partitions(), true);
    let seed = seed();
    let worker = |number| {
        let worker = Worker::new(Arc::clone(&shared), number, seed);
        std::thread::spawn(move || worker.run())
    };
    let workers: Vec<_> = (0..6).map(worker).collect();
    let mut chaos = Chaos::new(&nodes, seed);
    (0..rounds(8)).for_each(|_| chaos.round());
    shared.stop.store(true, Ordering::Relaxed);
    let logs: Vec<Log> = workers.into_iter().map(|worker| worker.join().expect("a client gave up")).collect();
    let lost = chaos.killed.iter().map(|(node, at)| {
        let to = at.saturating_duration_since(shared.begun);
        let from = to.saturating_sub(UNSYNCED);
        let (dc, name) = (DcId(*node as u8), nodes.nodes()[*node].name.clone());
        Lost {
            dc,
            node: Some(name),
            from_us: from.as_micros() as u64,
            to_us: to.as_micros() as u64,
            keys: Vec::new(),
        }
    });
    let lost = lost.collect();
    let header = Header { protocol: Some("tidemark".into()), dcs: Some(3), ..Header::default() };
    let evidence = judge::gather_after(&nodes, &logs, &shared, header, lost);
    let path = judge::write(&evidence.history, &scratch);
    judge::accept(&path, "causal");
    without_findings(&nodes);
    println!("{} events, {} losses", evidence.history.events.len(), evidence.history.lost.len());
}
