//! A whole measurement: reach every server, fill, connect, load, and add up.

use crate::connection::{Connection, Login};
use crate::fill;
use crate::live::{Live, Phase, Tick};
use crate::report::Report;
use crate::travel;
use crate::visibility::{Probers, Seen, Written};
use crate::worker::{Tally, Times, Worker};
use crate::{BenchError, Limit, Plan};
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::sync::{Arc, Barrier, OnceLock};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use tidemark_workload::{Client, KeySpace};
use tokio::runtime::Runtime;
use tokio::task::LocalSet;

/// How often the caller is told how it goes.
const TELL_EVERY: Duration = Duration::from_millis(100);
/// How many connections one thread opens at a time: servers queue a limited number.
const OPEN_AT_ONCE: usize = 64;

/// Ends a measurement early, from another thread: what was measured until then is reported.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Asks it to end.
    pub fn ask(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether somebody has asked.
    pub fn is_asked(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Linux lets timers ring up to 50 µs late so that several ring together. An open loop counts from when a request should have been
/// sent, so that would be part of every latency. Threads that are begun from here on have this setting.
fn ring_on_time() {
    #[cfg(target_os = "linux")]
    let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
}

/// Plays `plan` and returns what was measured. It blocks, for as long as the plan says; `tell` hears how it goes. Errors
/// mean that nothing was measured; servers that break down meanwhile are in the report.
pub fn run(plan: &Plan, stop: &Stop, tell: &mut dyn FnMut(&Tick)) -> Result<Report, BenchError> {
    plan.validate()?;
    ring_on_time();
    let keys = Arc::new(KeySpace::new(&plan.workload, plan.partitions)?);
    let plan = Arc::new(plan.clone());
    let login = Login {
        user: plan.user.clone(),
        password: plan.password.clone(),
        name: plan.client_name.clone(),
        timeout: plan.timeout,
    };
    reach(&plan, &login)?;
    if plan.fill {
        fill_all(&plan, &login, &keys, stop, tell)?;
    }
    let stage = Arc::new(Stage::new(&plan));
    let (ready, readiness) = mpsc::channel();
    let mut threads = Vec::new();
    for number in 0..stage.threads {
        let crew = Crew { number, plan: Arc::clone(&plan), login: login.clone(), stage: Arc::clone(&stage) };
        let (keys, ready) = (Arc::clone(&keys), ready.clone());
        threads.push(
            thread::Builder::new().name(format!("load-{number}")).spawn(move || crew.run(&keys, &ready))?,
        );
    }
    let probing = plan.visibility.is_some().then(|| {
        let crew =
            Crew { number: 0, plan: Arc::clone(&plan), login: login.clone(), stage: Arc::clone(&stage) };
        let ready = ready.clone();
        thread::Builder::new().name("visibility".into()).spawn(move || crew.probe(&ready))
    });
    let probing = probing.transpose()?;
    drop(ready);
    let everybody = readiness.iter().take(stage.parties - 1).collect::<Result<Vec<()>, BenchError>>();
    if everybody.is_ok() {
        _ = stage.times.set(Arc::new(Times::new(&plan, stop)));
    }
    stage.barrier.wait();
    everybody?;
    let times = stage.times.get().map(Arc::clone).unwrap_or_else(|| unreachable!("everybody is ready"));
    watch(&plan, &times, &stage, &threads, probing.as_ref(), tell);
    let tallies: Vec<Tally> = threads.into_iter().filter_map(|thread| thread.join().ok().flatten()).collect();
    let seen = probing.and_then(|thread| thread.join().ok().flatten()).unwrap_or_default();
    Ok(Report::new(&plan, &times, &tallies, &seen, stop.is_asked()))
}

/// What was seen where, and how the writes went.
type Sightings = (Vec<Seen>, Vec<Written>);

/// Where all threads meet: connected, then at work.
struct Stage {
    threads: usize,
    /// How many meet: the threads, and whoever called.
    parties: usize,
    barrier: Barrier,
    /// Set before the barrier opens, unless somebody could not connect.
    times: OnceLock<Arc<Times>>,
    live: Vec<Arc<Live>>,
}

impl Stage {
    fn new(plan: &Plan) -> Self {
        let threads = plan.threads.min(plan.connections);
        let parties = threads + usize::from(plan.visibility.is_some()) + 1;
        let live = (0..threads).map(|_| Arc::default()).collect();
        Self { threads, parties, barrier: Barrier::new(parties), times: OnceLock::new(), live }
    }
}

/// One thread with its share of the connections.
struct Crew {
    number: usize,
    plan: Arc<Plan>,
    login: Login,
    stage: Arc<Stage>,
}

impl Crew {
    /// Connects, waits for the others, and loads. None if there was no load.
    fn run(self, keys: &Arc<KeySpace>, ready: &mpsc::Sender<Result<(), BenchError>>) -> Option<Tally> {
        let runtime = self.runtime(ready)?;
        let local = LocalSet::new();
        let connections = local.block_on(&runtime, self.connect());
        let clients = self.numbers().map(|number| {
            Client::new(&self.plan.workload, keys, number, self.plan.connections, self.plan.seed)
        });
        let clients = clients.collect::<Result<Vec<_>, _>>().map_err(BenchError::from);
        let (connections, clients) = self.meet(ready, connections.and_then(|all| Ok((all, clients?))))?;
        let times = self.stage.times.get()?;
        let tally = Rc::new(RefCell::new(Tally::new(&self.plan)));
        local.block_on(&runtime, async {
            let workers =
                self.numbers().zip(connections).zip(clients).map(|((number, connections), client)| {
                    let (plan, times, tally) = (Arc::clone(&self.plan), Arc::clone(times), Rc::clone(&tally));
                    let live = Arc::clone(&self.stage.live[self.number]);
                    tokio::task::spawn_local(
                        Worker {
                            connections,
                            client,
                            keys: Arc::clone(keys),
                            number,
                            plan,
                            times,
                            live,
                            tally,
                        }
                        .run(),
                    )
                });
            for worker in workers.collect::<Vec<_>>() {
                // A worker that panicked has said so on standard error.
                _ = worker.await;
            }
        });
        let elapsed_us = times.begin.elapsed().as_micros() as u64;
        let mut tally = Rc::try_unwrap(tally).ok()?.into_inner();
        let recorders = tally.recorders.iter_mut().chain([&mut tally.apart]);
        recorders.for_each(|recorder| recorder.lasted(elapsed_us));
        Some(tally)
    }

    /// Connects, waits for the others, and measures visibility.
    fn probe(self, ready: &mpsc::Sender<Result<(), BenchError>>) -> Option<Sightings> {
        let runtime = self.runtime(ready)?;
        let local = LocalSet::new();
        let probers = local.block_on(&runtime, Probers::connect(&self.plan, &self.login));
        let probers = self.meet(ready, probers)?;
        let times = Arc::clone(self.stage.times.get()?);
        Some(local.block_on(&runtime, probers.run(self.plan.visibility?, times)))
    }

    fn runtime(&self, ready: &mpsc::Sender<Result<(), BenchError>>) -> Option<Runtime> {
        match tokio::runtime::Builder::new_current_thread().enable_all().build() {
            Ok(runtime) => Some(runtime),
            Err(error) => self.meet(ready, Err(error.into())),
        }
    }

    /// Says whether this thread can begin, and waits for all others.
    fn meet<T>(
        &self,
        ready: &mpsc::Sender<Result<(), BenchError>>,
        mine: Result<T, BenchError>,
    ) -> Option<T> {
        let (told, mine) = match mine {
            Ok(mine) => (Ok(()), Some(mine)),
            Err(error) => (Err(error), None),
        };
        // Whoever called waits for this.
        _ = ready.send(told);
        self.stage.barrier.wait();
        mine
    }

    /// The connections of this thread.
    fn numbers(&self) -> impl Iterator<Item = usize> + use<> {
        (self.number..self.plan.connections).step_by(self.stage.threads)
    }

    /// Of each client all connections.
    async fn connect(&self) -> Result<Vec<Vec<Connection>>, BenchError> {
        let numbers: Vec<usize> = self.numbers().collect();
        let mut connections = Vec::with_capacity(numbers.len());
        for some in numbers.chunks(OPEN_AT_ONCE) {
            let opening: Vec<_> = some
                .iter()
                .map(|number| {
                    tokio::task::spawn_local(open(Arc::clone(&self.plan), self.login.clone(), *number))
                })
                .collect();
            for open in opening {
                connections.push(open.await.map_err(std::io::Error::other)??);
            }
        }
        Ok(connections)
    }
}

/// The connections of client `number`: to its region, or if it goes elsewhere, to all.
async fn open(plan: Arc<Plan>, login: Login, number: usize) -> Result<Vec<Connection>, BenchError> {
    let home = plan.place(number).0;
    let regions = if plan.workload.remote > 0.0 { 0..plan.regions.len() } else { home..home + 1 };
    let mut connections = Vec::with_capacity(regions.len());
    for region in regions {
        let address = plan.server(number, region);
        let unreachable = |reason| {
            let region = plan.regions[region].name.clone();
            BenchError::Unreachable { region, address: address.into(), reason }
        };
        let mut connection = Connection::open(address, &login).await.map_err(unreachable)?;
        travel::prepare(&mut connection, &plan).await.map_err(unreachable)?;
        connections.push(connection);
    }
    Ok(connections)
}

/// Asks every server whether it is there, before anything else happens.
fn reach(plan: &Plan, login: &Login) -> Result<(), BenchError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        for region in &plan.regions {
            for address in &region.addresses {
                let unreachable = |reason| BenchError::Unreachable {
                    region: region.name.clone(),
                    address: address.clone(),
                    reason,
                };
                Connection::open(address, login).await.map_err(unreachable)?;
            }
        }
        Ok(())
    })
}

/// Writes every key once, on one thread: it is the servers' work.
fn fill_all(
    plan: &Arc<Plan>,
    login: &Login,
    keys: &Arc<KeySpace>,
    stop: &Stop,
    tell: &mut dyn FnMut(&Tick),
) -> Result<(), BenchError> {
    let live = Arc::new(Live::default());
    let filling = {
        let (plan, login, keys) = (Arc::clone(plan), login.clone(), Arc::clone(keys));
        let (live, stop) = (Arc::clone(&live), stop.clone());
        thread::Builder::new().name("fill".into()).spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            LocalSet::new().block_on(&runtime, async {
                let fillers = (0..plan.connections).map(|number| {
                    let (plan, login, keys) = (Arc::clone(&plan), login.clone(), Arc::clone(&keys));
                    let (live, stop) = (Arc::clone(&live), stop.clone());
                    tokio::task::spawn_local(async move {
                        fill::fill(number, &plan, &login, &keys, &live, || stop.is_asked()).await
                    })
                });
                for filler in fillers.collect::<Vec<_>>() {
                    filler.await.map_err(std::io::Error::other)??;
                }
                Ok::<(), BenchError>(())
            })
        })?
    };
    let began = Instant::now();
    while !filling.is_finished() {
        thread::sleep(TELL_EVERY);
        let done = live.read()[0] as f64 / plan.workload.keys as f64;
        tell(&tick(Phase::Fill, began.elapsed(), done, &[Arc::clone(&live)]));
    }
    filling.join().unwrap_or_else(|_| Err(BenchError::Fill("its thread panicked".into())))
}

/// Tells the caller how it goes until all threads have ended.
fn watch(
    plan: &Plan,
    times: &Times,
    stage: &Stage,
    threads: &[JoinHandle<Option<Tally>>],
    probing: Option<&JoinHandle<Option<Sightings>>>,
    tell: &mut dyn FnMut(&Tick),
) {
    let working = || threads.iter().any(|thread| !thread.is_finished());
    let probed = || probing.is_some_and(|thread| !thread.is_finished());
    let mut warm = [0; 3];
    while working() || probed() {
        // More often at first, so that short runs end when they are over.
        thread::sleep(TELL_EVERY.min(times.start.elapsed() + Duration::from_millis(1)));
        // Without load, only time can end what is left: there is nobody to spend a budget.
        if !threads.is_empty() && !working() {
            times.finish();
        }
        let now = Instant::now();
        let (phase, elapsed, of) = if now < times.begin {
            (Phase::WarmUp, now - times.start, plan.warm_up)
        } else if times.over(now) {
            (Phase::End, now - times.begin, Duration::ZERO)
        } else {
            let of = if let Limit::Time(of) = plan.limit { of } else { Duration::ZERO };
            (Phase::Measure, now - times.begin, of)
        };
        let mut tick = tick(phase, elapsed, 0.0, &stage.live);
        if phase == Phase::WarmUp {
            warm = [tick.operations, tick.latency_us, tick.failed];
        }
        tick.done = match plan.limit {
            Limit::Operations(count) if phase == Phase::Measure => {
                (tick.operations - warm[0]) as f64 / count as f64
            }
            _ if of.is_zero() => 1.0,
            _ => elapsed.as_secs_f64() / of.as_secs_f64(),
        };
        tell(&tick);
    }
}

fn tick(phase: Phase, elapsed: Duration, done: f64, live: &[Arc<Live>]) -> Tick {
    let [operations, latency_us, failed] = live.iter().fold([0; 3], |sum, live| {
        let read = live.read();
        std::array::from_fn(|at| sum[at] + read[at])
    });
    Tick { phase, elapsed, done: done.min(1.0), operations, latency_us, failed }
}
