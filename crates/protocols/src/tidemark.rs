//! Tidemark: our own protocol. Reads are as fresh as what has arrived; snapshots take one round, and like writes never wait.
//!
//! **Idea.** *Whatever a session here has read beyond the stable vector has arrived here already*. So it may be read
//! at once, and a version that is then written here keeps, beside its dependencies, the part of them that was
//! stable: its *need*. A snapshot that covers the need can contain the version if everything fresh had arrived when
//! the snapshot was read; and a *fence* under later local stamps, which readers carry along, tells whether it had.
//!
//! Write transactions ([`transactions`]): *the versions of a transaction are each other's causes*. Each depends on their common
//! time, so that who sees one in another data centre sees all. In their own, `L` tells up to where everything that was prepared is
//! applied at all partitions, and a version needs that L which covers the transactions in its past.
//!
//! **Source.** PROTOCOLS §19 and §19.1; `docs/tidemark-protocol.md` explains it and argues that it is right. Steps are
//! numbered as there, and step 8 is taken with its option. Clocks, heartbeats, stabilisation, what sessions remember
//! and the numbers are CausalSpartanX's.
//!
//! **Names.** `st.vv` VV, the version vector, but `vv[m]` is the server's HLC: what it announces is below what is prepared ·
//! `st.stable` or `dsv` DSV: entries i ≠ m are the data centre's stable vector, entry m is the fence, and one more is L ·
//! `ds` DS, dependencies · `need` the stable part of `ds`, where it is less; `need.local` is `need[m]` · `ut` update time · `sr`
//! source replica (`stamp.origin`) · `sv` snapshot vector · S(sv) the versions in that snapshot · θ, Δ in [`Params`].
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
//! - I2 A version's `ut` is above its `ds`, except that of a transaction has its own time there; and if it is of no transaction, above
//!   the fence where it was written.
//! - I3 For i ≠ m, a session's `dsv` covers the `need` of each local version in its past, and `ds` of each remote.
//! - I4 No `L` here, of servers or sessions, exceeds what any server has announced. A session's covers what of this data centre's
//!   transactions is in its past.

mod bases;
pub mod commands;
pub mod edge;
mod exclusion;
mod failures;
pub mod interactive;
mod lasting;
mod params;
mod past;
mod proposals;
mod recent;
mod rounds;
mod rules;
mod snapshots;
pub mod transactions;
mod view;
mod writes;
use bases::Kept;
use commands::Commands;
pub use exclusion::Excluded;
use interactive::Interactive;
pub use lasting::Lasting;
pub use params::Params;
pub use past::{Edge, Meta, Need, Past};
use proposals::Lead;
use recent::Recent;
pub use rules::*;
use tidemark_contract::core::Transact;
use tidemark_contract::prelude::*;
use tidemark_contract::request;
pub use tidemark_contract::stabilised::Timer;
use tidemark_contract::stabilised::{self, FoundSlice, Stabilised, StableTime};
use tidemark_contract::two_phase::{Part, Writes};
use tidemark_contract::watched::Watched;
use transactions::Transactions;
pub use view::{At, View};

/// What a session asks. Who reads brings DSV_c and L_c; who writes DS_c, too; of a session that moved DS_c alone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub enum Request {
    Of(request::Request<Known, Past, Known, Moved, Micros>),
    PutAll(Writes, Past),
    Transact(Transact, Past),
}

/// What a session depends on that has moved here, and from where.
pub type Moved = (Vector, DcId);

/// DSV_c and L_c.
pub type Known = (Vector, Hlc);

/// What servers say to each other: slices at sv; ds of what is found, the fence and L_c.
pub type Peer = stabilised::Peer<Vector, Past, transactions::Message>;

/// A server, `p_n^m`.
pub struct Tidemark {
    st: Stabilised<Self>,
    m: DcId,
    /// The entry of L in `st.stable` and in snapshots.
    l: DcId,
    transactions: Transactions,
    commands: Commands,
    interactive: Interactive,
    lead: Option<Lead>,
    kept: Kept,
    /// How long a transaction of an edge client can be accepted (D17).
    retain: Micros,
    recent: Recent,
    excluded: Excluded,
    /// Versions with exceptions.
    exceptional: Watched,
}

const ABOUT: &str =
    "causal+, fresh reads, atomic MSET and EXEC over partitions; reads and plain writes never wait";

impl Protocol for Tidemark {
    const INFO: Info = Info::new("tidemark", ABOUT, Promise::CausalImmediate)
        .interactive()
        .partial()
        .reads_at_a_time(true)
        .excludes_for_good()
        .rules(RULES);
    const EXTENSIONS: Extensions<Self> = Extensions {
        types: Some(Types {
            absorb: |meta, d| {
                if ABSORBS.kept() {
                    meta.absorb(d.stamp, &d.meta);
                }
            },
            fresh: |view| match view {
                View::Fresh(at) => Some(if VIEWS_HAVE_NAMES.kept() { at.dsv.digest() } else { 1 }),
                _ => None,
            },
            now: |server, _| View::Fresh(server.seen_at(server.st.stable.clone())),
            // 2, 8: the fence of every ROTX is above all that was written.
            whole: |params| params.keep_us == 0 && params.base_regions == 0,
            together: None,
        }),
        announces: Some(Meta::announced), // 7
        edge: Some(edge::COPIES),         // D17
        order: Some(exclusion::obey),     // D21
        ends: Some(exclusion::last),      // D21
        for_client: Some(transactions::for_client),
        ..Extensions::NONE
    };
    type Meta = Meta;
    type Request = Request;
    type Reply = Answer<Past>;
    type Peer = Peer;
    type Hard = Lasting;
    type Timer = Timer;
    type View = View;
    type Session = OneRoundSession<Self>;
    type Params = Params;
    type Component = Stabilised<Self>;

    fn start(mut was: Recovered<Self::Hard>, cx: &mut Cx<'_, Self>) -> Self {
        let (m, l) = (cx.me.dc, DcId(cx.topology.dcs as u8));
        cx.lag_floors(if FLOORS_LAG.kept() { cx.params.edge_retain_us } else { 0 }); // D17
        let transactions = Transactions::start(&mut was, cx);
        let kept = Kept::start(&mut was.hard, l, cx);
        let mut st = Stabilised::start(&was, (*cx.params).into(), cx);
        let written_here =
            cx.store().versions().filter(|d| d.meta.at(d.stamp).origin == m && STABLE_SURVIVES.kept());
        written_here.for_each(|d| st.stable.merge(d.meta.need())); // D1
        let plain = |stamp: Stamp| stamp.origin == m && stamp.seq == 0;
        let needed = cx.store().versions().filter(|d| plain(d.meta.at(d.stamp)));
        let needed = needed.map(|d| d.meta.local()).fold(Hlc::ZERO, Hlc::max);
        st.stable.raise(l, needed); // D1
        st.stable[m] =
            if FENCE_SURVIVES.kept() { st.stable[m].max(was.hard.times.ceiling) } else { Hlc::ZERO };
        st.stable[l] = st.stable[l].max(Hlc::ZERO); // from now on the least of all entries counts it (D6)
        let (commands, interactive) = (Commands::start(was.life), Interactive::start(&was, cx));
        let (retain, recent) = (cx.params.edge_retain_us, Recent::start(&was, cx));
        let excluded = Some(was.hard.excluded).filter(|_| EXCLUSION_SURVIVES.kept()).unwrap_or_default();
        let exceptional = Watched::default();
        let lead = None;
        let mut server = Self {
            st,
            m,
            l,
            transactions,
            commands,
            interactive,
            lead,
            kept,
            retain,
            recent,
            excluded,
            exceptional,
        };
        server.pass(cx); // D21
        server
    }

    fn on_request(&mut self, ticket: Ticket, request: Request, cx: &mut Cx<'_, Self>) {
        use request::Request as Of;
        if let Some(why) = self.bygone(&request) {
            return cx.fail(ticket, why); // D21
        }
        match request {
            Request::Of(Of::Get(key, known)) => self.read(ticket, &Read::Get(key), &known, cx),
            Request::Of(Of::Walk(walk, known)) => self.read(ticket, &Read::Walk(walk), &known, cx), // D4
            Request::Of(Of::Put(key, update, past)) => self.put(ticket, key, update, past, cx),
            Request::Of(Of::Rotx(keys, known)) => self.rotx(ticket, keys, &known, cx),
            Request::Of(Of::Cover((ds, _))) => self.cover(ticket, ds, cx), // D2
            Request::Of(Of::At(keys, time)) => self.at(ticket, keys, time, cx),
            Request::PutAll(writes, past) => {
                self.put_all(ticket, Part { writes, ..Part::default() }, past, cx)
            }
            Request::Transact(step, past) => self.step(ticket, step, past, cx), // T13
        }
    }

    fn on_peer(&mut self, from: ServerId, message: Peer, cx: &mut Cx<'_, Self>) {
        match message {
            Peer::Own(message) => self.on_transaction(from, message, cx),
            Peer::SliceReq(request) if self.excluded.doubts(&request.at) => {} // D21: nobody waits for ever
            message => stabilised::on_peer(self, from, message, cx),
        }
    }

    fn on_replicate(&mut self, from: ServerId, item: Received<'_, Meta>, _: &mut Cx<'_, Self>) {
        self.st.vv.raise(from.dc, item.upto);
        for (key, d) in item.versions {
            self.interactive.received(d.meta.at(d.stamp));
            self.came(key, d);
        }
    }

    fn on_peer_reset(&mut self, peer: ServerId, cx: &mut Cx<'_, Self>) {
        stabilised::on_peer_reset(self, peer, cx);
        self.reset(peer, cx);
    }

    fn visible(view: &View, stamp: Stamp, meta: &Meta) -> bool {
        view.shows(stamp, meta)
    }

    fn shipped(meta: &Meta) -> Meta {
        meta.shipped() // 7
    }

    fn status(&self) -> Status {
        let dsv = self.without_l(&self.st.stable);
        let blocked = self.st.waiting() + self.transactions.unfinished() + self.commands.waiting();
        Status { away: self.excluded.away().cloned(), ..Status::new(dsv, blocked) }
    }
}

impl StableTime for Tidemark {
    fn stabilised(&mut self) -> &mut Stabilised<Self> {
        &mut self.st
    }

    /// A slice of ROTX.
    fn slice(&mut self, sv: Vector, keys: &Several<(u32, Key)>, cx: &mut Cx<'_, Self>) -> FoundSlice<Self> {
        let view = View::Snapshot(self.seen_at(sv.clone()));
        self.slice_as(&view, &sv, keys, cx)
    }

    fn settled(&mut self, safe: &Vector, m: DcId, d: &Version<Meta>) -> bool {
        let safe = if COLLECTS_AT_SAFE.kept() { safe } else { &self.st.stable };
        let at = self.seen_at(At::safe(m, self.l, safe));
        if let Some(edge) = &d.meta.edge {
            return self.is_over(d.stamp, safe) && View::Base(at).shows(edge.at, &d.meta); // D17
        }
        if self.interactive.is_pinned() || self.kept.any {
            at.is_below(d.stamp, &d.meta)
        } else {
            at.has_in_snapshot(d.stamp, &d.meta)
        }
    }

    fn leased(&self) -> impl Iterator<Item = Vector> {
        self.kept_bases().filter(|_| BASES_ARE_KEPT.kept())
    }

    fn learn(&mut self, stable: &Vector, cx: &mut Cx<'_, Self>) {
        self.st.stable.merge(&self.excluded.believed(stable));
        self.end_doubts(cx);
    }

    /// What is received, and what is announced here: L is the least that is (T8).
    fn share(&mut self, cx: &mut Cx<'_, Self>) -> Vector {
        let (announced, mut vv) = (self.announced(cx), self.shared(cx));
        vv[cx.me.dc] = announced;
        vv.raised(self.l, announced)
    }

    fn wake(&mut self, cx: &mut Cx<'_, Self>) {
        stabilised::wake(self, cx);
        self.show(cx);
        self.stir(cx);
    }

    /// Drops exceptions, too, that no snapshot is below any more. Tombstones go at or below L: a transaction that is prepared may
    /// commit below the clock and the fence.
    fn theta(&mut self, cx: &mut Cx<'_, Self>) {
        self.interactive.unpin(cx.mono);
        stabilised::hurry(self, cx);
        self.tell_bases(cx);
        stabilised::aggregate(self, cx);
        let safe = self.st.safe();
        let passed = if TOMBSTONES_UNTIL_L.kept() { safe.min() } else { self.without_l(safe).min() };
        stabilised::collect_passed(self, self.lagged(passed), cx);
        stabilised::expire(self, cx);
        self.tend(cx);
        let safe = if EXCEPTIONS_UNTIL_SAFE.kept() { self.st.safe() } else { &self.st.stable };
        let (m, l) = (cx.me.dc, safe[self.l]);
        self.exceptional.settle_in_memory(cx, |meta| {
            let settled = meta.ds.le_elsewhere(safe, m) && (meta.local() <= l || !NEED_L_UNTIL_SAFE.kept());
            meta.need.take_if(|_| settled);
            settled
        });
    }

    /// A heartbeat, unless something was written: of what is announced.
    fn delta(&mut self, cx: &mut Cx<'_, Self>) {
        if !self.st.takes_written() {
            let hlc = self.st.vv[cx.me.dc].tick(cx.now);
            self.st.advance(hlc, cx);
            cx.heartbeat(self.announced(cx));
        }
    }
}

impl Tidemark {
    /// GET.
    fn read(&mut self, ticket: Ticket, read: &Read, known: &Known, cx: &mut Cx<'_, Self>) {
        self.learn_from(known, cx); // 1
        let (m, view) = (cx.me.dc, self.fresh(cx));
        let mut past = Past { dsv: self.known(cx), ..Past::default() };
        let outcome = cx.find(read, &view, |d| past.saw(d, m)); // 2
        cx.answer(ticket, outcome, past); // 3
    }
}

/// A session; what it remembers is merged with every answer (3, 7, 10).
impl OneRound for Tidemark {
    type Past = Past;

    #[inline]
    fn question(op: Option<Op>, m: DcId, past: &Past) -> Request {
        let op = match op {
            Some(Op::PutAll { writes }) => return Request::PutAll(writes, past.clone()),
            Some(Op::Transact(step)) => return Request::Transact(*step, past.clone()),
            op => op,
        };
        let (moved, known) = (|| (past.ds.clone(), m), || (past.dsv.clone(), past.l));
        let fenced = || past.fenced(m); // 8
        Request::Of(Brings { read: known, put: || past.clone(), rotx: fenced, cover: moved }.ask(op)) // D2: DS_c alone
    }
}
