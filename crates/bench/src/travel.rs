//! A client that makes some of its requests in other regions, and takes its session along.
//!
//! It is connected to every region. Where it goes, it brings a token (`TIDE.SESSION IMPORT`), and it takes one away with every
//! answer (`EXPORT`): both are sent with the operation, so that they cost no way there and back. Its session is one, so it does
//! one thing at a time.

use crate::connection::{Broken, Connection};
use crate::pace::{Alarm, Pacer};
use crate::plan::Plan;
use crate::worker::{Worker, since};
use std::time::{Duration, Instant};
use tidemark_core::Op;
use tidemark_wire::resp::Reply;
use tidemark_workload::Request;

/// How soon a client that has nothing to do notices that it is to stop.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// The client, under way.
pub(crate) struct ForwardedSession<'a> {
    worker: &'a mut Worker,
    pub(crate) pacer: Pacer,
    home: usize,
    /// Where its session was last.
    pub(crate) region: usize,
    token: Vec<u8>,
}

impl<'a> ForwardedSession<'a> {
    pub(crate) fn new(worker: &'a mut Worker) -> Self {
        let (home, _) = worker.plan.place(worker.number);
        let pacer = Pacer::new(&worker.plan, worker.number, 1, worker.times.start);
        Self { worker, pacer, home, region: home, token: Vec::new() }
    }

    /// Goes on until it is over.
    pub(crate) async fn run(&mut self) -> Result<(), Broken> {
        let (mut alarm, mut request) = (Alarm::new(), Request::default());
        loop {
            let now = Instant::now();
            if self.worker.times.over(now) {
                return Ok(());
            }
            let Some((lane, began)) = self.pacer.take(now) else {
                let at = self.pacer.due().unwrap_or(now).min(now + LOOK_EVERY);
                alarm.until(at).await;
                continue;
            };
            self.worker.client.next_into(&mut request, since(self.worker.times.start, now));
            if !self.worker.times.spend(request.ops.len(), began) {
                return Ok(());
            }
            self.worker.has_waited(began, now);
            let answered = self.make(&request, began).await?;
            self.pacer.rest(lane, answered, Duration::from_micros(request.think_us));
        }
    }

    /// Makes a request: when its last answer came.
    async fn make(&mut self, request: &Request, began: Instant) -> Result<Instant, Broken> {
        let regions = self.worker.plan.regions.len();
        let region = match request.remote {
            Some(other) => (self.home + 1 + other as usize % (regions - 1)) % regions,
            None => self.home,
        };
        let mut asked = began;
        for op in &request.ops {
            let reply = self.ask(region, op).await?;
            let now = Instant::now();
            if !self.worker.note(self.home, op, &reply, (began, asked), now) {
                return Ok(now);
            }
            asked = now;
        }
        self.worker.note_request(self.home, request.kind, began, asked);
        Ok(asked)
    }

    /// Does an operation in a region, as far away as that is said to be.
    async fn ask(&mut self, region: usize, op: &Op) -> Result<Reply, Broken> {
        let from = std::mem::replace(&mut self.region, region);
        // Who has done nothing yet has nothing to take along.
        let moves = region != from && !self.token.is_empty();
        let way = self.worker.plan.way(self.home, region);
        rest(way).await;
        let connection = &mut self.worker.connections[region];
        if moves {
            connection.queue_words(&[&b"TIDE.SESSION"[..], b"IMPORT", &self.token]);
        }
        connection.queue(op);
        connection.queue_words(&["TIDE.SESSION", "EXPORT"]);
        connection.flush().await?;
        let welcome = if moves { next(connection).await? } else { Reply::Null };
        let reply = next(connection).await?;
        let token = next(connection).await?;
        rest(way).await;
        // Who was not let in has done nothing there that could count: its session is where it was.
        if welcome.error().is_some() {
            self.region = from;
            return Ok(welcome);
        }
        match token {
            Reply::Bulk(token) => self.token = token.to_vec(),
            other => return Ok(other),
        }
        Ok(reply)
    }
}

/// The next reply that answers something.
async fn next(connection: &mut Connection) -> Result<Reply, Broken> {
    loop {
        match connection.next().await? {
            Reply::Push(_) => {}
            reply => return Ok(reply),
        }
    }
}

async fn rest(way: Duration) {
    if !way.is_zero() {
        Alarm::new().until(Instant::now() + way).await;
    }
}

/// Has a new connection ask for what the workload says, and sees whether its session can go elsewhere, if it is to.
pub(crate) async fn prepare(connection: &mut Connection, plan: &Plan) -> Result<(), String> {
    let asks = plan.workload.guarantees().unwrap_or_default();
    let (reads, writes) = (format!("read={}", asks.reads()), format!("write={}", asks.writes()));
    let choice = ["TIDE.GUARANTEE", &reads, &writes];
    let groups = plan.workload.checking().join(",");
    let wanted = [
        (!groups.is_empty(), &["TIDE.CHECKING", &groups][..]),
        (asks != tidemark_core::Guarantees::ALL, &choice[..]),
        (plan.workload.remote > 0.0, &["TIDE.SESSION", "EXPORT"][..]),
    ];
    for (_, words) in wanted.into_iter().filter(|(wanted, _)| *wanted) {
        let reply = connection.ask(words).await.map_err(|broken| broken.to_string())?;
        if let Some(error) = reply.error() {
            return Err(format!("answers to {}: {}", words[0], String::from_utf8_lossy(error)));
        }
    }
    Ok(())
}
