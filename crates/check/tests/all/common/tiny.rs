//! Tiny histories of no store: writes with any stamps, and reads of any of them, so that each property breaks
//! without the others now and then.

use super::{key, value};
use fastrand::Rng;
use tidemark_core::history::{Action, Event, Fate, Final, History, Read, ReadKind, SessionId};
use tidemark_core::{DcId, Found, Guarantees, Hlc, Stamp};

/// A write that somebody may read.
struct Wrote {
    key: usize,
    found: Found,
    event: usize,
}

struct Tiny {
    rng: Rng,
    sessions: u64,
    keys: usize,
    /// How many of ten reads return a version that was written by then, where there is one.
    sane: u32,
    writes: Vec<Wrote>,
    history: History,
}

/// The history of this seed: up to a dozen operations of up to four sessions.
pub(crate) fn tiny(seed: u64) -> History {
    let mut rng = Rng::with_seed(seed ^ 0x7465_6e79);
    let (sessions, keys, sane) = (rng.u64(1..=4), rng.usize(1..=3), rng.u32(6..=10));
    let mut tiny = Tiny { rng, sessions, keys, sane, writes: Vec::new(), history: History::default() };
    for _ in 0..tiny.rng.usize(2..=10) {
        tiny.operation();
    }
    tiny.fill_reads();
    if tiny.rng.u32(..4) > 0 {
        tiny.give_times();
    }
    if tiny.rng.u32(..4) > 0 {
        tiny.last_words();
    }
    if tiny.rng.u32(..4) == 0 {
        tiny.ask_for_less();
    }
    tiny.history
}

impl Tiny {
    fn operation(&mut self) {
        let (session, dc) = (SessionId(self.rng.u64(..self.sessions)), DcId(self.rng.u8(..2)));
        let some_keys = |rng: &mut Rng, keys: usize| {
            let mut all: Vec<usize> = (0..keys).collect();
            rng.shuffle(&mut all);
            all.truncate(rng.usize(1..=keys));
            all
        };
        let read = |k: &usize| Read::new(key(*k), Found::default());
        match self.rng.u32(..20) {
            0..6 => self.write(session, dc, None, None),
            6..9 => {
                // A write transaction, which may have got no answer.
                let (number, lost) = (self.history.events.len() as u64, self.rng.u32(..8) == 0);
                for k in some_keys(&mut self.rng, self.keys) {
                    self.write(session, dc, Some(k), Some((number, lost)));
                }
            }
            9..15 => {
                let reads = [read(&self.rng.usize(..self.keys))];
                self.history.events.push(Event::read(session, dc, ReadKind::Get, reads));
            }
            15..19 => {
                let kind = if self.rng.u32(..4) == 0 { ReadKind::Snapshot } else { ReadKind::Rotx };
                let reads: Vec<Read> = some_keys(&mut self.rng, self.keys).iter().map(read).collect();
                self.history.events.push(Event::read(session, dc, kind, reads));
            }
            _ => {
                let from = SessionId(self.rng.u64(..self.sessions));
                let count = self.history.events.iter().filter(|e| e.session == from).count() as u64;
                if from != session && count > 0 {
                    self.history.events.push(Event::adopt(session, dc, from, count));
                }
            }
        }
    }

    fn write(&mut self, session: SessionId, dc: DcId, k: Option<usize>, txn: Option<(u64, bool)>) {
        let k = k.unwrap_or_else(|| self.rng.usize(..self.keys));
        let event = self.history.events.len();
        let stamp = Stamp { ts: Hlc(self.rng.u64(1..10)), origin: dc, seq: event as u32 };
        let value = if self.rng.u32(..12) == 0 { None } else { value(&event.to_string()) };
        let mut put = Event::put(session, dc, key(k), value.clone(), Some(stamp));
        put.txn = txn.map(|(number, _)| number);
        match (txn, self.rng.u32(..14)) {
            (Some((_, true)), _) | (None, 0) if value.is_some() => put.fate = Fate::Unknown,
            (None, 1) => put.fate = Fate::Failed,
            _ => {}
        }
        let observes = put.fate == Fate::Ok && self.rng.u32(..5) == 0;
        if let Action::Write { version, observed, .. } = &mut put.action {
            if put.fate != Fate::Ok {
                *version = None;
            }
            if observes {
                *observed = Some(Found::default());
            }
        }
        if put.fate != Fate::Failed {
            self.writes.push(Wrote { key: k, found: Found::new(Some(stamp), value), event });
        }
        self.history.events.push(put);
    }

    /// What a read of `key` may return.
    fn pick(&mut self, k: usize, before: usize) -> Found {
        let sane = self.rng.u32(..10) < self.sane;
        let possible = |w: &&Wrote| w.key == k && w.event != before && (w.event < before || !sane);
        let all: Vec<Found> = self.writes.iter().filter(possible).map(|w| w.found.clone()).collect();
        let place = self.rng.usize(..all.len() + 1);
        all.get(place).cloned().unwrap_or_default()
    }

    fn fill_reads(&mut self) {
        for e in 0..self.history.events.len() {
            let mut action = self.history.events[e].action.clone();
            let number = |k: &tidemark_core::Key| (0..self.keys).find(|n| key(*n) == *k).unwrap_or(0);
            match &mut action {
                Action::Read { reads, .. } => {
                    let keys: Vec<usize> = reads.iter().map(|read| number(&read.key)).collect();
                    for (read, k) in reads.iter_mut().zip(keys) {
                        read.found = self.pick(k, e);
                    }
                }
                Action::Write { key, observed: Some(observed), .. } => {
                    let k = number(key);
                    *observed = self.pick(k, e);
                }
                _ => {}
            }
            self.history.events[e].action = action;
        }
    }

    fn give_times(&mut self) {
        for (e, event) in self.history.events.iter_mut().enumerate() {
            let start = 10 * e as u64;
            event.start_us = Some(start);
            event.end_us = (event.fate != Fate::Unknown).then(|| start + self.rng.u64(1..15));
        }
    }

    fn last_words(&mut self) {
        for k in 0..self.keys {
            let mut all: Vec<Found> =
                self.writes.iter().filter(|w| w.key == k).map(|w| w.found.clone()).collect();
            all.sort_by_key(|found| found.stamp);
            let newest = all.last().cloned().unwrap_or_default();
            for dc in 0..2 {
                let other = self.rng.u32(..6) == 0;
                let found = if other { self.pick(k, usize::MAX) } else { newest.clone() };
                self.history.finals.push(Final { dc: DcId(dc), key: key(k), found });
            }
        }
    }

    fn ask_for_less(&mut self) {
        let rng = &mut self.rng;
        let events = self.history.events.iter_mut();
        for event in events.filter(|event| !matches!(event.action, Action::Adopt { .. })) {
            event.asked = Guarantees {
                monotonic_reads: rng.bool(),
                read_your_writes: rng.bool(),
                writes_follow_reads: rng.bool(),
                monotonic_writes: rng.bool(),
            };
        }
    }
}
