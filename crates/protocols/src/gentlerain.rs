//! GentleRain: causal consistency with one number a version, for the price of waiting for the farthest region.
//!
//! **Idea.** Every version carries the physical time of its creation, which is above that of all it depends
//! on. The servers of a data centre agree, through an aggregation tree, on a *global stable time*: everything
//! up to it has arrived from everywhere. A version written elsewhere is readable once its time is stable.
//!
//! **Source.** J. Du et al., GentleRain, SoCC 2014 (001), §4, Algorithms 1 to 4; §4.5 for the tree, §5.3 for
//! collection. The variant on hybrid clocks is the one that the dissertation (000) measures in §5.5.4.
//!
//! **Names.** `st.vv` VV, the version vector (`vv[m]` is the last time announced here) · `st.stable` or `gst` GST, the
//! global stable time · `dt` DT, the largest update time that a session has seen · `ut` update time · `sr` source
//! replica (`stamp.origin`) · `st` snapshot time · θ, Δ in [`Params`].
//!
//! **Deviations**
//! - D1 (E-1) PUT carries the session's `gst` and the server adopts it. Without, a version written here is
//!   seen by readers whose server has not reached what the version depends on.
//! - D2 (E-2) `gst` is never lowered: late reports of the tree are merged, not assigned.
//! - D3 (E-9) A server's stamps strictly increase: `max(Clock, VV[m] + 1)`. PUT waits until that is above `dt`.
//! - D4 (E-12) A version keeps the `gst` of its PUT, and a restarted server begins at the largest of those that
//!   were written here. Whoever reads a version written here then leaves with at least the `gst` that
//!   its writer had, as before the crash. Nothing else needs the lost rest: sessions carry theirs, a root
//!   that starts again knows less than it once said, which `max` mends, and what a server offers as safe to
//!   collect below is what it will recover. Stamps start above a persisted ceiling, which is announced at once. What a server reported before it crashed stays true: it had received it, durably.
//! - D5 (E-13) A token's `gst` is adopted only in the region it speaks of; elsewhere the session waits until
//!   the region's own reaches its `dt`.
//! - D6 A conditional update depends on the version that decided it, and so does its session.
//! - D7 α is infinite unless it is set: a ROTX waits until `gst` is above `dt`, at most [`Params::wait_limit_us`].
//!   Where §4.3 falls back on Eiger's transactions there is a snapshot that waits for nothing, takes one round, and
//!   needs no Lamport clock: everything up to `gst`, and of what was written here also what is at or below `dt` and
//!   was written at or below that `gst`. A server that was asked stamps above `dt` from then on (its fence), and a PUT
//!   tells its `gst`. Eiger's own rule is unsound here: a server that has yet to hear of a `gst` says of a version
//!   that it is valid now, and another one that has heard shows what depends on the next.
//! - D8 The coordinator of a snapshot is the owner of its first key.
//! - D9 §4.4 finds conflicts by the version that preceded a new one in its origin's chain, which misses some and
//!   tells one side only of others. A version is shipped with the `gst` of its PUT instead, which says exactly what
//!   was visible there: two versions from different regions conflict unless the older one's `ut` is at or below it.
//!   Conflicts are counted; a [`Resolver`] resolves them, as the last writer wins by default, whenever they are
//!   read: deciding once at arrival, as in §4.4, lets replicas diverge.
//! - D10 (E-11) §5.5 leaves open how a data centre that was cut off is left out: `exclusion.rs` has it. Versions that it
//!   wrote above the cut are hidden from readers by their `gst`, which is never between what was here and the cut;
//!   sessions that moved from it are refused, and deletions remembered. Hidden versions count as seen for D9.
//!
//! **Invariants**
//! - I1 `gst` never falls; every server of the data centre has received all that was written elsewhere at or
//!   below it and is not hidden (D10), and has a `vv[m]` at or above it.
//! - I2 A version's `ut` is above the `dt` of its PUT, above everything announced here before, and so (I1)
//!   above every `gst` and snapshot in use when it is written.

use std::marker::PhantomData;
use tidemark_contract::conflicts::Conflicts;
use tidemark_contract::prelude::*;
use tidemark_contract::stabilised::{self, FoundSlice, Stabilised, StableTime};
use tidemark_contract::{Extensions, info};

mod exclusion;
mod params;
mod resolver;
mod rules;
mod session;

use exclusion::Exclusion;
pub use exclusion::{Kept, Message};
pub use params::{Params, Stamps};
use resolver::saw;
pub use resolver::{LastWriter, Resolver};
pub use rules::*;
pub use session::{Past, Request};

/// What servers say to each other: slices are asked for in the snapshot `st`.
pub type Peer = stabilised::Peer<Past, Past, Message>;

/// Timers: one more is armed while a PUT waits for the clock.
pub type Timer = stabilised::Timer<Clock>;

/// The timer of what waits for the clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Clock;

/// What a reader in data centre `m` can see.
pub struct View {
    m: DcId,
    /// A snapshot; a GET sees everything that was written here, and what is stable.
    at: Past,
    fresh: bool,
    /// D10: of which data centre nothing is shown that it wrote above a cut.
    hidden: Option<(DcId, Hlc)>,
}

/// A clock that was set back stands still until physical time has caught up, and coarse ones stand still between
/// ticks: who waits for one looks at it now and then.
const SHORTEST_WAIT_US: Micros = 200;

/// With the resolver that everybody has.
pub type GentleRain = Server<LastWriter>;

/// A server, `p_n^m`. What waits is taken up again from its beginning.
pub struct Server<R: Resolver> {
    st: Stabilised<Self>,
    /// D7: no snapshot up to here may miss what is written here later.
    fence: Hlc,
    /// Tells apart what has one stamp; always 0 with D3.
    seq: u32,
    waiting_for_clock: Waiters<Hlc, (Ticket, Request)>,
    waiting_for_gst: Waiters<Hlc, (Ticket, Request)>,
    conflicts: Conflicts,
    exclusion: Exclusion,
    resolver: PhantomData<R>,
}

const ABOUT: &str = "causal+ with one number a version; waits for the farthest region";

impl<R: Resolver> Protocol for Server<R> {
    const INFO: Info = Info::new("gentlerain", ABOUT, Promise::CausalImmediate)
        .clock(info::Clock::Monotone)
        .partial()
        .rules(RULES)
        .variants(VARIANTS);
    const EXTENSIONS: Extensions<Self> = Extensions {
        order: Some(Self::obey),
        resolve: if R::RESOLVES { Some(|seen| Conflicts::resolve(seen, saw, R::newer_wins)) } else { None },
        ..Extensions::NONE
    };
    type Meta = Hlc; // D4, D9: gst at the PUT
    type Request = Request;
    type Reply = Answer<Past>; // every reply in the paper is ⟨v, ut, gst⟩ or part of it
    type Peer = Peer;
    type Hard = Kept;
    type Timer = Timer;
    type View = View;
    type Session = OneRoundSession<Self>;
    type Params = Params;
    type Component = Stabilised<Self>;

    fn start(mut was: Recovered<Kept>, cx: &mut Cx<'_, Self>) -> Self {
        let exclusion = Exclusion::recovered(&mut was);
        let Kept { clock: hard, .. } = &was.hard;
        let written_here = cx.store.versions().filter(|d| d.stamp.origin == cx.me.dc);
        let known = written_here.map(|d| d.meta).fold(hard.stable.min(), Hlc::max); // D4
        if was.life > 1 {
            cx.heartbeat(was.received[cx.me.dc].max(hard.ceiling));
        }
        let mut st = Stabilised::start(&was, cx.params.shared(), cx);
        st.stable = Vector::from(if STABLE_SURVIVES.kept() { known } else { Hlc::ZERO });
        Self {
            st,
            fence: Hlc::ZERO, // below the ceiling
            seq: 0,
            waiting_for_clock: Waiters::default(),
            waiting_for_gst: Waiters::default(),
            conflicts: Conflicts::new(cx.store, R::RESOLVES, saw),
            exclusion,
            resolver: PhantomData,
        }
    }

    fn on_request(&mut self, ticket: Ticket, request: Request, cx: &mut Cx<'_, Self>) {
        match request {
            Request::Get(key, gst) => self.get(ticket, &key, gst, cx),
            Request::Put(key, update, past) => self.put(ticket, key, update, past, cx),
            Request::Snapshot(keys, gst) => self.snapshot(ticket, keys, Past { dt: Hlc::ZERO, gst }, cx),
            Request::Rotx(keys, past) => self.rotx(ticket, keys, past, cx),
            Request::Walk(walk, gst) => {
                self.raise(gst, cx);
                let mut past = Past { dt: Hlc::ZERO, gst: self.gst() };
                let outcome = cx.walk(&walk, &self.fresh(cx), |d| past.dt = past.dt.max(d.stamp.ts));
                cx.answer(ticket, outcome, past);
            }
            Request::Cover(past, home) => self.cover(ticket, past, home, cx),
        }
    }

    fn on_peer(&mut self, from: ServerId, message: Peer, cx: &mut Cx<'_, Self>) {
        match message {
            Peer::Own(message) => self.hand_over(from, message, cx),
            message => stabilised::on_peer(self, from, message, cx),
        }
    }

    /// Algorithm 2 lines 18 to 20.
    fn on_replicate(&mut self, from: ServerId, key: Key, d: Version<Hlc>, cx: &mut Cx<'_, Self>) {
        let new = d.stamp;
        cx.store.insert(&key, d);
        self.conflicts.note(cx.store, &key, new, saw); // §4.4, D9
        self.st.vv.raise(from.dc, new.ts);
    }

    fn on_timer(&mut self, timer: Timer, cx: &mut Cx<'_, Self>) {
        match timer {
            Timer::Theta => stabilised::on_timer(self, timer, cx), // Algorithm 2 lines 29 to 31
            // Algorithm 2 lines 21 to 26.
            Timer::Delta => {
                let due = self.st.vv[cx.me.dc].micros() + cx.params.delta_us;
                if cx.now < due {
                    return cx.arm(Timer::Delta, (due - cx.now).max(SHORTEST_WAIT_US)); // 23
                }
                cx.arm(Timer::Delta, cx.params.delta_us);
                self.st.advance(Hlc::at(cx.now), cx); // 22, 24
                cx.heartbeat(Hlc::at(cx.now)); // 25, 26
            }
            Timer::Own(Clock) => {
                for (ticket, put) in self.waiting_for_clock.wake(&Hlc::at(cx.now)) {
                    self.on_request(ticket, put, cx);
                }
                self.arm_clock(cx);
            }
        }
    }

    fn visible(view: &View, stamp: Stamp, written_at: &Hlc) -> bool {
        let Past { dt, gst } = view.at;
        let needs = if LOCAL_NEEDS_GST.kept() { *written_at } else { Hlc::ZERO };
        let mine = stamp.origin == view.m && (view.fresh || stamp.ts <= dt && needs <= gst);
        mine || stamp.ts <= gst && view.hidden.is_none_or(|(x, cut)| stamp.origin != x || stamp.ts <= cut)
    }

    fn status(&self) -> Status {
        let blocked = self.waiting_for_clock.len() + self.waiting_for_gst.len();
        let (away, conflicts) = (self.exclusion.away().cloned(), Some(self.conflicts.detected()));
        Status { away, conflicts, ..Status::new(self.st.stable.clone(), blocked) }
    }
}

impl<R: Resolver> StableTime for Server<R> {
    fn stabilised(&mut self) -> &mut Stabilised<Self> {
        &mut self.st
    }

    /// Algorithm 3 lines 20 to 24.
    fn slice(&mut self, mut st: Past, keys: &[(u32, Key)], cx: &mut Cx<'_, Self>) -> FoundSlice<Self> {
        self.raise(st.gst, cx); // 22
        if SLICE_FENCES.kept() && st.dt > self.fence {
            self.fence = st.dt;
            if FENCE_SURVIVES.kept() {
                self.st.promise(st.dt, cx);
            }
        }
        if !ONE_GST.kept() {
            st.gst = self.gst();
        }
        let mut seen = Past { dt: Hlc::ZERO, gst: self.gst() };
        let view = self.view(st, false, cx.me.dc);
        let found = cx.read(keys, &view, |d| seen.dt = seen.dt.max(d.stamp.ts)); // 23
        (found, seen)
    }

    /// §5.3.
    fn settled(&mut self, safe: &Vector, m: DcId, d: &Version<Hlc>) -> bool {
        let view = self.view(Past { dt: Hlc::ZERO, gst: safe.min() }, false, m);
        Self::visible(&view, d.stamp, &d.meta) && self.conflicts.settled(d.stamp) && self.exclusion.forgets(d)
    }

    /// LST: Algorithm 2 line 30.
    fn share(&mut self, cx: &mut Cx<'_, Self>) -> Vector {
        self.listen(cx); // D10
        Vector::from(self.exclusion.share(&self.st.vv))
    }

    /// Algorithm 2 line 31.
    fn learn(&mut self, stable: &Vector, cx: &mut Cx<'_, Self>) {
        if self.exclusion.skips(stable.min()) {
            return; // D10
        }
        if !GST_NEVER_FALLS.kept() {
            self.st.stable = Vector::from(self.gst().min(stable.min())); // as printed: it is assigned
        }
        self.raise(stable.min(), cx); // D2
    }

    fn theta(&mut self, cx: &mut Cx<'_, Self>) {
        stabilised::hurry(self, cx);
        stabilised::aggregate(self, cx);
        stabilised::collect(self, cx);
        self.conflicts.forget(cx.store);
        self.exclusion.end(self.st.safe().min()); // D10
        self.keep_removal(cx);
        self.fetch(cx);
        stabilised::expire(self, cx);
        for (ticket, request) in self.waiting_for_gst.expire(cx.mono) {
            let why = "the session's past is not stable here yet: a region lags or is cut off".to_string();
            let moved = matches!(request, Request::Cover(..));
            cx.fail(ticket, if moved { not_covered() } else { Failure::Unavailable(why) });
        }
    }
}

impl<R: Resolver> Server<R> {
    /// Algorithm 2 lines 1 to 4.
    fn get(&mut self, ticket: Ticket, key: &Key, gst: Hlc, cx: &mut Cx<'_, Self>) {
        self.raise(gst, cx); // 2
        let d = cx.latest(key, &self.fresh(cx)); // 3
        let past = Past { dt: d.map_or(Hlc::ZERO, |d| d.stamp.ts), gst: self.gst() };
        let found = found_of(d);
        cx.answer(ticket, Outcome::Found(found), past); // 4
    }

    /// Algorithm 2 lines 5 to 17.
    fn put(&mut self, ticket: Ticket, key: Key, update: Update, past: Past, cx: &mut Cx<'_, Self>) {
        if PUT_CARRIES_GST.kept() {
            self.raise(past.gst, cx); // D1
        }
        let (m, last) = (cx.me.dc, self.st.vv[cx.me.dc]);
        let clock = Hlc::at(cx.now).max(if STAMPS_INCREASE.kept() { last.next() } else { last }); // D3
        let after = past.dt.max(self.fence).next();
        let ut = if PUT_WAITS.kept() { clock.max(after) } else { clock };
        if let Some(ahead_us) = cx.too_far_ahead(ut) {
            return cx.fail(ticket, Failure::ClockSkew { ahead_us });
        }
        if ut > clock && cx.params.clock == Stamps::Physical {
            self.waiting_for_clock.park(ut, Micros::MAX, (ticket, Request::Put(key, update, past))); // 6
            return self.arm_clock(cx);
        }
        let gst = self.gst();
        let see = |seen: &mut Past, d: &Version<_>| *seen = Past { dt: d.stamp.ts, gst }; // D6; at or below vv[m] (I1), so below ut
        let (outcome, seen) = cx.update(&key, update, &self.fresh(cx), Past::default(), see, |seen, cx| {
            self.seq = if ut == last { self.seq + 1 } else { 0 };
            self.st.advance(ut, cx); // 7
            let new = Stamp { ts: ut, origin: m, seq: self.seq }; // 11, 12
            seen.dt = ut;
            if PUT_TELLS_GST.kept() {
                seen.gst = gst; // D7
            }
            Ok(Draft::new(new, gst)) // 8 to 10, D4; 13, 15 to 17
        });
        if let Outcome::Written { stamp: Some(new), .. } = outcome {
            self.conflicts.note(cx.store, &key, new, saw); // D9
        }
        cx.answer(ticket, outcome, seen); // 14
    }

    /// Algorithm 3 lines 9 to 15, with the `gst` of the session.
    fn snapshot(&mut self, ticket: Ticket, keys: Vec<Key>, session: Past, cx: &mut Cx<'_, Self>) {
        self.raise(session.gst, cx); // 10
        let st = Past { gst: self.gst(), ..session }; // 12
        self.st.scatter((ticket, keys), st, Past::default(), cx); // 11, 13, 14, and 16 to 19
    }

    /// Algorithm 4 lines 9 to 14.
    fn rotx(&mut self, ticket: Ticket, keys: Vec<Key>, past: Past, cx: &mut Cx<'_, Self>) {
        self.raise(past.gst, cx);
        let waits = |alpha| alpha > 0 && past.dt.0 - self.gst().0 <= Hlc::at(alpha).0; // 10; 0: never
        if past.dt < self.gst() || !ROTX_WAITS.kept() {
            self.snapshot(ticket, keys, Past { dt: Hlc::ZERO, ..past }, cx); // 12
        } else if cx.params.alpha_us.is_none_or(waits) {
            let deadline = cx.mono + cx.params.wait_limit_us;
            self.waiting_for_gst.park(past.dt.next(), deadline, (ticket, Request::Rotx(keys, past))); // 11
        } else {
            let dt = if ROTX_COVERS_DT.kept() { past.dt } else { Hlc::ZERO };
            self.snapshot(ticket, keys, Past { dt, ..past }, cx); // 14, D7
        }
    }

    /// `GST ← max(GST, gst)`, and takes up what waited for it.
    #[inline]
    fn raise(&mut self, gst: Hlc, cx: &mut Cx<'_, Self>) {
        if gst > self.gst() {
            self.st.stable = Vector::from(gst);
            for (ticket, request) in self.waiting_for_gst.wake(&gst) {
                self.on_request(ticket, request, cx);
            }
        }
    }

    #[inline]
    fn gst(&self) -> Hlc {
        self.st.stable.min()
    }

    fn arm_clock(&self, cx: &mut Cx<'_, Self>) {
        if let Some(ut) = self.waiting_for_clock.least() {
            let wait = (ut.micros() + 1).saturating_sub(cx.now);
            cx.arm(Timer::Own(Clock), wait.max(SHORTEST_WAIT_US));
        }
    }

    fn fresh(&self, cx: &Cx<'_, Self>) -> View {
        self.view(Past { dt: Hlc::ZERO, gst: self.gst() }, true, cx.me.dc)
    }

    fn view(&self, at: Past, fresh: bool, m: DcId) -> View {
        View { m, at, fresh, hidden: self.exclusion.hides(at.gst) }
    }
}
