//! Okapi: what was written elsewhere becomes readable when every data centre has it, so that a session can move to any
//! of them and finds there whatever it has read from afar.
//!
//! **Idea.** Servers tell their peers what they have received. An aggregation tree makes of that the *universal stable
//! vector*: up to which time everything from each data centre has arrived at all servers of all of them. One scalar
//! then decides whether a version written elsewhere is readable: its own time. All that it depends on is everywhere
//! too, or it could not have been read where it was written. The price is freshness: remote versions wait for the
//! slowest data centre, and while one is cut off nothing new from afar is seen.
//!
//! **Source.** D. Didona, K. Spirovska, W. Zwaenepoel, *Okapi: Causally Consistent Geo-Replication Made Faster, Cheaper
//! and More Available*, arXiv 1702.04263, 2017. Only its abstract could be read, and Table 7.1 of the dissertation (000).
//! They say: hybrid clocks; a stabilisation that combines vectors and scalars; tracking per replica and checking per
//! system: a remote update is visible "when its delivery has been acknowledged by every data center". All else is
//! *reconstructed*: who acknowledges to whom, what a version and a session carry (here a vector; the paper's savings of
//! metadata are not claimed), how a read-only transaction is coordinated, how a session moves, and all numbers.
//!
//! **Names.** `vv` VV, the version vector (`vv[m]` is the server's HLC) · `usv` the universal stable vector · `ds`
//! dependencies · `ut` update time · `sr` source replica (`stamp.origin`) · `sv` snapshot vector · θ, Δ: [`Params`].
//!
//! **Deviations**, or rather decisions
//! - D1 A server acknowledges by sending its `vv` to its peers every θ; the tree takes the minimum over partitions of
//!   the minimum over data centres. Messages may be lost and overtaken: both only rise.
//! - D2 (E-12) Stamps start above a persisted ceiling ([`Ceiling`]), which covers what slices promise too. `usv` is
//!   persisted because collection has used it.
//! - D3 (E-13) What a session read from afar is everywhere and needs no wait when it moves; what it wrote or read of
//!   its home's own has to become universally stable first. The token holds nothing that only its home understands.
//! - D4 Collection: below the least of all snapshots in use and of all persisted `usv` of the data centre.
//! - D5 A conditional update depends on the version that decided it, and so does its session.
//! - D6 The owner of its first key coordinates a read-only transaction. `sv[m]` is its clock, as in Contrarian.
//!
//! **Invariants**
//! - I1 For i ≠ m, `usv[i]` and the `ds[i]` of every session of m and of every version written in m never exceed
//!   `vv[i]` of any server of any data centre. (So E-3 cannot arise: a session's `ds` may be merged into `usv`.)
//! - I2 A version's `ut` is above every entry of its `ds`, and above `sv[m]` of every snapshot read before where it was
//!   written.

pub use crate::causal_spartan_x::{Params, Timer};
use serde::{Deserialize, Serialize};
use tidemark_contract::core::promise::Promise;
use tidemark_contract::core::{DcId, Hlc, Key, Op, Outcome, ServerId, Stamp, Update, Vector};
use tidemark_contract::{
    Answer, Ceiling, Cx, Draft, Hard, Info, OneRound, OneRoundSession, Protocol, Recovered, Report,
    SliceReply, SliceReq, Slices, Stabilisation, Status, Ticket, Tree, Version, Waiters, Walk, found_of,
    not_covered, unanswered,
};

tidemark_contract::rules! {
    EVERY_DC_HAS_IT, // D1
    UT_IS_STABLE, // GET
    USV_COVERS_DS, // I1
    SNAPSHOT_HOLDS_DS,
    SLICE_LIFTS_CLOCK, // D6
    PUT_ABOVE_DS, // I2
    USV_SURVIVES, // D2
    HOME_MUST_BE_STABLE, // D3
}

/// What a session asks. The vector is always its ds.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[allow(missing_docs)]
pub enum Request {
    Get(Key, Vector),
    Put(Key, Update, Vector),
    Rotx(Vec<Key>, Vector),
    Walk(Walk, Vector),
    Cover(DcId, Vector), // D3: wait for what was home's own
}

/// What servers say to each other.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[allow(missing_docs)]
pub enum Peer {
    /// To the peers in other data centres: the sender's VV (D1).
    Received(Vector),
    Tree(Tree),
    SliceReq(SliceReq<Vector>),
    SliceReply(SliceReply<Vector>),
}

/// What a reader can see.
pub enum View {
    /// GET in data centre m: what was written here, and what is universally stable.
    Fresh(DcId, Vector),
    /// A snapshot: what sv covers with all that it depends on, wherever it was written.
    At(Vector),
}

/// A server, `p_n^m`.
pub struct Okapi {
    vv: Vector,
    /// The VV of the peer in each data centre as last heard; this server's own is not looked at.
    peers: Vec<Vector>,
    usv: Vector,
    sent_since_delta: bool,
    reads: Slices<Vector, Vector>,
    /// Sessions that moved here and wait until `usv` covers what they depend on of their home.
    arrivals: Waiters<Vector, (Ticket, Vector)>,
    stabilisation: Stabilisation,
    ceiling: Ceiling,
}

const ABOUT: &str = "causal+: what every region has is readable, so sessions move freely";

impl Protocol for Okapi {
    const INFO: Info = Info::new("okapi", ABOUT, Promise::CausalImmediate).partial().rules(RULES);

    type Meta = Vector; // ds
    type Request = Request;
    type Reply = Answer<Vector>;
    type Peer = Peer;
    type Hard = Hard;
    type Timer = Timer;
    type View = View;
    type Session = OneRoundSession<Self>;
    type Params = Params;
    type Component = ();

    fn start(Recovered { hard, life, received, .. }: Recovered<Hard>, cx: &mut Cx<'_, Self>) -> Self {
        let (mut vv, mut usv) = (received, Vector::zero(cx.topology.dcs));
        vv.raise(cx.me.dc, hard.ceiling);
        if USV_SURVIVES.kept() {
            usv.merge(&hard.stable); // D2
        }
        cx.arm(Timer::Theta, cx.params.theta_us);
        cx.arm(Timer::Delta, cx.params.delta_us);
        Self {
            vv,
            peers: vec![Vector::zero(cx.topology.dcs); cx.topology.dcs],
            usv,
            sent_since_delta: false,
            reads: Slices::new(life),
            arrivals: Waiters::default(),
            stabilisation: Stabilisation::new(cx.me, cx.topology, cx.params.fan_out),
            ceiling: Ceiling::new(hard),
        }
    }

    fn on_request(&mut self, ticket: Ticket, request: Request, cx: &mut Cx<'_, Self>) {
        match request {
            Request::Get(key, ds) => {
                let d = cx.latest(&key, &self.fresh(&ds, cx));
                let mut seen = Vector::default();
                d.into_iter().for_each(|d| depend(&mut seen, d));
                let found = Outcome::Found(found_of(d));
                cx.answer(ticket, found, seen);
            }
            Request::Put(key, update, ds) => self.put(ticket, key, update, ds, cx),
            Request::Rotx(keys, ds) => {
                let (sv, deadline) = (self.snapshot(&ds, cx), cx.mono + cx.params.wait_limit_us);
                self.reads.scatter((ticket, keys), sv, ds, deadline, Peer::SliceReq, cx);
            }
            Request::Walk(walk, ds) => {
                let mut seen = Vector::default();
                let outcome = cx.walk(&walk, &self.fresh(&ds, cx), |d| depend(&mut seen, d));
                cx.answer(ticket, outcome, seen);
            }
            Request::Cover(home, ds) => {
                let mut own = Vector::default();
                own.raise(home, ds[home]); // D3
                self.arrivals.park(own, cx.mono + cx.params.wait_limit_us, (ticket, ds));
                self.adopt(None, cx);
            }
        }
    }

    fn on_peer(&mut self, from: ServerId, message: Peer, cx: &mut Cx<'_, Self>) {
        match message {
            Peer::Received(vv) => self.peers[from.dc.index()].merge(&vv),
            Peer::Tree(message) => {
                let mine = self.report(cx);
                let stable = self.stabilisation.on_message((from, message), mine, Peer::Tree, cx);
                self.adopt(stable, cx);
            }
            Peer::SliceReq(request) => self.slice(from, request, cx),
            Peer::SliceReply(reply) => {
                if let Some(read) = self.reads.gather(from, reply, |ds, seen| ds.merge(&seen)) {
                    cx.answer(read.ticket, Outcome::FoundAll(read.found), read.seen);
                }
            }
        }
    }

    fn on_replicate(&mut self, from: ServerId, key: Key, d: Version<Vector>, cx: &mut Cx<'_, Self>) {
        let ut = d.stamp.ts;
        cx.store.insert(&key, d);
        self.vv.raise(from.dc, ut);
    }

    fn on_heartbeat(&mut self, from: ServerId, hlc: Hlc, _cx: &mut Cx<'_, Self>) {
        self.vv.raise(from.dc, hlc);
    }

    fn on_peer_reset(&mut self, peer: ServerId, cx: &mut Cx<'_, Self>) {
        cx.fail_all(self.reads.reset(peer), unanswered);
    }

    fn on_timer(&mut self, timer: Timer, cx: &mut Cx<'_, Self>) {
        match timer {
            Timer::Theta => {
                cx.arm(Timer::Theta, cx.params.theta_us);
                let (me, topology) = (cx.me, cx.topology);
                topology.peers(me).for_each(|peer| cx.send(peer, Peer::Received(self.vv.clone()))); // D1
                self.ceiling.hurry(|| self.usv.clone(), cx);
                let mine = self.report(cx);
                let stable = self.stabilisation.tick(mine, Peer::Tree, cx);
                self.adopt(stable, cx);
                self.stabilisation.collect(cx, |safe, d| d.meta.le(safe) && safe.covers(d.stamp)); // D4
                cx.fail_all(self.reads.expire(cx.mono), unanswered);
                cx.fail_all(self.arrivals.expire(cx.mono).into_iter().map(|(ticket, _)| ticket), not_covered);
            }
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
            View::Fresh(m, usv) => stamp.origin == *m || !UT_IS_STABLE.kept() || usv.covers(stamp),
            View::At(sv) => sv.covers(stamp) && (!SNAPSHOT_HOLDS_DS.kept() || ds.le(sv)),
        }
    }

    fn status(&self) -> Status {
        Status::new(self.usv.clone(), self.arrivals.len())
    }
}

impl Okapi {
    /// PUT: it never waits.
    fn put(&mut self, ticket: Ticket, key: Key, update: Update, mut ds: Vector, cx: &mut Cx<'_, Self>) {
        let (m, view) = (cx.me.dc, self.fresh(&ds, cx));
        let (outcome, seen) = cx.update(&key, update, &view, Vector::default(), depend, |seen, cx| {
            ds.merge(seen); // D5
            let above = if PUT_ABOVE_DS.kept() { ds.max() } else { Hlc::ZERO };
            let new = cx.stamp_above(self.vv[m], above)?; // I2
            self.advance(new.ts, cx);
            self.sent_since_delta = true;
            seen.include(new);
            Ok(Draft::new(new, ds))
        });
        cx.answer(ticket, outcome, seen);
    }

    /// `sv`: what is universally stable and what the session depends on; here, up to the clock (D6).
    fn snapshot(&mut self, ds: &Vector, cx: &mut Cx<'_, Self>) -> Vector {
        let m = cx.me.dc;
        self.learn(ds, cx);
        self.advance(Hlc::at(cx.now).max(ds[m]), cx);
        let mut sv = self.usv.clone();
        sv.raise(m, self.vv[m]);
        sv
    }

    /// The keys of one partition in a snapshot: no later write here lies in it (I2).
    fn slice(&mut self, from: ServerId, request: SliceReq<Vector>, cx: &mut Cx<'_, Self>) {
        let SliceReq { id, keys, at: sv } = request;
        if SLICE_LIFTS_CLOCK.kept() {
            self.advance(sv[cx.me.dc], cx);
        }
        let (view, mut seen) = (View::At(sv), Vector::default());
        let found = cx.read(&keys, &view, |d| depend(&mut seen, d));
        cx.send(from, Peer::SliceReply(SliceReply { id, found, seen }));
    }

    /// What a session depends on of other data centres is everywhere (I1).
    fn learn(&mut self, ds: &Vector, cx: &Cx<'_, Self>) {
        if USV_COVERS_DS.kept() {
            self.usv.merge(&ds.without(cx.me.dc));
        }
    }

    /// What the tree takes from this server: what this partition's servers have in all data centres (D1); for
    /// collection, D4.
    fn report(&self, cx: &Cx<'_, Self>) -> Report {
        let mut everywhere = self.vv.clone();
        if EVERY_DC_HAS_IT.kept() {
            cx.topology.peers(cx.me).for_each(|peer| everywhere.meet(&self.peers[peer.dc.index()]));
        }
        Report::new(everywhere, self.ceiling.stable(), self.reads.snapshots().cloned())
    }

    /// `usv = max(usv, stable)` (E-2), and lets in the sessions that it covers.
    fn adopt(&mut self, stable: Option<Vector>, cx: &mut Cx<'_, Self>) {
        stable.into_iter().for_each(|stable| self.usv.merge(&stable));
        for (ticket, ds) in self.arrivals.wake(&self.usv) {
            cx.answer(ticket, Outcome::Adopted, ds);
        }
    }

    /// Moves the clock up to `hlc`, if it is behind, and keeps the durable ceiling above it (D2).
    fn advance(&mut self, hlc: Hlc, cx: &mut Cx<'_, Self>) {
        self.vv.raise(cx.me.dc, hlc);
        self.ceiling.renew(self.vv[cx.me.dc], || self.usv.clone(), cx);
    }

    /// What a GET of a session that depends on `ds` can see.
    fn fresh(&mut self, ds: &Vector, cx: &Cx<'_, Self>) -> View {
        self.learn(ds, cx);
        View::Fresh(cx.me.dc, self.usv.clone())
    }
}

/// Whoever saw `d` depends on it, and on all that it depends on.
fn depend(ds: &mut Vector, d: &Version<Vector>) {
    ds.merge(&d.meta);
    ds.include(d.stamp);
}

/// A session: its past is its ds.
impl OneRound for Okapi {
    type Past = Vector; // ds

    fn question(op: Option<Op>, home: DcId, ds: &Vector) -> Request {
        let ds = ds.clone();
        match op {
            Some(Op::Get { key }) => Request::Get(key, ds),
            Some(Op::Put { key, update }) => Request::Put(key, update, ds),
            Some(Op::Rotx { keys } | Op::Snapshot { keys }) => Request::Rotx(keys, ds),
            Some(walk) => Request::Walk(Walk::of(&walk), ds),
            None => Request::Cover(home, if HOME_MUST_BE_STABLE.kept() { ds } else { Vector::default() }), // D3
        }
    }

    fn travels(ds: &Vector) -> Vector {
        if HOME_MUST_BE_STABLE.kept() { Vector::default() } else { ds.clone() }
    }
}
