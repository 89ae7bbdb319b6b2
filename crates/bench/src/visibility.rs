//! When a write shows in other regions.
//!
//! In each region somebody writes fresh keys at a low rate. As soon as a write has been acknowledged, a reader in each
//! other region looks for it, again and again, until it is there. What is measured is the time from the acknowledgement to
//! the arrival of the reply that has it: the poll interval and the way to that server and back are part of it.

use crate::connection::{Broken, Connection, Login};
use crate::pace::Alarm;
use crate::worker::{Times, since};
use crate::{BenchError, Plan, Visibility};
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use tidemark_wire::resp::Reply;
use tidemark_workload::Cdf;
use tokio::sync::mpsc;

/// What was seen of one ordered pair of regions.
#[derive(Debug)]
pub(crate) struct Seen {
    /// The region that wrote, and the one that read.
    pub(crate) from: usize,
    pub(crate) to: usize,
    pub(crate) times: Cdf,
    /// Writes that were looked for in vain.
    pub(crate) never: u64,
    /// Why it ended early, if it did.
    pub(crate) broken: Option<String>,
}

/// How one region's writes went.
#[derive(Debug)]
pub(crate) struct Written {
    pub(crate) region: usize,
    /// How many were acknowledged, and how many refused.
    pub(crate) acknowledged: u64,
    pub(crate) refused: u64,
    /// The first refusal, or why it ended early.
    pub(crate) problem: Option<String>,
}

/// A write that was acknowledged.
#[derive(Clone, Debug)]
struct Probe {
    key: String,
    acknowledged: Instant,
}

/// The connections: one writer a region, one reader for each other region that it is watched from.
pub(crate) struct Probers {
    writers: Vec<(usize, Connection)>,
    readers: Vec<(usize, usize, Connection)>,
}

impl Probers {
    pub(crate) async fn connect(plan: &Plan, login: &Login) -> Result<Self, BenchError> {
        let mut probers = Self { writers: Vec::new(), readers: Vec::new() };
        for region in 0..plan.regions.len() {
            probers.writers.push((region, open(plan, region, login).await?));
            for to in (0..plan.regions.len()).filter(|to| *to != region) {
                probers.readers.push((region, to, open(plan, to, login).await?));
            }
        }
        Ok(probers)
    }

    /// Writes and looks until it is over, and then until all that was written has been seen, or patience ends.
    pub(crate) async fn run(self, how: Visibility, times: Arc<Times>) -> (Vec<Seen>, Vec<Written>) {
        let mut announce: Vec<Vec<mpsc::UnboundedSender<Probe>>> = vec![Vec::new(); self.writers.len()];
        let seen = Rc::new(RefCell::new(Vec::new()));
        let writes = Rc::new(RefCell::new(Vec::new()));
        let mut tasks = Vec::new();
        for (from, to, connection) in self.readers {
            let (sender, probes) = mpsc::unbounded_channel();
            announce[from].push(sender);
            let (seen, times) = (Rc::clone(&seen), Arc::clone(&times));
            tasks.push(tokio::task::spawn_local(async move {
                let mut found = Seen { from, to, times: Cdf::new(), never: 0, broken: None };
                if let Err(broken) = look(connection, probes, how, &times, &mut found).await {
                    found.broken = Some(format!("the reader's server {broken}"));
                }
                seen.borrow_mut().push(found);
            }));
        }
        // Names that no earlier run has used.
        let run = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
        for ((region, connection), readers) in self.writers.into_iter().zip(announce) {
            let (prefix, times) = (format!("tidemark-probe:{run}:{region}"), Arc::clone(&times));
            let writes = Rc::clone(&writes);
            tasks.push(tokio::task::spawn_local(async move {
                let mut written = Written { region, acknowledged: 0, refused: 0, problem: None };
                let ended = write(connection, readers, how, &prefix, &times, &mut written).await;
                if let Err(broken) = ended {
                    written.problem = Some(format!("the writer's server {broken}"));
                }
                writes.borrow_mut().push(written);
            }));
        }
        for task in tasks {
            // A task that panicked has said so on standard error.
            _ = task.await;
        }
        (seen.take(), writes.take())
    }
}

async fn open(plan: &Plan, region: usize, login: &Login) -> Result<Connection, BenchError> {
    let address = &plan.regions[region].addresses[0];
    let unreachable = |reason| BenchError::Unreachable {
        region: plan.regions[region].name.clone(),
        address: address.clone(),
        reason,
    };
    Connection::open(address, login).await.map_err(unreachable)
}

/// Writes a fresh key now and then, and tells the readers.
async fn write(
    mut connection: Connection,
    readers: Vec<mpsc::UnboundedSender<Probe>>,
    how: Visibility,
    prefix: &str,
    times: &Times,
    written: &mut Written,
) -> Result<(), Broken> {
    let (mut alarm, step) = (Alarm::new(), Duration::from_secs_f64(1.0 / how.per_second));
    let (mut next, mut number) = (times.begin, 0u64);
    loop {
        // In pieces, so that the end is noticed.
        while Instant::now() < next && !times.over(Instant::now()) {
            alarm.until(next.min(Instant::now() + Duration::from_millis(100))).await;
        }
        if times.over(Instant::now()) {
            return Ok(());
        }
        let key = format!("{prefix}:{number}");
        let reply = connection.ask(&["SET", &key, "seen"]).await?;
        match reply.error() {
            Some(error) => {
                written.refused += 1;
                let text = || format!("a SET was answered with: {}", String::from_utf8_lossy(error));
                written.problem.get_or_insert_with(text);
            }
            None => {
                written.acknowledged += 1;
                let probe = Probe { key, acknowledged: Instant::now() };
                // A reader that has ended has said why.
                readers.iter().for_each(|reader| _ = reader.send(probe.clone()));
            }
        }
        (next, number) = ((next + step).max(Instant::now()), number + 1);
    }
}

/// Looks for what was announced until all of it is there, and nothing more will come; or until somebody stops it.
async fn look(
    mut connection: Connection,
    mut probes: mpsc::UnboundedReceiver<Probe>,
    how: Visibility,
    times: &Times,
    found: &mut Seen,
) -> Result<(), Broken> {
    let (mut alarm, mut pending) = (Alarm::new(), Vec::<Probe>::new());
    loop {
        if pending.is_empty() {
            match probes.recv().await {
                Some(probe) => pending.push(probe),
                None => return Ok(()),
            }
        }
        while let Ok(probe) = probes.try_recv() {
            pending.push(probe);
        }
        let began = Instant::now();
        pending.iter().for_each(|probe| connection.queue_words(&["GET", &probe.key]));
        connection.flush().await?;
        let mut left = Vec::with_capacity(pending.len());
        for probe in pending.drain(..) {
            let reply = connection.next().await?;
            let now = Instant::now();
            match reply {
                Reply::Bulk(_) | Reply::Verbatim(..) => found.times.record(since(probe.acknowledged, now)),
                // An error may pass: it is not there yet.
                _ if now - probe.acknowledged < how.patience => left.push(probe),
                _ => found.never += 1,
            }
        }
        pending = left;
        if times.stop.is_asked() {
            return Ok(());
        }
        if !pending.is_empty() {
            alarm.until(began + how.poll).await;
        }
    }
}
