//! What drives a run under load: the store is filled, clients work, and what they do is recorded for a while.
//!
//! Work takes no time until the clients begin.

use super::clients::Role;
use super::cores::Cores;
use super::grouping::Adapt;
use super::till::Till;
use super::{Cluster, Event, Stage};
use crate::load::{Load, Loaded, Visibility};
use crate::outcome::ProblemKind;
use crate::plan::{Act, Step};
use crate::rng::{Rng, Stream, stream};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;
use tidemark_core::{Failure, Guarantees, Micros, Op, Outcome, Update, Value, Write};
use tidemark_node::follow::Choice;
use tidemark_workload::{Client as Source, KeySpace, Pattern, Recorder, Request, Workload};

/// When somebody first looks whether the store can be filled.
const FILL_AT_US: Micros = 20_000;
/// How long to wait for nodes that do not reach each other yet, or groups that have elected nobody.
const ELECT_US: Micros = 50_000;
/// If nodes do not reach each other by then, they never will.
const GIVE_UP_US: Micros = 600_000_000;
/// Clients of each data centre that fill it.
const LOADERS: usize = 64;
/// How much longer than the longest round trip what was written has to become stable.
const SETTLE_US: Micros = 300_000;
/// Clients begin within this time, not all at once.
const SPREAD_US: Micros = 5_000;

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
    /// What counts begins.
    Count,
    /// It is over.
    End,
}

/// Something that happens in a run under load only.
pub(super) enum Happening {
    /// What the run goes on to.
    Phase(Phase),
    /// A key that nobody knows is written in a region.
    Probe(usize),
    /// A client of a load generator begins its next operation.
    Asks(usize),
    /// A client hears from its node how its operation ended.
    Hears(usize, Box<Outcome>),
    /// A client of a load generator has read that.
    Read(usize, Box<Outcome>),
    /// The batch of a server ends.
    Free(usize),
}

/// A run under load.
pub(super) struct Driving<'a> {
    pub(super) what: &'a Load,
    /// What work costs.
    pub(super) till: Till,
    pub(super) keys: Arc<KeySpace>,
    pub(super) rng: Rng,
    loaders_left: usize,
    /// The number of the first driver's first seat among the clients.
    pub(super) first: usize,
    /// How many seats a driver has: one, or if any of them leave now and then, one in each data centre.
    pub(super) seats: usize,
    pub(super) drivers: Vec<Driver>,
    pub(super) recorder: Recorder,
    /// What is recorded of operations on slow servers.
    pub(super) slow: Recorder,
    measured: std::ops::Range<Micros>,
    /// Of the probe that each seeker looks for, by number of the client: whose, and when it was acknowledged.
    pub(super) sought: BTreeMap<usize, (usize, Micros)>,
    pub(super) probes: u64,
    /// What protocols had counted when the measured time began.
    pub(super) counted_before: BTreeMap<&'static str, u64>,
    pub(super) visibility: BTreeMap<(usize, usize), Visibility>,
    /// Who has checking groups follow what clients do.
    pub(super) adapt: Option<Adapt>,
}

/// One client. It has a session wherever it has been; the one where it was last has all of its past.
pub(super) struct Driver {
    pub(super) source: Source,
    pub(super) request: Request,
    /// The seat that has its past.
    pub(super) last: usize,
    /// Which of the request's operations is running.
    pub(super) at: usize,
    /// What it asks for.
    pub(super) asks: Guarantees,
    /// The checking groups that answer it.
    pub(super) checking: Choice,
    /// Whether what it does is recorded.
    counts: bool,
    /// When the client sent that.
    asked: Micros,
    /// When the request began; if requests begin at a given rate, when it should have.
    began: Micros,
}

impl<'a> Cluster<'a> {
    /// Runs under load, from the first write to the last answer that counts.
    pub(crate) fn run_load(mut self, what: &'a Load) -> Result<Loaded, String> {
        let keys = KeySpace::new(&what.workload, what.partitions).map_err(|error| error.to_string())?;
        self.queue.grow();
        let till = Till::default();
        self.load = Some(Box::new(Driving {
            what,
            till: till.clone(),
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
            counted_before: BTreeMap::new(),
            visibility: BTreeMap::new(),
            adapt: what.adapt.map(Adapt::new),
        }));
        for slow in &what.slow {
            for dc in (0..what.dcs()).filter(|dc| slow.dc.is_none_or(|slow| slow == *dc)) {
                let first = (dc * what.partitions + slow.partition) * what.replicas;
                let processes = &mut self.processes[first..first + what.replicas];
                processes.iter_mut().for_each(|process| process.lag_us += slow.lag_us);
            }
        }
        self.happens(FILL_AT_US, Happening::Phase(Phase::Fill));
        while self.stage != Stage::Over {
            let Some((at, event)) = self.queue.pop() else { break };
            self.now = at;
            till.at(at);
            self.stats.events += 1;
            self.due(event);
        }
        if let Some(problem) = self.problems.first() {
            return Err(problem.text.clone());
        }
        Ok(self.loaded())
    }

    pub(super) fn happens(&mut self, at: Micros, what: Happening) {
        self.queue.push(at, Event::Load(what));
    }

    pub(super) fn happened(&mut self, what: Happening) {
        match what {
            Happening::Phase(phase) => self.phase(phase),
            Happening::Probe(dc) => self.probe(dc),
            Happening::Asks(client) => self.asks(client),
            Happening::Hears(client, outcome) => self.hears(client, outcome),
            Happening::Read(client, outcome) => self.end_step(client, &outcome),
            Happening::Free(process) => self.ends_batch(process),
        }
    }

    fn phase(&mut self, phase: Phase) {
        match phase {
            Phase::Fill => self.fill(),
            Phase::Work => self.begin_work(),
            Phase::Count => self.counts(),
            Phase::Adapt => self.adapt(),
            Phase::End => self.stage = Stage::Over,
        }
    }

    /// Every key that is to be there is written, in one data centre or another.
    fn fill(&mut self) {
        if let Some(what) = self.not_up() {
            if self.now > GIVE_UP_US {
                self.problem(ProblemKind::Link, format!("the cluster does not come up: {what}"));
                self.stage = Stage::Over;
            }
            return self.happens(self.now + ELECT_US, Happening::Phase(Phase::Fill));
        }
        let Some(load) = &mut self.load else { return };
        let (what, dcs) = (load.what, load.what.dcs());
        let loaders = LOADERS * dcs;
        let mut scripts: Vec<Vec<Step>> = vec![Vec::new(); loaders];
        if matches!(what.workload.pattern, Pattern::Social { .. }) {
            // Its objects have names of their own.
            let ops = what.workload.load_ops(&load.keys, 0, 1, what.seed);
            let most = what.filled_keys.saturating_mul(what.partitions);
            ops.take(most)
                .enumerate()
                .for_each(|(n, op)| scripts[n % loaders].push(Step::new(0, Act::Op(op))));
        } else {
            let numbers = what.filled_keys.saturating_mul(what.partitions).min(load.keys.loaded() as usize);
            let value = Value::from(vec![b'0'; what.workload.value_bytes]);
            for number in 0..numbers {
                let key = load.keys.key(number as u64);
                let op = Op::Put { key, update: Update::put(Write::Assign(value.clone())) };
                scripts[number % loaders].push(Step::new(0, Act::Op(op)));
            }
        }
        scripts.retain(|script| !script.is_empty());
        let nothing = scripts.is_empty();
        load.loaders_left = scripts.len();
        for (n, script) in scripts.into_iter().enumerate() {
            self.add_client(n % dcs, Cow::Owned(script), Role::Loader);
        }
        if nothing {
            self.filled();
        }
    }

    fn filled(&mut self) {
        let far = 2 * self.plan.config.farthest_us();
        self.happens(self.now + far + SETTLE_US, Happening::Phase(Phase::Work));
    }

    /// From now on work takes time, and the clients work.
    fn begin_work(&mut self) {
        let Some(load) = &mut self.load else { return };
        let what = load.what;
        let from = self.now + what.warm_up_us;
        load.measured = from..from + what.measure_us;
        let measured = load.measured.clone();
        self.cores = Some(Cores::new(what, self.servers, load.till.clone(), measured.clone()));
        load.first = self.clients.len();
        load.seats = if what.clients_leave() { what.dcs() } else { 1 };
        let dcs: Vec<usize> = (0..what.dcs()).filter(|dc| !what.idle_dcs.contains(dc)).collect();
        self.happens(measured.start, Happening::Phase(Phase::Count));
        self.happens(measured.end, Happening::Phase(Phase::End));
        self.add_drivers(&what.workload, what.clients, &dcs, true);
        if let Some((workload, clients)) = &what.beside {
            self.add_drivers(workload, *clients, &dcs, false);
        }
        if let Some(adapting) = what.adapt {
            self.happens(self.now + adapting.every_us, Happening::Phase(Phase::Adapt));
        }
        if let Some(every) = what.probe_every_us {
            for dc in 0..what.dcs() {
                let first = self.load.as_mut().map_or(0, |load| load.rng.u64(0..=every));
                self.happens(self.now + what.warm_up_us + first, Happening::Probe(dc));
            }
        }
    }

    /// So many clients in each of these data centres.
    fn add_drivers(&mut self, workload: &Workload, clients: usize, dcs: &[usize], counts: bool) {
        let all = clients * dcs.len();
        let checking = self.groups_of(workload);
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
