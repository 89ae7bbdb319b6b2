//! Tidemark: our own protocol. Reads are as fresh as what has arrived; snapshots take one round, and like writes never wait.
//!
//! **Idea.** *Whatever a session here has read beyond the stable vector has arrived here already*. So it may be read
//! at once, and a version that is then written here keeps, beside its dependencies, the part of them that was
//! stable: its *need*. A snapshot that covers the need can contain the version if everything fresh had arrived when
//! the snapshot was read; and a *fence* under later local stamps, which readers carry along, tells whether it had.
//!
//! **Source.** PROTOCOLS §19; `docs/tidemark-protocol.md` explains it and argues that it is right. Steps are
//! numbered as there, and step 8 is taken with its option. Clocks, heartbeats, stabilisation, what sessions remember
//! and the numbers are CausalSpartanX's.
//!
//! **Names.** `st.vv` VV, the version vector (`vv[m]` is the server's HLC) · `st.stable` or `dsv` DSV: entries i ≠ m are the
//! data centre's stable vector, entry m is the fence · `ds` DS, dependencies · `need` the stable part of `ds`, where it
//! is less · `ut` update time · `sr` source replica (`stamp.origin`) · `sv` snapshot vector · S(sv) the versions
//! in that snapshot · θ, Δ in [`Params`].
//!
//! **Where §19 is silent**
//! - D1 (E-12) After a crash `dsv` is at least the persisted one and the `need` of every version written here, and
//!   the fence at least the persisted ceiling: that lies above every snapshot of which a slice was read here,
//!   so it stands between those slices and all that is read or written here later.
//! - D2 (E-13) Elsewhere, a token brings its `ds` and nothing else, and the session waits until the region's stable
//!   vector covers them. What it read abroad passed no fence here; but it is stable now, and in every later `need`.
//! - D3 A conditional update depends on the version that decided it. Its session takes `dsv`, as from a GET.
//! - D4 SCAN and COUNT read like GET. The coordinator of a ROTX is the owner of its first key.
//! - D5 The exceptions of a version are dropped all at once, if it is [`Watched`]; it is not after a restart.
//! - D6 Reads at a time: a version's `ut` is above its `ds` (I2), so that those up to a time are a snapshot.
//!
//! **Invariants**
//! - I1 `dsv` never falls. For i ≠ m, no `dsv[i]` here, of servers or sessions, exceeds any server's `vv[i]`.
//! - I2 A version's `ut` is above its `ds`, and above the fence where it was written.
//! - I3 For i ≠ m, a session's `dsv` covers the `need` of each local version in its past, and `ds` of each remote.

mod rules;
pub use rules::*;
use tidemark_contract::prelude::*;
use tidemark_contract::stabilised::{self, FoundSlice, Stabilised, StableTime};
pub use tidemark_contract::stabilised::{KeepParams as Params, Past, Timer};
use tidemark_contract::watched::Watched;

/// What is stored beside a version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Meta {
    /// DS.
    pub ds: Vector,
    /// Exceptions: what of `ds` was stable when it was written here, if not all; entry m is zero. Not shipped.
    pub need: Option<Box<Vector>>,
}

impl Meta {
    fn need(&self) -> &Vector {
        self.need.as_deref().unwrap_or(&self.ds)
    }
}

/// What a reader in data centre m can see.
pub enum View {
    /// GET at DSV (2).
    Fresh(DcId, Vector),
    /// S(sv) (9).
    Snapshot(DcId, Vector),
    /// At a time (D6).
    At(Hlc),
}

/// A server, `p_n^m`.
pub struct Tidemark {
    st: Stabilised<Self>,
    /// Versions with exceptions.
    exceptional: Watched,
}

const ABOUT: &str = "causal+, fresh reads: writes never wait, snapshots take one round";

impl Protocol for Tidemark {
    const INFO: Info =
        Info::new("tidemark", ABOUT, Promise::CausalImmediate).partial().reads_at_a_time(true).rules(RULES);
    const EXTENSIONS: Extensions<Self> = Extensions {
        types: Some(Types {
            absorb: |meta, d| {
                if ABSORBS.kept() {
                    meta.ds.merge(&d.meta.ds);
                }
            },
            fresh: |view| match view {
                View::Fresh(_, dsv) => Some(if VIEWS_HAVE_NAMES.kept() { dsv.digest() } else { 1 }),
                _ => None,
            },
            now: |server, m| View::Fresh(m, server.st.stable.clone()),
            whole: |params| params.keep_us == 0, // 2, 8: the fence of every ROTX is above all that was written
            together: None,
        }),
        ..Extensions::NONE
    };
    type Meta = Meta;
    type Request = Request<Vector, Past, Vector, Vector, Micros>; // DSV_c; with a PUT DS_c too; of a session that moved DS_c alone
    type Reply = Answer<Past>;
    type Peer = stabilised::Peer<Vector, Past>; // slices: at sv; ds of what is found, and the fence
    type Hard = Hard;
    type Timer = Timer;
    type View = View;
    type Session = OneRoundSession<Self>;
    type Params = Params;
    type Component = Stabilised<Self>;

    fn start(was: Recovered<Hard>, cx: &mut Cx<'_, Self>) -> Self {
        let (m, mut st) = (cx.me.dc, Stabilised::start(&was, (*cx.params).into(), cx));
        let written_here = cx.store().versions().filter(|d| d.stamp.origin == m && STABLE_SURVIVES.kept());
        written_here.for_each(|d| st.stable.merge(d.meta.need())); // D1
        st.stable[m] = if FENCE_SURVIVES.kept() { st.stable[m].max(was.hard.ceiling) } else { Hlc::ZERO };
        Self { st, exceptional: Watched::default() }
    }

    fn on_request(&mut self, ticket: Ticket, request: Self::Request, cx: &mut Cx<'_, Self>) {
        match request {
            Request::Get(key, dsv) => self.read(ticket, &Read::Get(key), &dsv, cx),
            Request::Walk(walk, dsv) => self.read(ticket, &Read::Walk(walk), &dsv, cx), // D4
            Request::Put(key, update, past) => self.put(ticket, key, update, past, cx),
            Request::Rotx(keys, dsv) => self.rotx(ticket, keys, &dsv, cx),
            Request::Cover(ds) => stabilised::cover(self, ticket, ds, cx), // D2
            Request::At(keys, time) => self.at(ticket, keys, time, cx),
        }
    }

    fn visible(view: &View, stamp: Stamp, meta: &Meta) -> bool {
        match view {
            View::Fresh(m, dsv) => stamp.origin == *m || meta.ds.le_elsewhere(dsv, *m), // 2
            View::Snapshot(m, sv) => in_snapshot(*m, sv, stamp, meta),
            View::At(time) => stamp.ts <= *time,
        }
    }

    fn shipped(meta: &Meta) -> Meta {
        Meta { ds: meta.ds.clone(), need: None } // 7
    }

    fn status(&self) -> Status {
        Status::new(self.st.stable.clone(), self.st.waiting())
    }
}

impl StableTime for Tidemark {
    fn stabilised(&mut self) -> &mut Stabilised<Self> {
        &mut self.st
    }

    /// A slice of ROTX.
    fn slice(&mut self, sv: Vector, keys: &Several<(u32, Key)>, cx: &mut Cx<'_, Self>) -> FoundSlice<Self> {
        let (m, mut seen) = (cx.me.dc, Past::default());
        if SLICE_LIFTS.kept() {
            self.st.stable.raise(m, sv[m]); // 9
            self.st.promise(sv[m], cx); // D1
        }
        let found = cx.read_slice(keys, &View::Snapshot(m, sv), |d| seen.ds.depend_on(d.stamp, &d.meta.ds));
        seen.dsv[m] = if SLICE_FENCES.kept() { self.st.stable[m] } else { Hlc::ZERO }; // 10
        (found, seen)
    }

    fn settled(&mut self, safe: &Vector, m: DcId, d: &Version<Meta>) -> bool {
        let safe = if COLLECTS_AT_SAFE.kept() { safe } else { &self.st.stable };
        in_snapshot(m, safe, d.stamp, &d.meta)
    }

    /// Drops exceptions, too, that no snapshot is below any more.
    fn theta(&mut self, cx: &mut Cx<'_, Self>) {
        stabilised::theta(self, cx);
        let safe = if EXCEPTIONS_UNTIL_SAFE.kept() { self.st.safe() } else { &self.st.stable };
        let m = cx.me.dc;
        self.exceptional.settle_in_memory(cx, |meta| {
            let settled = meta.ds.le_elsewhere(safe, m);
            meta.need.take_if(|_| settled);
            settled
        });
    }
}

impl Tidemark {
    /// GET.
    fn read(&mut self, ticket: Ticket, read: &Read, dsv: &Vector, cx: &mut Cx<'_, Self>) {
        self.st.stable.merge(dsv); // 1
        let (view, mut ds) = (View::Fresh(cx.me.dc, self.st.stable.clone()), Vector::default());
        let outcome = cx.find(read, &view, |d| ds.depend_on(d.stamp, &d.meta.ds)); // 2
        cx.answer(ticket, outcome, Past { ds, dsv: self.known(cx) }); // 3
    }

    /// PUT.
    #[inline]
    fn put(&mut self, ticket: Ticket, key: Key, update: Update, past: Past, cx: &mut Cx<'_, Self>) {
        let (m, Past { mut ds, mut dsv }) = (cx.me.dc, past);
        dsv[m] = if PUT_TAKES_FENCE.kept() { dsv[m] } else { Hlc::ZERO };
        if PUT_TAKES_DSV.kept() {
            self.st.stable.merge(&dsv); // 4
        }
        if !DS_IS_NOT_STABLE.kept() {
            self.st.stable.merge(&ds);
        }
        let (view, known) = (View::Fresh(m, self.st.stable.clone()), self.known(cx));
        let see = |past: &mut Past, d: &Version<Meta>| past.saw(d.stamp, &d.meta.ds, &known); // D3
        let (outcome, past) = cx.update(&key, update, &view, Past::default(), see, |past, cx| {
            ds.merge(&past.ds);
            let fence = if PUT_ABOVE_FENCE.kept() { self.st.stable[m] } else { dsv[m] };
            let new = cx.stamp_above(self.st.vv[m], ds.max().max(fence))?; // 5
            self.st.written(new.ts, cx);
            let mut need = ds.clone(); // 6
            need.meet(&self.st.stable);
            need[m] = Hlc::ZERO;
            past.ds.include(new);
            past.dsv.merge(&need);
            let need = (!ds.le_elsewhere(&need, m)).then(|| Box::new(need));
            need.iter().for_each(|_| self.exceptional.watch(&key, new)); // D5
            Ok(Draft::new(new, Meta { ds, need }))
        });
        cx.answer(ticket, outcome, past); // 7
    }

    /// ROTX.
    fn rotx(&mut self, ticket: Ticket, keys: Several, dsv: &Vector, cx: &mut Cx<'_, Self>) {
        self.st.stable.merge(dsv); // 8
        self.st.stable.raise(cx.me.dc, self.st.vv[cx.me.dc].max(Hlc::at(cx.now)));
        let sv = self.st.stable.clone();
        self.st.scatter((ticket, keys), sv.clone(), Past { dsv: sv, ..Past::default() }, cx); // 10
    }

    /// D6.
    fn at(&mut self, ticket: Ticket, keys: Vec<Key>, time: Micros, cx: &mut Cx<'_, Self>) {
        let request = Request::At(keys.clone(), time);
        let Some(time) = stabilised::at_a_time(self, time, (ticket, request), cx) else { return };
        let (view, mut ds) = (View::At(time), Vector::default());
        let found = cx.read_all(&keys, &view, |d| ds.depend_on(d.stamp, &d.meta.ds));
        cx.answer(ticket, Outcome::FoundAll(found), Past { ds, dsv: self.known(cx) });
    }

    /// What a reader takes along: the stable vector and the fence.
    #[inline]
    fn known(&self, cx: &Cx<'_, Self>) -> Vector {
        let (m, mut dsv) = (cx.me.dc, self.st.stable.clone());
        dsv[m] = if GET_FENCES.kept() { dsv[m] } else { Hlc::ZERO };
        dsv
    }
}

/// S(sv): (a) what it depends on is covered; or (b) it was written here, under the fence, and what it needs is.
fn in_snapshot(m: DcId, sv: &Vector, stamp: Stamp, meta: &Meta) -> bool {
    meta.ds.le(sv)
        || FRESH_CAUSES_MAY_LACK.kept()
            && stamp.origin == m
            && (stamp.ts <= sv[m] || !NEED_UNDER_FENCE.kept())
            && meta.need().le_elsewhere(sv, m)
}

/// A session; what it remembers is merged with every answer (3, 7, 10).
impl OneRound for Tidemark {
    type Past = Past;

    #[inline]
    fn question(op: Option<Op>, m: DcId, past: &Past) -> Self::Request {
        let (ds, dsv) = (|| past.ds.clone(), || past.dsv.clone());
        let fenced = || past.dsv.raised(m, past.ds[m]); // 8
        Brings { read: dsv, put: || past.clone(), rotx: fenced, cover: ds }.ask(op) // D2: DS_c alone
    }
}
