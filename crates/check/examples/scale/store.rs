//! A causal store of three data centres, fast enough to record a million operations: each data centre applies the
//! updates of every other in order, once what they were written on is there, and the last writer wins.

use fastrand::Rng;
use tidemark_core::history::{Event, Fate, Final, History, Read, ReadKind, SessionId};
use tidemark_core::{DcId, Found, Hlc, Key, Stamp, Value};

const DCS: usize = 3;

/// What the history is like.
#[derive(Clone, Copy)]
pub(crate) struct Shape {
    pub(crate) sessions: usize,
    pub(crate) keys: usize,
    /// Of a hundred operations on keys, how many go to the first ten.
    pub(crate) hot_percent: u32,
    /// Of a thousand writes, how many never get an answer.
    pub(crate) unknown_permille: u32,
    /// Of a thousand operations, how many move a session's past to another session of its data centre.
    pub(crate) moved_permille: u32,
    /// Of a thousand operations, how many are write transactions of two to four keys. Every other one has read two keys before.
    pub(crate) together_permille: u32,
    /// One data centre is cut off from the others for the middle third.
    pub(crate) cut: bool,
}

impl Shape {
    /// What the benchmark measures.
    pub(crate) const ALL: [(&'static str, Self); 3] = [
        ("60 sessions, 1,000 keys, 20 % of the work on ten of them", Self::PLAIN),
        (
            "the same; 1 % of writes without an answer, sessions that move, one region cut off for a third of the time",
            Self { unknown_permille: 10, moved_permille: 1, cut: true, ..Self::PLAIN },
        ),
        (
            "the same again; 15 % of the operations write two to four keys in a transaction, and half of these have read two",
            Self {
                unknown_permille: 10,
                moved_permille: 1,
                together_permille: 150,
                cut: true,
                ..Self::PLAIN
            },
        ),
    ];

    const PLAIN: Self = Self {
        sessions: 60,
        keys: 1_000,
        hot_percent: 20,
        unknown_permille: 0,
        moved_permille: 0,
        together_permille: 0,
        cut: false,
    };
}

/// What one write, or one transaction, has written.
#[derive(Clone)]
struct Update {
    writes: Vec<(usize, Found)>,
    deps: [usize; DCS],
}

/// One data centre: how much of each log it has applied, and what it then returns.
struct Dc {
    applied: [usize; DCS],
    newest: Vec<Found>,
    clock: u64,
}

struct Store {
    shape: Shape,
    ops: usize,
    rng: Rng,
    keys: Vec<Key>,
    logs: [Vec<Update>; DCS],
    dcs: [Dc; DCS],
    /// Per session: how many events it has, and how much of each log it may have seen.
    sessions: Vec<(u64, [usize; DCS])>,
    now: u64,
    history: History,
}

/// A history of `ops` operations.
pub(crate) fn generate(ops: usize, shape: Shape) -> History {
    let dc = || Dc { applied: [0; DCS], newest: vec![Found::default(); shape.keys], clock: 0 };
    let mut store = Store {
        shape,
        ops,
        rng: Rng::with_seed(ops as u64),
        keys: (0..shape.keys).map(|k| Key::from(format!("key:{k}").as_str())).collect(),
        logs: Default::default(),
        dcs: [dc(), dc(), dc()],
        sessions: vec![(0, [0; DCS]); shape.sessions],
        now: 0,
        history: History::default(),
    };
    while store.history.events.len() < ops {
        store.turn();
    }
    store.heal();
    store.history
}

impl Store {
    fn turn(&mut self) {
        let (session, to) = (self.rng.usize(..self.sessions.len()), self.rng.usize(..DCS));
        if self.rng.u32(..10) == 0 {
            // A link is at rest for a while, then brings what has gathered.
            (0..DCS).for_each(|from| self.replicate(to, from));
        }
        let home = session % DCS;
        if self.rng.u32(..1000) < self.shape.moved_permille {
            return self.adopt(session, home);
        }
        if self.rng.u32(..1000) < self.shape.together_permille {
            return self.put_together(session, home);
        }
        match self.rng.u32(..100) {
            0..50 => self.get(session, home),
            50..60 => self.get_two(session, home),
            _ => self.put(session, home),
        }
    }

    fn key(&mut self) -> usize {
        let hot = self.rng.u32(..100) < self.shape.hot_percent;
        self.rng.usize(..if hot { 10.min(self.shape.keys) } else { self.shape.keys })
    }

    /// Applies what can be applied of one log.
    fn replicate(&mut self, to: usize, from: usize) {
        let middle = self.ops / 3..self.ops / 3 * 2;
        let cut = self.shape.cut && middle.contains(&self.history.events.len());
        if to == from || cut && (to == DCS - 1 || from == DCS - 1) {
            return;
        }
        let dc = &mut self.dcs[to];
        for update in self.logs[from].iter().skip(dc.applied[from]) {
            if update.deps.iter().zip(&dc.applied).any(|(dep, applied)| dep > applied) {
                return;
            }
            dc.applied[from] += 1;
            for (key, found) in &update.writes {
                dc.clock = dc.clock.max(found.stamp.map_or(0, |stamp| stamp.ts.0));
                let newest = &mut dc.newest[*key];
                if found.stamp > newest.stamp {
                    *newest = found.clone();
                }
            }
        }
    }

    fn push(&mut self, session: usize, event: Event) {
        let event = match event.fate {
            Fate::Unknown => Event { start_us: Some(self.now), ..event },
            _ => event.at(self.now, self.now + 1),
        };
        self.now += 2;
        let (events, seen) = &mut self.sessions[session];
        *events += 1;
        let applied = &self.dcs[session % DCS].applied;
        seen.iter_mut().zip(applied).for_each(|(seen, applied)| *seen = (*seen).max(*applied));
        self.history.events.push(event);
    }

    fn get(&mut self, session: usize, home: usize) {
        let key = self.key();
        let found = self.dcs[home].newest[key].clone();
        let event = Event::get(id(session), DcId(home as u8), self.keys[key].clone(), found);
        self.push(session, event);
    }

    fn get_two(&mut self, session: usize, home: usize) {
        let event = self.reads_two(session, home);
        self.push(session, event);
    }

    fn reads_two(&mut self, session: usize, home: usize) -> Event {
        let keys = [self.key(), self.key()];
        let read = |key: usize| Read::new(self.keys[key].clone(), self.dcs[home].newest[key].clone());
        Event::read(id(session), DcId(home as u8), ReadKind::Rotx, keys.map(read))
    }

    fn put(&mut self, session: usize, home: usize) {
        let keys = [self.key()];
        self.write(session, home, &keys, None);
    }

    /// A transaction. What it has read is of the moment at which it writes.
    fn put_together(&mut self, session: usize, home: usize) {
        let number = Some(self.history.events.len() as u64);
        if self.rng.bool() {
            let event = self.reads_two(session, home);
            self.push(session, Event { txn: number, ..event });
        }
        let mut keys: Vec<usize> = (0..self.rng.usize(2..=4)).map(|_| self.key()).collect();
        keys.sort_unstable();
        keys.dedup();
        self.write(session, home, &keys, number);
    }

    /// Writes different keys, as one update.
    fn write(&mut self, session: usize, home: usize, keys: &[usize], txn: Option<u64>) {
        let dc = &mut self.dcs[home];
        let deps = dc.applied;
        dc.clock += 1;
        dc.applied[home] += 1;
        let stamp = Stamp::new(Hlc(dc.clock), DcId(home as u8));
        let unknown = self.rng.u32(..1000) < self.shape.unknown_permille;
        let (fate, version) = if unknown { (Fate::Unknown, None) } else { (Fate::Ok, Some(stamp)) };
        let mut writes = Vec::with_capacity(keys.len());
        for key in keys {
            let value = Value::from(format!("{}", self.history.events.len()).as_bytes());
            let found = Found::new(Some(stamp), Some(value.clone()));
            self.dcs[home].newest[*key] = found.clone();
            writes.push((*key, found));
            let event =
                Event::put(id(session), DcId(home as u8), self.keys[*key].clone(), Some(value), version);
            self.push(session, Event { txn, ..event.with_fate(fate) });
        }
        self.logs[home].push(Update { writes, deps });
    }

    /// The session takes over another one's past, which its data centre covers by then.
    fn adopt(&mut self, session: usize, home: usize) {
        let from = self.rng.usize(..self.sessions.len());
        let (events, seen) = self.sessions[from];
        if from == session || events == 0 || seen.iter().zip(&self.dcs[home].applied).any(|(s, a)| s > a) {
            return;
        }
        let event = Event::adopt(id(session), DcId(home as u8), id(from), events);
        self.push(session, event);
    }

    /// Everything is exchanged, and every data centre says what it then returns.
    fn heal(&mut self) {
        let all: usize = self.logs.iter().map(Vec::len).sum();
        while self.dcs.iter().any(|dc| dc.applied.iter().sum::<usize>() < all) {
            for to in 0..DCS {
                (0..DCS).for_each(|from| self.replicate(to, from));
            }
        }
        for (m, dc) in self.dcs.iter().enumerate() {
            let last = |(key, found): (&Key, &Found)| Final {
                dc: DcId(m as u8),
                key: key.clone(),
                found: found.clone(),
            };
            self.history.finals.extend(self.keys.iter().zip(&dc.newest).map(last));
        }
    }
}

fn id(session: usize) -> SessionId {
    SessionId(session as u64)
}
