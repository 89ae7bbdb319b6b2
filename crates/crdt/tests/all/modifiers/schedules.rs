//! Random schedules of three regions, against the naive meaning.

use super::naive::{Operation, value};
use crate::typed::{command, words};
use std::collections::{BTreeSet, VecDeque};
use std::fmt::Write;
use tidemark_core::{DcId, Hlc, Reply, Stamp, Vector};
use tidemark_crdt::effect::Datum;
use tidemark_crdt::shape::Plain;
use tidemark_crdt::{Effect, Kind, Moment, State, evaluate};

const REGIONS: usize = 3;

/// Commands, and what they add.
const LINES: [(&str, i64); 19] = [
    ("SET k 10", 0),
    ("SET k abc", 0),
    ("SET k 7", 0),
    ("DEL k", 0),
    ("INCR k", 1),
    ("INCR k", 1),
    ("DECRBY k 3", -3),
    ("APPEND k x", 0),
    ("APPEND k 5", 0),
    ("SETRANGE k 1 4", 0),
    ("SETRANGE k 0 23", 0),
    ("SETRANGE k 3 uv", 0),
    ("SETBIT k 7 1", 0),
    ("SETBIT k 6 0", 0),
    ("BITFIELD k SET u4 4 2 INCRBY u8 8 1", 0),
    ("PFADD k a b", 0),
    ("PFADD k c d e", 0),
    ("PFADD k f", 0),
    ("GETDEL k", 0),
];

/// A message of one region to another: an operation or that time has passed, and its floor.
#[derive(Clone)]
struct Message {
    time: Hlc,
    floor: Hlc,
    needs: Vector,
    body: Option<(Operation, Effect)>,
}

struct Region {
    origin: DcId,
    state: State,
    /// The last time that was heard of each region; the own one is the clock.
    heard: Vector,
    /// The last floor that each region has announced.
    floors: [Hlc; REGIONS],
    operations: Vec<Operation>,
    inbox: [VecDeque<Message>; REGIONS],
}

/// How versions reach other regions.
#[derive(Clone, Copy, PartialEq)]
enum Order {
    /// After everything that they depend on.
    Causal,
    /// As they come; each region's in its order.
    Arrival,
}

struct World {
    regions: Vec<Region>,
    random: fastrand::Rng,
    order: Order,
    now: u64,
    expiring: bool,
    /// The few commands of this schedule: any one then meets any other often.
    lines: Vec<(&'static str, i64)>,
    story: String,
}

impl World {
    fn new(seed: u64, order: Order) -> Self {
        let region = |at: usize| Region {
            origin: DcId(at as u8),
            state: State::default(),
            heard: Vector::zero(REGIONS),
            floors: [Hlc::ZERO; REGIONS],
            operations: Vec::new(),
            inbox: Default::default(),
        };
        let mut random = fastrand::Rng::with_seed(seed);
        let expiring = random.bool();
        let lines = (0..random.usize(2..9)).map(|_| LINES[random.usize(0..LINES.len())]).collect();
        Self {
            regions: (0..REGIONS).map(region).collect(),
            random,
            order,
            now: 100,
            expiring,
            lines,
            story: String::new(),
        }
    }

    fn step(&mut self) {
        self.now += self.random.u64(1..4);
        let at = self.random.usize(0..REGIONS);
        match self.random.u32(0..16) {
            0..3 => self.execute(at),
            3 => self.send(at, None),
            4..13 => {
                let from = self.random.usize(0..REGIONS);
                self.deliver(at, from);
            }
            _ => self.settle(at),
        }
        self.check(at);
    }

    /// A reading of a clock that may be late, above everything that the region has seen.
    fn tick(&mut self, at: usize) -> Hlc {
        let late = self.random.u64(0..20);
        let region = &self.regions[at];
        let seen = region.operations.iter().map(|one| one.stamp.ts).max().unwrap_or(Hlc::ZERO);
        let own = region.heard.entries()[at];
        Hlc(self.now - late.min(self.now)).max(own.next()).max(seen.next())
    }

    fn execute(&mut self, at: usize) {
        let time = self.tick(at);
        let (line, by) = self.lines[self.random.usize(0..self.lines.len())];
        let floor = self.floor(at);
        let region = &mut self.regions[at];
        let moment = Moment {
            time,
            origin: region.origin,
            floor,
            expiring: self.expiring,
            alone: false,
            past: None,
            longest: tidemark_core::Limit::VALUE_BYTES,
        };
        let prepared = evaluate(&command(&words(line)).1, &region.state, moment);
        if matches!(prepared.reply, Reply::Error(_)) || prepared.changes.is_empty() {
            return;
        }
        let stamp = Stamp::new(time, region.origin);
        let observed: BTreeSet<Stamp> = region.operations.iter().map(|one| one.stamp).collect();
        let operation = Operation::of(stamp, observed, &prepared.changes, by);
        let effect = Effect { floor, changes: prepared.changes };
        let effect = Effect::decode(&effect.encode()).expect("it was just encoded");
        writeln!(self.story, "{stamp} {line}, above {floor}").expect("text can be written");
        self.apply(at, &operation, &effect);
        self.regions[at].heard.raise(DcId(at as u8), time);
        self.send(at, Some((operation, effect)));
    }

    fn apply(&mut self, at: usize, operation: &Operation, effect: &Effect) {
        let region = &mut self.regions[at];
        let received = (self.order == Order::Arrival).then_some(&region.heard);
        region.state.apply(operation.stamp, effect, received);
        region.operations.push(operation.clone());
    }

    fn floor(&self, at: usize) -> Hlc {
        match self.order {
            Order::Causal => self.regions[at].heard.min(),
            Order::Arrival => Hlc::ZERO,
        }
    }

    /// Sends an operation, or tells the time.
    fn send(&mut self, at: usize, body: Option<(Operation, Effect)>) {
        let time = match &body {
            Some((operation, _)) => operation.stamp.ts,
            None => self.tick(at),
        };
        self.regions[at].heard.raise(DcId(at as u8), time);
        let needs = self.regions[at].heard.clone();
        let message = Message { time, floor: self.floor(at), needs, body };
        let others = self.regions.iter_mut().filter(|region| region.origin != DcId(at as u8));
        others.for_each(|region| region.inbox[at].push_back(message.clone()));
    }

    /// True if something was there, and could be.
    fn deliver(&mut self, at: usize, from: usize) -> bool {
        let region = &mut self.regions[at];
        let Some(message) = region.inbox[from].front() else { return false };
        let fits = message.needs.without(DcId(from as u8)).le(&region.heard);
        if self.order == Order::Causal && message.body.is_some() && !fits {
            return false;
        }
        let message = region.inbox[from].pop_front().expect("it is there");
        if let Some((operation, effect)) = &message.body {
            writeln!(self.story, "  {} at {at}", operation.stamp).expect("text can be written");
            self.apply(at, operation, effect);
        }
        let region = &mut self.regions[at];
        region.heard.raise(DcId(from as u8), message.time);
        region.floors[from] = region.floors[from].max(message.floor);
        true
    }

    /// Settles up to some time that every region is known to have gone past.
    fn settle(&mut self, at: usize) {
        let own = self.floor(at);
        let region = &mut self.regions[at];
        region.floors[at] = own;
        let highest = region.floors.into_iter().min().unwrap_or(Hlc::ZERO);
        let upto = if self.random.bool() { highest } else { Hlc(self.random.u64(0..=highest.0)) };
        writeln!(self.story, "  {at} settles up to {upto}").expect("text can be written");
        region.state.settle(upto, usize::MAX);
    }

    fn shown(&self, at: usize) -> Option<Vec<u8>> {
        let state = &self.regions[at].state;
        let shown = match state.shown() {
            Some(Plain::String(value)) => Some(value.to_vec()),
            _ => None,
        };
        let again = match state.cell(Kind::String, b"").show(Kind::String) {
            Some(Datum::Bytes(value)) => Some(value.to_vec()),
            _ => None,
        };
        assert_eq!(again, shown, "the cell of region {at} after\n{}", self.story);
        shown
    }

    fn check(&self, at: usize) {
        // Kills that come before what they name are right in the end only.
        if self.order == Order::Causal {
            let meant = value(&self.regions[at].operations);
            assert_eq!(self.shown(at), meant, "region {at} after\n{}", self.story);
        }
    }

    /// Delivers everything; then all regions show the same, and nothing but that is left.
    fn end(&mut self) {
        for _ in 0..3 {
            (0..REGIONS).for_each(|at| self.send(at, None));
            self.now += 100;
            let pairs = || (0..REGIONS).flat_map(|at| (0..REGIONS).map(move |from| (at, from)));
            while pairs().fold(false, |any, (at, from)| self.deliver(at, from) || any) {}
        }
        let meant = value(&self.regions[0].operations);
        for at in 0..REGIONS {
            assert_eq!(self.shown(at), meant, "region {at} in the end of\n{}", self.story);
            if self.order == Order::Causal {
                let region = &mut self.regions[at];
                region.state.settle(region.floors[(at + 1) % REGIONS], usize::MAX);
                assert_eq!(self.shown(at), meant, "region {at}, settled, in the end of\n{}", self.story);
                assert!(self.regions[at].state.is_settled(), "{:?}\n{}", self.regions[at].state, self.story);
            }
        }
    }
}

fn run(seeds: std::ops::Range<u64>, order: Order) {
    for seed in seeds {
        let mut world = World::new(seed, order);
        writeln!(world.story, "seed {seed}").expect("text can be written");
        (0..120).for_each(|_| world.step());
        world.end();
    }
}

#[test]
fn regions_show_what_operations_mean_at_every_moment() {
    run(0..6000, Order::Causal);
}

#[test]
fn regions_agree_whatever_comes_first() {
    run(0..3000, Order::Arrival);
}
