//! What processes do: turns, syncs, crashes and starts.

use super::process::Process;
use super::{Event, World};
use crate::meter::Cause;
use crate::outcome::ProblemKind;
use crate::rng::mix;
use crate::trace::Happening;
use std::sync::Arc;
use tidemark_contract::{Protocol, Ticket};
use tidemark_core::{DcId, ServerId};
use tidemark_group::Member;
use tidemark_replica::{Host, HostConfig, Now, OpenError, Output};
use tidemark_store::log::{Fsync, Position, SyncJob};

impl<P: Protocol> World<'_, P> {
    /// Runs one turn at a node, if it is up.
    pub(super) fn turn(&mut self, node: usize, asked: bool, event: impl FnOnce(&mut Host<P>, Now)) {
        let place = &mut self.nodes[node];
        let now = place.clocks.read(self.now);
        let Some(host) = place.host_mut() else { return };
        event(host, now);
        self.end_turn(node, asked);
        self.feed_on(node);
    }

    /// What the turn has made durable goes to the peers.
    pub(super) fn feed_on(&mut self, node: usize) {
        let place = &mut self.nodes[node];
        let Some(host) = place.host() else { return };
        let durable = host.durable();
        if std::mem::replace(&mut place.polled, durable) != durable && self.leads(node) {
            self.go_on_feeding(node);
        }
    }

    /// Commits, syncs as the policy says, and lets out what may leave.
    pub(super) fn end_turn(&mut self, node: usize, asked: bool) {
        let place = &mut self.nodes[node];
        let Some(Process::Alone(host)) = &mut place.process else { return self.end_member_turn(node, asked) };
        if let Err(fatal) = host.commit() {
            return self.stops(node, &fatal.to_string());
        }
        if self.plan.config.fsync == Fsync::Always
            && let Some(job) = host.sync_job()
        {
            if self.plan.config.sync_us > 0 {
                let at = self.now + self.plan.config.sync_us;
                self.queue.push(at, Event::Synced(node, place.life, job));
            } else if let Err(fatal) = host.synced(job.run()) {
                return self.stops(node, &fatal.to_string());
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
            Output::Reply { ticket, from, reply, .. } => self.answer(node, ticket, from, Ok(reply)),
            Output::Refused { ticket, from, failure } => self.answer(node, ticket, from, Err(failure)),
            Output::Ordered { number, from, answer } => self.answer_order(number, from, answer),
            Output::Send { from, to, message, .. } => {
                let cause = self.meter_message(from, to, &message);
                let there = self.node_of(to);
                let slow = self.nodes[node].slow_us + self.nodes[node].lag_us + self.nodes[there].slow_us;
                let Some(delay) = self.links.delay(self.now, from, to, asked) else { return };
                let lives = (self.nodes[node].life, self.nodes[there].life);
                self.queue.push(self.now + delay + slow, Event::Message { from, to, lives, cause, message });
            }
        }
    }

    pub(super) fn answer(
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
    pub(super) fn plan_timer(&mut self, node: usize) {
        let place = &mut self.nodes[node];
        let due = match &place.process {
            Some(Process::Alone(host)) => host.next_timer(),
            Some(Process::Member(member)) => Some(member.next_timer()),
            None => None,
        };
        let Some(due) = due else { return };
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
        let now = place.clocks.read(self.now);
        let fired = match &mut place.process {
            None => return,
            Some(Process::Alone(host)) if host.next_timer().is_some_and(|due| due <= now.mono) => {
                host.fire_timers(now);
                true
            }
            Some(Process::Member(member)) if member.next_timer() <= now.mono => {
                member.fire_timers(now);
                true
            }
            Some(_) => false,
        };
        if fired {
            self.end_turn(node, false);
            if self.leads(node) {
                self.go_on_feeding(node); // heartbeats leave nothing in the log
            }
        } else {
            self.plan_timer(node);
        }
    }

    pub(super) fn synced(&mut self, node: usize, life: u64, job: SyncJob) {
        let place = &mut self.nodes[node];
        if place.life != life {
            return;
        }
        let Some(Process::Alone(host)) = &mut place.process else { return };
        match host.synced(job.run()) {
            Ok(()) => {
                self.end_turn(node, true);
                self.feed_on(node);
            }
            Err(fatal) => self.stops(node, &fatal.to_string()),
        }
    }

    pub(super) fn upkeep(&mut self, node: usize) {
        let next = self.now + self.plan.config.upkeep_us;
        self.queue.push(next, Event::Upkeep(node));
        let place = &mut self.nodes[node];
        let a_second_ago = self.now.saturating_sub(1_000_000);
        let sync = self.plan.config.fsync == Fsync::EverySec && place.synced_at <= a_second_ago;
        if sync && place.process.is_some() {
            place.synced_at = self.now;
        }
        let host = match &mut place.process {
            None => return,
            Some(Process::Alone(host)) => host,
            Some(Process::Member(_)) => {
                self.member_upkeep(node, sync);
                return self.confirm_feeds(node);
            }
        };
        if sync
            && let Some(job) = host.sync_job()
            && let Err(fatal) = host.synced(job.run())
        {
            return self.stops(node, &fatal.to_string());
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
    pub(super) fn stops(&mut self, node: usize, why: &str) {
        let plan = self.plan;
        self.trace(|| Happening::Trouble(format!("node {} stops: {why}", plan.name_of(node))));
        self.stats.disk_failures += 1;
        self.crash(node, false);
        let repair = mix(self.plan.seed ^ self.now, node as u64) % self.plan.config.farthest_us();
        self.queue.push(self.now + repair, Event::Boot(node));
    }

    /// The process dies; if its power fails, its disk loses what it will.
    pub(super) fn crash(&mut self, node: usize, power: bool) {
        let place = &mut self.nodes[node];
        if place.process.is_none() {
            return;
        }
        if power {
            place.disk.crash(&mut self.disk_rng)
        } else {
            place.disk.kill()
        }
        place.process = None;
        place.leads = None;
        place.timer_at = None;
        place.injected = false;
        place.gathers = false;
        self.stats.crashes += 1;
        if self.leads(node) {
            self.break_feeds_to(node);
            self.break_questions_to(node);
        }
    }

    /// Whether this process is the one that everybody takes for its node.
    pub(super) fn leads(&self, process: usize) -> bool {
        self.leader[self.group_of(process)] == process
    }

    /// The node starts, unless something keeps it down.
    pub(super) fn boot(&mut self, node: usize) {
        let place = &self.nodes[node];
        if place.process.is_some() || place.kept_down > 0 {
            return;
        }
        let config = HostConfig {
            dc: place.dc,
            partitions: place.partitions.clone(),
            topology: self.layout.topology.clone(),
            params: self.params[self.group_of(node)].clone(),
            fsync: self.plan.config.fsync,
            max_skew_us: self.plan.config.max_skew_us,
            log_segment_bytes: self.plan.config.segment_bytes,
            log_retain_bytes: u64::MAX,
            snapshot_every_bytes: self.plan.config.snapshot_bytes,
            new_incarnation: mix(self.plan.seed, node as u64) | 1,
        };
        match self.open(node, config) {
            Ok(()) => {}
            Err(error) => {
                let plan = self.plan;
                self.trace(|| {
                    Happening::Trouble(format!("node {} does not start: {error}", plan.name_of(node)))
                });
                self.nodes[node].disk.kill();
                let injected = std::mem::take(&mut self.nodes[node].injected);
                if !self.nodes[node].full && !injected {
                    self.problem(
                        ProblemKind::Recovery,
                        format!("node {} does not start: {error}", self.plan.name_of(node)),
                    );
                }
                let again = self.now + self.plan.config.farthest_us();
                self.queue.push(again, Event::Boot(node));
            }
        }
    }

    fn open(&mut self, node: usize, config: HostConfig<P>) -> Result<(), OpenError> {
        let group = (self.plan.replicas > 1).then(|| self.group_config(node));
        let place = &mut self.nodes[node];
        let (disk, now) = (Arc::new(place.disk.clone()), place.clocks.read(self.now));
        place.boots += 1;
        let Some(group) = group else {
            let host = Host::open(config, disk, now)?;
            let first = place.life == 0;
            place.life = host.life();
            place.process = Some(Process::Alone(Box::new(host)));
            self.comes_up(node, first);
            self.end_turn(node, false);
            return Ok(());
        };
        place.process = Some(Process::Member(Box::new(Member::open(group, config, disk, now)?)));
        self.end_turn(node, false);
        Ok(())
    }

    /// A node is there, for the first time or again: others hear of it.
    pub(super) fn comes_up(&mut self, node: usize, first: bool) {
        let place = &mut self.nodes[node];
        place.polled = Position::START;
        let (life, group) = (place.life, self.group_of(node));
        if !first {
            let plan = self.plan;
            self.trace(|| {
                Happening::Trouble(format!("node {} is up again, life {life}", plan.name_of(node)))
            });
        }
        for other in (0..self.groups()).filter(|other| *other != group) {
            // Who restarts knows nothing of whom it will hear next.
            let there = self.leader[other];
            self.nodes[node].noticed[other] = self.nodes[there].life as u32;
            let (from, to) = (self.any_server(node), self.any_server(there));
            if first {
                self.nodes[there].noticed[group] = life as u32;
            } else {
                let delay = self.links.delay(self.now, from, to, false);
                let delay = delay.unwrap_or(self.plan.config.farthest_us());
                self.queue.push(self.now + delay, Event::Notice { at: other, of: group, life });
            }
        }
        // Who leads a group first may do so in its second life, if one before it was elected and never served. (A node of one
        // process whose first start failed is asked again when everything heals.)
        let unheard_of = if self.plan.replicas > 1 { first } else { life == 1 };
        self.open_feeds_of(node, unheard_of);
    }

    fn any_server(&self, node: usize) -> ServerId {
        ServerId::new(self.nodes[node].dc, self.nodes[node].partitions[0])
    }

    /// Node `at` notices that node `of` is in a new life: what it was asked is lost, and its feeds begin anew.
    pub(super) fn notice(&mut self, at: usize, of: usize, life: u64) {
        let at = self.leader[at];
        if u64::from(self.nodes[at].noticed[of]) >= life {
            return;
        }
        self.nodes[at].noticed[of] = life as u32;
        let servers: Vec<ServerId> = self.nodes[self.leader[of]].servers().collect();
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
        let here = self.node_of(to);
        let (there, group) = (self.group_of(self.node_of(from)), self.group_of(here));
        let gone = self.nodes[here].life != lives.1 || u64::from(self.nodes[here].noticed[there]) > lives.0;
        if gone || self.links.is_cut(from, to) {
            self.stats.lost += 1;
            return;
        }
        self.notice(group, there, lives.0);
        self.meter_cause(cause);
        self.turn(here, false, |host, now| host.message(now, from, to.partition, message));
        self.meter_turn_ends();
    }
}
