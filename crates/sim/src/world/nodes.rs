//! Nodes: a host, its disk, its clock; turns, syncs, crashes and starts.

use super::{Event, World};
use crate::meter::Cause;
use crate::outcome::ProblemKind;
use crate::plan::{ClockPlan, Layout, Plan};
use crate::rng::mix;
use crate::trace::Happening;
use std::sync::Arc;
use tidemark_contract::{Protocol, Ticket};
use tidemark_core::{DcId, Micros, PartitionId, ServerId};
use tidemark_replica::{Fatal, Host, HostConfig, Now, Output};
use tidemark_store::disk::SimDisk;
use tidemark_store::log::{Fsync, Position, SyncJob};

/// What wall clocks show at the beginning: late enough to jump back from.
const EPOCH_US: i64 = 1_000_000_000;

/// The two clocks of a node.
pub(super) struct Clocks {
    plan: ClockPlan,
    /// The sum of all jumps so far.
    pub(super) jumped_us: i64,
}

impl Clocks {
    fn mono(&self, now: Micros) -> Micros {
        let drift = now as i64 * self.plan.drift_ppm / 1_000_000;
        now.saturating_add_signed(drift)
    }

    pub(super) fn read(&self, now: Micros) -> Now {
        let mono = self.mono(now);
        let wall = mono.saturating_add_signed(EPOCH_US + self.plan.offset_us + self.jumped_us);
        Now { wall: wall - wall % self.plan.grain_us.max(1), mono }
    }

    /// When the monotonic clock shows at least `mono`.
    fn when(&self, mono: Micros, now: Micros) -> Micros {
        if self.plan.drift_ppm == 0 {
            return mono.max(now);
        }
        let rate = 1_000_000 + self.plan.drift_ppm;
        let mut at = (mono as i64 * 1_000_000 / rate).max(0) as u64;
        while self.mono(at) < mono {
            at += 1;
        }
        at.max(now)
    }
}

/// One process of one data centre.
pub(super) struct Node<P: Protocol> {
    pub(super) host: Option<Host<P>>,
    pub(super) disk: SimDisk,
    pub(super) dc: DcId,
    pub(super) partitions: Vec<PartitionId>,
    pub(super) clocks: Clocks,
    /// The number of its last start.
    pub(super) life: u64,
    /// In which life this node believes each other to be; 0 if it has not heard of it. (There is one for each two nodes.)
    pub(super) noticed: Vec<u32>,
    /// It must not start now: a fault keeps it down.
    pub(super) kept_down: u32,
    /// What each message to and from it takes longer.
    pub(super) slow_us: Micros,
    /// What it sends leaves this much later.
    pub(super) lag_us: Micros,
    /// Its disk is full on purpose.
    pub(super) full: bool,
    /// A failure of its disk was injected in this life, or before it.
    pub(super) injected: bool,
    timer_at: Option<Micros>,
    /// For which timer of its own clock that is.
    timer_due: Micros,
    polled: Position,
    synced_at: Micros,
}

impl<P: Protocol> Node<P> {
    pub(super) fn all(plan: &Plan, layout: &Layout) -> Vec<Self> {
        let nodes = plan.nodes(&layout.topology);
        let mut all: Vec<Self> = (0..nodes)
            .map(|node| Self {
                host: None,
                disk: SimDisk::new(),
                dc: DcId(0),
                partitions: Vec::new(),
                clocks: Clocks { plan: plan.config.clocks[node], jumped_us: 0 },
                life: 0,
                noticed: vec![0; nodes],
                kept_down: 0,
                slow_us: 0,
                lag_us: 0,
                full: false,
                injected: false,
                timer_at: None,
                timer_due: 0,
                polled: Position::START,
                synced_at: 0,
            })
            .collect();
        for dc in layout.topology.all_dcs() {
            for partition in layout.topology.all_partitions() {
                let node = &mut all[plan.node_of(&layout.topology, ServerId::new(dc, partition))];
                node.dc = dc;
                node.partitions.push(partition);
            }
        }
        all
    }

    /// Whether the timer that is planned, if one is, is planned for `now`: not one that an earlier one has replaced.
    pub(super) fn timer_is_due(&self, now: Micros) -> bool {
        self.timer_at == Some(now)
    }

    pub(super) fn servers(&self) -> impl Iterator<Item = ServerId> + use<'_, P> {
        self.partitions.iter().map(|partition| ServerId::new(self.dc, *partition))
    }
}

impl<P: Protocol> World<'_, P> {
    /// Runs one turn at a node, if it is up.
    pub(super) fn turn(&mut self, node: usize, asked: bool, event: impl FnOnce(&mut Host<P>, Now)) {
        let place = &mut self.nodes[node];
        let Some(host) = &mut place.host else { return };
        event(host, place.clocks.read(self.now));
        self.end_turn(node, asked);
        self.feed_on(node);
    }

    /// What the turn has made durable goes to the peers.
    pub(super) fn feed_on(&mut self, node: usize) {
        let place = &mut self.nodes[node];
        let Some(host) = &place.host else { return };
        let durable = host.durable();
        if std::mem::replace(&mut place.polled, durable) != durable {
            self.go_on_feeding(node);
        }
    }

    /// Commits, syncs as the policy says, and lets out what may leave.
    pub(super) fn end_turn(&mut self, node: usize, asked: bool) {
        let place = &mut self.nodes[node];
        let Some(host) = &mut place.host else { return };
        if let Err(fatal) = host.commit() {
            return self.stops(node, &fatal);
        }
        if self.plan.config.fsync == Fsync::Always
            && let Some(job) = host.sync_job()
        {
            if self.plan.config.sync_us > 0 {
                let at = self.now + self.plan.config.sync_us;
                self.queue.push(at, Event::Synced(node, place.life, job));
            } else if let Err(fatal) = host.synced(job.run()) {
                return self.stops(node, &fatal);
            }
        }
        let mut outputs = host.take_outputs();
        if !self.holds_back(node, &mut outputs, asked) {
            outputs.into_iter().for_each(|output| self.leave(node, output, asked));
        }
        self.plan_timer(node);
    }

    /// One thing leaves a node.
    pub(super) fn leave(&mut self, node: usize, output: Output<P>, asked: bool) {
        match output {
            Output::Reply { ticket, from, reply } => self.answer(node, ticket, from, Ok(reply)),
            Output::Refused { ticket, from, failure } => self.answer(node, ticket, from, Err(failure)),
            Output::Ordered { number, from, answer } => self.answer_order(number, from, answer),
            Output::Send { from, to, message } => {
                let cause = self.meter_message(from, to, &message);
                let there = self.node_of(to);
                let slow = self.nodes[node].slow_us + self.nodes[node].lag_us + self.nodes[there].slow_us;
                let Some(delay) = self.links.delay(self.now, from, to, asked) else { return };
                let lives = (self.nodes[node].life, self.nodes[there].life);
                self.queue.push(self.now + delay + slow, Event::Message { from, to, lives, cause, message });
            }
        }
    }

    fn answer(
        &mut self,
        node: usize,
        ticket: Ticket,
        from: ServerId,
        reply: Result<P::Reply, tidemark_core::Failure>,
    ) {
        self.meter_answer(ticket);
        let slow = self.nodes[node].slow_us + self.nodes[node].lag_us;
        let gateway = DcId(ticket.node as u8);
        if let Some(delay) = self.links.answer_delay(self.now, from, gateway, ticket.session) {
            self.queue.push(self.now + delay + slow, Event::Reply { ticket, from, reply });
        }
    }

    /// Sees to it that the next timer fires.
    fn plan_timer(&mut self, node: usize) {
        let place = &mut self.nodes[node];
        let Some(due) = place.host.as_ref().and_then(Host::next_timer) else { return };
        if place.timer_at.is_some() && place.timer_due == due {
            return;
        }
        let at = place.clocks.when(due, self.now);
        if place.timer_at.is_none_or(|planned| at < planned) {
            place.timer_at = Some(at);
            place.timer_due = due;
            self.queue.push(at, Event::Timer(node));
        }
    }

    pub(super) fn timer(&mut self, node: usize) {
        let place = &mut self.nodes[node];
        if place.timer_at.is_none_or(|at| at > self.now) {
            return;
        }
        place.timer_at = None;
        let Some(host) = &mut place.host else { return };
        let now = place.clocks.read(self.now);
        if host.next_timer().is_some_and(|due| due <= now.mono) {
            host.fire_timers(now);
            self.end_turn(node, false);
            self.go_on_feeding(node); // heartbeats leave nothing in the log
        } else {
            self.plan_timer(node);
        }
    }

    pub(super) fn synced(&mut self, node: usize, life: u64, job: SyncJob) {
        let place = &mut self.nodes[node];
        if place.life != life {
            return;
        }
        let Some(host) = &mut place.host else { return };
        match host.synced(job.run()) {
            Ok(()) => {
                self.end_turn(node, true);
                self.feed_on(node);
            }
            Err(fatal) => self.stops(node, &fatal),
        }
    }

    pub(super) fn upkeep(&mut self, node: usize) {
        let next = self.now + self.plan.config.upkeep_us;
        self.queue.push(next, Event::Upkeep(node));
        let place = &mut self.nodes[node];
        let Some(host) = &mut place.host else { return };
        let a_second_ago = self.now.saturating_sub(1_000_000);
        if self.plan.config.fsync == Fsync::EverySec && place.synced_at <= a_second_ago {
            place.synced_at = self.now;
            if let Some(job) = host.sync_job()
                && let Err(fatal) = host.synced(job.run())
            {
                return self.stops(node, &fatal);
            }
        }
        if let Some(job) = host.upkeep() {
            host.upkept(job.run());
            self.stats.snapshots += 1;
        }
        self.end_turn(node, false);
        self.feed_on(node);
        self.confirm_feeds(node);
    }

    /// The node stops by itself, because its disk failed; it is started again a while later.
    fn stops(&mut self, node: usize, fatal: &Fatal) {
        self.trace(|| Happening::Trouble(format!("node {} stops: {fatal}", node_name(node))));
        self.stats.disk_failures += 1;
        self.crash(node, false);
        let repair = mix(self.plan.seed ^ self.now, node as u64) % self.plan.config.farthest_us();
        self.queue.push(self.now + repair, Event::Boot(node));
    }

    /// The process dies; if its power fails, its disk loses what it will.
    pub(super) fn crash(&mut self, node: usize, power: bool) {
        let place = &mut self.nodes[node];
        if place.host.is_none() {
            return;
        }
        if power {
            place.disk.crash(&mut self.disk_rng)
        } else {
            place.disk.kill()
        }
        place.host = None;
        place.timer_at = None;
        place.injected = false;
        self.stats.crashes += 1;
        self.break_feeds_to(node);
        self.break_questions_to(node);
    }

    /// The node starts, unless something keeps it down.
    pub(super) fn boot(&mut self, node: usize) {
        let place = &self.nodes[node];
        if place.host.is_some() || place.kept_down > 0 {
            return;
        }
        let config = HostConfig {
            dc: place.dc,
            partitions: place.partitions.clone(),
            topology: self.layout.topology.clone(),
            params: self.params[node].clone(),
            fsync: self.plan.config.fsync,
            max_skew_us: self.plan.config.max_skew_us,
            log_segment_bytes: self.plan.config.segment_bytes,
            log_retain_bytes: u64::MAX,
            snapshot_every_bytes: self.plan.config.snapshot_bytes,
            new_incarnation: mix(self.plan.seed, node as u64) | 1,
        };
        match Host::open(config, Arc::new(place.disk.clone()), place.clocks.read(self.now)) {
            Ok(host) => self.up(node, host),
            Err(error) => {
                self.trace(|| {
                    Happening::Trouble(format!("node {} does not start: {error}", node_name(node)))
                });
                self.nodes[node].disk.kill();
                let injected = std::mem::take(&mut self.nodes[node].injected);
                if !self.nodes[node].full && !injected {
                    self.problem(
                        ProblemKind::Recovery,
                        format!("node {} does not start: {error}", node_name(node)),
                    );
                }
                let again = self.now + self.plan.config.farthest_us();
                self.queue.push(again, Event::Boot(node));
            }
        }
    }

    fn up(&mut self, node: usize, host: Host<P>) {
        let first = self.nodes[node].life == 0;
        let place = &mut self.nodes[node];
        place.life = host.life();
        place.host = Some(host);
        place.polled = Position::START;
        let life = place.life;
        if !first {
            self.trace(|| Happening::Trouble(format!("node {} is up again, life {life}", node_name(node))));
        }
        for other in (0..self.nodes.len()).filter(|other| *other != node) {
            // Who restarts knows nothing of whom it will hear next.
            self.nodes[node].noticed[other] = self.nodes[other].life as u32;
            let (from, to) = (self.any_server(node), self.any_server(other));
            if first {
                self.nodes[other].noticed[node] = life as u32;
            } else {
                let delay = self.links.delay(self.now, from, to, false);
                let delay = delay.unwrap_or(self.plan.config.farthest_us());
                self.queue.push(self.now + delay, Event::Notice { at: other, of: node, life });
            }
        }
        self.open_feeds_of(node);
        self.end_turn(node, false);
    }

    fn any_server(&self, node: usize) -> ServerId {
        ServerId::new(self.nodes[node].dc, self.nodes[node].partitions[0])
    }

    /// `at` notices that `of` is in a new life: what it was asked is lost, and its feeds begin anew.
    pub(super) fn notice(&mut self, at: usize, of: usize, life: u64) {
        if u64::from(self.nodes[at].noticed[of]) >= life {
            return;
        }
        self.nodes[at].noticed[of] = life as u32;
        let servers: Vec<ServerId> = self.nodes[of].servers().collect();
        self.turn(at, false, |host, now| servers.iter().for_each(|server| host.peer_reset(now, *server)));
        self.reopen_feeds(of, at);
    }

    pub(super) fn message(
        &mut self,
        (from, to): (ServerId, ServerId),
        lives: (u64, u64),
        cause: Cause,
        message: P::Peer,
    ) {
        let (there, here) = (self.node_of(from), self.node_of(to));
        let gone = self.nodes[here].life != lives.1 || u64::from(self.nodes[here].noticed[there]) > lives.0;
        if gone || self.links.is_cut(from, to) {
            self.stats.lost += 1;
            return;
        }
        self.notice(here, there, lives.0);
        self.meter_cause(cause);
        self.turn(here, false, |host, now| host.message(now, from, to.partition, message));
        self.meter_turn_ends();
    }
}

/// Nodes are numbered from 0.
fn node_name(node: usize) -> String {
    format!("n{node}")
}
