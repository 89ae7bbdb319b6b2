//! Clients that run an application: transactions over objects, with a cache for some of them.
//!
//! A client keeps what it used last, and watches no more. A transaction waits until all that it reads is kept; then it commits, which waits
//! for nothing. Transactions come at random; one that is due while another one waits begins when that has ended.

use super::process::{Process, raise_open_files};
use super::report::{Samples, Times, Used};
use super::{LoadError, OTHER_FILES, PATIENCE};
use crate::{Driver, Endpoint, Setup, Traffic, draw_secret};
use bytes::Bytes;
use serde::Serialize;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tidemark_core::{Op, Verb, Write};
use tidemark_edge::client::{Effect, Event, Report, Status};
use tidemark_edge::durable::Durable;
use tidemark_edge::frames::OperationKind;
use tidemark_workload::{Cache, Change, KeySpace, Objects, Transaction, Workload};
use tokio::task::LocalSet;

/// What is played.
#[derive(Clone, Debug)]
pub struct ObjectsPlan {
    /// Gateways; clients prefer them in turn.
    pub endpoints: Arc<[Endpoint]>,
    /// The password of the nodes, or nothing.
    pub token: Bytes,
    /// What clients do.
    pub workload: Workload,
    /// How many clients.
    pub clients: usize,
    /// How many objects each keeps.
    pub cache: usize,
    /// Transactions a second in all.
    pub rate: f64,
    /// K of all clients.
    pub regions: u64,
    /// New connections a second at the beginning.
    pub connects: f64,
    /// Whether the objects that are not empty at first are written before.
    pub fill: bool,
    /// How long the load runs without being counted.
    pub warm_up: Duration,
    /// How long it is counted.
    pub duration: Duration,
    /// The process of the node, if it runs on this machine.
    pub pid: Option<u32>,
    /// What transactions are drawn from.
    pub seed: u64,
}

/// The result.
#[derive(Clone, Debug, Serialize)]
pub struct ObjectsReport {
    /// The workload.
    pub workload: String,
    /// How many clients.
    pub clients: usize,
    /// K.
    pub regions: u64,
    /// Seconds that were counted.
    pub seconds: f64,
    /// Transactions that ended.
    pub transactions: u64,
    /// Of how many of them everything was kept that they read, as a share.
    pub hit_share: f64,
    /// How long these took.
    pub hit: Times,
    /// How long the others took.
    pub miss: Times,
    /// From a commit until the region had accepted it.
    pub to_ack: Times,
    /// Updates that were not acknowledged in the end.
    pub unacknowledged: u64,
    /// Frames to a client a second, and bytes in these.
    pub frames_in: f64,
    /// Bytes in these.
    pub bytes_in: f64,
    /// Frames from a client a second.
    pub frames_out: f64,
    /// Bytes in these.
    pub bytes_out: f64,
    /// What the node used, if its process was named.
    pub node: Option<Used>,
    /// What gateways complained of, and how often.
    pub errors: BTreeMap<String, u64>,
}

/// What clients have noted.
#[derive(Default)]
struct Tally {
    live: usize,
    hits: Samples,
    misses: Samples,
    to_ack: Samples,
    unacknowledged: u64,
    traffic: Traffic,
    errors: BTreeMap<String, u64>,
}

/// Plays clients with an application on one thread.
///
/// # Errors
/// See [`LoadError`].
pub fn play_objects(plan: &ObjectsPlan, tell: impl Fn(&str)) -> Result<ObjectsReport, LoadError> {
    let wrong = |what: String| LoadError::Plan(what);
    let is_rate = |rate: f64| rate.is_finite() && rate > 0.0;
    if plan.clients == 0 || !is_rate(plan.rate) || !is_rate(plan.connects) {
        return Err(wrong("there are clients, and rates are above zero".into()));
    }
    plan.workload.validate_objects().map_err(|error| wrong(error.to_string()))?;
    let keys = KeySpace::new(&plan.workload, 1).map_err(|error| wrong(error.to_string()))?;
    let needed = plan.clients as u64 + OTHER_FILES;
    let limit = raise_open_files(needed);
    if limit < needed {
        return Err(LoadError::Files { clients: plan.clients, needed, limit });
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    LocalSet::new().block_on(&runtime, run(plan, &Arc::new(keys), tell))
}

async fn run(
    plan: &ObjectsPlan,
    keys: &Arc<KeySpace>,
    tell: impl Fn(&str),
) -> Result<ObjectsReport, LoadError> {
    let node = plan.pid.map(Process::of).transpose()?;
    let empty = node.as_ref().map(Process::memory).transpose()?;
    if plan.fill {
        tell("filling");
        fill(plan, keys).await?;
    }
    let tally = Rc::new(RefCell::new(Tally::default()));
    connect(plan, keys, &tally).await?;
    tell(&format!("{} clients are live", plan.clients));
    tokio::time::sleep(plan.warm_up).await;
    let before = node.as_ref().map(Process::cpu).transpose()?;
    {
        let Tally { live, unacknowledged, .. } = *tally.borrow();
        *tally.borrow_mut() = Tally { live, unacknowledged, ..Tally::default() };
    }
    let began = Instant::now();
    tokio::time::sleep(plan.duration).await;
    let seconds = began.elapsed().as_secs_f64();
    let used = node.as_ref().and_then(|node| {
        let (cpu, memory) = (node.cpu().ok()? - before?, node.memory().ok()?);
        Some(Used::new(cpu, memory, empty?, plan.clients, seconds))
    });
    let tally = tally.borrow();
    let (hits, misses) = (tally.hits.times(), tally.misses.times());
    let transactions = hits.count + misses.count;
    let a_client = |count: u64| count as f64 / plan.clients as f64 / seconds;
    Ok(ObjectsReport {
        workload: plan.workload.name.clone(),
        clients: plan.clients,
        regions: plan.regions,
        seconds,
        transactions,
        hit_share: hits.count as f64 / transactions.max(1) as f64,
        hit: hits,
        miss: misses,
        to_ack: tally.to_ack.times(),
        unacknowledged: tally.unacknowledged,
        frames_in: a_client(tally.traffic.frames_in),
        bytes_in: a_client(tally.traffic.bytes_in),
        frames_out: a_client(tally.traffic.frames_out),
        bytes_out: a_client(tally.traffic.bytes_out),
        node: used,
        errors: tally.errors.clone(),
    })
}

/// Opens all connections, and waits until all clients are live.
async fn connect(
    plan: &ObjectsPlan,
    keys: &Arc<KeySpace>,
    tally: &Rc<RefCell<Tally>>,
) -> Result<(), LoadError> {
    let mut pace = tokio::time::interval(Duration::from_secs_f64(1.0 / plan.connects));
    for number in 0..plan.clients {
        pace.tick().await;
        let objects = Objects::new(&plan.workload, keys, number, plan.clients, plan.seed);
        let objects = objects.map_err(|error| LoadError::Plan(error.to_string()))?;
        tokio::task::spawn_local(User::new(plan, number, objects, tally.clone()).work());
    }
    let (mut live, mut since) = (0, Instant::now());
    loop {
        let now = tally.borrow().live;
        if now == plan.clients {
            return Ok(());
        }
        if now > live {
            (live, since) = (now, Instant::now());
        } else if since.elapsed() > PATIENCE {
            let why = tally.borrow().errors.keys().next().cloned();
            let why = why.unwrap_or_else(|| "is a gateway there?".into());
            return Err(LoadError::NotLive { live, clients: plan.clients, why });
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// How many objects are written in a transaction that fills.
const FILLED_AT_ONCE: usize = 20;
/// So many of these are under way.
const FILLS_UNDER_WAY: usize = 48;

/// Writes what is there at first, as an edge client.
async fn fill(plan: &ObjectsPlan, keys: &Arc<KeySpace>) -> Result<(), LoadError> {
    let mut driver = driver(plan, 0);
    driver.tell(Event::Start);
    let mut ops = plan.workload.objects_at_first(keys, plan.seed).peekable();
    let mut heard = Instant::now();
    let mut left = usize::MAX;
    while ops.peek().is_some() || driver.client().unsent() > 0 {
        while driver.client().unsent() < FILLS_UNDER_WAY && ops.peek().is_some() {
            let mut transaction = driver.client().begin();
            for op in ops.by_ref().take(FILLED_AT_ONCE) {
                pushed(op).into_iter().for_each(|(key, kind)| transaction.push(key, kind));
            }
            driver.commit(transaction);
        }
        driver.run(Duration::from_millis(5)).await;
        let unsent = driver.client().unsent();
        if unsent != left {
            (left, heard) = (unsent, Instant::now());
        } else if heard.elapsed() > PATIENCE {
            let why = "nothing more is accepted while the store is filled".to_string();
            return Err(LoadError::NotLive { live: 0, clients: 1, why });
        }
    }
    Ok(())
}

/// A command that fills, as operations of an edge client.
fn pushed(op: Op) -> Vec<(Bytes, OperationKind)> {
    let Op::Put { key, update } = op else { return Vec::new() };
    let with = |kind| (key.0.clone(), kind);
    match (update.command, update.write) {
        (Some(command), _) if command.verb == Verb::HSet => {
            let pairs = command.args.chunks_exact(2);
            pairs.map(|pair| with(OperationKind::MapSet(pair[0].clone(), pair[1].clone()))).collect()
        }
        (Some(command), _) => {
            command.args.into_iter().map(|member| with(OperationKind::SetAdd(member))).collect()
        }
        (None, Write::Assign(value)) => vec![with(OperationKind::Set(Bytes::copy_from_slice(&value)))],
        _ => Vec::new(),
    }
}

fn kind_of(change: Change) -> OperationKind {
    match change {
        Change::Set(value) => OperationKind::Set(value),
        Change::Add(amount) => OperationKind::Add(amount),
        Change::Field(field, value) => OperationKind::MapSet(field, value),
        Change::Member(member) => OperationKind::SetAdd(member),
    }
}

fn driver(plan: &ObjectsPlan, number: usize) -> Driver<Durable> {
    let mut disk = Durable::new(draw_secret());
    disk.regions = plan.regions;
    let mut endpoints = plan.endpoints.to_vec();
    let first = number % endpoints.len();
    endpoints.rotate_left(first);
    let (endpoints, token) = (endpoints.into(), plan.token.clone());
    Driver::new(disk, Setup { endpoints, token, lowers: false, keep_values: false })
}

/// One client and its application.
struct User {
    driver: Driver<Durable>,
    objects: Objects,
    cache: Cache,
    tally: Rc<RefCell<Tally>>,
    /// How many transactions a second it begins.
    rate: f64,
    due: Instant,
    running: Option<(Transaction, Instant, bool)>,
    /// Updates that are not acknowledged, by when they were committed.
    unsent: Vec<Instant>,
    counted: Traffic,
    live: bool,
}

impl User {
    fn new(plan: &ObjectsPlan, number: usize, objects: Objects, tally: Rc<RefCell<Tally>>) -> Self {
        let mut driver = driver(plan, number);
        driver.tell(Event::Start);
        Self {
            driver,
            objects,
            cache: Cache::new(plan.cache),
            tally,
            rate: plan.rate / plan.clients as f64,
            due: Instant::now(),
            running: None,
            unsent: Vec::new(),
            counted: Traffic::default(),
            live: false,
        }
    }

    async fn work(mut self) {
        self.wait();
        loop {
            let idle = self.running.is_none() && self.live;
            tokio::select! {
                () = tokio::time::sleep_until(self.due.into()), if idle => self.begin(),
                () = self.driver.step() => {}
            }
            self.look();
        }
    }

    /// The next transaction is due after a random time.
    fn wait(&mut self) {
        self.due += Duration::from_secs_f64(-(1.0 - fastrand::f64()).ln() / self.rate);
    }

    fn begin(&mut self) {
        let (transaction, began) = (self.objects.next(), Instant::now());
        let mut kept = true;
        for object in &transaction.reads {
            kept &= self.driver.client().read(&object.key).is_some();
            if self.cache.touch(&object.key) {
                self.driver.tell(Event::Watch { key: object.key.0.clone() });
            }
        }
        self.running = Some((transaction, began, kept));
        self.go_on();
    }

    /// Commits, if all that is read is there.
    fn go_on(&mut self) {
        let Some((running, began, kept)) = self.running.take() else { return };
        let mut transaction = self.driver.client().begin();
        if !running.reads.iter().all(|object| transaction.read(&object.key).is_some()) {
            self.running = Some((running, began, kept));
            return;
        }
        if !running.changes.is_empty() {
            let changes = running.changes.into_iter();
            changes.for_each(|(object, change)| transaction.push(object.key.0, kind_of(change)));
            self.driver.commit(transaction);
            self.unsent.push(Instant::now());
            self.tally.borrow_mut().unacknowledged += 1;
        }
        let took = began.elapsed();
        {
            let tally = &mut *self.tally.borrow_mut();
            if kept { &mut tally.hits } else { &mut tally.misses }.add(took);
        }
        for key in self.cache.evict() {
            self.driver.tell(Event::Unwatch { key: key.0 });
        }
        self.wait();
    }

    /// Notes what has happened.
    fn look(&mut self) {
        let mut changed = false;
        for effect in self.driver.news() {
            match effect {
                Effect::Changed { .. } => changed = true,
                Effect::Status(Status::Live) if !self.live => {
                    self.live = true;
                    self.due = Instant::now();
                    self.wait();
                    self.tally.borrow_mut().live += 1;
                }
                Effect::Report(Report::Error { code, text }) => {
                    let (code, text) = (String::from_utf8_lossy(&code), String::from_utf8_lossy(&text));
                    *self.tally.borrow_mut().errors.entry(format!("{code}: {text}")).or_default() += 1;
                }
                _ => {}
            }
        }
        if changed {
            self.go_on();
        }
        let acknowledged = self.unsent.len().saturating_sub(self.driver.client().unsent());
        let traffic = self.driver.traffic();
        let mut tally = self.tally.borrow_mut();
        for committed in self.unsent.drain(..acknowledged) {
            tally.to_ack.add(committed.elapsed());
            tally.unacknowledged -= 1;
        }
        tally.traffic.frames_in += traffic.frames_in - self.counted.frames_in;
        tally.traffic.bytes_in += traffic.bytes_in - self.counted.bytes_in;
        tally.traffic.frames_out += traffic.frames_out - self.counted.frames_out;
        tally.traffic.bytes_out += traffic.bytes_out - self.counted.bytes_out;
        self.counted = traffic;
    }
}
