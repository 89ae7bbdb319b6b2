//! Reads at a physical time (§2.2): of each key the newest version whose `t` is at or below one that a client names.
//!
//! **Deviation D11.** The paper names them among what hybrid clocks are good for, and does not say how. If versions are kept for
//! them, a server sends its clock every Δ. A server answers once all others have passed the time, and its own
//! clock has; it never stamps at or below it later, nor below a heartbeat, also after a crash: the ceiling is durable. Each
//! partition answers for itself. What sessions wrote that asked for writes-follow-reads and monotonic-writes lies above what it
//! depends on, so that all versions up to a time are a causally consistent snapshot of these writes.

use super::{READS_AT_STABLE, Reply, Seen, Server, Timer, What, fail};
use tidemark_contract::ceiling::Ceiling;
use tidemark_contract::core::{DcId, Hlc, Key, Micros, Outcome, Vector};
use tidemark_contract::cx::found_of;
use tidemark_contract::horizon::Horizon;
use tidemark_contract::{Cx, Hard, Params as _, Recovered, Ticket, Waiters, stabilised};

/// How many keys are looked at for collection every Δ.
const PIECE: usize = 1_000;

/// What reads at a time need.
pub(super) struct Dated {
    /// Up to where everything of each other data centre was received.
    vv: Vector,
    ceiling: Ceiling,
    horizon: Horizon,
    /// When the next heartbeat is due, if there are any.
    beat: Option<Micros>,
    waiting: Waiters<Vector, (Ticket, What)>,
}

impl Dated {
    pub(super) fn start<const HYBRID: bool>(was: &Recovered<Hard>, cx: &mut Cx<'_, Server<HYBRID>>) -> Self {
        let mut vv = Vector::zero(cx.topology.dcs);
        vv.merge(&was.received);
        let delta_us = cx.params.delta_us;
        let beat = (HYBRID && cx.params.keep_us() > 0).then(|| cx.mono + delta_us);
        beat.iter().for_each(|_| cx.arm(Timer, delta_us));
        Self {
            horizon: Horizon::starts(vv.max().max(was.hard.ceiling)),
            vv,
            ceiling: Ceiling::new(was.hard.clone()),
            beat,
            waiting: Waiters::default(),
        }
    }

    /// How many reads wait for their time.
    pub(super) fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// When there is something to do next.
    pub(super) fn next(&self) -> Option<Micros> {
        self.beat.into_iter().chain(self.waiting.next_deadline()).min()
    }
}

impl<const HYBRID: bool> Server<HYBRID> {
    /// A read at a time, of keys of this partition.
    pub(super) fn at(&mut self, ticket: Ticket, keys: Vec<Key>, time: Micros, cx: &mut Cx<'_, Self>) {
        let (keep_us, wait_us) = (cx.params.keep_us(), cx.params.wait_limit_us);
        let latest = cx.now.saturating_add(wait_us);
        if let Err(refused) = self.dated.horizon.admits(time, self.hlc, keep_us, latest) {
            return fail(ticket, refused, cx);
        }
        let at = Hlc::at(time);
        if READS_AT_STABLE.kept() {
            if self.level(cx).min() < at {
                let needs = Vector::from_entries((0..cx.topology.dcs).map(|_| at));
                self.dated.waiting.park(needs, cx.mono + wait_us, (ticket, What::At(keys, time)));
                return self.wait(cx);
            }
            self.hlc = self.hlc.max(at);
            self.dated.ceiling.renew(at, Vector::default, cx);
        }
        let mut read = Seen::default();
        let newest = |key: &Key| cx.chain(key).find(|d| d.stamp.ts <= at);
        let found =
            keys.iter().map(|key| found_of(newest(key).inspect(|d| Self::read(d, &self.sv, &mut read))));
        let outcome = Outcome::FoundAll(found.collect());
        cx.reply(ticket, Reply { outcome, read, wrote: Seen::default() });
    }

    /// Up to where everything of each data centre is here; what is written here later can be put above the clock.
    fn level(&self, cx: &Cx<'_, Self>) -> Vector {
        let mut level = self.dated.vv.clone();
        level[cx.me.dc] = self.hlc.max(Hlc::at(cx.now));
        level
    }

    /// Everything of `origin` is here up to a time.
    pub(super) fn heard(&mut self, origin: DcId, upto: Hlc, cx: &mut Cx<'_, Self>) {
        self.dated.vv.raise(origin, upto);
        self.wake(cx);
    }

    fn wake(&mut self, cx: &mut Cx<'_, Self>) {
        if self.dated.waiting.is_empty() {
            return;
        }
        for (ticket, what) in self.dated.waiting.wake(&self.level(cx)) {
            self.serve(ticket, what, cx);
        }
    }

    /// The timer has fired: a heartbeat, if one is due, and a piece of collection.
    pub(super) fn beat(&mut self, cx: &mut Cx<'_, Self>) {
        self.wake(cx);
        for (ticket, _) in self.dated.waiting.expire(cx.mono) {
            fail(ticket, stabilised::not_stable(), cx);
        }
        if self.dated.beat.is_none_or(|at| cx.mono < at) {
            return;
        }
        self.dated.beat = Some(cx.mono + cx.params.delta_us);
        self.hlc = self.hlc.tick(cx.now);
        self.dated.ceiling.renew(self.hlc, Vector::default, cx);
        cx.heartbeat(self.hlc);
        let horizon = self.dated.horizon.at(self.hlc, cx.params.keep_us());
        cx.collect(PIECE, |d| d.stamp.ts <= horizon, |_| false); // I3
    }
}
