//! What drives a run under load: the store is filled, clients work, and what they do is recorded for a while.
//!
//! Work takes no time until the clients begin.

use super::adapting::Adapt;
use super::checking::groups_of;
use super::cpu::Cpus;
use super::sessions::Role;
use super::{Event, Stage, World};
use crate::load::{Load, Loaded, Visibility};
use crate::plan::{Act, Step};
use crate::rng::{Rng, Stream, stream};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;
use tidemark_contract::Protocol;
use tidemark_contract::session::Checking;
use tidemark_core::{Failure, Guarantees, Key, Micros, Op, Outcome, Update, Value, Write};
use tidemark_workload::{Client as Source, KeySpace, Recorder, Request, Workload};

/// When the store is filled: every server is up, and knows the others.
const FILL_AT_US: Micros = 20_000;
/// How long to wait for groups that have elected nobody yet.
const ELECT_US: Micros = 50_000;
/// Clients of each data centre that fill it.
const LOADERS: usize = 64;
/// How much longer than the longest round trip what was written has to become stable.
const SETTLE_US: Micros = 300_000;
/// Clients begin within this time, not all at once.
const SPREAD_US: Micros = 5_000;
/// Keys with numbers so high, in each partition, are nobody's but the probes'.
const PROBES: u64 = 1 << 40;
/// How long a seeker waits before it looks again.
const SEEK_EVERY_US: Micros = 1_000;

/// Throughput over time is recorded in so many slices.
const SLICES: Micros = 20;

/// What a run under load goes on to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// The store is filled.
    Fill,
    /// The clients begin.
    Work,
    /// Somebody looks which checking groups would be better.
    Adapt,
    /// It is over.
    End,
}

/// A run under load.
pub(super) struct Driving<'a> {
    pub(super) what: &'a Load,
    keys: Arc<KeySpace>,
    rng: Rng,
    loaders_left: usize,
    /// The number of the first driver's first seat among the clients.
    pub(super) first: usize,
    /// How many seats a driver has: one, or if any of them leave now and then, one in each data centre.
    pub(super) seats: usize,
    pub(super) drivers: Vec<Driver>,
    recorder: Recorder,
    /// What is recorded of operations on slow servers.
    slow: Recorder,
    measured: std::ops::Range<Micros>,
    /// Of the probe that each seeker looks for, by number of the client: whose, and when it was acknowledged.
    sought: BTreeMap<usize, (usize, Micros)>,
    probes: u64,
    visibility: BTreeMap<(usize, usize), Visibility>,
    /// Who has checking groups follow what clients do.
    pub(super) adapt: Option<Adapt>,
}

/// One client. It has a session wherever it has been; the one where it was last has all of its past.
pub(super) struct Driver {
    source: Source,
    pub(super) request: Request,
    /// The seat that has its past.
    pub(super) last: usize,
    /// Which of the request's operations is running.
    pub(super) at: usize,
    /// What it asks for.
    pub(super) asks: Guarantees,
    /// The checking groups that it names.
    pub(super) checking: Checking,
    /// Whether what it does is recorded.
    counts: bool,
    /// When the client sent that.
    asked: Micros,
    /// When the request began; if requests begin at a given rate, when it should have.
    began: Micros,
}

impl<'a, P: Protocol> World<'a, P> {
    /// Runs under load, from the first write to the last answer that counts.
    pub(crate) fn run_load(mut self, what: &'a Load) -> Result<Loaded, String> {
        let keys = KeySpace::new(&what.workload, what.partitions).map_err(|error| error.to_string())?;
        self.queue.grow();
        self.load = Some(Box::new(Driving {
            what,
            keys: Arc::new(keys),
            rng: stream(what.seed, Stream::Workload),
            loaders_left: 0,
            first: 0,
            seats: 1,
            drivers: Vec::new(),
            recorder: Recorder::new(what.measure_us / SLICES),
            slow: Recorder::new(what.measure_us / SLICES),
            measured: 0..0,
            sought: BTreeMap::new(),
            probes: 0,
            visibility: BTreeMap::new(),
            adapt: what.adapt.map(Adapt::new),
        }));
        for slow in &what.slow {
            for dc in (0..what.dcs()).filter(|dc| slow.dc.is_none_or(|slow| slow == *dc)) {
                let first = (dc * what.partitions + slow.partition) * what.replicas;
                let processes = &mut self.nodes[first..first + what.replicas];
                processes.iter_mut().for_each(|process| process.lag_us += slow.lag_us);
            }
        }
        self.queue.push(FILL_AT_US, Event::Phase(Phase::Fill));
        while self.stage != Stage::Over {
            let Some((at, event)) = self.queue.pop() else { break };
            self.now = at;
            self.stats.events += 1;
            self.due(event);
        }
        if let Some(problem) = self.problems.first() {
            return Err(problem.text.clone());
        }
        Ok(self.loaded())
    }

    pub(super) fn phase(&mut self, phase: Phase) {
        match phase {
            Phase::Fill => self.fill(),
            Phase::Work => self.begin_work(),
            Phase::Adapt => self.adapt(),
            Phase::End => self.stage = Stage::Over,
        }
    }

    /// Every key that is to be there is written, in one data centre or another.
    fn fill(&mut self) {
        if (0..self.groups()).any(|group| self.nodes[self.leader[group]].host().is_none()) {
            return self.queue.push(self.now + ELECT_US, Event::Phase(Phase::Fill));
        }
        let Some(load) = &mut self.load else { return };
        let (what, dcs) = (load.what, load.what.dcs());
        let loaders = LOADERS * dcs;
        let mut scripts: Vec<Vec<Step>> = vec![Vec::new(); loaders];
        let numbers = what.filled_keys.saturating_mul(what.partitions).min(load.keys.loaded() as usize);
        let value = Value::from(vec![b'0'; what.workload.value_bytes]);
        for number in 0..numbers {
            let key = load.keys.key(number as u64);
            let op = Op::Put { key, update: Update::put(Write::Assign(value.clone())) };
            scripts[number % loaders].push(Step::new(0, Act::Op(op)));
        }
        scripts.retain(|script| !script.is_empty());
        load.loaders_left = scripts.len();
        for (n, script) in scripts.into_iter().enumerate() {
            self.add_client(n % dcs, Cow::Owned(script), Role::Loader);
        }
        if numbers == 0 {
            self.filled();
        }
    }

    fn filled(&mut self) {
        let far = 2 * self.plan.config.farthest_us();
        self.queue.push(self.now + far + SETTLE_US, Event::Phase(Phase::Work));
    }

    /// From now on work takes time, and the clients work.
    fn begin_work(&mut self) {
        let Some(load) = &mut self.load else { return };
        let what = load.what;
        let from = self.now + what.warm_up_us;
        load.measured = from..from + what.measure_us;
        self.cpus = Some(Cpus::new(what, self.nodes.len(), load.measured.clone()));
        self.queue.push(load.measured.end, Event::Phase(Phase::End));
        load.first = self.clients.len();
        load.seats = if what.clients_leave() { what.dcs() } else { 1 };
        let dcs: Vec<usize> = (0..what.dcs()).filter(|dc| !what.idle_dcs.contains(dc)).collect();
        self.add_drivers(&what.workload, what.clients, &dcs, true);
        if let Some((workload, clients)) = &what.beside {
            self.add_drivers(workload, *clients, &dcs, false);
        }
        if let Some(adapting) = what.adapt {
            self.queue.push(self.now + adapting.every_us, Event::Phase(Phase::Adapt));
        }
        if let Some(every) = what.probe_every_us {
            for dc in 0..what.dcs() {
                let first = self.load.as_mut().map_or(0, |load| load.rng.u64(0..=every));
                self.queue.push(self.now + what.warm_up_us + first, Event::Probe(dc));
            }
        }
    }

    /// So many clients in each of these data centres.
    fn add_drivers(&mut self, workload: &Workload, clients: usize, dcs: &[usize], counts: bool) {
        let all = clients * dcs.len();
        let known =
            P::EXTENSIONS.checking_groups(&self.params[0], &self.layout.topology, &P::Hard::default());
        let checking = groups_of(workload, &known).expect("the workload was looked at");
        for n in 0..all {
            let Some(load) = &mut self.load else { return };
            let source = Source::new(workload, &load.keys, n, all, load.what.seed ^ u64::from(!counts));
            let mut source = source.expect("the workload fits the partitions: that was looked at");
            let asks = workload.guarantees().expect("the workload was looked at");
            let wait = load.first_begin(counts);
            let (request, began) = (source.next(wait), self.now + wait);
            let driver = load.drivers.len();
            let checking = checking.clone();
            let driven =
                Driver { source, request, last: 0, at: 0, asks, checking, counts, began, asked: began };
            load.drivers.push(driven);
            for seat in 0..load.seats {
                let dc = (dcs[n % dcs.len()] + seat) % self.layout.topology.dcs;
                self.add_client(dc, Cow::Owned(Vec::new()), Role::Driver);
            }
            let seat = self.sit(driver, began);
            self.queue.push(began + self.client_delay(seat), Event::Wake(seat));
        }
    }

    /// A step of a client of this run has ended.
    pub(super) fn driven(&mut self, number: usize, outcome: &Outcome, start: Micros) {
        if matches!(outcome, Outcome::Failed(Failure::Indefinite(_))) {
            self.clients[number].reopen();
        }
        match self.clients[number].role {
            Role::Loader => self.loader_goes_on(number),
            Role::Prober => self.probe_written(number, outcome),
            Role::Seeker => self.sought(number, outcome, start),
            _ => self.driver_goes_on(number, outcome),
        }
    }

    fn loader_goes_on(&mut self, number: usize) {
        if self.clients[number].next_step() {
            return self.queue.push(self.now, Event::Wake(number));
        }
        let Some(load) = &mut self.load else { return };
        load.loaders_left -= 1;
        if load.loaders_left == 0 {
            self.filled();
        }
    }

    fn driver_goes_on(&mut self, number: usize, outcome: &Outcome) {
        if self.takes_its_seat(number, outcome) {
            return;
        }
        let Some(load) = &mut self.load else { return };
        let now = self.now;
        let clients_began = load.measured.start - load.what.warm_up_us;
        let at_driver = (number - load.first) / load.seats;
        let Some(driver) = load.drivers.get_mut(at_driver) else { return };
        let counts = driver.counts && load.measured.contains(&now);
        if counts {
            let op = &driver.request.ops[driver.at];
            let slow = load.what.slow.iter().any(|slow| load.keys.concerns(op, slow.partition));
            let recorder = if slow { &mut load.slow } else { &mut load.recorder };
            match outcome {
                Outcome::Failed(failure) => recorder.failure(reason(failure)),
                _ => recorder.operation(op.kind(), now - driver.asked, now - load.measured.start),
            }
        }
        let again_after = match outcome {
            Outcome::Found(found) => {
                driver.source.answered(driver.at, found.value.as_deref(), now - clients_began)
            }
            Outcome::Written { .. } => driver.source.answered(driver.at, None, now - clients_began),
            _ => None,
        };
        driver.at += usize::from(again_after.is_none());
        let mut at = now + again_after.unwrap_or(0);
        if driver.at == driver.request.ops.len() {
            if counts {
                load.recorder.request(driver.request.kind, now - driver.began);
            }
            let think = driver.request.think_us;
            driver.at = 0;
            driver.began = match load.what.rate.filter(|_| driver.counts) {
                None => now + think,
                Some(rate) => driver.began + gap(&mut load.rng, rate / load.what.clients as f64),
            };
            at = driver.began.max(now);
            driver.source.next_into(&mut driver.request, at - clients_began);
        }
        driver.asked = match again_after {
            None if driver.at == 0 => driver.began,
            _ => at,
        };
        let seat = self.sit(at_driver, at);
        self.will_ask(seat, at);
    }

    /// A key that nobody knows is written.
    pub(super) fn probe(&mut self, dc: usize) {
        let Some(load) = &mut self.load else { return };
        let partition = load.rng.usize(0..load.what.partitions);
        let number = (PROBES + load.probes) * load.what.partitions as u64 + partition as u64;
        let key = load.keys.key(number);
        load.probes += 1;
        let value = Value::from(vec![b'0'; load.what.workload.value_bytes]);
        let op = Op::Put { key, update: Update::put(Write::Assign(value)) };
        let every = load.what.probe_every_us.unwrap_or(Micros::MAX);
        let step = Step::new(self.now, Act::Op(op));
        self.add_client(dc, Cow::Owned(vec![step]), Role::Prober);
        self.queue.push(self.now + every, Event::Probe(dc));
    }

    /// It is acknowledged: in every other data centre somebody begins to look for it.
    fn probe_written(&mut self, number: usize, outcome: &Outcome) {
        let Some(Op::Put { key, .. }) = self.clients[number].op().cloned() else { return };
        if matches!(outcome, Outcome::Failed(_)) {
            return;
        }
        let from = self.clients[number].dc.index();
        for dc in (0..self.layout.topology.dcs).filter(|dc| *dc != from) {
            let seeker = self.clients.len();
            let Some(load) = &mut self.load else { return };
            load.sought.insert(seeker, (from, self.now));
            self.seek(dc, key.clone());
        }
    }

    fn seek(&mut self, dc: usize, key: Key) {
        let step = Step::new(self.now, Act::Op(Op::Get { key }));
        self.add_client(dc, Cow::Owned(vec![step]), Role::Seeker);
    }

    /// A seeker has looked: it looks again, as somebody with no past, until it has found the key.
    fn sought(&mut self, number: usize, outcome: &Outcome, start: Micros) {
        let found = matches!(outcome, Outcome::Found(found) if found.value.is_some());
        let dc = self.clients[number].dc.index();
        if !found {
            self.clients[number].reopen();
            return self.queue.push(self.now.max(start + SEEK_EVERY_US), Event::Wake(number));
        }
        let Some(load) = &mut self.load else { return };
        let Some((from, written)) = load.sought.remove(&number) else { return };
        load.visibility.entry((from, dc)).or_default().add(self.now - written);
    }

    /// What was measured.
    fn loaded(self) -> Loaded {
        let mut load = self.load.expect("this is a run under load");
        let cpus = self.cpus.expect("the clients have begun");
        load.recorder.lasted(load.what.measure_us);
        load.slow.lasted(load.what.measure_us);
        let busy = cpus.all.iter().map(|cpu| cpu.busy_us as f64 / load.what.measure_us as f64);
        let (sum, most) = busy.fold((0.0, 0.0), |(sum, most), share| (sum + share, share.max(most)));
        Loaded {
            protocol: P::INFO.name,
            servers: cpus.all.len(),
            slow: (!load.what.slow.is_empty()).then(|| load.slow.summary()),
            summary: load.recorder.summary(),
            busy: sum / cpus.all.len() as f64,
            busiest: most,
            messages: cpus.sent(),
            fed: cpus.fed,
            visibility: load.visibility,
            adapted: load.adapt.map(|adapt| adapt.account()),
            events: self.stats.events,
        }
    }
}

impl Driving<'_> {
    /// How long after the others' beginning a client begins.
    fn first_begin(&mut self, counts: bool) -> Micros {
        match self.what.rate.filter(|_| counts) {
            None => self.rng.u64(0..SPREAD_US),
            Some(rate) => gap(&mut self.rng, rate / self.what.clients as f64),
        }
    }
}

fn reason(failure: &Failure) -> &'static str {
    if failure.is_definite() { "refused" } else { "no answer" }
}

/// The time to the next of events that come `rate` times a second, independently of each other.
fn gap(rng: &mut Rng, rate: f64) -> Micros {
    (-(1.0 - rng.f64()).ln() * 1e6 / rate) as Micros
}
