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
//! `vv` VV, the version vector: up to where updates are installed (its entry m is D8's) · `clock` VV[m], below all that
//! is written here later · `ut` update time · `sr` source replica (`stamp.origin`) · `dt` dependency time, the largest
//! in DM_c · `st` snapshot time · Δ [`Params::delta_us`].
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

use serde::{Deserialize, Serialize};
use tidemark_contract::core::promise::Promise;
use tidemark_contract::core::{
    DcId, Failure, Hlc, Key, Micros, Op, Outcome, PartitionId, ServerId, Stamp, Update, Vector,
};
use tidemark_contract::matrix::Matrix;
use tidemark_contract::{
    Answer, Ceiling, Check, Checks, Cx, Hard, Info, OneRound, OneRoundSession, Past, Protocol, Recovered,
    Report, SliceReply, SliceReq, Slices, Stabilisation, Status, Ticket, Tree, Version, Waiters, Walk,
    found_of, not_covered, unanswered,
};

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
    INSTALLED_SURVIVES, // D3
    RECEIVED_WAITS_AGAIN, // D3
    ARRIVAL_WAITS, // D6
    COLLECTS_AT_SAFE, // D8
}

/// The numbers. The paper's could not be verified: Δ, θ and the fan-out are those of GentleRain, which is by the same
/// authors.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// θ: how often a server asks again what was not answered, gives up what waited too long, and collects (D8).
    pub theta_us: Micros,
    /// Δ: how long a server that writes nothing lets its peers wait for a heartbeat.
    pub delta_us: Micros,
    /// Children of a node of the aggregation tree.
    pub fan_out: usize,
    /// How far behind its coordinator's clock a read-only transaction begins: what it is older, it waits less.
    pub snapshot_age_us: Micros,
    /// How long a read-only transaction, or a session that moved here, waits.
    pub wait_limit_us: Micros,
}

impl tidemark_contract::Params for Params {}

impl Default for Params {
    fn default() -> Self {
        let (theta_us, delta_us, wait_limit_us) = (100_000, 5_000, 2_000_000);
        Self { theta_us, delta_us, fan_out: 2, snapshot_age_us: 0, wait_limit_us }
    }
}

/// Who waits for a clock looks at it now and then: it may stand still.
const SHORTEST_WAIT_US: Micros = 200;

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

/// What the servers of a data centre say to each other.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[allow(missing_docs)]
pub enum Peer {
    Check(Check), // DepCheck{dm[j]}, and its answer
    Tree(Tree),   // D8
    SliceReq(SliceReq<Hlc>),
    SliceReply(SliceReply<Matrix>),
}

/// Timers; `Clock` is armed while something waits for the clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs)]
pub enum Timer {
    Theta,
    Delta,
    Clock,
}

/// What a reader in data centre `m` can see: what was written here and what is installed, up to a time.
pub struct View {
    m: DcId,
    vv: Vector,
    st: Hlc,
}

/// What waits until all of a matrix is installed in this data centre.
enum Dependent {
    Version(Key, Stamp),
    /// D6: a session, what it brought, and until when it waits.
    Arrival(Ticket, Matrix, Micros),
}

/// What waits for the clock.
enum Early {
    Put(Ticket, Request),
    Slice(ServerId, SliceReq<Hlc>),
}

/// A server, `p_n^m`.
pub struct Orbe {
    vv: Vector,
    clock: Hlc,
    /// The last time that peers were told.
    announced: Hlc,
    checks: Checks<Dependent>,
    waiting_for_clock: Waiters<Hlc, Early>,
    waiting_for_peers: Waiters<Hlc, (ServerId, SliceReq<Hlc>)>,
    reads: Slices<Hlc, Matrix>,
    collection: Stabilisation,
    ceiling: Ceiling,
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
    type Component = ();

    fn start(Recovered { hard, life, received, .. }: Recovered<Hard>, cx: &mut Cx<'_, Self>) -> Self {
        let (clock, mut heard) = (received[cx.me.dc].max(hard.ceiling), received);
        heard.merge(&hard.stable);
        let mut vv = Vector::zero(cx.topology.dcs);
        if INSTALLED_SURVIVES.kept() {
            vv.merge(&hard.stable); // D3
        }
        let mut server = Self {
            vv,
            clock,
            announced: clock,
            checks: Checks::new(cx.me, life, heard),
            waiting_for_clock: Waiters::default(),
            waiting_for_peers: Waiters::default(),
            reads: Slices::new(life),
            collection: Stabilisation::new(cx.me, cx.topology, cx.params.fan_out),
            ceiling: Ceiling::new(hard),
        };
        if life > 1 {
            cx.heartbeat(clock);
        }
        cx.arm(Timer::Theta, cx.params.theta_us);
        cx.arm(Timer::Delta, cx.params.delta_us);
        server.recover(cx);
        server
    }

    fn on_request(&mut self, ticket: Ticket, request: Request, cx: &mut Cx<'_, Self>) {
        match request {
            Request::Get(key) => {
                let (d, mut seen) = (cx.latest(&key, &self.installed(cx)), Vector::default());
                d.into_iter().for_each(|d| seen.include(d.stamp));
                let found = Outcome::Found(found_of(d));
                cx.answer(ticket, found, read(cx.me, &seen)); // 1
            }
            Request::Put(key, update, dm) => self.put(ticket, key, update, dm, cx),
            Request::Rotx(keys, dt) => self.rotx(ticket, keys, dt, cx),
            Request::Walk(walk) => {
                let mut seen = Vector::default();
                let outcome = cx.walk(&walk, &self.installed(cx), |d| seen.include(d.stamp));
                cx.answer(ticket, outcome, read(cx.me, &seen));
            }
            Request::Cover(dm) => {
                let (rows, until) = (dm.rows(|_| ARRIVAL_WAITS.kept()), cx.mono + cx.params.wait_limit_us);
                self.checks.open(&rows, Dependent::Arrival(ticket, dm, until));
                self.install(cx);
            }
        }
    }

    fn on_peer(&mut self, from: ServerId, message: Peer, cx: &mut Cx<'_, Self>) {
        match message {
            Peer::Check(check) => {
                self.checks.on_message(from, check);
                self.install(cx);
            }
            Peer::Tree(message) => {
                self.collection.on_message((from, message), self.report(), Peer::Tree, cx);
            }
            Peer::SliceReq(request) => self.slice(from, request, cx),
            Peer::SliceReply(reply) => {
                if let Some(read) = self.reads.gather(from, reply, |dm, row| dm.merge(&row)) {
                    cx.answer(read.ticket, Outcome::FoundAll(read.found), read.seen);
                }
            }
        }
    }

    /// 3.
    fn on_replicate(&mut self, _: ServerId, key: Key, d: Version<Meta>, cx: &mut Cx<'_, Self>) {
        self.wait(d.stamp, &key, d.meta.as_deref(), cx.me.partition);
        cx.store.insert(&key, d);
        self.install(cx);
    }

    fn on_heartbeat(&mut self, from: ServerId, ts: Hlc, cx: &mut Cx<'_, Self>) {
        self.checks.heard(from.dc, ts);
        self.install(cx);
    }

    fn on_peer_reset(&mut self, peer: ServerId, cx: &mut Cx<'_, Self>) {
        self.checks.reset(peer);
        self.checks.send(Peer::Check, cx);
        cx.fail_all(self.reads.reset(peer), unanswered);
    }

    fn on_timer(&mut self, timer: Timer, cx: &mut Cx<'_, Self>) {
        match timer {
            Timer::Theta => {
                cx.arm(Timer::Theta, cx.params.theta_us);
                let floor = newest_snapshot(cx).min(self.others(cx.me.dc));
                self.lift(floor, cx); // D8
                self.vv.raise(cx.me.dc, floor);
                self.ceiling.hurry(|| self.vv.clone(), cx);
                self.collection.tick(self.report(), Peer::Tree, cx);
                let now = Hlc::at(cx.now);
                let safe = |point: &Vector| if COLLECTS_AT_SAFE.kept() { point.min() } else { now };
                self.collection.collect(cx, |point, d| d.stamp.ts <= safe(point));
                self.checks.ask_again();
                self.checks.send(Peer::Check, cx);
                self.give_up(cx);
            }
            Timer::Delta => {
                let due = self.announced.micros() + cx.params.delta_us; // D9
                if cx.now < due {
                    return cx.arm(Timer::Delta, (due - cx.now).max(SHORTEST_WAIT_US));
                }
                cx.arm(Timer::Delta, cx.params.delta_us);
                self.lift(Hlc::at(cx.now), cx);
                self.announced = self.clock;
                cx.heartbeat(self.clock);
            }
            Timer::Clock => {
                for early in self.waiting_for_clock.wake(&self.time(cx)) {
                    match early {
                        Early::Put(ticket, put) => self.on_request(ticket, put, cx),
                        Early::Slice(from, request) => self.slice(from, request, cx),
                    }
                }
                self.arm_clock(cx);
            }
        }
    }

    fn visible(View { m, vv, st }: &View, stamp: Stamp, _: &Self::Meta) -> bool {
        stamp.ts <= *st && (stamp.origin == *m || vv.covers(stamp))
    }

    fn status(&self) -> Status {
        Status::new(
            self.vv.clone(),
            self.checks.len() + self.waiting_for_clock.len() + self.waiting_for_peers.len(),
        )
    }
}

impl Orbe {
    /// 2.
    fn put(&mut self, ticket: Ticket, key: Key, update: Update, mut dm: Matrix, cx: &mut Cx<'_, Self>) {
        let mut seen = Vector::default();
        let looked = cx.look(&key, &update, &self.installed(cx), |d| seen.include(d.stamp)); // D5
        let (least, previous) = (seen.max().next(), looked.previous);
        let seen = Matrix::row(cx.me.partition, &seen);
        if !looked.proceeds {
            return cx.answer(ticket, Outcome::Written { stamp: None, previous }, seen);
        }
        let dt = if PUT_ABOVE_DM.kept() { dm.max() } else { Hlc::ZERO };
        let clock = Hlc::at(cx.now).max(self.clock.next());
        let ut = clock.max(dt.next()).max(least);
        if let Some(ahead_us) = cx.too_far_ahead(ut) {
            return cx.fail(ticket, Failure::ClockSkew { ahead_us });
        }
        if dt >= clock {
            let early = Early::Put(ticket, Request::Put(key, update, dm));
            self.waiting_for_clock.park(dt.next(), Micros::MAX, early);
            return self.arm_clock(cx);
        }
        self.lift(ut, cx);
        self.announced = ut;
        dm.merge(&seen);
        let stamp = Stamp::new(ut, cx.me.dc);
        let d = Version { stamp, meta: Some(Box::new(dm)), write: update.write };
        cx.write(key.clone(), d);
        drop_matrix(&key, stamp, cx); // D4
        let dm = Matrix::update(cx.me.partition, stamp);
        cx.answer(ticket, Outcome::Written { stamp: Some(stamp), previous }, dm);
    }

    /// A read-only transaction, at its coordinator.
    fn rotx(&mut self, ticket: Ticket, keys: Vec<Key>, dt: Hlc, cx: &mut Cx<'_, Self>) {
        let dt = if ST_COVERS_DT.kept() { dt } else { Hlc::ZERO };
        let st = newest_snapshot(cx).max(dt).max(self.vv[cx.me.dc]); // D7, D8
        let deadline = cx.mono + cx.params.wait_limit_us;
        self.reads.scatter((ticket, keys), st, Matrix::default(), deadline, Peer::SliceReq, cx);
    }

    /// A slice of it: (a) waits until nothing will be written here up to `st`.
    fn slice(&mut self, from: ServerId, request: SliceReq<Hlc>, cx: &mut Cx<'_, Self>) {
        let (st, deadline) = (request.at, cx.mono + cx.params.wait_limit_us);
        if SLICE_WAITS_FOR_CLOCK.kept() && self.time(cx) < st {
            self.waiting_for_clock.park(st, deadline, Early::Slice(from, request));
            return self.arm_clock(cx);
        }
        if SLICE_WAITS_FOR_CLOCK.kept() && SLICE_LIFTS.kept() {
            self.lift(st, cx); // I2
        }
        self.waiting_for_peers.park(st, deadline, (from, request));
        self.read_slices(cx);
    }

    /// (b) Reads the slices for which everything that others write up to their `st` is installed.
    fn read_slices(&mut self, cx: &mut Cx<'_, Self>) {
        let installed = if SLICE_WAITS_FOR_PEERS.kept() { self.others(cx.me.dc) } else { Hlc(u64::MAX) };
        let ready = self.waiting_for_peers.wake(&installed);
        for (to, SliceReq { id, keys, at: st }) in ready {
            let (view, mut seen) = (View { st, ..self.installed(cx) }, Vector::default());
            let found = cx.read(&keys, &view, |d| seen.include(d.stamp));
            cx.send(to, Peer::SliceReply(SliceReply { id, found, seen: read(cx.me, &seen) }));
        }
    }

    /// 3: a version waits for the rows of its matrix.
    fn wait(&mut self, stamp: Stamp, key: &Key, dm: Option<&Matrix>, here: PartitionId) {
        self.checks.arrived(stamp);
        let check = |row| if row == here { CHECKS_OWN_ROW.kept() } else { CHECKS_OTHER_ROWS.kept() };
        let rows = dm.map(|dm| dm.rows(check)).unwrap_or_default();
        self.checks.open(&rows, Dependent::Version(key.clone(), stamp));
    }

    /// Installs what all rows of its matrix are installed of, and goes on with what waited for that.
    fn install(&mut self, cx: &mut Cx<'_, Self>) {
        let mut any = false;
        while let Some(dependent) = self.checks.ready() {
            match dependent {
                Dependent::Version(key, stamp) => {
                    self.checks.apply(stamp);
                    drop_matrix(&key, stamp, cx); // D4
                    any = true;
                    if !IN_ORDER.kept() {
                        self.vv.include(stamp);
                    }
                }
                Dependent::Arrival(ticket, dm, _) => cx.answer(ticket, Outcome::Adopted, dm),
            }
        }
        let installed = self.checks.applied(self.vv[cx.me.dc]);
        if !installed.le(&self.vv) {
            self.vv.merge(&installed); // up to the first of each source that waits
            if any {
                self.ceiling.keep(self.vv.clone(), cx); // D3
            }
        }
        self.checks.send(Peer::Check, cx);
        self.read_slices(cx);
    }

    /// D3: what was received and not installed waits again. By their stamps: what a version waits for does so before it.
    fn recover(&mut self, cx: &mut Cx<'_, Self>) {
        let (m, installed) = (cx.me.dc, self.vv.clone());
        let waits =
            |stamp: Stamp| stamp.origin != m && !installed.covers(stamp) && RECEIVED_WAITS_AGAIN.kept();
        let pick = |d: &Version<Meta>| (waits(d.stamp) || d.meta.is_some()).then(|| d.meta.clone());
        for (stamp, key, dm) in cx.store.pick(pick) {
            if waits(stamp) {
                self.wait(stamp, &key, dm.as_deref(), cx.me.partition);
            } else {
                drop_matrix(&key, stamp, cx); // D4
            }
        }
        self.install(cx);
    }

    /// Gives up what has waited too long. The coordinator of a slice gives up by itself.
    fn give_up(&mut self, cx: &mut Cx<'_, Self>) {
        let now = cx.mono;
        let late = |work: &Dependent| matches!(work, Dependent::Arrival(.., until) if *until <= now);
        for late in self.checks.give_up(late) {
            if let Dependent::Arrival(ticket, ..) = late {
                cx.fail(ticket, not_covered());
            }
        }
        self.waiting_for_clock.expire(now);
        self.waiting_for_peers.expire(now);
        cx.fail_all(self.reads.expire(now), unanswered);
    }

    /// What collection takes from this server (D8).
    fn report(&self) -> Report {
        let one = |time: Hlc| Vector::from_entries([time]);
        let (durable, reads) = (one(self.ceiling.stable().min()), self.reads.snapshots());
        Report::new(self.vv.clone(), &durable, reads.map(|st| one(*st)))
    }

    /// Moves the clock up to `ts`, if it is behind, and keeps the durable ceiling above it.
    fn lift(&mut self, ts: Hlc, cx: &mut Cx<'_, Self>) {
        self.clock = self.clock.max(ts);
        self.ceiling.renew(self.clock, || self.vv.clone(), cx);
    }

    /// Up to where everything that others wrote on this partition is installed.
    fn others(&self, m: DcId) -> Hlc {
        let others = self.vv.iter().filter(|(i, _)| *i != m).map(|(_, installed)| installed);
        others.min().unwrap_or(Hlc(u64::MAX))
    }

    /// What nothing will be written below: physical time, unless the clock is ahead of it.
    fn time(&self, cx: &Cx<'_, Self>) -> Hlc {
        self.clock.max(Hlc::at(cx.now))
    }

    fn arm_clock(&self, cx: &mut Cx<'_, Self>) {
        if let Some(time) = self.waiting_for_clock.least() {
            let wait = (time.micros() + 1).saturating_sub(cx.now);
            cx.arm(Timer::Clock, wait.max(SHORTEST_WAIT_US));
        }
    }

    fn installed(&self, cx: &Cx<'_, Self>) -> View {
        View { m: cx.me.dc, vv: self.vv.clone(), st: Hlc(u64::MAX) }
    }
}

/// The newest time that a read-only transaction may begin at now (D7).
fn newest_snapshot(cx: &Cx<'_, Orbe>) -> Hlc {
    Hlc::at(cx.now.saturating_sub(cx.params.snapshot_age_us))
}

fn drop_matrix(key: &Key, stamp: Stamp, cx: &mut Cx<'_, Orbe>) {
    cx.store.meta_mut(key, stamp).into_iter().for_each(|dm| *dm = None);
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
