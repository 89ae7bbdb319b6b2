//! A client with its disk and its connection, and what has to be true of it.

use super::gateway::Session;
use super::world::World;
use bytes::Bytes;
use fastrand::Rng;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use tidemark_edge::client::*;
use tidemark_edge::durable::{Durable, Row};
use tidemark_edge::frames::*;

/// The last one is always watched.
pub(crate) const KEYS: [&str; 7] = ["c1", "s1", "s2", "m1", "t1", "s3", "l1"];

pub(crate) struct Host {
    number: usize,
    pub(crate) client: Client,
    pub(crate) disk: Durable,
    /// An older state of the disk, to be restored.
    pub(crate) copy: Option<Durable>,
    /// Writes under way.
    pub(crate) writes: VecDeque<(u64, Vec<Row>)>,
    /// Asked for, and not there yet.
    pub(crate) asked: Option<(u64, usize)>,
    pub(crate) session: Option<(u64, Session)>,
    pub(crate) up: VecDeque<Vec<u8>>,
    pub(crate) down: VecDeque<Vec<u8>>,
    wake_at_us: u64,
    /// Transactions that the application knows are committed, and that are not in a base it has seen: the unique value of each.
    own: BTreeMap<u64, Bytes>,
    open: BTreeMap<u64, Bytes>,
    commits: u64,
    seen: Base,
    /// Whether the disk has been restored, so that forks are to be expected.
    pub(crate) restored: bool,
    /// Unique values that the application need not find again.
    pub(crate) excused: BTreeSet<Bytes>,
    pub(crate) committed: BTreeSet<Bytes>,
    /// Of transactions in the log of a disk that was restored. Both copies may give them times, at the first sending or when a region
    /// asks for it, and send them to regions that do not know of each other yet. Nobody can find out.
    pub(crate) copied: BTreeSet<Bytes>,
}

impl Host {
    pub(crate) fn new(number: usize, regions: u64, rng: &mut Rng) -> Self {
        let mut disk = Durable::new(Secret(std::array::from_fn(|_| rng.u8(..))));
        disk.regions = regions;
        Self {
            number,
            client: Client::new(disk.clone(), config(rng)),
            disk,
            copy: None,
            writes: VecDeque::new(),
            asked: None,
            session: None,
            up: VecDeque::new(),
            down: VecDeque::new(),
            wake_at_us: u64::MAX,
            own: BTreeMap::new(),
            open: BTreeMap::new(),
            commits: 0,
            seen: Base::default(),
            restored: false,
            excused: BTreeSet::new(),
            committed: BTreeSet::new(),
            copied: BTreeSet::new(),
        }
    }

    pub(crate) fn event(&mut self, world: &World, rng: &mut Rng, event: Event) {
        let mut events = VecDeque::from([event]);
        while let Some(event) = events.pop_front() {
            for effect in self.client.handle(world.now_us, event) {
                match effect {
                    Effect::Persist { id, rows } => self.writes.push_back((id, rows)),
                    Effect::Connect { endpoint, connection } => self.asked = Some((connection, endpoint)),
                    Effect::Send { bytes, .. } => self.up.push_back(bytes),
                    Effect::Close { .. } => self.hang_up(),
                    Effect::WakeAt { at_us } => self.wake_at_us = at_us,
                    Effect::DrawSecret => {
                        let secret = Secret(std::array::from_fn(|_| rng.u8(..)));
                        events.push_back(Event::Secret(secret));
                    }
                    Effect::Committed { id, k } => self.on_committed(id, k),
                    Effect::CommitFailed { id, .. } => drop(self.open.remove(&id)),
                    Effect::Report(report) => self.on_report(report),
                    Effect::Changed { .. } | Effect::Status(_) => {}
                }
            }
        }
        self.check(world);
    }

    fn on_committed(&mut self, id: u64, k: u64) {
        let unique = self.open.remove(&id).expect("it is committed once");
        self.committed.insert(unique.clone());
        assert!(self.own.insert(k, unique).is_none(), "a number is given once");
    }

    fn on_report(&mut self, report: Report) {
        match report {
            Report::Forked { .. } => {
                assert!(self.restored, "client {}: a fork of a disk that was not restored", self.number);
                // What is left has other numbers; the rest may have been applied.
                self.excused.extend(std::mem::take(&mut self.own).into_values());
                for (k, body) in &self.client.durable().log {
                    self.own.insert(*k, unique_of(body));
                    self.excused.remove(&unique_of(body));
                }
            }
            other => panic!("client {}: {other:?}", self.number),
        }
    }

    fn hang_up(&mut self) {
        self.asked = None;
        self.session = None;
        self.up.clear();
        self.down.clear();
    }

    /// The connection breaks: what is under way is lost, but for some of it.
    pub(crate) fn cut(&mut self, world: &mut World, rng: &mut Rng) {
        if let Some((connection, mut session)) = self.session.take() {
            for bytes in self.up.drain(..).take(rng.usize(..4)) {
                session.handle(world, &bytes, rng);
            }
            self.hang_up();
            self.event(world, rng, Event::Disconnected { connection });
        }
    }

    /// The asked connection is made, or not.
    pub(crate) fn connect(&mut self, world: &World, rng: &mut Rng, can: bool) {
        let Some((connection, region)) = self.asked.take() else { return };
        if world.lost[region] || !can {
            return self.event(world, rng, Event::Disconnected { connection });
        }
        self.session = Some((connection, Session::new(region)));
        self.event(world, rng, Event::Connected { connection });
    }

    pub(crate) fn step_disk(&mut self, world: &World, rng: &mut Rng, can: bool) {
        let Some((id, rows)) = self.writes.pop_front() else { return };
        if !can {
            return self.event(world, rng, Event::PersistFailed { id });
        }
        rows.iter().for_each(|row| self.write(row));
        self.event(world, rng, Event::Persisted { id });
    }

    fn write(&mut self, row: &Row) {
        self.disk.apply(&Row::decode(&row.encode()).expect("it is a row"));
    }

    pub(crate) fn step_up(&mut self, world: &mut World, rng: &mut Rng) {
        if let (Some((_, session)), Some(bytes)) = (&mut self.session, self.up.pop_front()) {
            self.down.extend(session.handle(world, &bytes, rng));
        }
    }

    pub(crate) fn step_down(&mut self, world: &World, rng: &mut Rng) {
        if let (Some((connection, _)), Some(bytes)) = (&self.session, self.down.pop_front()) {
            let connection = *connection;
            self.event(world, rng, Event::Frame { connection, bytes });
        }
    }

    pub(crate) fn step_tick(&mut self, world: &mut World, rng: &mut Rng) {
        if let Some((_, session)) = &mut self.session {
            self.down.extend(session.push(world, rng));
        }
    }

    pub(crate) fn step_time(&mut self, world: &World, rng: &mut Rng) {
        if self.wake_at_us <= world.now_us {
            self.wake_at_us = u64::MAX;
            self.event(world, rng, Event::Timer);
        }
    }

    pub(crate) fn commit(&mut self, world: &World, rng: &mut Rng) {
        let mut transaction = self.client.begin();
        self.commits += 1;
        let unique = Bytes::from(format!("{}.{}.{}", self.number, self.commits, rng.u16(..)));
        // Its first key says which transaction it is: a write may be left out.
        transaction.push(unique.clone(), OperationKind::Add(1));
        transaction.push("s1", OperationKind::Set(unique.clone()));
        for _ in 0..rng.usize(..3) {
            let element = Bytes::from_static([&b"a"[..], b"b", b"c"][rng.usize(..3)]);
            let (key, kind) = match rng.u8(..8) {
                0..=2 => ("c1", OperationKind::Add(rng.i64(1..9))),
                3 => ("s2", OperationKind::Delete),
                4 => ("m1", OperationKind::MapSet(element, unique.clone())),
                5 => ("m1", OperationKind::MapDelete(element)),
                6 => ("t1", OperationKind::SetAdd(element)),
                _ => ("t1", OperationKind::SetRemove(element)),
            };
            transaction.push(key, kind);
        }
        if rng.bool() {
            // Values that others write, too: a hash says nothing of when they were written.
            let value = Bytes::from_static([&b"x"[..], b"y"][rng.usize(..2)]);
            transaction.push(["s2", "s3"][rng.usize(..2)], OperationKind::Set(value));
        }
        // By draws of its own: a schedule that violates something without a rule stays as it is.
        let mut edits = Rng::with_seed(unique.iter().fold(0, |all, byte| all * 31 + u64::from(*byte)));
        for _ in 0..edits.usize(..3) {
            edit(&mut transaction, &unique, &mut edits);
        }
        let id = self.commits;
        self.open.insert(id, unique);
        self.event(world, rng, Event::Commit { id, transaction });
    }

    /// The process dies. Some writes under way are on disk, and nobody is told.
    pub(crate) fn crash(&mut self, world: &World, rng: &mut Rng) {
        let done = rng.usize(..=self.writes.len());
        for (_, rows) in std::mem::take(&mut self.writes).into_iter().take(done) {
            rows.iter().for_each(|row| self.write(row));
        }
        self.begin_again(world, rng);
    }

    pub(crate) fn save(&mut self) {
        self.copy = Some(self.disk.clone());
    }

    /// The disk becomes what it was when it was saved.
    pub(crate) fn restore(&mut self, world: &World, rng: &mut Rng) {
        let Some(copy) = self.copy.take() else { return };
        self.disk = copy;
        self.restored = true;
        self.copied.extend(self.disk.log.values().map(unique_of));
        self.writes.clear();
        self.excused.extend(std::mem::take(&mut self.own).into_values());
        self.seen = self.disk.base.base.clone();
        self.begin_again(world, rng);
    }

    fn begin_again(&mut self, world: &World, rng: &mut Rng) {
        self.hang_up();
        self.wake_at_us = u64::MAX;
        // Of what was being committed the disk has some, and the application learns which.
        self.open.clear();
        if self.disk.secret.cid() != self.client.cid() {
            // It died between the new name and the report.
            self.excused.extend(std::mem::take(&mut self.own).into_values());
        }
        for (k, body) in &self.disk.log {
            let unique = unique_of(body);
            self.excused.remove(&unique);
            self.committed.insert(unique.clone());
            self.own.insert(*k, unique);
        }
        self.client = Client::new(self.disk.clone(), config(rng));
        for key in KEYS {
            self.event(world, rng, Event::Watch { key: Bytes::from_static(key.as_bytes()) });
        }
        self.event(world, rng, Event::Start);
    }

    /// The invariants, whatever has happened.
    fn check(&mut self, world: &World) {
        let number = self.number;
        let base = self.client.base();
        assert!(base.dominates(&self.seen), "client {number}: the base fell: {:?} {base:?}", self.seen);
        self.seen = base.clone();
        let set = world.set(base);
        let cid = self.client.cid();
        let in_base = |k: u64, unique: &Bytes| {
            set.iter().any(|index| {
                let one = &world.accepted[*index];
                one.cid == cid && one.body.k == k && unique_of(&one.body) == *unique
            })
        };
        self.own.retain(|k, unique| !in_base(*k, unique));
        let log: BTreeMap<u64, Bytes> =
            self.client.durable().log.iter().map(|(k, body)| (*k, unique_of(body))).collect();
        let lost: Vec<_> = self.own.iter().filter(|(k, unique)| log.get(k) != Some(unique)).collect();
        let of_client = set.iter().filter(|index| world.accepted[**index].cid == cid);
        let of_client: Vec<String> = of_client.map(|index| world.name(*index)).collect();
        let (place, durable) = ("neither in the base nor in the log", self.client.durable());
        assert!(lost.is_empty(), "client {number}: {place}: {lost:?}; {of_client:?} and {durable:?}");
        let twice: Vec<_> = log.iter().filter(|(k, unique)| in_base(**k, unique)).collect();
        assert!(self.restored || twice.is_empty(), "client {number}: in the base and in the log: {twice:?}");
        let own: Vec<Body> = self.client.durable().log.into_values().collect();
        for key in KEYS {
            if let Some(value) = self.client.read(key.as_bytes()) {
                let names = || set.iter().map(|index| world.name(*index)).collect::<Vec<_>>();
                let at_base = world.value(&set, &Bytes::from_static(key.as_bytes()));
                let fine = super::expected::agrees(key, &at_base, &own, &value);
                assert!(
                    fine,
                    "client {number}: {key} is {value:?}; {at_base:?} of {:?} and {own:?}",
                    names()
                );
            }
        }
    }
}

/// Does something to a list, if it is cached.
fn edit(transaction: &mut Transaction, unique: &Bytes, rng: &mut Rng) {
    let Some(value) = transaction.read(b"l1") else { return };
    let len = if let Value::List(elements) = &value { elements.len() } else { 0 };
    let done = match rng.u8(..8) {
        0 if len > 0 => transaction.set_at("l1", rng.usize(..len), unique.clone()),
        1..=3 if len > 0 => transaction.remove_at("l1", rng.usize(..len)),
        4 => {
            transaction.push_back("l1", unique.clone());
            Ok(())
        }
        _ => transaction.insert("l1", rng.usize(..=len), unique.clone()),
    };
    done.expect("it is a list, and long enough");
}

/// The key that only this transaction writes.
pub(crate) fn unique_of(body: &Body) -> Bytes {
    body.operations[0].key.clone()
}

fn config(rng: &mut Rng) -> Config {
    Config {
        endpoints: super::world::REGIONS,
        seed: rng.u64(..),
        token: Bytes::new(),
        lowers: false,
        timing: Timing::DEFAULT,
    }
}
