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
//! - D7, D8 A ROTX waits, unless α is set; whoever does not wait takes one round (instead of §4.3's Eiger): `transactions.rs`.
//! - D9 Conflicts (§4.4) are found by the `gst` that a version is shipped with, and resolved when they are read: `resolver.rs`.
//! - D10 (E-11) A data centre that was cut off is left out (§5.5) by an operator, and what it wrote is hidden: `exclusion.rs`.
//! - D11 Reads at a time are snapshots at that `gst`, once it is stable: by I2, all versions up to then: `transactions.rs`.
//!
//! **Invariants**
//! - I1 `gst` never falls; every server of the data centre has received all that was written elsewhere at or
//!   below it and is not hidden (D10), and has a `vv[m]` at or above it.
//! - I2 A version's `ut` is above the `dt` of its PUT, above everything announced here before, and so (I1)
//!   above every `gst` and snapshot in use when it is written.

use tidemark_contract::conflicts::{Conflicts, choose};
use tidemark_contract::early::Early;
use tidemark_contract::prelude::*;
use tidemark_contract::stabilised::{self, FoundSlice, Stabilised, StableTime};
use tidemark_contract::{Extensions, info};

mod exclusion;
mod params;
mod resolver;
mod rules;
mod session;
mod transactions;

use exclusion::Hidden;
pub use exclusion::{Exclusion, Kept, Message};
pub use params::{Params, Stamps};
pub use resolver::Resolver;
pub use rules::*;
pub use session::{Past, Request};
pub use tidemark_contract::early::{Clock, Timer};

/// What servers say to each other: slices are asked for in the snapshot `st`.
pub type Peer = stabilised::Peer<Past, Past, Message>;

/// What a reader in data centre `m` can see.
pub struct View {
    m: DcId,
    /// A snapshot; a GET sees everything that was written here, and what is stable.
    at: Past,
    fresh: bool,
    hidden: Hidden, // D10
}

/// A server, `p_n^m`. What waits is taken up again from its beginning.
pub struct GentleRain {
    st: Stabilised<Self>,
    /// D7: no snapshot up to here may miss what is written here later.
    fence: Hlc,
    /// Tells apart what has one stamp; always 0 with D3.
    seq: u32,
    early: Early<(Ticket, Request)>,
    conflicts: Conflicts<Resolver>,
    exclusion: Exclusion,
}

const ABOUT: &str = "causal+ with one number a version; waits for the farthest region";

impl Protocol for GentleRain {
    const INFO: Info = Info::new("gentlerain", ABOUT, Promise::CausalImmediate)
        .clock(info::Clock::Monotone)
        .partial()
        .reads_at_a_time(true)
        .rules(RULES)
        .variants(VARIANTS);
    const EXTENSIONS: Extensions<Self> = Extensions {
        order: Some(exclusion::obey),
        resolve: Some(|params, seen| choose(&params.resolver, seen)), // D9
        types: Some(Types {
            absorb: |gst, d| *gst = d.meta.max(*gst),
            fresh: |view| (view.fresh && view.hidden.is_nothing()).then(|| view.at.gst.0.max(1)),
            now: |server, m| server.fresh(m),
            whole: |_| false,
            together: None,
        }),
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
    type Component = Exclusion;

    fn start(mut was: Recovered<Kept>, cx: &mut Cx<'_, Self>) -> Self {
        let exclusion = Exclusion::recovered(&mut was);
        let written_here = cx.store().versions().filter(|d| d.stamp.origin == cx.me.dc);
        let known = written_here.map(|d| d.meta).fold(was.hard.clock.stable.min(), Hlc::max); // D4
        if was.life > 1 {
            cx.heartbeat(was.received[cx.me.dc].max(was.hard.clock.ceiling));
        }
        let mut st = Stabilised::start(&was, cx.params.shared(), cx);
        st.stable = Vector::from(if STABLE_SURVIVES.kept() { known } else { Hlc::ZERO });
        Self {
            st,
            fence: Hlc::ZERO, // below the ceiling
            seq: 0,
            early: Early::default(),
            conflicts: Conflicts::new(cx.params.resolver, cx.store()),
            exclusion,
        }
    }

    fn on_request(&mut self, ticket: Ticket, request: Request, cx: &mut Cx<'_, Self>) {
        match request {
            Request::Get(key, gst) => self.get(ticket, &key, gst, cx),
            Request::Put(key, update, past) => self.put(ticket, key, update, past, cx),
            Request::Snapshot(keys, gst) => {
                self.snapshot(ticket, keys.into(), Past { dt: Hlc::ZERO, gst }, cx)
            }
            Request::Rotx(keys, past) => self.rotx(ticket, keys, past, cx),
            Request::At(keys, time) => self.at(ticket, keys, time, cx),
            Request::Walk(walk, gst) => {
                self.raise(gst, cx);
                let mut past = Past { dt: Hlc::ZERO, gst: self.gst() };
                let outcome = cx.walk(&walk, &self.fresh(cx.me.dc), |d| past.dt = past.dt.max(d.stamp.ts));
                cx.answer(ticket, outcome, past);
            }
            Request::Conflicts(limit, gst) => self.list_conflicts(ticket, limit, gst, cx), // D9
            Request::Cover(past, home) => self.cover(ticket, past, home, cx),
        }
    }

    /// Algorithm 2 lines 18 to 20.
    fn on_replicate(&mut self, from: ServerId, item: Received<'_, Hlc>, cx: &mut Cx<'_, Self>) {
        for (key, d) in item.versions {
            self.conflicts.note(cx.store(), key, d.stamp); // §4.4, D9
        }
        self.st.vv.raise(from.dc, item.upto);
        if cx.params.clock == Stamps::Logical && !item.versions.is_empty() {
            self.st.advance(item.upto.max(self.st.vv[cx.me.dc]).next(), cx); // §5.1
        }
    }

    fn on_timer(&mut self, timer: Timer, cx: &mut Cx<'_, Self>) {
        match timer {
            Timer::Theta => stabilised::on_timer(self, timer, cx), // Algorithm 2 lines 29 to 31
            // Algorithm 2 lines 21 to 26.
            Timer::Delta => {
                if stabilised::is_due(self, self.st.vv[cx.me.dc], cx) {
                    self.st.advance(cx.params.clock.read(cx.now), cx); // 22, 24
                    cx.heartbeat(self.st.vv[cx.me.dc]); // 25, 26
                }
            }
            Timer::Own(Clock) => {
                for (ticket, put) in self.early.wake(Hlc::at(cx.now)) {
                    self.on_request(ticket, put, cx);
                }
                self.early.arm(cx);
            }
        }
    }

    fn visible(view: &View, stamp: Stamp, written_at: &Hlc) -> bool {
        let Past { dt, gst } = view.at;
        let needs = if LOCAL_NEEDS_GST.kept() { *written_at } else { Hlc::ZERO };
        let mine = stamp.origin == view.m && (view.fresh || stamp.ts <= dt && needs <= gst);
        mine || stamp.ts <= gst && view.hidden.shows(stamp)
    }

    fn status(&self) -> Status {
        let blocked = self.early.waiting() + self.st.waiting();
        let (away, conflicts) = (self.exclusion.away(), Some(self.conflicts.detected()));
        Status { away, conflicts, ..Status::new(self.st.stable.clone(), blocked) }
    }
}

impl StableTime for GentleRain {
    fn stabilised(&mut self) -> &mut Stabilised<Self> {
        &mut self.st
    }

    /// Algorithm 3 lines 20 to 24.
    fn slice(&mut self, st: Past, keys: &Several<(u32, Key)>, cx: &mut Cx<'_, Self>) -> FoundSlice<Self> {
        self.read_slice(st, keys, cx)
    }

    /// §5.3.
    fn settled(&mut self, safe: &Vector, m: DcId, d: &Version<Hlc>) -> bool {
        let view = self.view(Past { dt: Hlc::ZERO, gst: safe.min() }, false, m);
        Self::visible(&view, d.stamp, &d.meta) && self.takes_their_place(d) && self.exclusion.forgets(d)
    }

    /// LST: Algorithm 2 line 30.
    fn share(&mut self, cx: &mut Cx<'_, Self>) -> Vector {
        Vector::from(exclusion::share(self, cx)) // D10
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
        self.conflicts.forget(cx.store());
        exclusion::theta(self, cx); // D10
        stabilised::expire(self, cx);
    }
}

impl GentleRain {
    /// Algorithm 2 lines 1 to 4.
    fn get(&mut self, ticket: Ticket, key: &Key, gst: Hlc, cx: &mut Cx<'_, Self>) {
        self.raise(gst, cx); // 2
        let mut past = Past { dt: Hlc::ZERO, gst: self.gst() };
        let found = cx.get(key, &self.fresh(cx.me.dc), |d| past.dt = past.dt.max(d.stamp.ts)); // 3
        cx.answer(ticket, Outcome::Found(found), past); // 4
    }

    /// Algorithm 2 lines 5 to 17.
    fn put(&mut self, ticket: Ticket, key: Key, update: Update, past: Past, cx: &mut Cx<'_, Self>) {
        if PUT_CARRIES_GST.kept() {
            self.raise(past.gst, cx); // D1
        }
        let (m, last) = (cx.me.dc, self.st.vv[cx.me.dc]);
        let clock = cx.params.clock.read(cx.now).max(if STAMPS_INCREASE.kept() { last.next() } else { last }); // D3
        let after = past.dt.max(self.fence).next();
        let ut = if PUT_WAITS.kept() { clock.max(after) } else { clock };
        if let Some(ahead_us) = cx.too_far_ahead(ut) {
            return cx.fail(ticket, Failure::ClockSkew { ahead_us });
        }
        if ut > clock && cx.params.clock == Stamps::Physical {
            let put = Request::Put(key, update, past);
            return self.early.park(ut, Micros::MAX, (ticket, put), cx); // 6
        }
        let gst = self.gst();
        let see = |seen: &mut Past, d: &Version<_>| *seen = Past { dt: seen.dt.max(d.stamp.ts), gst }; // D6; at or below vv[m] (I1), so below ut
        let (outcome, seen) =
            cx.update(&key, update, &self.fresh(cx.me.dc), Past::default(), see, |seen, cx| {
                self.seq = if ut == last { self.seq + 1 } else { 0 };
                self.st.advance(ut, cx); // 7
                let new = Stamp { ts: ut, origin: m, seq: self.seq }; // 11, 12
                seen.dt = ut;
                if PUT_TELLS_GST.kept() {
                    seen.gst = gst; // D7
                }
                Ok(Draft::new(new, gst)) // 8 to 10, D4; 13, 15 to 17
            });
        self.conflicts.written(&key, &outcome, cx.store()); // D9
        cx.answer(ticket, outcome, seen); // 14
    }

    /// `GST ← max(GST, gst)`, and takes up what waited for it.
    #[inline]
    fn raise(&mut self, gst: Hlc, cx: &mut Cx<'_, Self>) {
        if gst > self.gst() {
            self.st.stable = Vector::from(gst);
            stabilised::wake(self, cx);
        }
    }

    #[inline]
    fn gst(&self) -> Hlc {
        self.st.stable.min()
    }

    fn fresh(&self, m: DcId) -> View {
        self.view(Past { dt: Hlc::ZERO, gst: self.gst() }, true, m)
    }

    fn view(&self, at: Past, fresh: bool, m: DcId) -> View {
        View { m, at, fresh, hidden: self.exclusion.hidden(at.gst) }
    }
}
