//! All data types under load while two regions are cut off from each other and their nodes are killed. Afterwards both show
//! the same, every acknowledged change counts, and nothing that was deleted is back.
//!
//! `TORTURE_CUT_SECONDS` says how long they are cut off.

use crate::harness::admin::settled;
use crate::harness::resp::{Client, text};
use crate::harness::up::Up;
use crate::harness::{Cluster, Scratch, alone, wait_for};
use crate::judge;
use crate::spread::number;
use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use tidemark_patience::{eventually, until};
use tidemark_wire::resp::Reply;

const SECONDS: u64 = 5;
const CLIENTS_A_REGION: usize = 3;
/// Rounds of clients in which nothing was refused: each of them changes every collection and number.
const ROUNDS: usize = 400;
/// Elements that both regions know before they are cut off, in each collection.
const KNOWN: usize = 400;
const STOCK: i64 = 1_000_000;

/// Collections: how an element is added, removed, and how all are listed. `E` stands for the element.
const COLLECTIONS: [[&str; 3]; 6] = [
    ["SADD set E", "SREM set E", "SMEMBERS set"],
    ["HSET hash E 1", "HDEL hash E", "HKEYS hash"],
    ["ZADD zset 1 E", "ZREM zset E", "ZRANGE zset 0 -1"],
    ["RPUSH list E", "LREM list 0 E", "LRANGE list 0 -1"],
    ["SET key:E 1", "DEL key:E", "KEYS key:*"],
    ["TIDE.DOC PUT doc E", "", "TIDE.DOC READ doc"],
];

/// Numbers: how they rise by one, and how they are read.
const NUMBERS: [[&str; 2]; 6] = [
    ["INCR counter", "GET counter"],
    ["HINCRBY hash:n f 1", "HGET hash:n f"],
    ["ZINCRBY zset:n 1 m", "ZSCORE zset:n m"],
    ["APPEND text x", "STRLEN text"],
    ["XADD stream * f v", "XLEN stream"],
    ["TIDE.BCOUNTER DECRBY stock 1", "TIDE.BCOUNTER GET stock"],
];

/// What has become of something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    There,
    Gone,
    Unknown,
}

/// What one client knows.
#[derive(Default)]
struct Ledger {
    /// By collection and element.
    elements: BTreeMap<(usize, String), Fate>,
    /// Of each number: how often it has risen, and how often it may have.
    numbers: [(i64, i64); NUMBERS.len()],
    /// Keys that have expired by now.
    short: u64,
}

struct Worker {
    address: SocketAddr,
    name: String,
    /// The elements that all know and this client removes.
    removes: Vec<usize>,
    client: Option<Client>,
    /// The number of times that no command was carried out for certain.
    refused: usize,
    ledger: Ledger,
}

/// The words of a command, with an element in the place of `E`.
fn words(line: &str, element: &str) -> Vec<String> {
    let word = |word: &str| match word {
        "E" => element.to_string(),
        "key:E" => format!("key:{element}"),
        word => word.to_string(),
    };
    line.split(' ').map(word).collect()
}

impl Worker {
    /// The answer; none if nobody knows what became of the command, or if it was refused, which `refused` says.
    fn call(&mut self, command: &[String]) -> Result<Reply, bool> {
        let answer = self.try_call(command);
        self.refused += usize::from(answer.is_err());
        answer
    }

    fn try_call(&mut self, command: &[String]) -> Result<Reply, bool> {
        if self.client.is_none() {
            self.client = Client::connect(self.address).ok();
        }
        let Some(client) = &mut self.client else {
            std::thread::sleep(Duration::from_millis(20));
            return Err(true);
        };
        match client.call(command) {
            Ok(reply) if reply.error().is_some_and(|error| !error.starts_with(b"INDEFINITE")) => Err(true),
            Ok(reply) if reply.error().is_none() => Ok(reply),
            lost => {
                self.client = lost.ok().and(self.client.take());
                Err(false)
            }
        }
    }

    fn run(mut self, stop: &AtomicBool, rounds: &AtomicUsize) -> Ledger {
        for round in 0.. {
            if stop.load(Ordering::Relaxed) {
                break;
            }
            let refused = self.refused;
            for collection in 0..COLLECTIONS.len() {
                self.change(collection, round);
            }
            for (number, [rise, _]) in NUMBERS.iter().enumerate() {
                let (risen, unknown) = match self.call(&words(rise, "")) {
                    Ok(_) => (1, 0),
                    Err(refused) => (0, i64::from(!refused)),
                };
                let counts = &mut self.ledger.numbers[number];
                *counts = (counts.0 + risen, counts.1 + unknown);
            }
            let short = format!("short:{}:{round}", self.name);
            let _ = self.call(&["SET", &short, "v", "PX", "300"].map(String::from));
            self.ledger.short += 1;
            rounds.fetch_add(usize::from(self.refused == refused), Ordering::Relaxed);
        }
        self.ledger
    }

    /// Adds an element of its own; removes one of its own now and then, and one that all know.
    fn change(&mut self, collection: usize, round: usize) {
        let [add, remove, _] = COLLECTIONS[collection];
        let own = |round: usize| format!("{}:{round}", self.name);
        let (added, removed) = (own(round), own(round.wrapping_sub(1)));
        let known = self.removes.get(round).map(|at| format!("known:{at}"));
        let removed = [(round % 3 == 1).then_some(removed), known];
        if let Some(fate) = self.fate(&words(add, &added), Fate::There) {
            self.ledger.elements.insert((collection, added), fate);
        }
        for element in removed.into_iter().flatten().filter(|_| !remove.is_empty()) {
            if let Some(fate) = self.fate(&words(remove, &element), Fate::Gone) {
                self.ledger.elements.insert((collection, element), fate);
            }
        }
    }

    fn fate(&mut self, command: &[String], done: Fate) -> Option<Fate> {
        match self.call(command) {
            Ok(_) => Some(done),
            Err(true) => None,
            Err(false) => Some(Fate::Unknown),
        }
    }
}

/// All words of a reply, in order; of a document without its token.
fn listed(client: &mut Client, line: &str) -> Vec<String> {
    let reply = client.ask(&words(line, ""));
    let items = reply.items().unwrap_or_else(|| panic!("{line}: {reply:?}"));
    let items = if line.starts_with("TIDE.DOC") { items[1].items().expect("updates") } else { items };
    let mut all: Vec<String> = items.iter().map(text).collect();
    if !line.starts_with("LRANGE") {
        all.sort();
    }
    all
}

/// Cuts the regions off, kills each node while they are, and once more while the link is up again. Clients work on in between.
fn harm(cluster: &Up, seconds: u64, rounds: &AtomicUsize) {
    cluster.cut("A", "B", false);
    let begun = Instant::now();
    let more = |count: usize| {
        let before = rounds.load(Ordering::Relaxed);
        until("clients go on", || rounds.load(Ordering::Relaxed) >= before + count);
    };
    let kill = |node: usize| {
        more(ROUNDS / 20);
        cluster.kill(node);
        more(ROUNDS / 40);
        cluster.restart(node);
    };
    for node in [0, 1].into_iter().cycle() {
        kill(node);
        // time: so long faults go on
        if begun.elapsed() >= Duration::from_secs(seconds) {
            break;
        }
    }
    cluster.heal();
    kill(0);
    kill(1);
}

fn check_elements(ledgers: &[Ledger], there: &[Vec<String>]) {
    let mut counts = BTreeMap::<_, usize>::new();
    for (at, listed) in there.iter().enumerate() {
        let found: BTreeSet<&str> = listed.iter().map(|element| element.trim_start_matches("key:")).collect();
        assert_eq!(found.len(), listed.len(), "{}: something is there twice", COLLECTIONS[at][2]);
        let mut allowed: BTreeSet<String> = (0..KNOWN).map(|number| format!("known:{number}")).collect();
        let mut expected = allowed.clone();
        for ((_, element), fate) in ledgers.iter().flat_map(|l| &l.elements).filter(|((of, _), _)| *of == at)
        {
            *counts.entry(format!("{fate:?}")).or_default() += 1;
            if *fate == Fate::There {
                expected.insert(element.clone())
            } else {
                expected.remove(element)
            };
            if *fate == Fate::Gone {
                allowed.remove(element)
            } else {
                allowed.insert(element.clone())
            };
        }
        let lost = expected.iter().find(|element| !found.contains(element.as_str()));
        assert_eq!(lost, None, "{}: an acknowledged element is lost", COLLECTIONS[at][2]);
        let back = found.iter().find(|element| !allowed.contains(**element));
        assert_eq!(back, None, "{}: a deleted element is back", COLLECTIONS[at][2]);
    }
    println!("elements: {counts:?}");
    assert!(counts["There"] > 1_000 && counts["Gone"] > 300, "too few to tell anything");
}

fn check_numbers(ledgers: &[Ledger], clients: &mut [Client]) {
    for (at, [rise, read]) in NUMBERS.iter().enumerate() {
        let values: Vec<i64> = clients
            .iter_mut()
            .map(|client| match client.ask(&words(read, "")) {
                reply if reply.integer().is_some() => reply.integer().expect("just seen"),
                reply => text(&reply).parse().expect("a number"),
            })
            .collect();
        let sum = |of: fn(&(i64, i64)) -> i64| ledgers.iter().map(|l| of(&l.numbers[at])).sum::<i64>();
        let (risen, unknown) = (sum(|counts| counts.0), sum(|counts| counts.1));
        // One was taken before.
        let value = if read.contains("stock") { STOCK - 1 - values[0] } else { values[0] };
        println!("{rise}: {risen} and perhaps {unknown} more, {value}");
        assert!(values.iter().all(|one| *one == values[0]), "{read}: {values:?}");
        assert!(
            risen > 100 && (risen..=risen + unknown).contains(&value),
            "{read}: {value}, not {risen} to {unknown} more"
        );
    }
}

#[test]
fn all_types_survive_a_cut_with_kills_and_merge() {
    let _turn = alone();
    let scratch = Scratch::new("torture-types");
    let cluster = Up::start(&scratch, &["--regions", "2", "--partitions", "2"]);
    let addresses: Vec<SocketAddr> = cluster.nodes().iter().map(|node| node.redis).collect();
    let mut first = Client::connect(addresses[0]).expect("it serves");
    for [add, ..] in COLLECTIONS {
        (0..KNOWN).for_each(|number| drop(first.ask(&words(add, &format!("known:{number}")))));
    }
    first.ask(&["TIDE.BCOUNTER", "CREATE", "stock", "0", &STOCK.to_string()]);
    settled(&cluster, true);
    let mut other = Client::connect(addresses[1]).expect("it serves");
    // It takes half of the rights, so that both can count.
    wait_for("rights have come", || {
        other.ask(&["TIDE.BCOUNTER", "DECRBY", "stock", "1"]).error().is_none().then_some(())
    });
    let (stop, rounds) = (AtomicBool::new(false), AtomicUsize::new(0));
    let worker = |number: usize| Worker {
        address: addresses[number % 2],
        name: format!("w{number}"),
        removes: (0..KNOWN).filter(|at| at % (2 * CLIENTS_A_REGION + 1) == number).collect(),
        client: None,
        refused: 0,
        ledger: Ledger::default(),
    };
    let ledgers: Vec<Ledger> = std::thread::scope(|scope| {
        let run = |number| {
            scope.spawn({
                let (stop, rounds, worker) = (&stop, &rounds, worker(number));
                move || worker.run(stop, rounds)
            })
        };
        let workers: Vec<_> = (0..2 * CLIENTS_A_REGION).map(run).collect();
        harm(&cluster, number("TORTURE_CUT_SECONDS").unwrap_or(SECONDS), &rounds);
        until("clients have done enough", || rounds.load(Ordering::Relaxed) >= ROUNDS);
        stop.store(true, Ordering::Relaxed);
        workers.into_iter().map(|worker| worker.join().expect("a client gave up")).collect()
    });
    settled(&cluster, true);
    judge::assert_logs_are_calm(&cluster);
    let mut clients: Vec<Client> =
        addresses.iter().map(|at| Client::connect(*at).expect("it serves")).collect();
    let [here, there] = [0, 1].map(|at| COLLECTIONS.map(|[.., list]| listed(&mut clients[at], list)));
    assert_eq!(here, there, "the regions differ");
    check_elements(&ledgers, &here);
    check_numbers(&ledgers, &mut clients);
    println!("{} keys expire", ledgers.iter().map(|l| l.short).sum::<u64>());
    eventually(0, || clients.iter_mut().map(|client| listed(client, "KEYS short:*").len()).sum::<usize>());
}
