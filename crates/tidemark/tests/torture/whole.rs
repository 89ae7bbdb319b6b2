//! `MSET` where it is a transaction, and interactive transactions: whole for whoever looks, and for good once it was acknowledged, while processes that
//! take part in it are killed and links are cut. Regions have two nodes, so that who coordinates a transaction and who
//! takes part in it die one without the other.

use crate::chaos::Chaos;
use crate::harness::admin::settled;
use crate::harness::nodes::{Nodes, Plan};
use crate::harness::resp::{Client, text};
use crate::harness::{Cluster, Scratch, alone, wait_for};
use crate::judge::{self, addresses};
use crate::shared::Shared;
use std::net::SocketAddr;
use std::sync::MutexGuard;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, ScopedJoinHandle};
use std::time::Duration;
use tidemark_core::history::Fate;
use tidemark_patience::until;
use tidemark_wire::resp::Reply;

const ROUNDS: usize = 8;
/// Of each region: clients that write, and as many that read.
const CLIENTS: usize = 2;
/// So many transactions are acknowledged, and so many looks find one, before the faults end.
const LEAST: usize = 200;

#[test]
fn mset_is_whole_under_tidemark() {
    stays_whole("tidemark", 3);
}

#[test]
fn mset_is_whole_under_cure() {
    stays_whole("cure", 2);
}

#[test]
fn mset_is_whole_under_wren() {
    stays_whole("wren", 2);
}

#[test]
fn mset_is_whole_under_eiger() {
    stays_whole("eiger", 2);
}

/// The test can fail: where MSET is several writes the same clients see it come apart, although nothing breaks.
#[test]
fn the_same_clients_see_several_writes_come_apart() {
    let play = play("causal-spartan-x", 2, 0, |counts| counts.torn.load(Ordering::Relaxed) > 0);
    assert!(play.torn > 0, "{} looks", play.looked);
}

fn stays_whole(protocol: &'static str, regions: usize) {
    let rounds = std::env::var("ROUNDS").map_or(ROUNDS, |rounds| rounds.parse().expect("a number"));
    let enough = |counts: &Counts| {
        [&counts.acknowledged, &counts.looked].iter().all(|count| count.load(Ordering::Relaxed) >= LEAST)
    };
    let Play { nodes, written, looked, torn, .. } = &play(protocol, regions, rounds, enough);
    assert_eq!(*torn, 0, "transactions came apart");
    settled(nodes, true);
    judge::assert_logs_are_calm(nodes);
    let connect = |nodes: &Vec<SocketAddr>| Client::connect(nodes[0]).expect("it serves");
    let mut regions: Vec<Client> = addresses(nodes).iter().map(connect).collect();
    wait_for("what was acknowledged is everywhere, and all that is anywhere is whole", || {
        written.iter().all(|transaction| transaction.is_right(&mut regions)).then_some(())
    });
    let acknowledged = written.iter().filter(|transaction| transaction.fate == Fate::Ok).count();
    println!("{} transactions, {acknowledged} acknowledged, {looked} looks", written.len());
}

/// What clients did and saw.
struct Play {
    written: Vec<Written>,
    /// How often somebody found something, and how often it was not of one transaction.
    looked: usize,
    torn: usize,
    nodes: Nodes,
    _scratch: Scratch,
    _turn: MutexGuard<'static, ()>,
}

/// The work of clients so far.
#[derive(Default)]
struct Counts {
    acknowledged: AtomicUsize,
    looked: AtomicUsize,
    torn: AtomicUsize,
}

/// Clients write and look during so many rounds of faults, and until that was enough.
fn play(protocol: &'static str, regions: usize, rounds: usize, enough: impl Fn(&Counts) -> bool) -> Play {
    let turn = alone();
    let scratch = Scratch::new(&format!("whole-{protocol}"));
    let regions = vec![vec!["0", "1"]; regions];
    let nodes = Nodes::start(&scratch, &Plan { regions, protocol, ..Plan::default() });
    let shared = &*Shared::new(addresses(&nodes), nodes.partitions(), true);
    let seed = fastrand::u64(0..1_000_000);
    println!("{protocol}, faults of seed {seed}");
    // Half of the clients of each region, where there are interactive transactions.
    let has_them = ["tidemark", "cure", "wren"].contains(&protocol);
    let interactive = |number: usize| has_them && number / shared.addresses.len() % 2 == 1;
    let caller = |number| Caller { interactive: interactive(number), ..Caller::new(shared, number) };
    let clients = || (0..CLIENTS * shared.addresses.len()).map(caller);
    let counts = &Counts::default();
    let (written, seen) = thread::scope(|scope| {
        let writers: Vec<_> = clients().map(|client| scope.spawn(|| client.write(shared, counts))).collect();
        let readers: Vec<_> = clients().map(|client| scope.spawn(|| client.read(shared, counts))).collect();
        let mut chaos = Chaos::new(&nodes, seed);
        (0..rounds).for_each(|_| chaos.round());
        until("clients have done enough", || enough(counts));
        shared.stop.store(true, Ordering::Relaxed);
        (joined(writers), joined(readers))
    });
    let written = written.into_iter().flatten().collect();
    let (looked, torn) =
        seen.into_iter().fold((0, 0), |(all, bad), (looked, torn)| (all + looked, bad + torn));
    Play { written, looked, torn, nodes, _scratch: scratch, _turn: turn }
}

fn joined<T>(threads: Vec<ScopedJoinHandle<'_, T>>) -> Vec<T> {
    threads.into_iter().map(|thread| thread.join().expect("a client gave up; its reason is above")).collect()
}

/// A transaction of two keys that all write, and two keys that nobody else writes.
struct Written {
    own: [String; 2],
    value: String,
    fate: Fate,
}

impl Written {
    /// Whether every region has both of its own keys, or none has any if it may not have happened.
    fn is_right(&self, regions: &mut [Client]) -> bool {
        let found = regions.iter_mut().map(|client| both(&client.ask(&["MGET", &self.own[0], &self.own[1]])));
        let found: Option<Vec<_>> = found.collect();
        let Some(found) = found else { return false };
        let has = |expected: Option<&String>| found.iter().flatten().all(|value| value.as_ref() == expected);
        match self.fate {
            Fate::Ok => has(Some(&self.value)),
            Fate::Unknown => has(Some(&self.value)) || has(None),
            _ => has(None),
        }
    }
}

/// The two values that an MGET returned; none if it was refused.
fn both(reply: &Reply) -> Option<[Option<String>; 2]> {
    let [first, second] = reply.items()? else { panic!("MGET of two keys: {reply:?}") };
    Some([first, second].map(|reply| (*reply != Reply::Null).then(|| text(reply))))
}

/// What became of a transaction that was answered so.
fn fate_of(reply: Option<Reply>) -> Fate {
    match reply {
        None => Fate::Unknown,
        Some(Reply::Error(error)) if error.starts_with(b"INDEFINITE") => Fate::Unknown,
        Some(Reply::Error(_)) => Fate::Failed,
        Some(reply) => {
            assert_eq!(text(&reply), "OK");
            Fate::Ok
        }
    }
}

/// A client of one region, which goes to the next node when a connection breaks.
struct Caller {
    number: usize,
    nodes: Vec<SocketAddr>,
    client: Option<Client>,
    /// It writes and reads one key after the other, in one transaction.
    interactive: bool,
}

impl Caller {
    fn new(shared: &Shared, number: usize) -> Self {
        let nodes = shared.addresses[number % shared.addresses.len()].clone();
        Self { number, nodes, client: None, interactive: false }
    }

    /// The reply; none if the connection broke.
    fn ask(&mut self, arguments: &[&str]) -> Option<Reply> {
        if self.client.is_none() {
            self.nodes.rotate_left(1);
            thread::sleep(Duration::from_millis(10));
        }
        let mut client = self.client.take().or_else(|| Client::connect(self.nodes[0]).ok())?;
        let reply = client.call(arguments).ok()?;
        self.client = Some(client);
        Some(reply)
    }

    /// Writes until it is told to stop.
    fn write(mut self, shared: &Shared, counts: &Counts) -> Vec<Written> {
        let mut written = Vec::new();
        while !shared.stop.load(Ordering::Relaxed) {
            let name = format!("{}.{}", self.number, written.len());
            let (left, right) = shared.pair(written.len() % shared.pairs.len());
            let own = ["left", "right"].map(|side| format!("{side}:{name}"));
            let keys = [&left, &own[0], &right, &own[1]];
            let pairs = keys.iter().flat_map(|key| [&**key, &*name]);
            let arguments: Vec<&str> = std::iter::once("MSET").chain(pairs).collect();
            let fate = match self.interactive {
                true => self.commit(&keys, &name),
                false => fate_of(self.ask(&arguments)),
            };
            counts.acknowledged.fetch_add(usize::from(fate == Fate::Ok), Ordering::Relaxed);
            written.push(Written { own, value: name, fate });
            thread::sleep(Duration::from_millis(2));
        }
        written
    }

    /// Writes this value to all of the keys, one after the other, in one transaction.
    fn commit(&mut self, keys: &[&String], value: &str) -> Fate {
        let sets = keys.iter().map(|key| vec!["SET", key, value]);
        for command in std::iter::once(vec!["TIDE.BEGIN"]).chain(sets) {
            if !matches!(self.ask(&command), Some(Reply::Simple(_))) {
                self.client = None; // and with it the transaction
                return Fate::Failed;
            }
        }
        fate_of(self.ask(&["TIDE.COMMIT"]))
    }

    /// The two values, of one snapshot; none if they cannot be had.
    fn look(&mut self, left: &str, right: &str) -> Option<[Option<String>; 2]> {
        if !self.interactive {
            return both(&self.ask(&["MGET", left, right])?);
        }
        let mut found = [const { None }; 2];
        if !matches!(self.ask(&["TIDE.BEGIN", "SNAPSHOT"])?, Reply::Simple(_)) {
            return None; // and what is read now would be of no snapshot
        }
        for (place, key) in [left, right].into_iter().enumerate() {
            match self.ask(&["GET", key])? {
                Reply::Error(_) => {
                    self.client = None;
                    return None;
                }
                reply => found[place] = (reply != Reply::Null).then(|| text(&reply)),
            }
            thread::sleep(Duration::from_millis(2));
        }
        self.ask(&["TIDE.ROLLBACK"]);
        Some(found)
    }

    /// Looks at pairs until it is told to stop: how often it found something, and how often that was not of one transaction.
    fn read(mut self, shared: &Shared, counts: &Counts) -> (usize, usize) {
        let (mut looked, mut torn) = (0, 0);
        for pair in (0..shared.pairs.len()).cycle() {
            let (left, right) = shared.pair(pair);
            if shared.stop.load(Ordering::Relaxed) {
                break;
            }
            let Some([first, second]) = self.look(&left, &right) else { continue };
            looked += usize::from(first.is_some());
            counts.looked.fetch_add(usize::from(first.is_some()), Ordering::Relaxed);
            if first != second {
                counts.torn.fetch_add(1, Ordering::Relaxed);
                println!(
                    "client {}, interactive {}: {left} {first:?}, {right} {second:?}",
                    self.number, self.interactive
                );
                torn += 1;
            }
        }
        (looked, torn)
    }
}
