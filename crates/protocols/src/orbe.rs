//! Orbe: dependencies as a matrix, checked server by server, and read-only transactions that wait for clocks.
//!
//! **Idea.** What a session depends on fits into a matrix of partitions by data centres, mostly empty: of each server's
//! updates, up to which one. Servers install the updates of a peer in the order in which it wrote them, so one number
//! a server says it all: a version from elsewhere is installed once every row of its matrix is, here or at the sibling
//! that the row speaks of (DM). A read-only transaction names a time, and each server that it reads at waits until it
//! has installed everything up to it (DM-Clock).
//!
//! **Source.** J. Du, S. Elnikety, A. Roy, W. Zwaenepoel, *Orbe: Scalable Causal Consistency Using Dependency Matrices
//! and Physical Clocks*, SoCC 2013. Only its abstract could be looked up. The steps are those of PROTOCOLS §4, which
//! agrees with how 000 (§3.2.2), 001 (§6) and 002 (§7) sum the paper up; nothing else about it could be verified: not
//! how its transactions choose their time, how it collects, or its numbers.
//!
//! **Names.** `dm` DM, a dependency matrix: one entry a partition and data centre, which stands for all before it ·
//! `vv` VV, in `st.stable`, the version vector: up to where updates are installed (its entry m is D8's) · `st.vv[m]`
//! VV[m], the clock, below all that is written here later · `ut` update time · `sr` source replica (`stamp.origin`) ·
//! `dt` dependency time, the largest in DM_c · `st` snapshot time · Δ in [`Params`].
//!
//! **Deviations**
//! - D1 One number does the work of three. A version's stamp is its physical time, above those of all that it depends
//!   on, and so orders concurrent versions as Lamport's would; stamps of one server increase, and so say "all before"
//!   as its counter would; VV and the vector of physical times that peers have reached are one.
//! - D2 Checks begin when a version arrives, not when it is the next one of its source: only installation is in order.
//! - D3 (E-12) Before anybody sees that a version is installed, it is durable that it is: the installed part of `vv`
//!   is persisted in the event that installs. What a restarted server holds above it waits again.
//! - D4 A matrix is dropped once its version is installed, and of a version written here at once (it is in the log, from
//!   where it is sent). Readers need none: whoever depends on a version depends on its server's number, and what has
//!   installed the version has installed all causes of it. So DM_c is, after a PUT, the PUT alone.
//! - D5 A conditional update depends on the version that decided it, and is stamped above it without waiting: a PUT
//!   waits only for what its session brought. SCAN and COUNT read like GET.
//! - D6 A session that moves brings its `dm`, and waits until every row of it is installed in the region.
//! - D7 `st` is the coordinator's clock less [`Params::snapshot_age_us`], or `dt` if that is more. A slice waits for
//!   what it needs, at most [`Params::wait_limit_us`]. The coordinator is the owner of the first key.
//! - D8 Collection follows the oldest `st` that can still be read, through the aggregation tree of GentleRain. A server
//!   begins no transaction and writes nothing below `vv[m]`, and offers the least entry of its `vv` that is durable.
//! - D9 Heartbeats follow what peers were told last, not the clock, which slices move too.
//!
//! **Invariants**
//! - I1 Everything that another data centre wrote on this partition up to its entry of `vv` is installed here, and all
//!   causes of it are installed in this data centre. It stays so across a crash.
//! - I2 A version's `ut` is above every entry of its `dm`, and above the `st` of every slice read before at its server.

use tidemark_contract::early::Early;
pub use tidemark_contract::early::{Clock, Timer};
use tidemark_contract::matrix::Matrix;
use tidemark_contract::prelude::*;
use tidemark_contract::stabilised::{self, FoundSlice, Stabilised, StableTime};
use tidemark_contract::{Check, Checks, Past as _};

mod installation;
mod params;

use installation::{Dependent, drop_matrix};
pub use params::Params;

tidemark_contract::rules! {
    READS_ARE_DEPENDENCIES, // 1
    PUT_ABOVE_DM, // 2, DM-Clock
    CHECKS_OWN_ROW, // 3
    CHECKS_OTHER_ROWS, // 3
    IN_ORDER, // 3: head of line
    ST_COVERS_DT, // DM-Clock
    SLICE_WAITS_FOR_CLOCK, // (a)
    SLICE_LIFTS, // (a)
    SLICE_WAITS_FOR_PEERS, // (b)
    RECEIVED_WAITS_AGAIN, // D3
    ARRIVAL_WAITS, // D6
    COLLECTS_AT_SAFE; // D8
    of stabilised: STABLE_SURVIVES, CLOCK_SURVIVES, OFFERS_WHAT_IS_DURABLE // D3, D8
}

/// What is stored beside a version: DM, until it is installed (D4).
pub type Meta = Option<Box<Matrix>>;

/// What a session asks.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[allow(missing_docs)]
pub enum Request {
    Get(Key),                 // k
    Put(Key, Update, Matrix), // k, v, DM_c
    Rotx(Vec<Key>, Hlc),      // ks, dt
    Walk(Walk),               // D5
    Cover(Matrix),            // D6: wait for DM_c
}

/// What the servers of a data centre say to each other: slices are asked for at `st`, and `Own` is DepCheck{dm[j]} and its
/// answer.
pub type Peer = stabilised::Peer<Hlc, Matrix, Check>;

/// What a reader in data centre `m` can see: what was written here and what is installed, up to a time.
pub struct View {
    m: DcId,
    vv: Vector,
    st: Hlc,
}

/// What waits for the clock.
enum Waits {
    Put(Ticket, Request),
    Slice(ServerId, SliceReq<Hlc>),
}

/// A server, `p_n^m`.
pub struct Orbe {
    st: Stabilised<Self>,
    /// The last time that peers were told.
    announced: Hlc,
    checks: Checks<Dependent>,
    early: Early<Waits>,
    waiting_for_peers: Waiters<Hlc, (ServerId, SliceReq<Hlc>)>,
}

const ABOUT: &str = "causal+ by dependency matrices; snapshots wait for clocks and for every region";

impl Protocol for Orbe {
    const INFO: Info = Info::new("orbe", ABOUT, Promise::CausalImmediate).rules(RULES);

    type Meta = Meta;
    type Request = Request;
    type Reply = Answer<Matrix>;
    type Peer = Peer;
    type Hard = Hard;
    type Timer = Timer;
    type View = View;
    type Session = OneRoundSession<Self>;
    type Params = Params;
    type Component = Stabilised<Self>;

    fn start(was: Recovered<Hard>, cx: &mut Cx<'_, Self>) -> Self {
        let (mut heard, clock) = (was.received.clone(), was.received[cx.me.dc].max(was.hard.ceiling));
        heard.merge(&was.hard.stable);
        if was.life > 1 {
            cx.heartbeat(clock);
        }
        let mut server = Self {
            st: Stabilised::start(&was, cx.params.shared(), cx), // D3
            announced: clock,
            checks: Checks::new(cx.me, was.life, heard),
            early: Early::default(),
            waiting_for_peers: Waiters::default(),
        };
        server.recover(cx);
        server
    }

    fn on_request(&mut self, ticket: Ticket, request: Request, cx: &mut Cx<'_, Self>) {
        match request {
            Request::Get(key) => self.find(ticket, &Read::Get(key), cx),
            Request::Walk(walk) => self.find(ticket, &Read::Walk(walk), cx), // D5
            Request::Put(key, update, dm) => self.put(ticket, key, update, dm, cx),
            Request::Rotx(keys, dt) => self.rotx(ticket, keys, dt, cx),
            Request::Cover(dm) => {
                let (rows, until) = (dm.rows(|_| ARRIVAL_WAITS.kept()), cx.mono + cx.params.wait_limit_us);
                self.checks.open(&rows, Dependent::Arrival(ticket, dm, until));
                self.install(cx);
            }
        }
    }

    fn on_peer(&mut self, from: ServerId, message: Peer, cx: &mut Cx<'_, Self>) {
        match message {
            Peer::Own(check) => {
                self.checks.on_message(from, check);
                self.install(cx);
            }
            Peer::SliceReq(request) => self.wait_for_clock(from, request, cx),
            message => stabilised::on_peer(self, from, message, cx),
        }
    }

    /// 3.
    fn on_replicate(&mut self, from: ServerId, item: Received<'_, Meta>, cx: &mut Cx<'_, Self>) {
        for (key, d) in item.versions {
            self.wait(d.stamp, key, d.meta.as_deref(), cx.me.partition);
        }
        self.checks.heard(from.dc, item.upto);
        self.install(cx);
    }

    fn on_peer_reset(&mut self, peer: ServerId, cx: &mut Cx<'_, Self>) {
        self.checks.reset(peer);
        self.checks.send(Peer::Own, cx);
        stabilised::on_peer_reset(self, peer, cx);
    }

    fn on_timer(&mut self, timer: Timer, cx: &mut Cx<'_, Self>) {
        match timer {
            Timer::Theta => stabilised::on_timer(self, timer, cx),
            Timer::Delta => {
                // D9
                if stabilised::is_due(self, self.announced, cx) {
                    self.st.advance(Hlc::at(cx.now), cx);
                    self.announced = self.st.vv[cx.me.dc];
                    cx.heartbeat(self.announced);
                }
            }
            Timer::Own(Clock) => {
                for waits in self.early.wake(self.time(cx)) {
                    match waits {
                        Waits::Put(ticket, put) => self.on_request(ticket, put, cx),
                        Waits::Slice(from, request) => self.wait_for_clock(from, request, cx),
                    }
                }
                self.early.arm(cx);
            }
        }
    }

    fn visible(View { m, vv, st }: &View, stamp: Stamp, _: &Self::Meta) -> bool {
        stamp.ts <= *st && (stamp.origin == *m || vv.covers(stamp))
    }

    fn status(&self) -> Status {
        let blocked = self.checks.len() + self.early.waiting() + self.waiting_for_peers.len();
        Status::new(self.st.stable.clone(), blocked)
    }
}

impl StableTime for Orbe {
    fn stabilised(&mut self) -> &mut Stabilised<Self> {
        &mut self.st
    }

    /// Once it need not wait any more.
    fn slice(&mut self, st: Hlc, keys: &Several<(u32, Key)>, cx: &mut Cx<'_, Self>) -> FoundSlice<Self> {
        let (view, mut seen) = (View { st, ..self.installed(cx) }, Vector::default());
        let found = cx.read_slice(keys, &view, |d| seen.include(d.stamp));
        (found, read(cx.me, &seen))
    }

    /// D8.
    fn settled(&mut self, safe: &Vector, _: DcId, d: &Version<Meta>) -> bool {
        d.stamp.ts <= if COLLECTS_AT_SAFE.kept() { safe.min() } else { Hlc(u64::MAX) }
    }

    /// D8.
    fn durable(&mut self) -> Vector {
        stabilised::durable(self).min().into()
    }

    fn share(&mut self, _: &mut Cx<'_, Self>) -> Vector {
        self.st.stable.clone()
    }

    /// The tree serves collection alone.
    fn learn(&mut self, _: &Vector, _: &mut Cx<'_, Self>) {}

    fn theta(&mut self, cx: &mut Cx<'_, Self>) {
        let floor = newest_snapshot(cx).min(self.others(cx.me.dc));
        self.st.advance(floor, cx); // D8
        self.st.stable.raise(cx.me.dc, floor);
        stabilised::hurry(self, cx);
        stabilised::aggregate(self, cx);
        stabilised::collect(self, cx);
        self.checks.ask_again();
        self.checks.send(Peer::Own, cx);
        let now = cx.mono;
        let late = |work: &Dependent| matches!(work, Dependent::Arrival(.., until) if *until <= now);
        for late in self.checks.give_up(late) {
            if let Dependent::Arrival(ticket, ..) = late {
                cx.fail(ticket, not_covered());
            }
        }
        self.early.expire(now); // their coordinators give up by themselves
        self.waiting_for_peers.expire(now);
        stabilised::expire(self, cx);
    }
}

impl Orbe {
    /// 1.
    fn find(&mut self, ticket: Ticket, asked: &Read, cx: &mut Cx<'_, Self>) {
        let mut seen = Vector::default();
        let outcome = cx.find(asked, &self.installed(cx), |d| seen.include(d.stamp));
        cx.answer(ticket, outcome, read(cx.me, &seen));
    }

    /// 2.
    fn put(&mut self, ticket: Ticket, key: Key, update: Update, mut dm: Matrix, cx: &mut Cx<'_, Self>) {
        let mut seen = Vector::default();
        let looked = cx.look(&key, update.clone(), &self.installed(cx), |d| seen.include(d.stamp)); // D5
        let (least, previous) = (seen.max().next(), looked.previous);
        let seen = Matrix::row(cx.me.partition, &seen);
        let Some(write) = looked.write else {
            return cx.answer(ticket, Outcome::Written { stamp: None, previous }, seen);
        };
        let dt = if PUT_ABOVE_DM.kept() { dm.max() } else { Hlc::ZERO };
        let clock = Hlc::at(cx.now).max(self.st.vv[cx.me.dc].next());
        let ut = clock.max(dt.next()).max(least);
        if let Some(ahead_us) = cx.too_far_ahead(ut) {
            return cx.fail(ticket, Failure::ClockSkew { ahead_us });
        }
        if dt >= clock {
            let put = Waits::Put(ticket, Request::Put(key, update, dm));
            return self.early.park(dt.next(), Micros::MAX, put, cx);
        }
        self.st.advance(ut, cx);
        self.announced = ut;
        dm.merge(&seen);
        let stamp = Stamp::new(ut, cx.me.dc);
        let d = Version { stamp, meta: Some(Box::new(dm)), write };
        cx.write(key.clone(), d);
        drop_matrix(&key, stamp, cx); // D4
        let dm = Matrix::update(cx.me.partition, stamp);
        cx.answer(ticket, Outcome::Written { stamp: Some(stamp), previous }, dm);
    }

    /// A read-only transaction, at its coordinator.
    fn rotx(&mut self, ticket: Ticket, keys: Vec<Key>, dt: Hlc, cx: &mut Cx<'_, Self>) {
        let dt = if ST_COVERS_DT.kept() { dt } else { Hlc::ZERO };
        let st = newest_snapshot(cx).max(dt).max(self.st.stable[cx.me.dc]); // D7, D8
        self.st.scatter((ticket, keys), st, Matrix::default(), cx);
    }

    /// A slice of it: (a) waits until nothing will be written here up to `st`.
    fn wait_for_clock(&mut self, from: ServerId, request: SliceReq<Hlc>, cx: &mut Cx<'_, Self>) {
        let (st, deadline) = (request.at, cx.mono + cx.params.wait_limit_us);
        if SLICE_WAITS_FOR_CLOCK.kept() && self.time(cx) < st {
            return self.early.park(st, deadline, Waits::Slice(from, request), cx);
        }
        if SLICE_WAITS_FOR_CLOCK.kept() && SLICE_LIFTS.kept() {
            self.st.advance(st, cx); // I2
        }
        self.waiting_for_peers.park(st, deadline, (from, request));
        self.read_slices(cx);
    }

    /// (b) Reads the slices for which everything that others write up to their `st` is installed.
    fn read_slices(&mut self, cx: &mut Cx<'_, Self>) {
        let installed = if SLICE_WAITS_FOR_PEERS.kept() { self.others(cx.me.dc) } else { Hlc(u64::MAX) };
        let ready = self.waiting_for_peers.wake(&installed);
        ready.into_iter().for_each(|(to, request)| stabilised::slice(self, to, request, cx));
    }

    /// Up to where everything that others wrote on this partition is installed.
    fn others(&self, m: DcId) -> Hlc {
        let others = self.st.stable.iter().filter(|(i, _)| *i != m).map(|(_, installed)| installed);
        others.min().unwrap_or(Hlc(u64::MAX))
    }

    /// What nothing will be written below: physical time, unless the clock is ahead of it.
    fn time(&self, cx: &Cx<'_, Self>) -> Hlc {
        self.st.vv[cx.me.dc].max(Hlc::at(cx.now))
    }

    fn installed(&self, cx: &Cx<'_, Self>) -> View {
        View { m: cx.me.dc, vv: self.st.stable.clone(), st: Hlc(u64::MAX) }
    }
}

/// The newest time that a read-only transaction may begin at now (D7).
fn newest_snapshot(cx: &Cx<'_, Orbe>) -> Hlc {
    Hlc::at(cx.now.saturating_sub(cx.params.snapshot_age_us))
}

/// What a reader comes to depend on that has seen these versions of a server (1).
fn read(server: ServerId, seen: &Vector) -> Matrix {
    if READS_ARE_DEPENDENCIES.kept() { Matrix::row(server.partition, seen) } else { Matrix::default() }
}

/// A session; what it remembers is merged with every answer (1, 2).
impl OneRound for Orbe {
    type Past = Matrix;

    fn question(op: Option<Op>, _: DcId, dm: &Matrix) -> Request {
        match op {
            Some(Op::Get { key }) => Request::Get(key),
            Some(Op::Put { key, update }) => Request::Put(key, update, dm.clone()),
            Some(Op::Rotx { keys } | Op::Snapshot { keys }) => Request::Rotx(keys, dm.max()),
            Some(walk) => Request::Walk(Walk::of(&walk)),
            None => Request::Cover(dm.clone()), // D6
        }
    }
}
