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
//! **Names.** `st.vv` VV, the version vector (`vv[m]` is the server's HLC) · `st.stable` or `usv` the universal stable vector · `ds`
//! dependencies · `ut` update time · `sr` source replica (`stamp.origin`) · `sv` snapshot vector · θ, Δ: [`Params`].
//!
//! **Deviations**, or rather decisions
//! - D1 A server acknowledges by sending its `vv` to its peers every θ; the tree takes the minimum over partitions of
//!   the minimum over data centres. Messages may be lost and overtaken: both only rise.
//! - D2 (E-12) The persisted ceiling covers what slices promise too. `usv` is persisted because collection has used it. What was
//!   written here depends on is readable again after a restart: a removal must not be applied before what it removes.
//! - D3 (E-13) What a session read from afar is everywhere and needs no wait when it moves; what it wrote or read of
//!   its home's own has to become universally stable first. The token holds nothing that only its home understands.
//! - D4 Collection: below the least of all snapshots in use and of all persisted `usv` of the data centre.
//! - D5 A conditional update depends on the version that decided it, and so does its session.
//! - D6 The owner of its first key coordinates a read-only transaction. `sv[m]` is its clock, as in Contrarian.
//! - D7 Who sees several versions at once, as commands do, sees one from elsewhere once `usv` covers its dependencies, too. They are
//!   everywhere; but `usv` is told late, and sessions raise one entry of it before another. A GET tells its session what it depends
//!   on, and the session the next server. A command would see a version without its cause, and kill it without its cause; and what
//!   the version itself has killed would come back when it is seen.
//!
//! **Invariants**
//! - I1 For i ≠ m, `usv[i]` and the `ds[i]` of every session of m and of every version written in m never exceed
//!   `vv[i]` of any server of any data centre. (So E-3 cannot arise: a session's `ds` may be merged into `usv`.)
//! - I2 A version's `ut` is above every entry of its `ds`, and above `sv[m]` of every snapshot read before where it was
//!   written.

use tidemark_contract::prelude::*;
use tidemark_contract::stabilised::{self, FoundSlice, Stabilised, StableTime};
pub use tidemark_contract::stabilised::{Params, Timer};

tidemark_contract::rules! {
    EVERY_DC_HAS_IT, // D1
    UT_IS_STABLE, // GET
    DS_IS_STABLE, // D7
    USV_COVERS_DS, // I1
    SNAPSHOT_HOLDS_DS,
    SLICE_LIFTS_CLOCK, // D6
    PUT_ABOVE_DS, // I2
    HOME_MUST_BE_STABLE; // D3
    of stabilised: STABLE_SURVIVES, CLOCK_SURVIVES, OFFERS_WHAT_IS_DURABLE // D2, D4
}

/// To the peers in other data centres: the sender's VV (D1).
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Received(pub Vector);

/// What servers say to each other: slices are asked for at sv, and tell ds of what they found.
pub type Peer = stabilised::Peer<Vector, Vector, Received>;

/// What a reader can see.
pub enum View {
    /// GET in data centre m: what was written here, and what is universally stable.
    Fresh(DcId, Vector),
    /// A snapshot: what sv covers with all that it depends on, wherever it was written.
    At(Vector),
}

/// A server, `p_n^m`.
pub struct Okapi {
    st: Stabilised<Self>,
    /// The VV of the peer in each data centre as last heard; this server's own is not looked at.
    peers: Vec<Vector>,
}

const ABOUT: &str = "causal+: what every region has is readable, so sessions move freely";

impl Protocol for Okapi {
    const INFO: Info = Info::new("okapi", ABOUT, Promise::CausalImmediate).partial().rules(RULES);
    const EXTENSIONS: Extensions<Self> = Extensions {
        types: Some(Types {
            absorb: |ds, d| ds.merge(&d.meta),
            fresh: |view| if let View::Fresh(_, usv) = view { Some(usv.digest()) } else { None },
            now: |server, m| View::Fresh(m, server.st.stable.clone()),
            whole: |_| false,
            together: Some(|view, stamp, ds| Self::visible(view, stamp, ds) && has_causes(view, stamp, ds)),
        }),
        ..Extensions::NONE
    };
    type Meta = Vector; // ds
    /// The vector is always ds; a session that has moved says where its home was (D3).
    type Request = Request<Vector, Vector, Vector, (DcId, Vector)>;
    type Reply = Answer<Vector>;
    type Peer = Peer;
    type Hard = Hard;
    type Timer = Timer;
    type View = View;
    type Session = OneRoundSession<Self>;
    type Params = Params;
    type Component = Stabilised<Self>;

    fn start(was: Recovered<Hard>, cx: &mut Cx<'_, Self>) -> Self {
        let peers = vec![Vector::zero(cx.topology.dcs); cx.topology.dcs];
        let (m, mut st) = (cx.me.dc, Stabilised::start(&was, *cx.params, cx));
        let written_here = cx.store().versions().filter(|d| d.stamp.origin == m && STABLE_SURVIVES.kept());
        written_here.for_each(|d| st.stable.merge(&d.meta.without(m))); // D2
        Self { st, peers }
    }

    fn on_request(&mut self, ticket: Ticket, request: Self::Request, cx: &mut Cx<'_, Self>) {
        match request {
            Request::Get(key, ds) => self.read(ticket, &Read::Get(key), &ds, cx),
            Request::Walk(walk, ds) => self.read(ticket, &Read::Walk(walk), &ds, cx),
            Request::Put(key, update, ds) => self.put(ticket, key, update, ds, cx),
            Request::Rotx(keys, ds) => {
                let sv = self.snapshot(&ds, cx);
                self.st.scatter((ticket, keys), sv, ds, cx);
            }
            Request::Cover((home, ds)) => {
                let mut own = Vector::default();
                own.raise(home, if HOME_MUST_BE_STABLE.kept() { ds[home] } else { Hlc::ZERO }); // D3
                stabilised::arrive(self, ticket, (own, ds), |_, ds| Answer(Outcome::Adopted, ds), cx);
            }
        }
    }

    fn on_peer(&mut self, from: ServerId, message: Peer, cx: &mut Cx<'_, Self>) {
        match message {
            Peer::Own(Received(vv)) => self.peers[from.dc.index()].merge(&vv),
            message => stabilised::on_peer(self, from, message, cx),
        }
    }

    fn visible(view: &View, stamp: Stamp, ds: &Vector) -> bool {
        match view {
            View::Fresh(m, usv) => stamp.origin == *m || !UT_IS_STABLE.kept() || usv.covers(stamp),
            View::At(sv) => sv.covers(stamp) && (!SNAPSHOT_HOLDS_DS.kept() || ds.le(sv)),
        }
    }

    fn status(&self) -> Status {
        Status::new(self.st.stable.clone(), self.st.waiting())
    }
}

impl StableTime for Okapi {
    fn stabilised(&mut self) -> &mut Stabilised<Self> {
        &mut self.st
    }

    /// The keys of one partition in a snapshot: no later write here lies in it (I2).
    fn slice(&mut self, sv: Vector, keys: &Several<(u32, Key)>, cx: &mut Cx<'_, Self>) -> FoundSlice<Self> {
        if SLICE_LIFTS_CLOCK.kept() {
            self.st.advance(sv[cx.me.dc], cx);
        }
        let mut seen = Vector::default();
        let found = cx.read_slice(keys, &View::At(sv), |d| seen.depend_on(d.stamp, &d.meta));
        (found, seen)
    }

    /// D4.
    fn settled(&mut self, safe: &Vector, _: DcId, d: &Version<Vector>) -> bool {
        d.meta.le(safe) && safe.covers(d.stamp)
    }

    /// What this partition's servers have in all data centres (D1).
    fn share(&mut self, cx: &mut Cx<'_, Self>) -> Vector {
        let mut everywhere = self.st.vv.clone();
        if EVERY_DC_HAS_IT.kept() {
            cx.topology.peers(cx.me).for_each(|peer| everywhere.meet(&self.peers[peer.dc.index()]));
        }
        everywhere
    }

    /// Acknowledges, too, what has arrived here (D1).
    fn theta(&mut self, cx: &mut Cx<'_, Self>) {
        let (me, topology) = (cx.me, cx.topology);
        topology.peers(me).for_each(|peer| cx.send(peer, Peer::Own(Received(self.st.vv.clone()))));
        stabilised::theta(self, cx);
    }
}

/// D7.
fn has_causes(view: &View, stamp: Stamp, ds: &Vector) -> bool {
    match view {
        View::Fresh(m, usv) => stamp.origin == *m || ds.le_elsewhere(usv, *m) || !DS_IS_STABLE.kept(),
        View::At(_) => true,
    }
}

impl Okapi {
    /// GET: whoever saw `d` depends on it, and on all that it depends on.
    fn read(&mut self, ticket: Ticket, read: &Read, ds: &Vector, cx: &mut Cx<'_, Self>) {
        let mut seen = Vector::default();
        let outcome = cx.find(read, &self.fresh(ds, cx), |d| seen.depend_on(d.stamp, &d.meta));
        cx.answer(ticket, outcome, seen);
    }

    /// PUT: it never waits.
    fn put(&mut self, ticket: Ticket, key: Key, update: Update, mut ds: Vector, cx: &mut Cx<'_, Self>) {
        let (m, view) = (cx.me.dc, self.fresh(&ds, cx));
        let see = |seen: &mut Vector, d: &Version<Vector>| seen.depend_on(d.stamp, &d.meta); // D5
        let (outcome, seen) = cx.update(&key, update, &view, Vector::default(), see, |seen, cx| {
            ds.merge(seen);
            let above = if PUT_ABOVE_DS.kept() { ds.max() } else { Hlc::ZERO };
            let new = cx.stamp_above(self.st.vv[m], above)?; // I2
            self.st.written(new.ts, cx);
            seen.include(new);
            Ok(Draft::new(new, ds))
        });
        cx.answer(ticket, outcome, seen);
    }

    /// `sv`: what is universally stable and what the session depends on; here, up to the clock (D6).
    fn snapshot(&mut self, ds: &Vector, cx: &mut Cx<'_, Self>) -> Vector {
        let m = cx.me.dc;
        self.learn(ds, cx);
        self.st.advance(Hlc::at(cx.now).max(ds[m]), cx);
        self.st.stable.raised(m, self.st.vv[m])
    }

    /// What a session depends on of other data centres is everywhere (I1).
    fn learn(&mut self, ds: &Vector, cx: &Cx<'_, Self>) {
        if USV_COVERS_DS.kept() {
            self.st.stable.merge(&ds.without(cx.me.dc));
        }
    }

    /// What a GET of a session that depends on `ds` can see.
    fn fresh(&mut self, ds: &Vector, cx: &Cx<'_, Self>) -> View {
        self.learn(ds, cx);
        View::Fresh(cx.me.dc, self.st.stable.clone())
    }
}

/// A session: its past is its ds.
impl OneRound for Okapi {
    type Past = Vector; // ds

    fn question(op: Option<Op>, home: DcId, ds: &Vector) -> Self::Request {
        let ds = || ds.clone();
        Brings { read: ds, put: ds, rotx: ds, cover: || (home, ds()) }.ask(op)
    }
}
