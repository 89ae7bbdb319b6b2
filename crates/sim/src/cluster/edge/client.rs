//! A client with its disk and its application.

use super::super::Cluster;
use super::{Happening, operations};
use crate::outcome::ProblemKind;
use crate::plan::edge::{lowers, timing};
use crate::plan::{EdgeAct, EdgePlan};
use crate::rng::mix;
use crate::trace::Happening as Line;
use crate::typed::Family;
use bytes::Bytes;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use tidemark_core::history::SessionId;
use tidemark_core::{DcId, Key, Micros, Op};
use tidemark_edge::client::{Client as Core, Config, Effect, Event, Report};
use tidemark_edge::durable::{Durable, Row};
use tidemark_edge::frames::{Base, Secret};
use tidemark_edge::gateway::ConnectionId;
use tidemark_edge::transcript;

/// What the history calls the session of the first client; after it has lost its disk it is another session.
const FIRST: u64 = 900_000;
const AGAIN: u64 = 1_000_000;

/// One client.
pub(super) struct Client<'a> {
    pub(super) plan: &'a EdgePlan,
    pub(super) step: usize,
    /// None while its process is down.
    pub(super) core: Option<Core>,
    /// How often it was started.
    pub(super) life: u64,
    pub(super) dead: bool,
    disk: Durable,
    /// What the disk was asked for, in order.
    writes: VecDeque<(u64, Vec<Row>)>,
    /// A copy of the disk, and how many transactions the client had committed when it was made.
    saved: Option<(Durable, usize)>,
    restored: bool,
    pub(super) full_until: Micros,
    /// Until when it does not reach a region, or any.
    pub(super) offline: BTreeMap<Option<DcId>, Micros>,
    /// The gateways that it knows, by process.
    pub(super) endpoints: Vec<usize>,
    /// The connection that it asked for, and to which of them.
    pub(super) asked: Option<(u64, usize)>,
    pub(super) line: Option<ConnectionId>,
    pub(super) wake: Option<Micros>,
    pub(super) starts_at: Micros,
    /// The transaction that its disk is to take.
    pub(super) running: Option<usize>,
    watched: BTreeSet<Key>,
    pub(super) session: SessionId,
    /// How many events of this session the history has.
    pub(super) recorded: u64,
    /// Its base when it was looked at last.
    pub(super) looked: Base,
}

impl<'a> Client<'a> {
    pub(super) fn new(plan: &'a EdgePlan, number: usize, dcs: usize) -> Self {
        let mut disk = Durable::new(secret(mix(dcs as u64, number as u64)));
        disk.regions = plan.regions;
        Self {
            plan,
            step: 0,
            core: None,
            life: 0,
            dead: false,
            disk,
            writes: VecDeque::new(),
            saved: None,
            restored: false,
            full_until: 0,
            offline: BTreeMap::new(),
            endpoints: Vec::new(),
            asked: None,
            line: None,
            wake: None,
            starts_at: 0,
            running: None,
            watched: plan.watched.iter().cloned().collect(),
            session: SessionId(FIRST + number as u64),
            recorded: 0,
            looked: Base::default(),
        }
    }

    /// Whether it can reach a region.
    pub(super) fn reaches(&self, dc: DcId, now: Micros) -> bool {
        [None, Some(dc)].iter().all(|from| self.offline.get(from).is_none_or(|until| *until <= now))
    }

    /// What is left to do for it, if it has nothing more to do itself.
    pub(super) fn unfinished(&self) -> Option<String> {
        let Some(core) = &self.core else { return (!self.dead).then(|| "is down".into()) };
        let pending = core.pending();
        match self.watched.iter().find(|key| core.read(key).is_none()) {
            _ if pending > 0 => Some(format!("has {pending} transactions that are in no base")),
            _ if !self.writes.is_empty() => Some("waits for its disk".into()),
            Some(key) => Some(format!("does not have {key}")),
            None => None,
        }
    }
}

/// Which client a session of the history is one of.
pub(super) fn client_of(session: SessionId) -> Option<usize> {
    Some((session.0.checked_sub(FIRST)? % AGAIN) as usize)
}

fn secret(from: u64) -> Secret {
    Secret(std::array::from_fn(|at| mix(from, at as u64) as u8))
}

/// What only transactions in the log of a disk write.
fn values_of(disk: &Durable) -> BTreeSet<Bytes> {
    let bodies = disk.log.values();
    bodies.flat_map(|body| body.operations.iter().filter_map(operations::value_of)).collect()
}

impl Cluster<'_> {
    /// The process of a client starts, with what its disk has.
    pub(super) fn edge_starts(&mut self, number: usize, life: u64) {
        let now = self.now;
        let (timing, lowers) = (timing(self.plan), lowers(self.plan, number));
        let transcribes = self.edge_transcribes();
        let client = &mut self.edge().clients[number];
        if client.dead || client.life != life || client.core.is_some() || now < client.starts_at {
            return;
        }
        client.life += 1;
        let (endpoints, seed) = (client.endpoints.len(), client.life);
        let config = Config { endpoints, seed, token: Bytes::new(), lowers, timing };
        let start = transcribes.then(|| transcript::start(&client.disk, &config));
        client.core = Some(Core::new(client.disk.clone(), config));
        let watched = client.watched.clone();
        start.into_iter().for_each(|line| self.edge_writes_down(number, line));
        for key in watched {
            self.edge_tell(number, Event::Watch { key: key.0 });
        }
        self.edge_tell(number, Event::Start);
    }

    /// The process of a client ends, for good if there is no time when it is back. Of what its disk was asked for, it may have the first.
    fn edge_crashes(&mut self, number: usize, until: Micros) {
        let some = self.edge_draw(4) as usize;
        let edge = self.edge();
        let client = &mut edge.clients[number];
        client.dead |= until == Micros::MAX;
        if client.core.take().is_none() {
            return;
        }
        client.life += 1;
        for (_, rows) in client.writes.drain(..).take(some) {
            rows.iter().for_each(|row| client.disk.apply(row));
            edge.records.on_disk(&rows);
        }
        client.writes.clear();
        (client.asked, client.wake, client.starts_at) = (None, None, until);
        let life = client.life;
        let kept = values_of(&client.disk);
        if let Some(line) = client.line.take() {
            self.edge_ends(line, 0);
            let after = self.edge_draw(4 * self.plan.config.farthest_us());
            self.edge_later(after, Happening::GatewayHears(line));
        }
        if let Some(running) = self.edge().clients[number].running.take() {
            let there = self.edge().records.is_among(running, &kept);
            self.edge_committed(number, running, there.then_some(0));
            self.edge_goes_on(number);
        }
        if until < Micros::MAX {
            self.edge_later(until.saturating_sub(self.now), Happening::Starts(number, life));
        }
    }

    /// Something happens to a client, or its application wants something.
    pub(super) fn edge_suffers(&mut self, number: usize, act: &EdgeAct) {
        self.trace(|| Line::Trouble(format!("edge client {number}: {act:?}")));
        let up = self.edge().clients[number].core.is_some();
        match act {
            EdgeAct::Commit { .. } => {}
            EdgeAct::Regions(regions) if up => {
                self.edge_tell(number, Event::SetRegions { regions: *regions });
            }
            EdgeAct::Forgets(key) if up => {
                if self.edge().clients[number].watched.remove(key) {
                    self.edge_tell(number, Event::Unwatch { key: key.0.clone() });
                }
            }
            EdgeAct::Watches(key) if up => {
                self.edge().clients[number].watched.insert(key.clone());
                self.edge_tell(number, Event::Watch { key: key.0.clone() });
            }
            EdgeAct::Regions(_) | EdgeAct::Forgets(_) | EdgeAct::Watches(_) => {}
            EdgeAct::HangsUp => {
                self.stats.faults += 1;
                if let Some(line) = self.edge().clients[number].line {
                    self.edge_breaks(line);
                }
            }
            EdgeAct::Offline(from, until) => {
                self.stats.faults += 1;
                self.edge().clients[number].offline.insert(*from, *until);
                self.edge_cut_off(number, *from);
            }
            EdgeAct::DiskFull(until) => {
                self.stats.faults += 1;
                self.edge().clients[number].full_until = *until;
            }
            EdgeAct::Crashes(until) => {
                self.stats.crashes += 1;
                self.edge_crashes(number, *until);
            }
            EdgeAct::Saves => {
                let edge = self.edge();
                let committed = edge.records.len();
                let client = &mut edge.clients[number];
                client.saved = Some((client.disk.clone(), committed));
            }
            EdgeAct::Restores(until) => self.edge_restores(number, *until),
            EdgeAct::Dies => {
                self.stats.faults += 1;
                self.edge_crashes(number, Micros::MAX);
                self.edge_unsure(number, 0);
            }
        }
    }

    fn edge_restores(&mut self, number: usize, until: Micros) {
        let Some((disk, committed)) = self.edge().clients[number].saved.clone() else { return };
        self.stats.faults += 1;
        self.edge_crashes(number, until);
        let edge = self.edge();
        edge.records.copied(&values_of(&disk));
        let client = &mut edge.clients[number];
        client.disk = disk;
        client.restored = true;
        client.looked = Base::default();
        // The user sees an earlier state: to the history it is another one, who knows nothing.
        client.session.0 += AGAIN;
        client.recorded = 0;
        self.edge_unsure(number, committed);
    }

    /// The disk of a client does what it was asked first.
    pub(super) fn edge_written(&mut self, number: usize, life: u64) {
        let now = self.now;
        let edge = self.edge();
        let client = &mut edge.clients[number];
        if client.life != life {
            return;
        }
        let Some((id, rows)) = client.writes.pop_front() else { return };
        let event = if now < client.full_until {
            Event::PersistFailed { id }
        } else {
            rows.iter().for_each(|row| client.disk.apply(row));
            edge.records.on_disk(&rows);
            Event::Persisted { id }
        };
        self.edge_tell(number, event);
        self.edge_writes_next(number);
    }

    fn edge_writes_next(&mut self, number: usize) {
        let sync_us = self.plan.config.sync_us;
        let after = self.edge_draw(sync_us.max(500));
        let client = &self.edge().clients[number];
        let life = client.life;
        if !client.writes.is_empty() {
            self.edge_later(after, Happening::Written(number, life));
        }
    }

    /// Gives a client an event, and carries out what it wants. Nothing if it is down.
    pub(super) fn edge_tell(&mut self, number: usize, event: Event) {
        let mut events = VecDeque::from([event]);
        while let Some(event) = events.pop_front() {
            let now = self.now;
            let said = self.edge_transcribes().then(|| transcript::event(&event));
            let Some(core) = &mut self.edge().clients[number].core else { return };
            let effects = core.handle(now, event);
            if let Some(said) = said {
                self.edge_notes(number, &said, &effects);
            }
            for effect in effects {
                self.edge_carries_out(number, effect, &mut events);
            }
        }
        self.edge_looks(number);
    }

    fn edge_carries_out(&mut self, number: usize, effect: Effect, events: &mut VecDeque<Event>) {
        let (now, far) = (self.now, self.plan.config.farthest_us());
        let client = &mut self.edge().clients[number];
        let life = client.life;
        match effect {
            Effect::Persist { id, rows } => {
                client.writes.push_back((id, rows));
                if client.writes.len() == 1 {
                    self.edge_writes_next(number);
                }
            }
            Effect::Connect { endpoint, connection } => {
                client.asked = Some((connection, endpoint));
                let after = self.edge_draw(2 * far);
                self.edge_later(after, Happening::Connects(number, life, connection));
            }
            Effect::Send { bytes, .. } => {
                if let Some(line) = client.line {
                    self.edge_sends(line, 0, Some(bytes));
                }
            }
            Effect::Close { .. } => {
                client.asked = None;
                if let Some(line) = client.line.take() {
                    self.edge_sends(line, 0, None);
                    self.edge_ends(line, 0);
                }
            }
            Effect::WakeAt { at_us } => {
                let at = at_us.max(now);
                client.wake = Some(at);
                self.edge_later(at - now, Happening::Timer(number, life, at));
            }
            Effect::DrawSecret => {
                let drawn = self.edge_draw(u64::MAX);
                events.push_back(Event::Secret(secret(drawn)));
            }
            Effect::Committed { .. } | Effect::CommitFailed { .. } => {
                let done = if let Effect::Committed { k, .. } = effect { Some(k) } else { None };
                if let Some(running) = client.running.take() {
                    self.edge_committed(number, running, done);
                    self.edge_goes_on(number);
                }
            }
            Effect::Report(report) => self.edge_reports(number, &report),
            Effect::Changed { .. } | Effect::Status(_) => {}
        }
    }

    /// What a client may only say where there is a reason.
    fn edge_reports(&mut self, number: usize, report: &Report) {
        self.trace(|| Line::Trouble(format!("edge client {number}: {report:?}")));
        let restored = self.edge().clients[number].restored;
        let wrong = match report {
            Report::Refused { k, operation, .. } => {
                let of = self.edge().records.operation(number, *k, *operation as usize);
                of.is_some_and(
                    |op| !matches!(op, Op::Put { key, .. } if Family::find(&key) == Some(Family::Wild)),
                )
            }
            Report::Forked { .. } => {
                self.edge_unsure(number, 0);
                !restored
            }
            Report::Lost { k } => {
                self.edge_loses(number, *k);
                false
            }
            Report::Error { code, .. } => code != "UNAVAILABLE",
        };
        if wrong {
            self.problem(ProblemKind::Edge, format!("edge client {number}: {report:?}"));
        }
    }
}
