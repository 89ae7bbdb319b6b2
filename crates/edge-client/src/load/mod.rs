//! Many clients in one process: each is a whole client with a WebSocket of its own, and a disk in memory.
//!
//! Clients form groups that watch a key together. At each arrival some client writes the key of its group, so that an update is seen by all of
//! the group. Arrivals do not wait for what came before them: latencies are counted from when an update was due.

mod objects;
mod process;
mod report;
mod seat;

pub use objects::{ObjectsPlan, ObjectsReport, play_objects};
pub use report::{Failover, Report, Times, Used};

use crate::Endpoint;
use bytes::Bytes;
use process::{Process, raise_open_files};
use report::{Counted, Missing, Tally};
use seat::Seat;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::mpsc;
use tokio::task::LocalSet;

/// Beside connections a process has some files open.
const OTHER_FILES: u64 = 64;

/// After this long without a further client, acknowledgement or reconnection the load gives up.
const PATIENCE: Duration = Duration::from_secs(120);

/// After this long without a further sight of an update nobody will see it: another update has replaced it.
const REPLACED: Duration = Duration::from_secs(10);

/// What is played.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Gateways, in the order of preference of all clients.
    pub endpoints: Arc<[Endpoint]>,
    /// The password of the nodes, or nothing.
    pub token: Bytes,
    /// How many clients.
    pub clients: usize,
    /// How many clients watch a key, and so see each of its updates.
    pub seen_by: usize,
    /// Updates a second in all.
    pub rate: f64,
    /// K of all clients.
    pub regions: u64,
    /// New connections a second at the beginning.
    pub connects: f64,
    /// How long the load runs without being counted.
    pub warm_up: Duration,
    /// How long it is counted.
    pub duration: Duration,
    /// The process of the node, if it runs on this machine.
    pub pid: Option<u32>,
    /// How the names of keys begin.
    pub prefix: String,
}

/// Why a load cannot be played.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The plan makes no sense.
    #[error("{0}")]
    Plan(String),
    /// The system lets the process have too few connections.
    #[error(
        "{clients} clients need {needed} open files, and this process may have {limit}: \
         raise the limit (`ulimit -n {needed}`, as root or in limits.conf), or take fewer clients"
    )]
    Files {
        /// How many clients were asked for.
        clients: usize,
        /// How many files they need.
        needed: u64,
        /// The limit.
        limit: u64,
    },
    /// There is no such process, or it is not this user's.
    #[error("cannot read what process {pid} uses: {why}; --pid wants the process of a node on this machine")]
    Process {
        /// The process.
        pid: u32,
        /// The system's word for it.
        why: std::io::Error,
    },
    /// Not all clients became live.
    #[error("{live} of {clients} clients are live, and for {} s no more became so: {why}", PATIENCE.as_secs())]
    NotLive {
        /// How many are.
        live: usize,
        /// How many were to be.
        clients: usize,
        /// What gateways have said, if anything.
        why: String,
    },
    /// The system's.
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

impl Plan {
    fn check(&self) -> Result<(), LoadError> {
        let wrong = |what: &str| Err(LoadError::Plan(what.to_string()));
        if self.clients == 0 || self.seen_by == 0 || self.seen_by > self.clients {
            return wrong("an update is seen by 1 client to all of them");
        }
        let is_rate = |rate: f64| rate.is_finite() && rate > 0.0;
        if !is_rate(self.rate) || !is_rate(self.connects) {
            return wrong("rates are above zero");
        }
        let needed = self.clients as u64 + OTHER_FILES;
        let limit = raise_open_files(needed);
        if limit < needed {
            return Err(LoadError::Files { clients: self.clients, needed, limit });
        }
        Ok(())
    }
}

/// Plays a load on one thread.
///
/// # Errors
/// See [`LoadError`].
pub fn play(plan: &Plan, tell: impl Fn(&str)) -> Result<Report, LoadError> {
    plan.check()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    LocalSet::new().block_on(&runtime, run(plan, tell))
}

/// All clients, from outside.
struct Crowd {
    /// The group of each, and where it is told which updates to write.
    seats: Vec<(usize, mpsc::UnboundedSender<u64>)>,
    tally: Rc<RefCell<Tally>>,
}

impl Crowd {
    /// Has some client write an update that is due now, or was to be a moment ago.
    fn update(&self, due: Instant) {
        let (group, seat) = &self.seats[fastrand::usize(..self.seats.len())];
        let _ = seat.send(self.tally.borrow_mut().due(*group, due));
    }
}

async fn run(plan: &Plan, tell: impl Fn(&str)) -> Result<Report, LoadError> {
    let node = plan.pid.map(Process::of).transpose()?;
    let own = Process::of(std::process::id())?;
    let empty = (node.as_ref().map(Process::memory).transpose()?, own.memory()?);
    let mut crowd = Crowd { seats: Vec::new(), tally: Rc::default() };
    let began = Instant::now();
    let connecting = node.as_ref().map(Process::cpu).transpose()?;
    connect(plan, &mut crowd, &tell).await?;
    let connected = began.elapsed();
    let connect_cpu = node.as_ref().map(Process::cpu).transpose()?.zip(connecting).map(|(b, a)| b - a);
    tell(&format!("{} clients are live after {:.1} s", plan.clients, connected.as_secs_f64()));
    updates(plan, &crowd, plan.warm_up).await;
    crowd.tally.borrow_mut().begin();
    let before = (node.as_ref().map(Process::cpu).transpose()?, own.cpu()?);
    let began = Instant::now();
    updates(plan, &crowd, plan.duration).await;
    let seconds = began.elapsed().as_secs_f64();
    // The process of the node may have been killed meanwhile: then nothing is said of it.
    let used = |process: &Process, cpu: Option<f64>, memory: Option<u64>| {
        Some(Used::new(process.cpu().ok()? - cpu?, process.memory().ok()?, memory?, plan.clients, seconds))
    };
    let node_used = node.as_ref().and_then(|node| used(node, before.0, empty.0));
    let own_used = used(&own, Some(before.1), Some(empty.1));
    let traffic = crowd.tally.borrow().traffic;
    settle(&crowd).await;
    let tally = crowd.tally.borrow();
    Ok(tally
        .report(plan, Counted { seconds, connected, connect_cpu, traffic, node: node_used, own: own_used }))
}

/// Opens all connections, and waits until all clients are live.
async fn connect(plan: &Plan, crowd: &mut Crowd, tell: impl Fn(&str)) -> Result<(), LoadError> {
    let mut pace = tokio::time::interval(Duration::from_secs_f64(1.0 / plan.connects));
    for number in 0..plan.clients {
        pace.tick().await;
        let (update, updates) = mpsc::unbounded_channel();
        let group = number / plan.seen_by;
        crowd.seats.push((group, update));
        tokio::task::spawn_local(Seat::new(plan, group, crowd.tally.clone()).sit(updates));
        if number % 1000 == 999 {
            tell(&format!("{} connections", number + 1));
        }
    }
    let (mut live, mut since) = (0, Instant::now());
    loop {
        let now = crowd.tally.borrow().live();
        if now == plan.clients {
            return Ok(());
        }
        if now > live {
            (live, since) = (now, Instant::now());
        } else if since.elapsed() > PATIENCE {
            let why = crowd.tally.borrow().error().unwrap_or("is a gateway there?").to_string();
            return Err(LoadError::NotLive { live, clients: plan.clients, why });
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Lets clients write for a while.
async fn updates(plan: &Plan, crowd: &Crowd, time: Duration) {
    let began = tokio::time::Instant::now();
    let mut due = began;
    loop {
        // Arrivals of a Poisson process: nothing keeps clients of the world in step.
        due += Duration::from_secs_f64(-(1.0 - fastrand::f64()).ln() / plan.rate);
        if due > began + time {
            return tokio::time::sleep_until(began + time).await;
        }
        tokio::time::sleep_until(due).await;
        crowd.update(due.into_std());
    }
}

/// Waits until all updates are acknowledged and seen, or nobody learns anything for a while.
async fn settle(crowd: &Crowd) {
    let (mut missing, mut since) = (None, Instant::now());
    loop {
        let now = crowd.tally.borrow().missing();
        // What surely comes is waited for longer than what may never come.
        let while_nothing_comes = if now.owed > 0 { PATIENCE } else { REPLACED };
        if now == Missing::default() || (Some(now) == missing && since.elapsed() > while_nothing_comes) {
            return;
        }
        if Some(now) != missing {
            (missing, since) = (Some(now), Instant::now());
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
