//! GentleRain: causal consistency with one number a version, for the price of waiting for the farthest region.
//!
//! **Idea.** Every version carries the physical time of its creation, which is above that of all it depends
//! on. The servers of a data centre agree, through an aggregation tree, on a *global stable time*: everything
//! up to it has arrived from everywhere. A version written elsewhere is readable once its time is stable.
//!
//! **Source.** J. Du et al., GentleRain, SoCC 2014 (001), §4, Algorithms 1 to 4; §4.5 for the tree, §5.3 for
//! collection. The variant on hybrid clocks is the one that the dissertation (000) measures in §5.5.4.
//!
//! **Names.** `vv` VV, the version vector (`vv[m]` is the last time announced here) · `gst` GST, the global
//! stable time · `dt` DT, the largest update time that a session has seen · `ut` update time · `sr` source
//! replica (`stamp.origin`) · `st` snapshot time · θ [`Params::theta_us`] · Δ [`Params::delta_us`].
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
//!   collect below is what it will recover. Stamps start above a persisted ceiling ([`Ceiling`]), which is
//!   announced at once. What a server reported before it crashed stays true: it had received it, durably.
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
//! - D10 (E-11) §5.5 leaves open how a data centre that was cut off is left out: [`Absence`] says. Versions that it
//!   wrote above the cut are hidden from readers by their `gst`, which is never between what was here and the cut;
//!   sessions that moved from it are refused, and deletions remembered. Hidden versions count as seen for D9.
//!
//! **Invariants**
//! - I1 `gst` never falls; every server of the data centre has received all that was written elsewhere at or
//!   below it and is not hidden (D10), and has a `vv[m]` at or above it.
//! - I2 A version's `ut` is above the `dt` of its PUT, above everything announced here before, and so (I1)
//!   above every `gst` and snapshot in use when it is written.

use serde::{Deserialize, Serialize};
use std::marker::PhantomData;
use tidemark_contract::absence::{Absence, Exclusion, Found, Lacks, Standing, Step};
use tidemark_contract::conflicts::Conflicts;
use tidemark_contract::core::promise::Promise;
use tidemark_contract::core::{
    DcId, Failure, Hlc, Key, Micros, Op, Outcome, ServerId, Stamp, Update, Vector,
};
use tidemark_contract::one_round::Past as _;
use tidemark_contract::order::Order;
use tidemark_contract::{
    Answer, Ceiling, Clock, Cx, Draft, Extensions, Hard, Info, OneRound, OneRoundSession, Protocol, Reach,
    Recovered, Report, SliceReply, SliceReq, Slices, Stabilisation, Status, Ticket, Tree, Variant, Version,
    Waiters, Walk, found_of, not_covered, one_round, unanswered,
};

tidemark_contract::rules! {
    PUT_CARRIES_GST, // D1
    GST_NEVER_FALLS, // D2
    STAMPS_INCREASE, // D3
    GST_SURVIVES, // D4
    STABLE_STAYS_HOME, // D5
    PUT_WAITS, // Algorithm 2 line 6
    ROTX_WAITS, // Algorithm 4 line 11
    ROTX_COVERS_DT, // D7, from here on
    SLICE_FENCES,
    FENCE_SURVIVES,
    LOCAL_NEEDS_GST,
    PUT_TELLS_GST,
    ONE_GST,
    ONE_CUT, // D10, from here on
    HIDES,
    FETCHES,
    ALL_HIDE_FIRST,
    GST_JUMPS,
    ADMITS_IGNORANCE,
    RETURN_WAITS,
    MOVERS_WAIT,
    MOVERS_CATCH_UP,
    DELETIONS_LAST,
}

/// §4.4: who wins of two updates that did not see each other.
pub trait Resolver: 'static {
    /// Whether [`Self::newer_wins`] is to be asked.
    const RESOLVES: bool = true;
    /// Whether `newer` wins against `older`, which it did not see: a function of the two alone.
    fn newer_wins(older: &Version<Hlc>, newer: &Version<Hlc>) -> bool;
}

/// The last writer wins, and nobody is asked.
pub struct LastWriter;

impl Resolver for LastWriter {
    const RESOLVES: bool = false;

    fn newer_wins(_: &Version<Hlc>, _: &Version<Hlc>) -> bool {
        true
    }
}

/// To the letter of the paper, for the checker to convict.
pub const VARIANTS: &[Variant] = &[Variant {
    name: "gentlerain-published",
    about: "GentleRain to the letter, with errata E-1, E-2, E-9 and E-11: for study only",
    without: &[PUT_CARRIES_GST, GST_NEVER_FALLS, STAMPS_INCREASE, ONE_CUT, ALL_HIDE_FIRST, RETURN_WAITS],
}];

/// What stamps are made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Stamps {
    /// Physical time, as published: a PUT waits for a clock that lags behind its session.
    Physical,
    /// A hybrid clock: no PUT waits.
    Hlc,
}

/// The numbers: θ and the fan-out are those of the paper's evaluation, which does not tell its Δ.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// θ: how often a server passes on what it has received.
    pub theta_us: Micros,
    /// Δ: how long a server that writes nothing lets its peers wait for a heartbeat.
    pub delta_us: Micros,
    /// Children of a node of the aggregation tree.
    pub fan_out: usize,
    /// α: how far `gst` may lie behind a session's `dt` for its ROTX to wait. At 0 none waits; if unset, all do.
    pub alpha_us: Option<Micros>,
    /// How long a ROTX, or a session that moved here, waits for `gst`.
    pub wait_limit_us: Micros,
    /// What stamps are made of.
    pub clock: Stamps,
}

impl tidemark_contract::Params for Params {}

impl Default for Params {
    fn default() -> Self {
        let (theta_us, delta_us, wait_limit_us) = (5_000, 5_000, 2_000_000);
        Self { theta_us, delta_us, fan_out: 2, alpha_us: None, wait_limit_us, clock: Stamps::Physical }
    }
}

/// DT and GST of a session, what an answer adds to them, and what a snapshot contains (D7; its `dt` is 0 in
/// Algorithm 3, where `gst` is called `st`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct Past {
    pub dt: Hlc,
    pub gst: Hlc,
}

impl one_round::Past for Past {
    type Said = Self;

    /// Algorithm 1 lines 4, 5 and 10; 3 and 4 lines 5 and 6.
    fn merge(&mut self, other: &Self) {
        self.dt = self.dt.max(other.dt);
        self.gst = self.gst.max(other.gst);
    }

    fn reach(&self, home: DcId) -> Reach {
        Reach::of(home, [&one(self.dt), &one(self.gst)])
    }
}

/// What a session asks.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[allow(missing_docs)]
pub enum Request {
    Get(Key, Hlc),           // GETREQ k, gst
    Put(Key, Update, Past),  // PUTREQ k, v, dt; D1: and gst
    Snapshot(Vec<Key>, Hlc), // GETSNAPSHOT kset, gst
    Rotx(Vec<Key>, Past),    // GETROTX kset, gst, dt
    Walk(Walk, Hlc),         // SCAN and COUNT, gst
    Cover(Past, DcId),       // D5: wait for everything up to dt; from where (D10)
}

/// What the servers of a data centre say to each other.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[allow(missing_docs)]
pub enum Peer {
    Tree(Tree),
    SliceReq(SliceReq<Past>),     // SLICEREQ k, st
    SliceReply(SliceReply<Past>), // SLICEREPLY v, ut, gst
    Lacks(Lacks),                 // D10: to the donor
    Found(Found<Hlc>),            // and back
}

/// What outlives a crash.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct Kept {
    pub clock: Hard,
    pub absence: Absence,
}

/// Timers; `Clock` is armed while a PUT waits for the clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs)]
pub enum Timer {
    Theta,
    Delta,
    Clock,
}

/// What a reader in data centre `m` can see.
pub struct View {
    pub(super) m: DcId,
    /// A snapshot; a GET sees everything that was written here, and what is stable.
    pub(super) at: Past,
    pub(super) fresh: bool,
    /// D10: of which data centre nothing is shown that it wrote above a cut.
    pub(super) hidden: Option<(DcId, Hlc)>,
}

/// A clock that was set back stands still until physical time has caught up, and coarse ones stand still between
/// ticks: who waits for one looks at it now and then.
const SHORTEST_WAIT_US: Micros = 200;

/// How long a donor may take before it is asked again (D10).
const ASK_AGAIN_US: Micros = 500_000;

/// With the resolver that everybody has.
pub type GentleRain = Server<LastWriter>;

/// A server, `p_n^m`. What waits is taken up again from its beginning.
pub struct Server<R> {
    vv: Vector,
    gst: Hlc,
    /// D7: no snapshot up to here may miss what is written here later.
    fence: Hlc,
    /// Tells apart what has one stamp; always 0 with D3.
    seq: u32,
    waiting_for_clock: Waiters<Hlc, (Ticket, Request)>,
    waiting_for_gst: Waiters<Hlc, (Ticket, Request)>,
    reads: Slices<Past, Past>,
    stabilisation: Stabilisation,
    ceiling: Ceiling,
    conflicts: Conflicts,
    absence: Absence,
    ask_again: Micros,
    resolver: PhantomData<R>,
}

const ABOUT: &str = "causal+ with one number a version; waits for the farthest region";

impl<R: Resolver> Protocol for Server<R> {
    const INFO: Info = Info::new("gentlerain", ABOUT, Promise::CausalImmediate)
        .clock(Clock::Monotone)
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
    type Component = ();

    fn start(Recovered { hard, life, received, .. }: Recovered<Kept>, cx: &mut Cx<'_, Self>) -> Self {
        let Kept { clock: hard, absence } = hard;
        let mut vv = received;
        let absence = absence.recovered(if ADMITS_IGNORANCE.kept() { life } else { 1 }, &mut vv);
        vv.raise(cx.me.dc, hard.ceiling);
        let written_here = cx.store.versions().filter(|d| d.stamp.origin == cx.me.dc);
        let known = written_here.map(|d| d.meta).fold(hard.stable.min(), Hlc::max); // D4
        if life > 1 {
            cx.heartbeat(vv[cx.me.dc]);
        }
        cx.arm(Timer::Theta, cx.params.theta_us);
        cx.arm(Timer::Delta, cx.params.delta_us);
        Self {
            vv,
            gst: if GST_SURVIVES.kept() { known } else { Hlc::ZERO },
            fence: Hlc::ZERO, // below the ceiling
            seq: 0,
            waiting_for_clock: Waiters::default(),
            waiting_for_gst: Waiters::default(),
            reads: Slices::new(life),
            stabilisation: Stabilisation::new(cx.me, cx.topology, cx.params.fan_out),
            ceiling: Ceiling::new(hard),
            conflicts: Conflicts::new(cx.store, R::RESOLVES, saw),
            absence,
            ask_again: 0,
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
                let mut past = Past { dt: Hlc::ZERO, gst: self.gst };
                let outcome = cx.walk(&walk, &self.fresh(cx), |d| past.dt = past.dt.max(d.stamp.ts));
                cx.answer(ticket, outcome, past);
            }
            Request::Cover(past, home) => self.cover(ticket, past, home, cx),
        }
    }

    fn on_peer(&mut self, from: ServerId, message: Peer, cx: &mut Cx<'_, Self>) {
        match message {
            Peer::Tree(message) => {
                let mine = self.report(cx);
                let stable = self.stabilisation.on_message((from, message), mine, Peer::Tree, cx);
                self.adopt(stable, cx);
            }
            Peer::SliceReq(request) => self.slice(from, request, cx),
            Peer::SliceReply(reply) => {
                if let Some(read) = self.reads.gather(from, reply, |seen, more| seen.merge(&more)) {
                    // Algorithm 3 lines 16 to 19.
                    cx.answer(read.ticket, Outcome::FoundAll(read.found), read.seen);
                }
            }
            Peer::Lacks(lacks) => cx.send(from, Peer::Found(Absence::find(cx.store, lacks))),
            Peer::Found(Found { dc, versions, upto }) => {
                for (key, stamp, meta, write) in versions {
                    let d = Version { stamp, meta, write };
                    if !cx.store.chain(&key).any(|other| other.stamp == stamp) {
                        let new = d.stamp;
                        cx.write_here(key.clone(), d); // whoever else lacks it asks, too
                        self.conflicts.note(cx.store, &key, new, saw);
                    }
                }
                self.vv.raise(dc, upto);
                self.ask_again = 0;
                self.fetch(cx);
            }
        }
    }

    /// Algorithm 2 lines 18 to 20.
    fn on_replicate(&mut self, from: ServerId, key: Key, d: Version<Hlc>, cx: &mut Cx<'_, Self>) {
        let ut = d.stamp.ts;
        let new = d.stamp;
        cx.store.insert(&key, d);
        self.conflicts.note(cx.store, &key, new, saw); // §4.4, D9
        self.vv.raise(from.dc, ut);
    }

    /// Algorithm 2 lines 27 and 28.
    fn on_heartbeat(&mut self, from: ServerId, ct: Hlc, _cx: &mut Cx<'_, Self>) {
        self.vv.raise(from.dc, ct);
    }

    fn on_peer_reset(&mut self, peer: ServerId, cx: &mut Cx<'_, Self>) {
        cx.fail_all(self.reads.reset(peer), unanswered);
    }

    fn on_timer(&mut self, timer: Timer, cx: &mut Cx<'_, Self>) {
        match timer {
            // Algorithm 2 lines 29 to 31.
            Timer::Theta => {
                cx.arm(Timer::Theta, cx.params.theta_us);
                let hurried = self.ceiling.hurried(cx.store.garbage(), || one(self.gst));
                self.keep(hurried, cx);
                let mine = self.report(cx);
                let stable = self.stabilisation.tick(mine, Peer::Tree, cx);
                self.adopt(stable, cx);
                self.collect(cx);
                self.fetch(cx);
                self.give_up(cx);
            }
            // Algorithm 2 lines 21 to 26.
            Timer::Delta => {
                let due = self.vv[cx.me.dc].micros() + cx.params.delta_us;
                if cx.now < due {
                    return cx.arm(Timer::Delta, (due - cx.now).max(SHORTEST_WAIT_US)); // 23
                }
                cx.arm(Timer::Delta, cx.params.delta_us);
                self.advance(Hlc::at(cx.now), cx); // 22, 24
                cx.heartbeat(Hlc::at(cx.now)); // 25, 26
            }
            Timer::Clock => {
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
        let (away, conflicts) = (self.absence.away().cloned(), Some(self.conflicts.detected()));
        Status { away, conflicts, ..Status::new(one(self.gst), blocked) }
    }
}

impl<R: Resolver> Server<R> {
    /// D10.
    fn obey(&mut self, order: &Order, cx: &mut Cx<'_, Self>) -> Result<Standing, String> {
        let Order::Exclusion(order) = order else { return Err(order.unknown::<Self>()) };
        let (me, mut order) = (cx.me.dc, order.clone());
        if let Step::Cut { least } = &mut order.step
            && !ONE_CUT.kept()
        {
            cx.topology.peers(cx.me).for_each(|peer| least[peer.dc] = Hlc::ZERO); // each for itself, as printed
        }
        let standing = self.absence.obey(&order, me, &self.vv);
        match order.step {
            Step::Cut { .. } if !ALL_HIDE_FIRST.kept() => {
                let _ = self.absence.obey(&Exclusion { step: Step::Exclude, ..order }, me, &self.vv);
            }
            Step::Readmit { from } if !RETURN_WAITS.kept() => self.absence.end(from),
            _ => {}
        }
        self.fetch(cx);
        self.keep_absence(cx);
        standing
    }

    /// Algorithm 2 lines 1 to 4.
    fn get(&mut self, ticket: Ticket, key: &Key, gst: Hlc, cx: &mut Cx<'_, Self>) {
        self.raise(gst, cx); // 2
        let d = cx.latest(key, &self.fresh(cx)); // 3
        let past = Past { dt: d.map_or(Hlc::ZERO, |d| d.stamp.ts), gst: self.gst };
        let found = found_of(d);
        cx.answer(ticket, Outcome::Found(found), past); // 4
    }

    /// Algorithm 2 lines 5 to 17.
    fn put(&mut self, ticket: Ticket, key: Key, update: Update, past: Past, cx: &mut Cx<'_, Self>) {
        if PUT_CARRIES_GST.kept() {
            self.raise(past.gst, cx); // D1
        }
        let (m, last) = (cx.me.dc, self.vv[cx.me.dc]);
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
        let gst = self.gst;
        let see = |seen: &mut Past, d: &Version<_>| *seen = Past { dt: d.stamp.ts, gst }; // D6; at or below vv[m] (I1), so below ut
        let (outcome, seen) = cx.update(&key, update, &self.fresh(cx), Past::default(), see, |seen, cx| {
            self.seq = if ut == last { self.seq + 1 } else { 0 };
            self.advance(ut, cx); // 7
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
        let (st, deadline) = (Past { gst: self.gst, ..session }, cx.mono + cx.params.wait_limit_us); // 12
        self.reads.scatter((ticket, keys), st, Past::default(), deadline, Peer::SliceReq, cx); // 11, 13, 14
    }

    /// Algorithm 4 lines 9 to 14.
    fn rotx(&mut self, ticket: Ticket, keys: Vec<Key>, past: Past, cx: &mut Cx<'_, Self>) {
        self.raise(past.gst, cx);
        let waits = |alpha| alpha > 0 && past.dt.0 - self.gst.0 <= Hlc::at(alpha).0; // 10; 0: never
        if past.dt < self.gst || !ROTX_WAITS.kept() {
            self.snapshot(ticket, keys, Past { dt: Hlc::ZERO, ..past }, cx); // 12
        } else if cx.params.alpha_us.is_none_or(waits) {
            let deadline = cx.mono + cx.params.wait_limit_us;
            self.waiting_for_gst.park(past.dt.next(), deadline, (ticket, Request::Rotx(keys, past))); // 11
        } else {
            let dt = if ROTX_COVERS_DT.kept() { past.dt } else { Hlc::ZERO };
            self.snapshot(ticket, keys, Past { dt, ..past }, cx); // 14, D7
        }
    }

    /// Algorithm 3 lines 20 to 24.
    fn slice(&mut self, from: ServerId, request: SliceReq<Past>, cx: &mut Cx<'_, Self>) {
        let SliceReq { id, keys, at: mut st } = request;
        self.raise(st.gst, cx); // 22
        if SLICE_FENCES.kept() && st.dt > self.fence {
            self.fence = st.dt;
            if FENCE_SURVIVES.kept() {
                let renewed = self.ceiling.renewed(st.dt, || one(self.gst));
                self.keep(renewed, cx);
            }
        }
        if !ONE_GST.kept() {
            st.gst = self.gst;
        }
        let mut seen = Past { dt: Hlc::ZERO, gst: self.gst };
        let found = cx.read(&keys, &self.view(st, false, cx), |d| seen.dt = seen.dt.max(d.stamp.ts)); // 23
        cx.send(from, Peer::SliceReply(SliceReply { id, found, seen })); // 24
    }

    /// LST: Algorithm 2 line 30, and what is safe to collect (§5.3, D4).
    fn report(&mut self, cx: &mut Cx<'_, Self>) -> Report {
        self.absence.listen(cx.me.dc, &self.vv);
        self.keep_absence(cx);
        let (share, snapshots) = (self.absence.share(&self.vv), self.reads.snapshots().map(|st| one(st.gst)));
        Report::new(one(share), self.ceiling.stable(), snapshots)
    }

    /// §5.3.
    fn collect(&mut self, cx: &mut Cx<'_, Self>) {
        let gst = self.stabilisation.safe().min();
        let view = self.view(Past { dt: Hlc::ZERO, gst }, false, cx);
        let (conflicts, absence) = (&self.conflicts, &mut self.absence);
        self.stabilisation.collect(cx, |_, d| {
            let safe = Self::visible(&view, d.stamp, &d.meta) && conflicts.settled(d.stamp);
            safe && (absence.forgets(d) || !DELETIONS_LAST.kept())
        });
        self.conflicts.forget(cx.store);
        self.absence.end(gst);
        self.keep_absence(cx);
    }

    /// D5, D10.
    fn cover(&mut self, ticket: Ticket, past: Past, home: DcId, cx: &mut Cx<'_, Self>) {
        if MOVERS_WAIT.kept() && self.absence.refuses(home, past.dt, self.gst) {
            return cx.fail(ticket, not_covered());
        }
        let shown = if MOVERS_CATCH_UP.kept() && self.absence.returns() { past.gst } else { Hlc::ZERO };
        let needs = past.dt.max(shown);
        if needs <= self.gst {
            return cx.answer(ticket, Outcome::Adopted, Past { dt: past.dt, gst: self.gst });
        }
        let deadline = cx.mono + cx.params.wait_limit_us;
        self.waiting_for_gst.park(needs, deadline, (ticket, Request::Cover(past, home)));
    }

    /// D10: asks the donor for what is missing of a data centre that is to be excluded.
    fn fetch(&mut self, cx: &mut Cx<'_, Self>) {
        let Some((donor, lacks)) = self.absence.lacks(&self.vv) else { return };
        if !FETCHES.kept() {
            return self.vv.raise(lacks.dc, lacks.upto);
        }
        if cx.mono < self.ask_again {
            return;
        }
        self.ask_again = cx.mono + ASK_AGAIN_US;
        cx.send(ServerId::new(donor, cx.me.partition), Peer::Lacks(lacks));
    }

    fn keep_absence(&mut self, cx: &mut Cx<'_, Self>) {
        if self.absence.changed() {
            self.keep(Some(self.ceiling.durable().clone()), cx);
        }
    }

    /// Makes what outlives a crash durable, if there is something new.
    fn keep(&self, clock: Option<Hard>, cx: &mut Cx<'_, Self>) {
        if let Some(clock) = clock {
            cx.persist(Kept { clock, absence: self.absence.clone() });
        }
    }

    /// Algorithm 2 line 31.
    fn adopt(&mut self, stable: Option<Vector>, cx: &mut Cx<'_, Self>) {
        let Some(stable) = stable else { return };
        if GST_JUMPS.kept() && self.absence.skips(stable.min()) {
            return; // D10
        }
        if !GST_NEVER_FALLS.kept() {
            self.gst = self.gst.min(stable.min()); // as printed: it is assigned
        }
        self.raise(stable.min(), cx); // D2
    }

    /// `GST ← max(GST, gst)`, and takes up what waited for it.
    #[inline]
    fn raise(&mut self, gst: Hlc, cx: &mut Cx<'_, Self>) {
        if gst > self.gst {
            self.gst = gst;
            for (ticket, request) in self.waiting_for_gst.wake(&gst) {
                self.on_request(ticket, request, cx);
            }
        }
    }

    fn give_up(&mut self, cx: &mut Cx<'_, Self>) {
        cx.fail_all(self.reads.expire(cx.mono), unanswered);
        for (ticket, request) in self.waiting_for_gst.expire(cx.mono) {
            let why = "the session's past is not stable here yet: a region lags or is cut off".to_string();
            let moved = matches!(request, Request::Cover(..));
            cx.fail(ticket, if moved { not_covered() } else { Failure::Unavailable(why) });
        }
    }

    /// Moves `vv[m]`, and keeps the durable ceiling above it.
    fn advance(&mut self, to: Hlc, cx: &mut Cx<'_, Self>) {
        self.vv[cx.me.dc] = to;
        let renewed = self.ceiling.renewed(to, || one(self.gst));
        self.keep(renewed, cx);
    }

    fn arm_clock(&self, cx: &mut Cx<'_, Self>) {
        if let Some(ut) = self.waiting_for_clock.least() {
            let wait = (ut.micros() + 1).saturating_sub(cx.now);
            cx.arm(Timer::Clock, wait.max(SHORTEST_WAIT_US));
        }
    }

    fn fresh(&self, cx: &Cx<'_, Self>) -> View {
        self.view(Past { dt: Hlc::ZERO, gst: self.gst }, true, cx)
    }

    fn view(&self, at: Past, fresh: bool, cx: &Cx<'_, Self>) -> View {
        let hidden = if HIDES.kept() { self.absence.hides(at.gst) } else { None };
        View { m: cx.me.dc, at, fresh, hidden }
    }
}

/// D9: whether `older` was visible where `newer` was written.
fn saw(newer: &Version<Hlc>, older: &Version<Hlc>) -> bool {
    newer.stamp.origin == older.stamp.origin || older.stamp.ts <= newer.meta
}

fn one(time: Hlc) -> Vector {
    Vector::from_entries([time])
}

/// The client: Algorithm 1, and its side of 3 and 4.
impl<R: Resolver> OneRound for Server<R> {
    type Past = Past;

    fn question(op: Option<Op>, home: DcId, past: &Past) -> Request {
        match op {
            Some(Op::Get { key }) => Request::Get(key, past.gst), // Algorithm 1 line 2
            Some(Op::Put { key, update }) => Request::Put(key, update, *past), // Algorithm 1 line 8
            Some(Op::Snapshot { keys }) => Request::Snapshot(keys, past.gst), // Algorithm 3 line 3
            Some(Op::Rotx { keys }) => Request::Rotx(keys, *past), // Algorithm 4 line 3
            Some(walk) => Request::Walk(Walk::of(&walk), past.gst),
            None => Request::Cover(*past, home), // D5
        }
    }

    fn travels(past: &Past) -> Past {
        Past { dt: Hlc::ZERO, gst: if STABLE_STAYS_HOME.kept() { Hlc::ZERO } else { past.gst } }
    }
}
