//! CausalSpartanX: causal consistency on hybrid logical clocks; writes that never wait, read-only transactions
//! of one round that never block.
//!
//! **Idea.** Servers of a data centre agree, through an aggregation tree, on a *stable vector*: up to which
//! time everything from each data centre has arrived at all of them. A version written elsewhere is readable
//! once what it depends on, and it itself, is stable. Versions and sessions carry one dependency a data centre.
//!
//! **Source.** M. Roohitavaf, dissertation (000), chapter 5, Algorithms 5.1 to 5.4.
//!
//! **Names.** `vv` VV, the version vector (`vv[m]` is the server's HLC) · `dsv` DSV, the data centre's stable
//! vector · `ds` DS, dependencies · `ut` update time · `sr` source replica (`stamp.origin`) · `sv` snapshot
//! vector · θ [`Params::theta_us`] · Δ [`Params::delta_us`].
//!
//! **Deviations**
//! - D1 (E-3, fix A) A remote version is readable only if its own `ut` is stable too, not only its
//!   dependencies: PUT and ROTX merge a session's `ds` into `dsv`, and `ds` contains the `ut` of what was read.
//! - D2 (E-12) What `dsv` must not fall below after a crash is rebuilt from the `ds` of the versions written
//!   here, beside the persisted one. Stamps start above a persisted ceiling ([`Ceiling`]), which covers what
//!   slices promise too: no later write lies in a snapshot of which a slice was read here.
//! - D3 (E-13) A token's stable vector is adopted only in the region it speaks of; elsewhere the session waits
//!   until the region covers its dependencies.
//! - D4 Collection (the paper has none): below the least of all snapshots in use and of all persisted `dsv`.
//! - D5 A conditional update depends on the version that decided it, and so does its session, which takes the
//!   server's `dsv` with it, as from a GET.
//! - D6 The coordinator of a ROTX is the owner of its first key.
//!
//! **Invariants**
//! - I1 `dsv` never falls, and `dsv[i] <= vv[i]` at every server of the data centre, for i ≠ m.
//! - I2 A version's `ut` is above every entry of its `ds`, and above `dsv[m]` where it was written.

use serde::{Deserialize, Serialize};
use tidemark_contract::core::promise::Promise;
use tidemark_contract::core::{DcId, Hlc, Key, Micros, Op, Outcome, ServerId, Stamp, Update, Vector};
use tidemark_contract::{
    Answer, Arrivals, Ceiling, Cx, Draft, Hard, Info, OneRound, OneRoundSession, Protocol, Reach, Recovered,
    Report, SliceReply, SliceReq, Slices, Stabilisation, Status, Ticket, Tree, Variant, Version, Walk,
    found_of, unanswered,
};

tidemark_contract::rules! {
    UT_MUST_BE_STABLE, // D1
    DSV_SURVIVES, // D2
    STABLE_STAYS_HOME, // D3
    PUT_MERGES_DS, // Algorithm 5.2 line 7
    PUT_ABOVE_DSV, // Algorithm 5.2 line 8
    SLICE_LIFTS, // Algorithm 5.4 line 21
}

/// To the letter of the paper, for the checker to convict.
pub const VARIANTS: &[Variant] = &[Variant {
    name: "causal-spartan-x-published",
    about: "CausalSpartanX to the letter, with erratum E-3: for study only",
    without: &[UT_MUST_BE_STABLE],
}];

/// The numbers. The paper names θ and Δ and gives no values; these are GentleRain's.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// θ: how often a server passes on what it has received.
    pub theta_us: Micros,
    /// Δ: how long a server that writes nothing lets its peers wait for a heartbeat.
    pub delta_us: Micros,
    /// Children of a node of the aggregation tree.
    pub fan_out: usize,
    /// How long a session waits for what it depends on.
    pub wait_limit_us: Micros,
}

impl tidemark_contract::Params for Params {}

impl Default for Params {
    fn default() -> Self {
        Self { theta_us: 5_000, delta_us: 5_000, fan_out: 2, wait_limit_us: 2_000_000 }
    }
}

/// DS and DSV of a session, and what an answer adds to them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct Past {
    pub ds: Vector,
    pub dsv: Vector,
}

impl tidemark_contract::Past for Past {
    /// Algorithm 5.1 lines 4, 5 and 10; 5.4 lines 5 and 6.
    fn merge(&mut self, other: &Past) {
        self.ds.merge(&other.ds);
        self.dsv.merge(&other.dsv);
    }

    fn reach(&self, home: DcId) -> Reach {
        Reach::of(home, [&self.ds, &self.dsv])
    }
}

/// What a session asks.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[allow(missing_docs)]
pub enum Request {
    Get(Key, Vector),         // GETREQ k, dsv
    Put(Key, Update, Vector), // PUTREQ k, v, ds
    Rotx(Vec<Key>, Past),     // ROTX kset, dsv, ds
    Walk(Walk, Vector),       // SCAN and COUNT, dsv
    Cover(Vector),            // D3: wait for what ds names
}

/// What a server answers: every reply in the paper is ⟨v, ds, dsv⟩ or part of it.
pub type Reply = Answer<Past>;

/// What the servers of a data centre say to each other.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[allow(missing_docs)]
pub enum Peer {
    Tree(Tree),
    SliceReq(SliceReq<Vector>),     // SLICEREQ k, sv
    SliceReply(SliceReply<Vector>), // SLICEREPLY v, ds
}

/// Timers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs)]
pub enum Timer {
    Theta,
    Delta,
}

/// What a reader can see.
pub enum View {
    /// GET in data centre `m` at `dsv`: what was written here, and what is stable; the last says whether a
    /// version's own time must be (D1).
    Fresh(DcId, Vector, bool),
    /// A snapshot: what `sv` covers, wherever it was written.
    At(Vector),
}

/// A server, `p_n^m`.
pub struct CausalSpartanX {
    vv: Vector,
    dsv: Vector,
    sent_since_delta: bool,
    reads: Slices<Vector, Vector>,
    arrivals: Arrivals,
    stabilisation: Stabilisation,
    ceiling: Ceiling,
}

const ABOUT: &str = "causal+ on hybrid clocks: writes never wait, one-round snapshots never block";

impl Protocol for CausalSpartanX {
    const INFO: Info = Info::new("causal-spartan-x", ABOUT, Promise::CausalImmediate)
        .partial()
        .rules(RULES)
        .variants(VARIANTS);
    type Meta = Vector; // ds
    type Request = Request;
    type Reply = Reply;
    type Peer = Peer;
    type Hard = Hard;
    type Timer = Timer;
    type View = View;
    type Session = OneRoundSession<Self>;
    type Params = Params;
    type Component = ();

    fn start(Recovered { hard, life, received, .. }: Recovered<Hard>, cx: &mut Cx<'_, Self>) -> Self {
        let (m, mut vv, mut dsv) = (cx.me.dc, received, Vector::zero(cx.topology.dcs));
        vv.raise(m, hard.ceiling);
        if DSV_SURVIVES.kept() {
            dsv.merge(&hard.stable);
            let written_here = cx.store.versions().filter(|d| d.stamp.origin == m);
            written_here.for_each(|d| dsv.merge(&d.meta)); // D2
        }
        cx.arm(Timer::Theta, cx.params.theta_us);
        cx.arm(Timer::Delta, cx.params.delta_us);
        Self {
            vv,
            dsv,
            sent_since_delta: false,
            reads: Slices::new(life),
            arrivals: Arrivals::default(),
            stabilisation: Stabilisation::new(cx.me, cx.topology, cx.params.fan_out),
            ceiling: Ceiling::new(hard),
        }
    }

    fn on_request(&mut self, ticket: Ticket, request: Request, cx: &mut Cx<'_, Self>) {
        match request {
            Request::Get(key, dsv) => self.get(ticket, &key, &dsv, cx),
            Request::Put(key, update, ds) => self.put(ticket, key, update, ds, cx),
            Request::Rotx(keys, past) => self.rotx(ticket, keys, past, cx),
            Request::Walk(walk, dsv) => {
                self.dsv.merge(&dsv);
                let mut ds = Vector::default();
                let outcome = cx.walk(&walk, &self.fresh(cx), |d| depend(&mut ds, d));
                cx.answer(ticket, outcome, Past { ds, dsv: self.dsv.clone() });
            }
            Request::Cover(ds) => {
                self.arrivals.wait(ticket, ds, cx.me.dc, cx.mono + cx.params.wait_limit_us);
                self.wake(cx);
            }
        }
    }

    fn on_peer(&mut self, from: ServerId, message: Peer, cx: &mut Cx<'_, Self>) {
        match message {
            Peer::Tree(message) => {
                let stable = self.stabilisation.on_message((from, message), self.report(), Peer::Tree, cx);
                self.adopt(stable, cx);
            }
            Peer::SliceReq(request) => self.slice(from, request, cx),
            Peer::SliceReply(reply) => {
                // Algorithm 5.4 lines 15 to 18.
                if let Some(read) = self.reads.gather(from, reply, |ds, seen| ds.merge(&seen)) {
                    let past = Past { ds: read.seen, dsv: self.dsv.clone() };
                    cx.answer(read.ticket, Outcome::FoundAll(read.found), past);
                }
            }
        }
    }

    /// Algorithm 5.2 lines 20 to 22.
    fn on_replicate(&mut self, from: ServerId, key: Key, d: Version<Vector>, cx: &mut Cx<'_, Self>) {
        let ut = d.stamp.ts;
        cx.store.insert(&key, d);
        self.vv.raise(from.dc, ut);
    }

    /// Algorithm 5.3 lines 8 and 9.
    fn on_heartbeat(&mut self, from: ServerId, hlc: Hlc, _cx: &mut Cx<'_, Self>) {
        self.vv.raise(from.dc, hlc);
    }

    fn on_peer_reset(&mut self, peer: ServerId, cx: &mut Cx<'_, Self>) {
        cx.fail_all(self.reads.reset(peer), unanswered);
    }

    fn on_timer(&mut self, timer: Timer, cx: &mut Cx<'_, Self>) {
        match timer {
            // Algorithm 5.3 lines 1 and 2.
            Timer::Theta => {
                cx.arm(Timer::Theta, cx.params.theta_us);
                self.ceiling.hurry(|| self.dsv.clone(), cx);
                let stable = self.stabilisation.tick(self.report(), Peer::Tree, cx);
                self.adopt(stable, cx);
                self.stabilisation.collect(cx, |safe, d| d.meta.le(safe) && safe.covers(d.stamp)); // D4
                cx.fail_all(self.reads.expire(cx.mono), unanswered);
                self.arrivals.turn_away(cx);
            }
            // Algorithm 5.3 lines 3 to 7.
            Timer::Delta => {
                cx.arm(Timer::Delta, cx.params.delta_us);
                if !std::mem::take(&mut self.sent_since_delta) {
                    let hlc = self.vv[cx.me.dc].tick(cx.now);
                    self.advance(hlc, cx);
                    cx.heartbeat(hlc);
                }
            }
        }
    }

    fn visible(view: &View, stamp: Stamp, ds: &Vector) -> bool {
        match view {
            View::Fresh(m, dsv, ut_must_be_stable) => {
                stamp.origin == *m || ds.le(dsv) && (!ut_must_be_stable || dsv.covers(stamp))
            }
            View::At(sv) => ds.le(sv) && sv.covers(stamp),
        }
    }

    fn status(&self) -> Status {
        Status::new(self.dsv.clone(), self.arrivals.len())
    }
}

impl CausalSpartanX {
    /// Algorithm 5.2 lines 1 to 5.
    fn get(&mut self, ticket: Ticket, key: &Key, dsv: &Vector, cx: &mut Cx<'_, Self>) {
        self.dsv.merge(dsv); // 2
        let d = cx.latest(key, &self.fresh(cx)); // 3
        let mut ds = Vector::default();
        d.into_iter().for_each(|d| depend(&mut ds, d)); // 4
        let found = Outcome::Found(found_of(d));
        cx.answer(ticket, found, Past { ds, dsv: self.dsv.clone() }); // 5
    }

    /// Algorithm 5.2 lines 6 to 19.
    fn put(&mut self, ticket: Ticket, key: Key, update: Update, mut ds: Vector, cx: &mut Cx<'_, Self>) {
        if PUT_MERGES_DS.kept() {
            self.dsv.merge(&ds); // 7
        }
        let m = cx.me.dc;
        let dsv = self.dsv.clone();
        let see = |past: &mut Past, d: &_| {
            depend(&mut past.ds, d); // D5
            past.dsv = dsv;
        };
        let (outcome, past) = cx.update(&key, update, &self.fresh(cx), Past::default(), see, |past, cx| {
            ds.merge(&past.ds);
            let dt = if PUT_ABOVE_DSV.kept() { ds.max().max(self.dsv[m]) } else { ds.max() }; // 8
            let new = cx.stamp_above(self.vv[m], dt)?; // 9, 13, 14
            self.advance(new.ts, cx);
            self.sent_since_delta = true;
            past.ds.include(new);
            Ok(Draft::new(new, ds)) // 10 to 12, 15, 16, 18, 19
        });
        cx.answer(ticket, outcome, past); // 17
    }

    /// Algorithm 5.4 lines 9 to 14.
    fn rotx(&mut self, ticket: Ticket, keys: Vec<Key>, Past { ds, dsv }: Past, cx: &mut Cx<'_, Self>) {
        self.dsv.merge(&dsv); // 10
        self.dsv.merge(&ds);
        let (sv, deadline) = (self.dsv.clone(), cx.mono + cx.params.wait_limit_us); // 12
        self.reads.scatter((ticket, keys), sv, ds, deadline, Peer::SliceReq, cx); // 11, 13, 14
    }

    /// Algorithm 5.4 lines 20 to 24.
    fn slice(&mut self, from: ServerId, request: SliceReq<Vector>, cx: &mut Cx<'_, Self>) {
        let SliceReq { id, keys, at: sv } = request;
        if SLICE_LIFTS.kept() {
            self.dsv.raise(cx.me.dc, sv[cx.me.dc]); // 21
            self.keep(sv[cx.me.dc], cx); // D2
        }
        let (view, mut seen) = (View::At(sv), Vector::default());
        let found = cx.read(&keys, &view, |d| depend(&mut seen, d)); // 22, 23
        cx.send(from, Peer::SliceReply(SliceReply { id, found, seen })); // 24
    }

    /// What Algorithm 5.3 line 2 takes from this server; for collection, D4.
    fn report(&self) -> Report {
        Report::new(self.vv.clone(), self.ceiling.stable(), self.reads.snapshots().cloned())
    }

    /// Algorithm 5.3 line 2.
    fn adopt(&mut self, stable: Option<Vector>, cx: &mut Cx<'_, Self>) {
        let Some(stable) = stable else { return };
        self.dsv.merge(&stable); // I1
        self.wake(cx);
    }

    fn wake(&mut self, cx: &mut Cx<'_, Self>) {
        for (ticket, ds) in self.arrivals.enter(&self.dsv) {
            cx.answer(ticket, Outcome::Adopted, Past { ds, dsv: self.dsv.clone() });
        }
    }

    /// Moves the clock, `vv[m]`.
    fn advance(&mut self, hlc: Hlc, cx: &mut Cx<'_, Self>) {
        self.vv[cx.me.dc] = hlc;
        self.keep(hlc, cx);
    }

    /// Keeps the durable ceiling above `hlc`, so that no later life stamps a write at or below it.
    fn keep(&mut self, hlc: Hlc, cx: &mut Cx<'_, Self>) {
        self.ceiling.renew(hlc, || self.dsv.clone(), cx);
    }

    fn fresh(&self, cx: &Cx<'_, Self>) -> View {
        View::Fresh(cx.me.dc, self.dsv.clone(), UT_MUST_BE_STABLE.kept())
    }
}

/// `maxDS(ds, d.ds ∪ {(d.sr, d.ut)})`.
fn depend(ds: &mut Vector, d: &Version<Vector>) {
    ds.merge(&d.meta);
    ds.include(d.stamp);
}

/// A session: Algorithm 5.1, and the client side of 5.4.
impl OneRound for CausalSpartanX {
    type Past = Past;

    fn question(op: Option<Op>, _: DcId, past: &Past) -> Request {
        let Past { ds, dsv } = past;
        match op {
            Some(Op::Get { key }) => Request::Get(key, dsv.clone()), // 5.1 line 2
            Some(Op::Put { key, update }) => Request::Put(key, update, ds.clone()), // 5.1 line 8
            Some(Op::Rotx { keys } | Op::Snapshot { keys }) => Request::Rotx(keys, past.clone()), // 5.4 line 3, D6
            Some(walk) => Request::Walk(Walk::of(&walk), dsv.clone()),
            None => Request::Cover(ds.clone()), // D3
        }
    }

    fn travels(past: &Past) -> Past {
        let dsv = if STABLE_STAYS_HOME.kept() { Vector::default() } else { past.dsv.clone() };
        Past { ds: Vector::default(), dsv }
    }
}
