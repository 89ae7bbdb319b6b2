//! A tiny reference store that is causal by construction: each data centre is one map of everything applied
//! there, an update is applied after all that its origin had applied before it, and the last writer wins.
//!
//! Without the dependency check, and with keys replicated independently (`causal: false`), it is merely
//! eventual: it converges and keeps the session guarantees of sessions that stay at home.

pub(crate) mod mutate;
pub(crate) mod script;
pub(crate) mod svg;
pub(crate) mod tiny;

use fastrand::Rng;
use tidemark_core::history::{Action, Event, Fate, Final, History, Read, ReadKind, SessionId};
use tidemark_core::{DcId, Found, Hlc, Key, Stamp, Value};

/// What to generate.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub(crate) ops: usize,
    pub(crate) dcs: usize,
    pub(crate) keys: usize,
    pub(crate) sessions: usize,
    /// Deletes, unknown outcomes, adoption, conditional updates.
    pub(crate) frills: bool,
    /// Whether replicas wait for dependencies.
    pub(crate) causal: bool,
}

impl Shape {
    pub(crate) const SMALL: Self = Self { ops: 40, dcs: 2, keys: 3, sessions: 4, frills: true, causal: true };

    fn streams(&self) -> usize {
        if self.causal { 1 } else { self.keys }
    }
}

#[derive(Clone)]
struct Update {
    key: usize,
    stamp: Stamp,
    value: Option<Value>,
    deps: Vec<usize>,
}

struct Dc {
    /// Per stream (an origin, or one key of an origin): how many of its updates are applied here.
    applied: Vec<usize>,
    /// Older states, to serve snapshots from.
    past: Vec<Vec<usize>>,
    clock: u64,
}

pub(crate) struct Model {
    shape: Shape,
    rng: Rng,
    /// Per stream: its updates in order.
    logs: Vec<Vec<Update>>,
    dcs: Vec<Dc>,
    home: Vec<usize>,
    /// Per session: what it may have seen.
    seen: Vec<Vec<usize>>,
    count: Vec<u64>,
    now: u64,
    values: u64,
    pub(crate) history: History,
}

pub(crate) fn key(k: usize) -> Key {
    Key::from(format!("k{k}").as_str())
}

pub(crate) fn value(text: &str) -> Option<Value> {
    Some(Value::from(text.as_bytes()))
}

/// A history that keeps every promise (if `shape.causal`).
pub(crate) fn generate(seed: u64, shape: Shape) -> History {
    let streams = shape.dcs * shape.streams();
    let dc = || Dc { applied: vec![0; streams], past: vec![vec![0; streams]], clock: 0 };
    let mut model = Model {
        shape,
        rng: Rng::with_seed(seed),
        logs: vec![Vec::new(); streams],
        dcs: (0..shape.dcs).map(|_| dc()).collect(),
        home: (0..shape.sessions).map(|s| s % shape.dcs).collect(),
        seen: vec![vec![0; streams]; shape.sessions],
        count: vec![0; shape.sessions],
        now: 0,
        values: 0,
        history: History::default(),
    };
    while model.history.events.len() < shape.ops {
        model.turn();
    }
    model.heal();
    model.history
}

impl Model {
    fn turn(&mut self) {
        if self.rng.u32(..10) < 4 {
            return self.replicate();
        }
        let session = self.rng.usize(..self.shape.sessions);
        let roll = self.rng.u32(..100);
        match roll {
            0..35 => self.get(session),
            35..50 => self.get_all(session, ReadKind::Rotx),
            50..55 => self.get_all(session, ReadKind::Snapshot),
            55..60 if self.shape.frills => self.adopt(session),
            60..66 if self.shape.frills => self.set_if_absent(session),
            _ => self.put(session),
        }
    }

    /// One update arrives somewhere.
    fn replicate(&mut self) {
        let (to, from) = (self.rng.usize(..self.shape.dcs), self.rng.usize(..self.logs.len()));
        let Some(update) = self.logs[from].get(self.dcs[to].applied[from]).cloned() else { return };
        let dc = &mut self.dcs[to];
        if self.shape.causal && !update.deps.iter().zip(&dc.applied).all(|(d, a)| d <= a) {
            return;
        }
        dc.applied[from] += 1;
        dc.clock = dc.clock.max(update.stamp.ts.0);
        dc.past.push(dc.applied.clone());
    }

    fn lookup(&mut self, applied: &[usize], k: usize) -> Found {
        let all = self.logs.iter().zip(applied).flat_map(|(log, n)| &log[..*n]);
        let newest = all.filter(|u| u.key == k).max_by_key(|u| u.stamp);
        match newest {
            None => Found::default(),
            Some(update) if update.value.is_none() && self.rng.bool() => Found::default(),
            Some(update) => Found::new(Some(update.stamp), update.value.clone()),
        }
    }

    fn push(&mut self, session: usize, event: Event) {
        let event = match event.fate {
            Fate::Unknown => Event { start_us: Some(self.now + 1), ..event },
            _ => event.at(self.now + 1, self.now + 2),
        };
        self.now += 2;
        self.count[session] += 1;
        let applied = self.dcs[self.home[session]].applied.clone();
        self.seen[session].iter_mut().zip(applied).for_each(|(seen, a)| *seen = (*seen).max(a));
        self.history.events.push(event);
    }

    fn who(&self, session: usize) -> (SessionId, DcId) {
        (SessionId(session as u64), DcId(self.home[session] as u8))
    }

    fn get(&mut self, session: usize) {
        let k = self.rng.usize(..self.shape.keys);
        let applied = self.dcs[self.home[session]].applied.clone();
        let found = self.lookup(&applied, k);
        let (id, dc) = self.who(session);
        self.push(session, Event::get(id, dc, key(k), found));
    }

    fn get_all(&mut self, session: usize, kind: ReadKind) {
        let dc = &self.dcs[self.home[session]];
        let applied = match kind {
            ReadKind::Snapshot if self.shape.causal => dc.past[self.rng.usize(..dc.past.len())].clone(),
            _ => dc.applied.clone(),
        };
        let mut keys: Vec<usize> = (0..self.shape.keys).collect();
        self.rng.shuffle(&mut keys);
        keys.truncate(2);
        let reads: Vec<Read> = keys.iter().map(|k| Read::new(key(*k), self.lookup(&applied, *k))).collect();
        let (id, dc) = self.who(session);
        self.push(session, Event::read(id, dc, kind, reads));
    }

    fn write(&mut self, session: usize, k: usize, value: Option<Value>) -> Stamp {
        let home = self.home[session];
        let dc = &mut self.dcs[home];
        dc.clock += 1;
        let stamp = Stamp::new(Hlc(dc.clock), DcId(home as u8));
        let deps = dc.applied.clone();
        let stream = home * self.shape.streams() + k % self.shape.streams();
        dc.applied[stream] += 1;
        dc.past.push(dc.applied.clone());
        self.logs[stream].push(Update { key: k, stamp, value, deps });
        stamp
    }

    fn fresh_value(&mut self) -> Option<Value> {
        self.values += 1;
        value(&self.values.to_string())
    }

    fn put(&mut self, session: usize) {
        let k = self.rng.usize(..self.shape.keys);
        let frill = if self.shape.frills { self.rng.u32(..20) } else { 20 };
        let value = if frill == 0 { None } else { self.fresh_value() };
        let (id, dc) = self.who(session);
        let mut event = Event::put(id, dc, key(k), value.clone(), None);
        match frill {
            1 => event.fate = Fate::Failed,
            2 => event.fate = Fate::Unknown,
            _ => {}
        }
        let happens = frill != 1 && (frill != 2 || self.rng.bool());
        let stamp = happens.then(|| self.write(session, k, value));
        if let (Action::Write { version, .. }, Fate::Ok) = (&mut event.action, event.fate) {
            *version = stamp;
        }
        self.push(session, event);
    }

    fn set_if_absent(&mut self, session: usize) {
        let k = self.rng.usize(..self.shape.keys);
        let applied = self.dcs[self.home[session]].applied.clone();
        let found = self.lookup(&applied, k);
        let (value, (id, dc)) = (self.fresh_value(), self.who(session));
        let mut event = Event::put(id, dc, key(k), value.clone(), None);
        let absent = found.value.is_none();
        let stamp = absent.then(|| self.write(session, k, value));
        event.fate = if absent { Fate::Ok } else { Fate::Skipped };
        if let Action::Write { version, observed, .. } = &mut event.action {
            (*version, *observed) = (stamp, Some(found));
        }
        self.push(session, event);
    }

    /// The session takes over another one's past, if its data centre covers that.
    fn adopt(&mut self, session: usize) {
        let from = self.rng.usize(..self.shape.sessions);
        let covered = self.seen[from].iter().zip(&self.dcs[self.home[session]].applied).all(|(s, a)| s <= a);
        if from != session && covered && self.count[from] > 0 {
            let (id, dc) = self.who(session);
            self.push(session, Event::adopt(id, dc, SessionId(from as u64), self.count[from]));
        }
    }

    fn heal(&mut self) {
        let all: Vec<usize> = self.logs.iter().map(Vec::len).collect();
        for dc in 0..self.shape.dcs {
            for k in 0..self.shape.keys {
                let found = self.lookup(&all, k);
                self.history.finals.push(Final { dc: DcId(dc as u8), key: key(k), found });
            }
        }
    }
}

/// Forgets the stamps.
pub(crate) fn without_versions(mut history: History) -> History {
    for event in &mut history.events {
        match &mut event.action {
            Action::Write { version, observed, .. } => {
                *version = None;
                if let Some(found) = observed {
                    found.stamp = None;
                }
            }
            Action::Read { reads, .. } => reads.iter_mut().for_each(|r| r.found.stamp = None),
            Action::Adopt { .. } => {}
        }
    }
    history.finals.iter_mut().for_each(|f| f.found.stamp = None);
    history
}

/// Shuffles the events of different sessions, and forgets times.
pub(crate) fn shuffled(history: &History, seed: u64) -> History {
    let mut rng = Rng::with_seed(seed);
    let mut queues: Vec<Vec<Event>> = Vec::new();
    for event in history.events.iter().rev() {
        match queues.iter_mut().find(|q| q[0].session == event.session) {
            Some(queue) => queue.push(event.clone()),
            None => queues.push(vec![event.clone()]),
        }
    }
    let mut events = Vec::new();
    while !queues.is_empty() {
        let i = rng.usize(..queues.len());
        let event = queues[i].pop().expect("empty queues are dropped");
        events.push(Event { start_us: None, end_us: None, ..event });
        if queues[i].is_empty() {
            queues.swap_remove(i);
        }
    }
    History { events, ..history.clone() }
}
