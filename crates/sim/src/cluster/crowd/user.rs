//! A client with its cache, and its application.

use super::super::Cluster;
use super::Happening;
use crate::crowd::{Done, Mode, Weigher};
use crate::rng::mix;
use bytes::Bytes;
use std::collections::VecDeque;
use tidemark_core::{Key, Micros};
use tidemark_edge::client::{Client as Core, Config, Effect, Event, Report, Timing};
use tidemark_edge::durable::Durable;
use tidemark_edge::frames::{OperationKind, Secret};
use tidemark_edge::gateway::ConnectionId;
use tidemark_workload::{Cache, Change, Objects, Transaction};

/// So many transactions have filled a warm cache, for each object that it holds.
const WARMING: usize = 12;

/// One client.
pub(super) struct User {
    pub(super) dc: usize,
    /// There and back to its data centre.
    pub(super) rtt_us: Micros,
    /// The gateways that it knows, by process.
    pub(super) endpoints: Vec<usize>,
    /// None once it is gone, or if it keeps nothing.
    pub(super) core: Option<Core>,
    objects: Objects,
    cache: Cache,
    /// The connection that it asked for, and to which gateway.
    pub(super) asked: Option<(u64, usize)>,
    pub(super) line: Option<ConnectionId>,
    pub(super) wake: Option<Micros>,
    pub(super) running: Option<Running>,
    /// It has gone for good.
    gone: bool,
    /// How many transactions it has begun.
    pub(super) begun: u64,
    due: Micros,
    /// Its updates that are in no base, as far as it knows: number, time, and keys.
    committed: VecDeque<(u64, Micros, Vec<Key>)>,
    /// Takes its frames apart.
    pub(super) weigher: Option<Box<Weigher>>,
    weighs: bool,
}

/// The transaction that runs.
pub(super) struct Running {
    pub(super) transaction: Transaction,
    pub(super) began: Micros,
    /// How many of its objects were kept.
    pub(super) kept: usize,
    /// It is being committed.
    committing: bool,
    /// Of a client without a cache: how many answers are missing, and whether the writes are under way.
    pub(super) missing: usize,
    pub(super) writes: bool,
}

impl User {
    pub(super) fn begins_to_weigh(&mut self) {
        self.weigher = self.weighs.then(Box::default);
    }

    /// Whether it has written that, and it is in no base.
    pub(super) fn has_written(&self, key: &Key) -> bool {
        self.committed.iter().any(|(.., keys)| keys.contains(key))
    }
}

impl Cluster<'_> {
    /// Client `number` of all that there have been, the `n`-th of those that work at a time.
    pub(super) fn user_new(&mut self, number: usize, n: usize) -> User {
        let world = self.crowd.as_mut().expect("there is a crowd");
        let what = world.what;
        let dcs = what.busy_dcs();
        let dc = dcs[n % dcs.len()];
        let partition = n / dcs.len() % what.partitions;
        let nearest = || {
            let mut all: Vec<usize> = (0..what.dcs()).collect();
            all.sort_by_key(|other| what.rtt_us[dc][*other]);
            all
        };
        let rtt_us = world.rng.u64(what.client_rtt_us.0..=what.client_rtt_us.1);
        let mut objects = Objects::new(&what.workload, &world.keys, number, what.clients, what.seed)
            .expect("the workload was looked at");
        let mut cache = Cache::new(what.cache);
        if what.warm {
            for _ in 0..WARMING * what.cache {
                for object in objects.next().reads {
                    cache.touch(&object.key);
                }
                cache.evict();
            }
        }
        User {
            dc,
            rtt_us,
            endpoints: nearest().into_iter().map(|dc| dc * what.partitions + partition).collect(),
            core: None,
            objects,
            cache,
            asked: None,
            line: None,
            wake: None,
            running: None,
            gone: false,
            begun: 0,
            due: 0,
            committed: VecDeque::new(),
            weigher: None,
            weighs: what.weigh > 0 && n.is_multiple_of(what.weigh),
        }
    }

    pub(super) fn user_comes(&mut self, number: usize) {
        let seed = self.plan.seed;
        let Some(world) = &mut self.crowd else { return };
        let (what, user) = (world.what, &mut world.users[number]);
        if what.mode == Mode::Cached {
            let secret = Secret(std::array::from_fn(|at| mix(seed ^ number as u64, at as u64) as u8));
            let mut disk = Durable::new(secret);
            disk.regions = what.regions;
            // Two data centres are enough: to come back from one is to go to the other.
            let endpoints = user.endpoints.len().min(2);
            user.core = Some(Core::new(
                disk,
                Config {
                    endpoints,
                    seed: number as u64,
                    token: Bytes::new(),
                    lowers: false,
                    // Where to go is what experiments say.
                    timing: Timing { look_ms: None, ..Timing::DEFAULT },
                },
            ));
            for key in user.cache.keys().cloned().collect::<Vec<_>>() {
                self.user_hears(number, Event::Watch { key: key.0 });
            }
            self.user_hears(number, Event::Start);
        }
        let first = self.user_gap();
        let now = self.now;
        if let Some(world) = &mut self.crowd {
            world.users[number].due = now + first;
        }
        self.crowd_later(first, Happening::Due(number));
    }

    /// The time to the next transaction of a client: they come at random.
    fn user_gap(&mut self) -> Micros {
        let Some(world) = &mut self.crowd else { return 0 };
        let each = world.what.rate / world.what.clients as f64;
        (-(1.0 - world.rng.f64()).ln() * 1e6 / each) as Micros
    }

    /// It goes for good, and says nothing; its connection ends.
    pub(super) fn user_goes(&mut self, number: usize) {
        let Some(world) = &mut self.crowd else { return };
        let user = &mut world.users[number];
        (user.core, user.running, user.weigher, user.gone) = (None, None, None, true);
        if let Some(line) = user.line.take() {
            self.line_ends(line, 0);
        }
    }

    /// It goes back to its own data centre, if it is connected to another one.
    pub(super) fn user_returns(&mut self, number: usize) {
        let Some(world) = &mut self.crowd else { return };
        let Some(line) = world.users[number].line else { return };
        let at = &world.lines[line as usize];
        let (connection, process) = (at.connection, at.process);
        if self.processes[process].dc.index() == world.users[number].dc {
            return;
        }
        world.users[number].line = None;
        self.line_ends(line, 0);
        self.user_hears(number, Event::Disconnected { connection });
    }

    pub(super) fn user_is_due(&mut self, number: usize) {
        let now = self.now;
        let Some(world) = &mut self.crowd else { return };
        let (mode, user) = (world.what.mode, &mut world.users[number]);
        if user.running.is_some() || user.gone {
            return;
        }
        let transaction = user.objects.next();
        user.begun += 1;
        let (kept, missing) = (0, 0);
        user.running =
            Some(Running { transaction, began: now, kept, committing: false, missing, writes: false });
        match mode {
            Mode::Cached => self.user_reads(number),
            Mode::ServerOnly => self.user_asks(number),
        }
    }

    /// Its transaction reads what is kept, and waits for the rest.
    fn user_reads(&mut self, number: usize) {
        let Some(world) = &mut self.crowd else { return };
        let user = &mut world.users[number];
        let (Some(running), Some(core)) = (&mut user.running, &user.core) else { return };
        let mut new = Vec::new();
        for object in &running.transaction.reads {
            running.kept += usize::from(core.read(&object.key).is_some());
            if user.cache.touch(&object.key) {
                new.push(object.key.clone());
            }
        }
        for key in new {
            self.user_hears(number, Event::Watch { key: key.0 });
        }
        self.user_goes_on(number);
    }

    /// If all that its transaction reads is there, it commits.
    fn user_goes_on(&mut self, number: usize) {
        let Some(world) = &mut self.crowd else { return };
        let user = &mut world.users[number];
        let (Some(running), Some(core)) = (&mut user.running, &user.core) else { return };
        if running.committing {
            return;
        }
        let mut transaction = core.begin();
        if !running.transaction.reads.iter().all(|object| transaction.read(&object.key).is_some()) {
            return;
        }
        running.committing = true;
        for (object, change) in &running.transaction.changes {
            transaction.push(object.key.0.clone(), kind_of(change));
        }
        let (id, only_reads) = (user.begun, running.transaction.changes.is_empty());
        self.compare(number);
        if only_reads {
            return self.user_has_ended(number);
        }
        self.user_hears(number, Event::Commit { id, transaction });
    }

    /// Its updates are on its disk, under this number.
    fn user_has_committed(&mut self, number: usize, k: u64) {
        let now = self.now;
        let Some(world) = &mut self.crowd else { return };
        let user = &mut world.users[number];
        let Some(running) = &user.running else { return };
        let changes = &running.transaction.changes;
        let mut keys = Vec::new();
        for (object, change) in changes {
            match change {
                Change::Add(_) => world.meter.adds(number, &object.key),
                Change::Member(member) => world.meter.grown += member.len() as u64,
                _ => {}
            }
            keys.push(object.key.clone());
        }
        world.meter.commits(number, now);
        user.committed.push_back((k, now, keys));
        self.user_has_ended(number);
    }

    pub(super) fn user_has_ended(&mut self, number: usize) {
        let now = self.now;
        let Some(world) = &mut self.crowd else { return };
        let user = &mut world.users[number];
        let Some(Running { transaction, began, kept, .. }) = user.running.take() else { return };
        let dc = match (user.line, &user.core) {
            (Some(line), _) => self.processes[world.lines[line as usize].process].dc.index(),
            (None, Some(core)) => self.processes[user.endpoints[core.endpoint()]].dc.index(),
            (None, None) => user.dc,
        };
        let done = Done {
            client: number,
            kind: transaction.kind,
            began,
            ended: now,
            reads: transaction.reads.len(),
            kept,
            updates: !transaction.changes.is_empty(),
            rtt_us: user.rtt_us,
            dc,
        };
        world.meter.done(done, world.began);
        let gone = user.cache.evict();
        let due = user.due;
        for key in gone {
            self.user_hears(number, Event::Unwatch { key: key.0 });
        }
        let next = due + self.user_gap();
        if let Some(world) = &mut self.crowd {
            world.users[number].due = next;
        }
        self.crowd_later(next.saturating_sub(self.now), Happening::Due(number));
    }

    /// Gives a client an event, and carries out what it wants. Nothing if it is gone.
    pub(super) fn user_hears(&mut self, number: usize, event: Event) {
        let now = self.now;
        let mut events = VecDeque::from([event]);
        let (mut committed, mut changed) = (None, false);
        while let Some(event) = events.pop_front() {
            let Some(world) = &mut self.crowd else { return };
            let Some(core) = &mut world.users[number].core else { return };
            for effect in core.handle(now, event) {
                match effect {
                    // Its disk takes no time.
                    Effect::Persist { id, .. } => events.push_back(Event::Persisted { id }),
                    Effect::Committed { k, .. } => committed = Some(k),
                    Effect::Changed { .. } => changed = true,
                    effect => self.user_wants(number, effect),
                }
            }
        }
        self.user_knows(number);
        match committed {
            Some(k) => self.user_has_committed(number, k),
            None if changed => self.user_goes_on(number),
            None => {}
        }
    }

    fn user_wants(&mut self, number: usize, effect: Effect) {
        let now = self.now;
        let Some(world) = &mut self.crowd else { return };
        let user = &mut world.users[number];
        match effect {
            Effect::Connect { endpoint, connection } => {
                user.asked = Some((connection, endpoint));
                let process = user.endpoints[endpoint];
                let after = 2 * self.user_delay(number, process);
                self.crowd_later(after, Happening::Connects(number, connection));
            }
            Effect::Send { bytes, .. } => {
                let weight = user.weigher.as_mut().and_then(|weigher| weigher.up(&bytes));
                if let Some(weight) = weight {
                    world.meter.transfer(weight, now);
                }
                if let Some(line) = world.users[number].line {
                    self.line_sends(line, 0, bytes);
                }
            }
            Effect::Close { .. } => {
                user.asked = None;
                if let Some(line) = user.line.take() {
                    self.line_ends(line, 0);
                }
            }
            Effect::WakeAt { at_us } => {
                let at = at_us.max(now);
                user.wake = Some(at);
                self.crowd_later(at - now, Happening::Timer(number, at));
            }
            Effect::Report(Report::Lost { .. } | Report::Forked { .. } | Report::Refused { .. }) => {
                world.meter.lost += 1;
            }
            _ => {}
        }
    }

    /// Looks which of its updates are in a base now.
    fn user_knows(&mut self, number: usize) {
        let now = self.now;
        let Some(world) = &mut self.crowd else { return };
        let user = &mut world.users[number];
        let Some(core) = &user.core else { return };
        let known = core.in_base();
        while let Some((_, at, _)) = user.committed.front().filter(|(k, ..)| *k <= known) {
            if world.meter.counts(now) {
                world.meter.to_base.record(now - at);
            }
            user.committed.pop_front();
        }
    }
}

fn kind_of(change: &Change) -> OperationKind {
    match change.clone() {
        Change::Set(value) => OperationKind::Set(value),
        Change::Add(amount) => OperationKind::Add(amount),
        Change::Field(field, value) => OperationKind::MapSet(field, value),
        Change::Member(member) => OperationKind::SetAdd(member),
    }
}
