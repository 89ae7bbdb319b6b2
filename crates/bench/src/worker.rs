//! One connection under load: its client's requests go out when they are due, and what comes back is recorded.

use crate::commands;
use crate::connection::{Broken, Connection};
use crate::live::Live;
use crate::pace::{Alarm, Pacer};
use crate::run::Stop;
use crate::travel::ForwardedSession;
use crate::{Limit, Plan};
use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::{Duration, Instant};
use tidemark_core::Op;
use tidemark_wire::resp::Reply;
use tidemark_workload::{Cdf, Client, KeySpace, Kind, Recorder, Request};
use tokio::time::{MissedTickBehavior, interval};

/// How soon a worker notices that it is to stop, or that its server has fallen silent.
const TICK: Duration = Duration::from_millis(50);

/// When a measurement happens, and when it is over.
#[derive(Debug)]
pub(crate) struct Times {
    /// When the load begins.
    pub(crate) start: Instant,
    /// From when on it counts.
    pub(crate) begin: Instant,
    /// Operations that may still be asked for, if they are counted.
    budget: Option<AtomicI64>,
    /// When no more is asked for, if that is a matter of time.
    pub(crate) end: Option<Instant>,
    pub(crate) stop: Stop,
    /// Nobody is left to load.
    finished: AtomicBool,
}

impl Times {
    pub(crate) fn new(plan: &Plan, stop: &Stop) -> Self {
        let start = Instant::now();
        let begin = start + plan.warm_up;
        let (budget, end) = match plan.limit {
            Limit::Time(time) => (None, Some(begin + time)),
            Limit::Operations(count) => (Some(AtomicI64::new(count as i64)), None),
        };
        Self { start, begin, budget, end, stop: stop.clone(), finished: AtomicBool::new(false) }
    }

    /// Whether nothing more is to begin.
    pub(crate) fn over(&self, now: Instant) -> bool {
        self.end.is_some_and(|end| now >= end)
            || self.stop.is_asked()
            || self.is_spent()
            || self.is_finished()
    }

    /// Ends it: nobody is left to load.
    pub(crate) fn finish(&self) {
        self.finished.store(true, Ordering::Relaxed);
    }

    fn is_finished(&self) -> bool {
        self.finished.load(Ordering::Relaxed)
    }

    fn is_spent(&self) -> bool {
        self.budget.as_ref().is_some_and(|budget| budget.load(Ordering::Relaxed) <= 0)
    }

    /// Takes `operations` of a request that began at that moment, if they count; whether there were any left.
    pub(crate) fn spend(&self, operations: usize, began: Instant) -> bool {
        let Some(budget) = &self.budget else { return true };
        began < self.begin || budget.fetch_sub(operations as i64, Ordering::Relaxed) > 0
    }
}

/// What the connections of one thread saw.
#[derive(Debug)]
pub(crate) struct Tally {
    /// One for each region.
    pub(crate) recorders: Vec<Recorder>,
    /// Of operations that are recorded apart.
    pub(crate) apart: Recorder,
    /// How long requests waited for their turn on a connection, in an open loop.
    pub(crate) waited: Cdf,
    /// How many had arrived and were never sent.
    pub(crate) unsent: u64,
    /// How many keys were asked for, and of how many there was nothing.
    pub(crate) asked: u64,
    pub(crate) absent: u64,
    /// Of each kind of error, the first that came.
    pub(crate) errors: BTreeMap<String, String>,
    /// Connections that broke: region, address, after how many microseconds, why.
    pub(crate) broken: Vec<(usize, String, u64, String)>,
}

impl Tally {
    pub(crate) fn new(plan: &Plan) -> Self {
        let slice_us = plan.slice.as_micros() as u64;
        Self {
            recorders: plan.regions.iter().map(|_| Recorder::new(slice_us)).collect(),
            apart: Recorder::new(slice_us),
            waited: Cdf::new(),
            unsent: 0,
            asked: 0,
            absent: 0,
            errors: BTreeMap::new(),
            broken: Vec::new(),
        }
    }
}

/// A request under way.
#[derive(Default)]
struct Lane {
    request: Request,
    /// Which of its operations is under way.
    at: usize,
    /// That one is to be made once more, after a pause.
    again: bool,
    /// From when on its latency counts.
    began: Option<Instant>,
    /// From when on that of its operation counts.
    asked: Option<Instant>,
    /// When that was sent.
    sent: Option<Instant>,
}

/// One client, with its connections.
pub(crate) struct Worker {
    /// That to its region; of a client that goes elsewhere, one to each region in their order.
    pub(crate) connections: Vec<Connection>,
    pub(crate) client: Client,
    pub(crate) keys: Arc<KeySpace>,
    pub(crate) number: usize,
    pub(crate) plan: Arc<Plan>,
    pub(crate) times: Arc<Times>,
    pub(crate) live: Arc<Live>,
    pub(crate) tally: Rc<RefCell<Tally>>,
}

/// A worker at work.
struct Work {
    worker: Worker,
    region: usize,
    pacer: Pacer,
    lanes: Vec<Lane>,
    /// The lanes whose replies come next, in this order.
    in_flight: VecDeque<usize>,
    /// The last time that a reply came.
    heard: Instant,
}

impl Worker {
    /// Loads until it is over. If the connection breaks, the tally says so.
    pub(crate) async fn run(mut self) {
        if self.plan.workload.remote > 0.0 {
            return self.travel().await;
        }
        let (region, address) = self.plan.place(self.number);
        let address = address.to_owned();
        let lanes = (0..self.plan.pipeline).map(|_| Lane::default()).collect::<Vec<_>>();
        let pacer = Pacer::new(&self.plan, self.number, lanes.len(), self.times.start);
        let heard = self.times.start;
        let mut work = Work { worker: self, region, pacer, lanes, in_flight: VecDeque::new(), heard };
        let result = work.run().await;
        let (lost, Work { worker, mut pacer, .. }) = (work.in_flight.len(), work);
        worker.end(result, &mut pacer, region, (region, address), lost);
    }

    /// The same by somebody who is not always in one region.
    async fn travel(&mut self) {
        let mut traveller = ForwardedSession::new(self);
        let result = traveller.run().await;
        let (region, ForwardedSession { mut pacer, .. }) = (traveller.region, traveller);
        let (home, address) =
            (self.plan.place(self.number).0, self.plan.server(self.number, region).to_owned());
        self.end(result, &mut pacer, home, (region, address), 1);
    }

    /// It is over, well or because a server broke a connection with so many operations under way.
    fn end(
        &self,
        result: Result<(), Broken>,
        pacer: &mut Pacer,
        home: usize,
        (region, address): (usize, String),
        under_way: usize,
    ) {
        let (times, tally) = (&self.times, &mut *self.tally.borrow_mut());
        match result {
            // What had arrived before somebody stopped it early is nobody's fault.
            Ok(()) => {
                if let (Some(end), false) = (times.end, times.stop.is_asked()) {
                    tally.unsent += pacer.waiting(end);
                }
            }
            Err(broken) => {
                (0..under_way).for_each(|_| tally.recorders[home].failure("DISCONNECTED"));
                self.live.fail(under_way as u64);
                let after_us = since(times.begin, Instant::now());
                tally.broken.push((region, address, after_us, broken.to_string()));
            }
        }
    }

    /// How long a request that begins now had to wait since it should have.
    pub(crate) fn has_waited(&self, began: Instant, now: Instant) {
        if began >= self.times.begin && self.plan.pace != crate::Pace::Closed {
            self.tally.borrow_mut().waited.record(since(began, now));
        }
    }

    /// An operation that was asked at one moment, of a request that began at another, has been answered. Whether it succeeded.
    pub(crate) fn note(
        &self,
        home: usize,
        op: &Op,
        reply: &Reply,
        (began, asked): (Instant, Instant),
        now: Instant,
    ) -> bool {
        let (begin, mut tally) = (self.times.begin, self.tally.borrow_mut());
        let counts = began >= begin;
        if let Some(error) = reply.error() {
            self.live.fail(1);
            if counts {
                let word = commands::first_word(error);
                tally.recorders[home].failure(&word);
                let text = || String::from_utf8_lossy(error).into_owned();
                tally.errors.entry(word).or_insert_with(text);
            }
            return false;
        }
        let latency_us = since(asked, now);
        self.live.operation(latency_us);
        if counts {
            let apart = self.plan.apart.is_some_and(|partition| self.keys.concerns(op, partition));
            let tally = &mut *tally;
            let recorder = if apart { &mut tally.apart } else { &mut tally.recorders[home] };
            recorder.operation(op.kind(), latency_us, since(begin, now));
            let (keys, absent) = commands::found(op, reply);
            (tally.asked, tally.absent) = (tally.asked + keys, tally.absent + absent);
        }
        true
    }

    /// All operations of a request have succeeded.
    pub(crate) fn note_request(&self, home: usize, kind: Kind, began: Instant, now: Instant) {
        if began >= self.times.begin {
            self.tally.borrow_mut().recorders[home].request(kind, since(began, now));
        }
    }
}

impl Work {
    async fn run(&mut self) -> Result<(), Broken> {
        let mut tick = interval(TICK);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut alarm = Alarm::new();
        loop {
            let over = self.begin_what_is_due(Instant::now());
            self.worker.connections[0].flush().await?;
            if over && self.in_flight.is_empty() {
                return Ok(());
            }
            let due = if over { None } else { self.pacer.due() };
            tokio::select! {
                biased;
                more = self.worker.connections[0].more() => {
                    more?;
                    self.heard = Instant::now();
                    while let Some(reply) = self.worker.connections[0].reply()? {
                        self.answered(&reply, self.heard);
                    }
                }
                () = alarm.until(due.unwrap_or_else(far)), if due.is_some() => {}
                _ = tick.tick() => self.check_silence()?,
            }
        }
    }

    /// Begins every request that is due. Whether it is over.
    fn begin_what_is_due(&mut self, now: Instant) -> bool {
        if self.worker.times.over(now) {
            return true;
        }
        while let Some((lane, began)) = self.pacer.take(now) {
            if std::mem::take(&mut self.lanes[lane].again) {
                if !self.worker.times.spend(1, self.lanes[lane].began.unwrap_or(now)) {
                    return true;
                }
                self.send(lane, now, now);
                continue;
            }
            let request = &mut self.lanes[lane].request;
            self.worker.client.next_into(request, since(self.worker.times.start, now));
            if !self.worker.times.spend(request.ops.len(), began) {
                return true;
            }
            self.worker.has_waited(began, now);
            (self.lanes[lane].at, self.lanes[lane].began) = (0, Some(began));
            self.send(lane, began, now);
        }
        false
    }

    /// Queues the operation that is next in `lane`; its latency counts from `asked`.
    fn send(&mut self, lane: usize, asked: Instant, now: Instant) {
        if self.in_flight.is_empty() {
            self.heard = now;
        }
        let Lane { request, at, asked: counts_from, sent, .. } = &mut self.lanes[lane];
        (*counts_from, *sent) = (Some(asked), Some(now));
        self.worker.connections[0].queue(&request.ops[*at]);
        self.in_flight.push_back(lane);
    }

    /// The oldest operation under way has been answered.
    fn answered(&mut self, reply: &Reply, now: Instant) {
        // A message that nobody asked for answers nothing.
        if matches!(reply, Reply::Push(_)) {
            return;
        }
        let Some(number) = self.in_flight.pop_front() else { return };
        let lane = &mut self.lanes[number];
        let (began, asked) = (lane.began.unwrap_or(now), lane.asked.unwrap_or(now));
        if self.worker.note(self.region, &lane.request.ops[lane.at], reply, (began, asked), now) {
            let read = reply.bytes().map(|bytes| &bytes[..]);
            let at_us = since(self.worker.times.start, now);
            if let Some(pause_us) = self.worker.client.answered(lane.at, read, at_us) {
                lane.again = true;
                return self.pacer.rest(number, now, Duration::from_micros(pause_us));
            }
            lane.at += 1;
            if lane.at < lane.request.ops.len() {
                return self.send(number, now, now);
            }
            self.worker.note_request(self.region, lane.request.kind, began, now);
        }
        let think = Duration::from_micros(lane.request.think_us);
        self.pacer.rest(number, now, think);
    }

    /// A server that owes an answer and sends nothing for too long is lost.
    fn check_silence(&self) -> Result<(), Broken> {
        let timeout = self.worker.plan.timeout;
        match !self.in_flight.is_empty() && self.heard.elapsed() > timeout {
            true => Err(Broken::Silent(timeout)),
            false => Ok(()),
        }
    }
}

/// Microseconds from `from` to `to`.
pub(crate) fn since(from: Instant, to: Instant) -> u64 {
    to.saturating_duration_since(from).as_micros() as u64
}

/// A moment that does not come.
fn far() -> Instant {
    Instant::now() + Duration::from_secs(3600)
}
