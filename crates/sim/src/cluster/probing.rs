//! How long writes take to become visible elsewhere, in runs under load: keys that nobody knows are written, and looked for.

use super::Cluster;
use super::clients::Role;
use super::driving::Happening;
use crate::plan::{Act, Step};
use std::borrow::Cow;
use tidemark_core::{Key, Micros, Op, Outcome, Update, Value, Write};

/// Keys with numbers so high, in each partition, are nobody's but the probes'.
const PROBES: u64 = 1 << 40;
/// How long a seeker waits before it looks again.
const SEEK_EVERY_US: Micros = 1_000;

impl Cluster<'_> {
    /// A key that nobody knows is written.
    pub(super) fn probe(&mut self, dc: usize) {
        let Some(load) = &mut self.load else { return };
        let partition = load.rng.usize(0..load.what.partitions);
        let number = (PROBES + load.probes) * load.what.partitions as u64 + partition as u64;
        let key = load.keys.key(number);
        load.probes += 1;
        let value = Value::from(vec![b'0'; load.what.workload.value_bytes]);
        let op = Op::Put { key, update: Update::put(Write::Assign(value)) };
        let every = load.what.probe_every_us.unwrap_or(Micros::MAX);
        let step = Step::new(self.now, Act::Op(op));
        self.add_client(dc, Cow::Owned(vec![step]), Role::Prober);
        self.happens(self.now + every, Happening::Probe(dc));
    }

    /// It is acknowledged: in every other data centre somebody begins to look for it.
    pub(super) fn probe_written(&mut self, number: usize, outcome: &Outcome) {
        let Some(Op::Put { key, .. }) = self.clients[number].op().cloned() else { return };
        self.close_client(number);
        if matches!(outcome, Outcome::Failed(_)) {
            return;
        }
        let from = self.clients[number].dc.index();
        for dc in (0..self.layout.topology.dcs).filter(|dc| *dc != from) {
            let seeker = self.clients.len();
            let Some(load) = &mut self.load else { return };
            load.sought.insert(seeker, (from, self.now));
            self.seek(dc, key.clone());
        }
    }

    fn seek(&mut self, dc: usize, key: Key) {
        let step = Step::new(self.now, Act::Op(Op::Get { key }));
        self.add_client(dc, Cow::Owned(vec![step]), Role::Seeker);
    }

    /// A seeker has looked: it looks again, as somebody with no past, until it has found the key.
    pub(super) fn sought(&mut self, number: usize, outcome: &Outcome, start: Micros) {
        let found = matches!(outcome, Outcome::Found(found) if found.value.is_some());
        let dc = self.clients[number].dc.index();
        if !found {
            self.reopen(number);
            return self.queue.push(self.now.max(start + SEEK_EVERY_US), super::Event::Wake(number));
        }
        let Some(load) = &mut self.load else { return };
        if let Some((from, written)) = load.sought.remove(&number) {
            load.visibility.entry((from, dc)).or_default().add(self.now - written);
        }
        self.close_client(number);
    }
}
