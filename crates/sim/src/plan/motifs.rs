//! Adversarial sequences. Random schedules all but never meet the interleavings that break protocols of this
//! family; each of these plays one shape of them, with random gaps and omissions, and knows no protocol.
//!
//! Source: PROTOCOLS §19, *A warning to every searcher*, and the traces of errata E-1, E-3, E-12 and E-13.

use super::workload::Composer;
use super::{Fault, Held, Layout, Plan, Trouble, scenes, torn};
use crate::rng::{Draw, Rng, Stream, mix, stream};
use tidemark_contract::info::Transactions;
use tidemark_core::{DcId, Key, Micros, Op, PartitionId, ServerId};

/// Plays one motif, drawn with `chance`.
pub(super) fn play(composer: &mut Composer<'_>, chance: &mut Rng) {
    composer.omit = chance.one(&[0, 0, 10, 25]);
    let begin = composer.now;
    let mut stage = Stage::new(composer, chance);
    let transactions = stage.c.layout.transactions >= Transactions::Writes && chance.chance(40);
    match chance.u32(0..10) {
        _ if transactions => torn::half_committed(&mut stage),
        0..=2 => scenes::held_transaction(&mut stage),
        3 => scenes::photo_album(&mut stage),
        4 | 5 => scenes::stale_sibling(&mut stage),
        6 => scenes::chain(&mut stage),
        7 => scenes::tombstones(&mut stage),
        8 => scenes::mover(&mut stage),
        _ => scenes::fresh_lift(&mut stage),
    }
    let span = stage.now - begin;
    let overlap = composer.plan.config.overlap_percent;
    composer.now = begin + span * chance.u64(2..overlap) / 100 + 1;
}

/// A motif that is being laid out: a clock of its own, and short words for what scenes are made of.
pub(super) struct Stage<'c, 'a> {
    pub(super) c: &'c mut Composer<'a>,
    pub(super) now: Micros,
    lan: Micros,
    wan: Micros,
    interval: Micros,
}

impl<'c, 'a> Stage<'c, 'a> {
    fn new(c: &'c mut Composer<'a>, chance: &mut Rng) -> Self {
        let config = &c.plan.config;
        let lan = config.lan_us + config.lan_jitter_us / 2;
        let wan = config.wan_us[chance.usize(0..config.wan_us.len())];
        let interval = config.theta_us[0].max(config.delta_us[0]);
        Self { now: c.now, lan, wan, interval, c }
    }

    /// A little later: a few messages within a data centre.
    pub(super) fn soon(&mut self) {
        self.now += self.c.rng.u64(0..=self.lan * 5);
    }

    /// About as long as news takes to another data centre.
    pub(super) fn far(&mut self) {
        self.now += self.wan * self.c.rng.u64(50..180) / 100;
    }

    /// About as long as stabilisation takes.
    pub(super) fn settle(&mut self) {
        self.now += (self.wan + self.interval * 2) * self.c.rng.u64(40..160) / 100;
    }

    /// As long as stabilisation takes at least, drawn with `aside`.
    pub(super) fn quiet(&mut self, aside: &mut Rng) {
        self.now += (self.wan + self.interval * 2) * aside.u64(100..250) / 100;
    }

    /// Any of these.
    pub(super) fn gap(&mut self) {
        match self.c.rng.u32(0..5) {
            0 | 1 => self.soon(),
            2 | 3 => self.far(),
            _ => self.settle(),
        }
    }

    /// How long something is held: from about a message to several stabilisations.
    pub(super) fn while_held(&mut self) -> Micros {
        let (low, high) = (self.wan / 2, (self.wan + self.interval) * 5);
        self.c.rng.scale(low, high)
    }

    /// A session of `dc`, other than `not`.
    pub(super) fn session(&mut self, dc: DcId, not: Option<usize>) -> usize {
        self.c.session(dc, not)
    }

    /// A key of partition `p`.
    pub(super) fn key(&mut self, p: usize) -> Key {
        self.c.key_at(p)
    }

    /// `session` writes `key` now.
    pub(super) fn put(&mut self, session: usize, key: &Key) {
        let op = self.c.put(key.clone());
        self.c.play(session, self.now, op);
    }

    /// `session` writes both keys in one transaction now.
    pub(super) fn put_both(&mut self, session: usize, first: &Key, second: &Key) {
        let op = self.c.put_all(first.clone(), vec![second.clone()]);
        self.c.play(session, self.now, op);
    }

    /// `session` updates `key` now, in any way.
    pub(super) fn update(&mut self, session: usize, key: &Key) {
        let op = self.c.update(key.clone());
        self.c.play(session, self.now, op);
    }

    /// `session` reads `key` now.
    pub(super) fn get(&mut self, session: usize, key: &Key) {
        self.c.play(session, self.now, Op::Get { key: key.clone() });
    }

    /// `session` reads `key` from now on several times, `gap` apart at most.
    pub(super) fn poll(&mut self, session: usize, key: &Key, times: u32, gap: Micros) {
        for n in 0..times {
            self.get(session, key);
            if n + 1 < times {
                self.now += self.c.rng.u64(0..=gap);
            }
        }
    }

    /// `session` reads several keys at once.
    pub(super) fn read(&mut self, session: usize, keys: &[&Key]) {
        let keys = keys.iter().map(|key| (*key).clone()).collect();
        let op = self.c.multi_read(keys);
        self.c.play(session, self.now, op);
    }

    /// `session` reads both keys, one after the other or at once.
    pub(super) fn compare(&mut self, session: usize, first: &Key, second: &Key) {
        if self.c.rng.chance(25) {
            self.read(session, &[first, second]);
        } else {
            self.get(session, first);
            self.soon();
            self.get(session, second);
        }
    }

    /// What the server of partition `p` in `from` feeds to `to` is held.
    pub(super) fn hold_stream(&mut self, p: usize, from: DcId, to: DcId, long: Micros) {
        let server = server(from, p);
        self.c.hold(Held::Stream(server, to), self.now, self.now + long);
    }

    /// Everything that siblings say to the server of partition `p` in `dc` is held.
    pub(super) fn hold_siblings(&mut self, dc: DcId, p: usize, long: Micros) {
        for other in (0..self.c.layout.keys.len()).filter(|other| *other != p) {
            self.c.hold(Held::Siblings(server(dc, other), server(dc, p)), self.now, self.now + long);
        }
    }

    /// What the server of partition `p` in `dc` asks that of `q` for a session is held.
    pub(super) fn hold_asked(&mut self, dc: DcId, p: usize, q: usize, long: Micros) {
        self.c.hold(Held::Asked(server(dc, p), server(dc, q)), self.now, self.now + long);
    }

    /// The server of partition `p` in `dc` crashes, if servers of this schedule may; false if not.
    pub(super) fn crash(&mut self, dc: DcId, p: usize) -> bool {
        if !self.c.crashes {
            return false;
        }
        let power = self.c.power && self.c.rng.bool();
        let down = self.c.rng.scale(1, self.lan * 4);
        self.fall(dc, p, power, down);
        true
    }

    /// As [`Self::crash`], drawn with `aside`, and goes on when it is up again.
    pub(super) fn restart(&mut self, dc: DcId, p: usize, aside: &mut Rng) {
        if self.c.crashes {
            let power = self.c.power && aside.bool();
            let down = aside.scale(1, self.lan * 4);
            self.fall(dc, p, power, down);
            self.now += down + aside.u64(0..=self.lan * 3);
        }
    }

    fn fall(&mut self, dc: DcId, p: usize, power: bool, down: Micros) {
        let node = node(self.c.plan, self.c.layout, server(dc, p));
        let (at, until) = (self.now, self.now + down);
        self.c.plan.faults.push(Fault { at, until, what: Trouble::Crash { node, power } });
    }

    /// Chance for what was thought of later: it leaves what is drawn otherwise, and with it all known seeds, alone.
    pub(super) fn aside(&self) -> Rng {
        stream(mix(self.c.plan.seed, self.now), Stream::Motifs)
    }
}

fn server(dc: DcId, p: usize) -> ServerId {
    ServerId::new(dc, PartitionId(p as u16))
}

fn node(plan: &Plan, layout: &Layout, server: ServerId) -> usize {
    plan.node_of(&layout.topology, server)
}
