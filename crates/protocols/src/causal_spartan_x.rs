//! CausalSpartanX: causal consistency on hybrid logical clocks; writes that never wait, read-only transactions
//! of one round that never block.
//!
//! **Idea.** Servers of a data centre agree, through an aggregation tree, on a *stable vector*: up to which
//! time everything from each data centre has arrived at all of them. A version written elsewhere is readable
//! once what it depends on, and it itself, is stable. Versions and sessions carry one dependency a data centre.
//!
//! **Source.** M. Roohitavaf, dissertation (000), chapter 5, Algorithms 5.1 to 5.4. [`Stabilised`] does of 5.2 lines 20
//! to 22, 5.3, and of 5.4 lines 11 and 13 to 18. The paper names θ and Δ and gives no values.
//!
//! **Names.** `st.vv` VV, the version vector (`vv[m]` is the server's HLC) · `st.stable` or `dsv` DSV, the data centre's
//! stable vector · `ds` DS, dependencies · `ut` update time · `sr` source replica (`stamp.origin`) · `sv` snapshot
//! vector · θ, Δ in [`Params`].
//!
//! **Deviations**
//! - D1 (E-3, fix A) A remote version is readable only if its own `ut` is stable too, not only its
//!   dependencies: PUT and ROTX merge a session's `ds` into `dsv`, and `ds` contains the `ut` of what was read.
//! - D2 (E-12) What `dsv` must not fall below after a crash is rebuilt from the `ds` of the versions written
//!   here, beside the persisted one. The persisted ceiling covers what slices promise too: no later write lies in a snapshot of which a slice was read here.
//! - D3 (E-13) A token's stable vector is adopted only in the region it speaks of; elsewhere the session waits
//!   until the region covers its dependencies.
//! - D4 Collection (the paper has none): below the least of all snapshots in use and of all persisted `dsv`.
//! - D5 A conditional update depends on the version that decided it, and so does its session, which takes the
//!   server's `dsv` with it, as from a GET.
//! - D6 The coordinator of a ROTX is the owner of its first key.
//! - D7 Reads at a time: a version's `ut` is above its `ds` (I2), so that those up to a time are a snapshot.
//!
//! **Invariants**
//! - I1 `dsv` never falls, and `dsv[i] <= vv[i]` at every server of the data centre, for i ≠ m.
//! - I2 A version's `ut` is above every entry of its `ds`, and above `dsv[m]` where it was written.

use tidemark_contract::prelude::*;
use tidemark_contract::stabilised::{self, FoundSlice, Stabilised, StableTime};
pub use tidemark_contract::stabilised::{KeepParams as Params, Past, Timer};

tidemark_contract::rules! {
    UT_MUST_BE_STABLE, // D1
    PUT_MERGES_DS, // Algorithm 5.2 line 7
    PUT_ABOVE_DSV, // Algorithm 5.2 line 8
    SLICE_LIFTS; // Algorithm 5.4 line 21
    of stabilised: STABLE_SURVIVES, CLOCK_SURVIVES, OFFERS_WHAT_IS_DURABLE, STABLE_STAYS_HOME, // D2, D4, D3
    READS_AT_STABLE, READS_ABOVE_HORIZON // D7
}

// To the letter of the paper, for the checker to convict.
tidemark_contract::variants! {
    "causal-spartan-x-published", "CausalSpartanX to the letter, with erratum E-3: for study only": UT_MUST_BE_STABLE;
}

/// What a reader can see.
pub enum View {
    /// GET in data centre `m` at `dsv`: what was written here, and what is stable; the last says whether a
    /// version's own time must be (D1).
    Fresh(DcId, Vector, bool),
    /// A snapshot: what `sv` covers, wherever it was written.
    At(Vector),
    /// At a time (D7).
    UpTo(Hlc),
}

/// A server, `p_n^m`.
pub struct CausalSpartanX {
    st: Stabilised<Self>,
}

const ABOUT: &str = "causal+ on hybrid clocks: writes never wait, one-round snapshots never block";

impl Protocol for CausalSpartanX {
    const INFO: Info = Info::new("causal-spartan-x", ABOUT, Promise::CausalImmediate)
        .partial()
        .reads_at_a_time(true)
        .rules(RULES)
        .variants(VARIANTS);
    const EXTENSIONS: Extensions<Self> = Extensions {
        types: Some(Types {
            absorb: |ds, d| ds.merge(&d.meta),
            fresh: |view| if let View::Fresh(_, dsv, _) = view { Some(dsv.digest()) } else { None },
            now: |server, m| server.fresh(m),
            whole: |_| false,
            together: None,
        }),
        ..Extensions::NONE
    };
    type Meta = Vector; // ds
    /// GETREQ k, dsv; PUTREQ k, v, ds; ROTX kset, dsv, ds. SCAN and COUNT bring dsv, a session that has moved ds (D3).
    type Request = Request<Vector, Vector, Past, Vector, Micros>;
    type Reply = Answer<Past>; // every reply in the paper is ⟨v, ds, dsv⟩ or part of it
    /// Slices are asked for at sv, and tell ds of what they found.
    type Peer = stabilised::Peer<Vector, Vector>;
    type Hard = Hard;
    type Timer = Timer;
    type View = View;
    type Session = OneRoundSession<Self>;
    type Params = Params;
    type Component = Stabilised<Self>;

    fn start(was: Recovered<Hard>, cx: &mut Cx<'_, Self>) -> Self {
        let (m, mut st) = (cx.me.dc, Stabilised::start(&was, (*cx.params).into(), cx));
        let written_here = cx.store().versions().filter(|d| d.stamp.origin == m && STABLE_SURVIVES.kept());
        written_here.for_each(|d| st.stable.merge(&d.meta)); // D2
        Self { st }
    }

    fn on_request(&mut self, ticket: Ticket, request: Self::Request, cx: &mut Cx<'_, Self>) {
        match request {
            Request::Get(key, dsv) => self.read(ticket, &Read::Get(key), &dsv, cx),
            Request::Walk(walk, dsv) => self.read(ticket, &Read::Walk(walk), &dsv, cx),
            Request::Put(key, update, ds) => self.put(ticket, key, update, ds, cx),
            Request::Rotx(keys, past) => self.rotx(ticket, keys, past, cx),
            Request::Cover(ds) => stabilised::cover(self, ticket, ds, cx), // D3
            Request::At(keys, time) => self.at(ticket, keys, time, cx),
        }
    }

    fn visible(view: &View, stamp: Stamp, ds: &Vector) -> bool {
        match view {
            View::Fresh(m, dsv, ut_must_be_stable) => {
                stamp.origin == *m || ds.le(dsv) && (!ut_must_be_stable || dsv.covers(stamp))
            }
            View::At(sv) => ds.le(sv) && sv.covers(stamp),
            View::UpTo(time) => stamp.ts <= *time,
        }
    }

    fn status(&self) -> Status {
        Status::new(self.st.stable.clone(), self.st.waiting())
    }
}

impl StableTime for CausalSpartanX {
    fn stabilised(&mut self) -> &mut Stabilised<Self> {
        &mut self.st
    }

    /// Algorithm 5.4 lines 20 to 24.
    fn slice(&mut self, sv: Vector, keys: &Several<(u32, Key)>, cx: &mut Cx<'_, Self>) -> FoundSlice<Self> {
        if SLICE_LIFTS.kept() {
            self.st.stable.raise(cx.me.dc, sv[cx.me.dc]); // 21
            self.st.promise(sv[cx.me.dc], cx); // D2
        }
        let mut seen = Vector::default();
        let found = cx.read_slice(keys, &View::At(sv), |d| seen.depend_on(d.stamp, &d.meta)); // 22, 23
        (found, seen)
    }

    /// D4.
    fn settled(&mut self, safe: &Vector, _: DcId, d: &Version<Vector>) -> bool {
        d.meta.le(safe) && safe.covers(d.stamp)
    }
}

impl CausalSpartanX {
    /// Algorithm 5.2 lines 1 to 5.
    fn read(&mut self, ticket: Ticket, read: &Read, dsv: &Vector, cx: &mut Cx<'_, Self>) {
        self.st.stable.merge(dsv); // 2
        let mut ds = Vector::default();
        let outcome = cx.find(read, &self.fresh(cx.me.dc), |d| ds.depend_on(d.stamp, &d.meta)); // 3, 4
        cx.answer(ticket, outcome, Past { ds, dsv: self.st.stable.clone() }); // 5
    }

    /// Algorithm 5.2 lines 6 to 19.
    fn put(&mut self, ticket: Ticket, key: Key, update: Update, mut ds: Vector, cx: &mut Cx<'_, Self>) {
        if PUT_MERGES_DS.kept() {
            self.st.stable.merge(&ds); // 7
        }
        let (m, dsv) = (cx.me.dc, self.st.stable.clone());
        let see = |past: &mut Past, d: &Version<Vector>| past.saw(d.stamp, &d.meta, &dsv); // D5
        let (outcome, past) =
            cx.update(&key, update, &self.fresh(cx.me.dc), Past::default(), see, |past, cx| {
                ds.merge(&past.ds);
                let dt = if PUT_ABOVE_DSV.kept() { ds.max().max(self.st.stable[m]) } else { ds.max() }; // 8
                let new = cx.stamp_above(self.st.vv[m], dt)?; // 9, 13, 14
                self.st.written(new.ts, cx);
                past.ds.include(new);
                Ok(Draft::new(new, ds)) // 10 to 12, 15, 16, 18, 19
            });
        cx.answer(ticket, outcome, past); // 17
    }

    /// Algorithm 5.4 lines 9 to 14.
    fn rotx(&mut self, ticket: Ticket, keys: Several, Past { ds, dsv }: Past, cx: &mut Cx<'_, Self>) {
        self.st.stable.merge(&dsv); // 10
        self.st.stable.merge(&ds);
        let sv = self.st.stable.clone();
        self.st.scatter_then((ticket, keys), (sv, ds), Self::found, cx); // 11 to 14
    }

    /// Algorithm 5.4 lines 15 to 18.
    fn found(&mut self, read: SnapshotRead<Vector, Vector>) -> Answer<Past> {
        Answer(Outcome::FoundAll(read.found), Past { ds: read.seen, dsv: self.st.stable.clone() })
    }

    /// D7.
    fn at(&mut self, ticket: Ticket, keys: Vec<Key>, time: Micros, cx: &mut Cx<'_, Self>) {
        let request = Request::At(keys.clone(), time);
        let Some(time) = stabilised::at_a_time(self, time, (ticket, request), cx) else { return };
        let (view, mut ds) = (View::UpTo(time), Vector::default());
        let found = cx.read_all(&keys, &view, |d| ds.depend_on(d.stamp, &d.meta));
        cx.answer(ticket, Outcome::FoundAll(found), Past { ds, dsv: self.st.stable.clone() });
    }

    fn fresh(&self, m: DcId) -> View {
        View::Fresh(m, self.st.stable.clone(), UT_MUST_BE_STABLE.kept())
    }
}

/// A session: Algorithm 5.1, and the client side of 5.4. Answers are merged with its past (5.1 lines 4, 5 and 10; 5.4 lines
/// 5 and 6).
impl OneRound for CausalSpartanX {
    type Past = Past;

    fn question(op: Option<Op>, _: DcId, past: &Past) -> Self::Request {
        let (ds, dsv) = (|| past.ds.clone(), || past.dsv.clone());
        Brings {
            read: dsv,             // 5.1 line 2
            put: ds,               // 5.1 line 8
            rotx: || past.clone(), // 5.4 line 3, D6
            cover: ds,             // D3
        }
        .ask(op)
    }
}
