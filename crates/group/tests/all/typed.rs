//! Keys of data types in a group: who follows holds what its leader does, and goes on with it.

use crate::harness::{Cluster, ELECTION, P0, TICK};
use fastrand::Rng;
use std::collections::BTreeMap;
use std::sync::Arc;
use tidemark_contract::core::{Command, DcId, Key, Outcome, ServerId, Update, Verb, Write};
use tidemark_contract::request::Request as Of;
use tidemark_contract::{Answer, AskId, Past as _, Store, Ticket, Topology};
use tidemark_protocols::tidemark::{Meta, Past, Request, Tidemark};
use tidemark_replica::{Host, HostConfig, Now, Output};
use tidemark_store::Dump;
use tidemark_store::disk::SimDisk;
use tidemark_store::log::Fsync;

/// What is there: of each key its elements, with their values.
type State = BTreeMap<String, Vec<String>>;

/// A group in one region, a server in another, and a session in each.
struct Pair {
    group: Cluster<Tidemark>,
    other: Host<Tidemark>,
    pasts: [Past; 2],
    rng: Rng,
    /// What all increments of each counter come to.
    counts: BTreeMap<String, i64>,
}

fn server(dc: u8) -> ServerId {
    ServerId::new(DcId(dc), P0)
}

fn call(verb: Verb, args: &[String]) -> Update {
    Update::call(Command::new(verb, args.iter().map(|arg| arg.clone().into_bytes().into()).collect()))
}

impl Pair {
    fn new(seed: u64) -> Self {
        let group = Cluster::<Tidemark>::new();
        let config = HostConfig {
            dc: DcId(1),
            partitions: vec![P0],
            topology: Topology::new(2, 1),
            params: Default::default(),
            fsync: Fsync::EverySec,
            boot: "boot".to_string(),
            ceiling_us: 3_000_000,
            several: false,
            max_skew_us: 1_000_000,
            limit: tidemark_core::SharedLimit::default(),
            log_segment_bytes: 4 << 10,
            log_retain_bytes: 1 << 30,
            relays: false,
            snapshot_every_bytes: 1 << 30,
            new_incarnation: 99,
        };
        let other = Host::open(config, Arc::new(SimDisk::new()), group.time()).unwrap();
        Self { group, other, pasts: Default::default(), rng: Rng::with_seed(seed), counts: BTreeMap::new() }
    }

    fn leader(&self) -> usize {
        self.group.leaders()[0]
    }

    fn host(&mut self, dc: usize) -> &mut Host<Tidemark> {
        let leader = self.leader();
        if dc == 0 { self.group.member(leader).host_mut().expect("it leads") } else { &mut self.other }
    }

    fn ask(&mut self, dc: usize, key: &str, update: Update) {
        let (now, past) = (self.group.time(), self.pasts[dc].clone());
        let ticket = Ticket { node: 0, session: 0, ask: AskId(0) };
        let request = Request::Of(Of::Put(Key::from(key), update, past));
        self.host(dc).request(now, P0, ticket, request, Some(50));
    }

    fn act(&mut self) {
        let (dc, number) = (self.rng.usize(0..2), self.rng.u32(0..4));
        let text = |rng: &mut Rng| format!("v{}", rng.u32(0..30));
        let value = text(&mut self.rng);
        match self.rng.u32(0..12) {
            0..3 => {
                let (key, by) = (format!("n{number}"), self.rng.i64(-5..50));
                self.ask(dc, &key, call(Verb::IncrBy, &[by.to_string()]));
                *self.counts.entry(key).or_default() += by;
            }
            3..5 => self.ask(dc, &format!("s{number}"), call(Verb::SAdd, &[value])),
            5 => self.ask(dc, &format!("s{number}"), call(Verb::SRem, &[value])),
            6 => {
                let mut update = call(Verb::SMove, &[value]);
                let to = Key::from(format!("s{}", (number + 1) % 4).as_str());
                update.command.as_mut().expect("it is one").keys.push(to);
                self.ask(dc, &format!("s{number}"), update);
            }
            7..9 => self.ask(dc, &format!("h{number}"), call(Verb::HSet, &[value.clone(), value])),
            9 => self.ask(
                dc,
                &format!("{}{number}", ["s", "h", "x"][number as usize % 3]),
                call(Verb::Del, &[]),
            ),
            10 => {
                let write = Write::Assign(value.as_bytes().into());
                self.ask(dc, &format!("x{number}"), Update::put(write));
            }
            _ => self.ask(dc, &format!("x{number}"), call(Verb::Append, &[value])),
        }
    }

    /// Time passes, and what was written goes from one region to the other.
    fn pass(&mut self, us: u64) {
        self.group.pass(us);
        let (now, leader) = (self.group.time(), self.leader());
        self.other.fire_timers(now);
        sync(now, &mut self.other);
        let lead = self.group.member(leader).host_mut().expect("it leads");
        pump((lead, 0), (&mut self.other, 1), |host, item| host.take_item(now, server(0), P0, item).unwrap());
        pump((&mut self.other, 1), (lead, 0), |host, item| host.take_item(now, server(1), P0, item).unwrap());
        sync(now, &mut self.other);
        self.group.settle();
        let said = self.group.member(leader).take_outputs(now);
        for (dc, said) in [(0, said), (1, self.other.take_outputs())] {
            for output in said {
                let Output::Reply { reply: Ok(Answer(outcome, past)), .. } = output else {
                    panic!("{output:?}")
                };
                assert!(!matches!(outcome, Outcome::Failed(_)), "{outcome:?}");
                self.pasts[dc].merge(&past);
            }
        }
    }

    /// The leader goes, another one leads, and the first comes back.
    fn replace(&mut self) {
        let leader = self.leader();
        self.group.kill(leader);
        self.group.pass(4 * ELECTION);
        self.group.boot(leader);
        self.group.pass(4 * ELECTION);
    }
}

fn sync(now: Now, host: &mut Host<Tidemark>) {
    host.commit().unwrap();
    if let Some(job) = host.sync_job() {
        host.synced(now, job.run()).unwrap();
    }
}

fn pump(
    (from, sender): (&mut Host<Tidemark>, u8),
    (to, receiver): (&mut Host<Tidemark>, u8),
    mut take: impl FnMut(&mut Host<Tidemark>, tidemark_replica::StreamItem<Tidemark>),
) {
    let resume = to.resume_point(server(sender), P0);
    let incarnation = from.open_stream(P0, DcId(receiver), resume).unwrap();
    to.accept_stream(server(sender), P0, incarnation).unwrap();
    let mut items = Vec::new();
    from.poll_stream(P0, DcId(receiver), usize::MAX, &mut items).unwrap();
    items.into_iter().for_each(|item| take(to, item));
}

/// What readers see, whether a key is a register or of a data type. REQUIRES: all is collected.
fn state(store: &Store<Meta>) -> State {
    let mut all = State::new();
    store.dump_all(0, usize::MAX, |key, item| {
        let key = String::from_utf8_lossy(key).into_owned();
        let seen: Vec<String> = match item {
            Dump::Object(object) => {
                let elements = object.head().elements().into_iter();
                let shown = elements
                    .filter_map(|(element, cell)| Some((element.name.into_vec(), cell.show(element.kind)?)));
                shown.map(|(name, datum)| format!("{name:?} Some({datum:?})")).collect()
            }
            // The last is the newest; of a key of a data type none is left.
            Dump::Version(version) => {
                let value = version.write.value().map(|value| format!("[] Some(Bytes({value:?}))"));
                value.into_iter().collect()
            }
        };
        all.insert(key, seen);
    });
    all.retain(|_, seen| !seen.is_empty());
    all
}

/// How many versions of keys of data types are not folded, and how many elements are not settled.
fn left(store: &Store<Meta>) -> (usize, usize) {
    let mut left = (0, 0);
    store.dump_all(0, usize::MAX, |_, item| {
        if let Dump::Object(object) = item {
            left = (left.0 + object.pending().count(), left.1 + object.unsettled().0);
        }
    });
    left
}

#[test]
fn who_follows_holds_the_same_and_goes_on_with_it() {
    for seed in 0..60 {
        let mut pair = Pair::new(seed);
        for _ in 0..5 {
            for _ in 0..40 {
                pair.act();
                if pair.rng.bool() {
                    let us = pair.rng.u64(1..20) * TICK;
                    pair.pass(us);
                }
            }
            (0..4).for_each(|_| pair.pass(10 * TICK));
            pair.replace();
        }
        // The durable ceiling, and with it what is safe, moves in steps.
        (0..60).for_each(|_| pair.pass(50 * TICK));
        let there = state(pair.other.store(P0));
        let leader = pair.leader();
        let totals = pair.group.member(leader).store(P0).totals();
        for member in 0..3 {
            let store = pair.group.member(member).store(P0);
            let (here, mut keys) = (state(store), there.clone());
            keys.extend(here.clone());
            for key in keys.keys() {
                assert_eq!(here.get(key), there.get(key), "seed {seed}, {key} at member {member}");
            }
            assert_eq!((store.totals(), left(store)), (totals, (0, 0)), "seed {seed}, member {member}");
        }
        for (key, count) in std::mem::take(&mut pair.counts) {
            let value = format!("[] Some(Bytes({:?}))", count.to_string().into_bytes());
            assert_eq!(there[&key], [value], "seed {seed}: {key} is {count}");
        }
    }
}
