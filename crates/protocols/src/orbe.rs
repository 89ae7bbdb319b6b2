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
//!   begins no transaction below `vv[m]`, and offers what of its `vv` is durable.
//! - D9 Heartbeats follow what peers were told last, not the clock, which slices move too.
//!
//! **Invariants**
//! - I1 Everything that another data centre wrote on this partition up to its entry of `vv` is installed here, and all
//!   causes of it are installed in this data centre. It stays so across a crash.
//! - I2 A version's `ut` is above every entry of its `dm`, and above the `st` of every slice read before at its server.

use serde::{Deserialize, Serialize};
use std::marker::PhantomData;
use tidemark_contract::core::promise::Promise;
use tidemark_contract::core::{
    DcId, Failure, Hlc, Key, Micros, Op, Outcome, PartitionId, ServerId, Stamp, Update, Vector,
};
use tidemark_contract::{
    Answer, Ceiling, Check, Checks, Cx, Deps, Hard, OneRound, OneRoundSession, Protocol, Reach, Recovered,
    Report, SliceReply, SliceReq, Slices, Stabilisation, Ticket, Tree, Version, Waiters, Walk, found_of,
    not_covered, unanswered,
};

/// What the protocol's safety rests on, for tests to break one at a time.
#[allow(missing_docs)]
pub trait Rules: 'static {
    const NAME: &'static str;
    const ABOUT: &'static str;
    const READS_ARE_DEPENDENCIES: bool = true; // 1
    const PUT_ABOVE_DM: bool = true; // 2, DM-Clock
    const CHECKS_OWN_ROW: bool = true; // 3
    const CHECKS_OTHER_ROWS: bool = true; // 3
    const IN_ORDER: bool = true; // 3: head of line
    const ST_COVERS_DT: bool = true; // DM-Clock
    const SLICE_WAITS_FOR_CLOCK: bool = true; // (a)
    const SLICE_LIFTS: bool = true; // (a)
    const SLICE_WAITS_FOR_PEERS: bool = true; // (b)
    const INSTALLED_SURVIVES: bool = true; // D3
    const RECEIVED_WAITS_AGAIN: bool = true; // D3
    const ARRIVAL_WAITS: bool = true; // D6
    const COLLECTS_AT_SAFE: bool = true; // D8
}

/// The protocol as it should be.
pub type Orbe = Server<Sound>;
/// The rules of [`Orbe`].
pub struct Sound;

impl Rules for Sound {
    const NAME: &'static str = "orbe";
    const ABOUT: &'static str =
        "causal+ by dependency matrices; snapshots wait for clocks and for every region";
}

/// The numbers. The paper's could not be verified: Δ, θ and the fan-out are those of GentleRain, which is by the same
/// authors.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// θ: how often a server passes on below what it will read no more (D8), and gives up what waited too long.
    pub theta_us: Micros,
    /// Δ: how long a server that writes nothing lets its peers wait for a heartbeat.
    pub delta_us: Micros,
    /// Children of a node of the aggregation tree.
    pub fan_out: usize,
    /// How far behind its coordinator's clock a read-only transaction begins: what it is older, it waits less.
    pub snapshot_age_us: Micros,
    /// How long a dependency check goes without an answer until it is asked again: messages may be lost.
    pub ask_again_us: Micros,
    /// How long a read-only transaction, or a session that moved here, waits.
    pub wait_limit_us: Micros,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            theta_us: 5_000,
            delta_us: 5_000,
            fan_out: 2,
            snapshot_age_us: 0,
            ask_again_us: 100_000,
            wait_limit_us: 2_000_000,
        }
    }
}

/// Who waits for a clock looks at it now and then: it may stand still.
const SHORTEST_WAIT_US: Micros = 200;

/// DM_c of a session, and what an answer adds to it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Past {
    /// The matrix.
    pub dm: Deps,
    /// Whether the matrix stands for everything that was remembered before: it is that of a PUT.
    pub supersedes: bool,
}

impl Past {
    fn of(dm: Deps) -> Self {
        Self { dm, supersedes: false }
    }
}

impl tidemark_contract::Past for Past {
    /// 1: `DM_c := max(DM_c, …)`; 2: `DM_c := 0` before.
    fn merge(&mut self, other: &Past) {
        if other.supersedes {
            self.dm = Deps::default();
        }
        join(&mut self.dm, other.dm.clone());
    }

    fn reach(&self, home: DcId) -> Reach {
        self.dm.reach(home, Hlc::ZERO)
    }
}

/// `dm := max(dm, other)`.
fn join(dm: &mut Deps, other: Deps) {
    dm.merge(other);
    dm.bound(0);
}

/// The row of `partition`, with the entries `seen`.
fn row(partition: PartitionId, seen: &Vector) -> Deps {
    let mut dm = Deps::default();
    let entries = seen.iter().filter(|(_, ts)| *ts > Hlc::ZERO);
    entries.for_each(|(dc, ts)| dm.include(partition, Stamp::new(ts, dc)));
    dm.bound(0);
    dm
}

/// What a session asks.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[allow(missing_docs)]
pub enum Request {
    Get(Key),               // k
    Put(Key, Update, Deps), // k, v, DM_c
    Rotx(Vec<Key>, Hlc),    // ks, dt
    Walk(Walk),             // D5
    Cover(Deps),            // D6: wait for what DM_c names
}

/// What the servers of a data centre say to each other.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[allow(missing_docs)]
pub enum Peer {
    Check(Check), // DepCheck{dm[j]}, and its answer
    Tree(Tree),   // D8
    SliceReq(SliceReq<Hlc>),
    SliceReply(SliceReply<Deps>),
}

/// Timers; `Clock` is armed while something waits for the clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs)]
pub enum Timer {
    Theta,
    Delta,
    AskAgain,
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
    Arrival(Ticket, Deps, Micros),
}

/// What waits for the clock.
enum Early {
    Put(Ticket, Request),
    Slice(ServerId, SliceReq<Hlc>),
}

/// A server, `p_n^m`.
pub struct Server<R> {
    vv: Vector,
    clock: Hlc,
    /// The last time that peers were told.
    announced: Hlc,
    checks: Checks<Dependent>,
    waiting_for_clock: Waiters<Hlc, Early>,
    waiting_for_peers: Waiters<Hlc, (ServerId, SliceReq<Hlc>)>,
    reads: Slices<Hlc, Deps>,
    collection: Stabilisation,
    ceiling: Ceiling,
    rules: PhantomData<R>,
}

impl<R: Rules> Protocol for Server<R> {
    const NAME: &'static str = R::NAME;
    const ABOUT: &'static str = R::ABOUT;
    const PROMISE: Promise = Promise::CausalImmediate;

    /// DM, until the version is installed (D4).
    type Meta = Option<Box<Deps>>;
    type Request = Request;
    type Reply = Answer<Past>;
    type Peer = Peer;
    type Hard = Hard;
    type Timer = Timer;
    type View = View;
    type Session = OneRoundSession<Self>;
    type Params = Params;

    fn start(Recovered { hard, life, received }: Recovered<Hard>, cx: &mut Cx<'_, Self>) -> Self {
        let (clock, mut heard) = (received[cx.me.dc].max(hard.ceiling), received);
        heard.merge(&hard.stable);
        let mut vv = Vector::zero(cx.topology.dcs);
        if R::INSTALLED_SURVIVES {
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
            rules: PhantomData,
        };
        if life > 1 {
            cx.heartbeat(clock);
        }
        cx.arm(Timer::Theta, cx.params.theta_us);
        cx.arm(Timer::Delta, cx.params.delta_us);
        cx.arm(Timer::AskAgain, cx.params.ask_again_us);
        server.recover(cx);
        server
    }

    fn on_request(&mut self, ticket: Ticket, request: Request, cx: &mut Cx<'_, Self>) {
        match request {
            Request::Get(key) => {
                let (d, mut seen) = (cx.latest(&key, &self.installed(cx)), Vector::default());
                d.into_iter().for_each(|d| seen.include(d.stamp));
                let found = Outcome::Found(found_of(d));
                cx.answer(ticket, found, Past::of(read::<R>(cx.me, &seen))); // 1
            }
            Request::Put(key, update, dm) => self.put(ticket, key, update, dm, cx),
            Request::Rotx(keys, dt) => self.rotx(ticket, keys, dt, cx),
            Request::Walk(walk) => {
                let mut seen = Vector::default();
                let outcome = cx.walk(&walk, &self.installed(cx), |d| seen.include(d.stamp));
                cx.answer(ticket, outcome, Past::of(read::<R>(cx.me, &seen)));
            }
            Request::Cover(dm) if !R::ARRIVAL_WAITS => cx.answer(ticket, Outcome::Adopted, Past::of(dm)),
            Request::Cover(dm) => {
                let deadline = cx.mono + cx.params.wait_limit_us;
                self.checks.open(&dm, Dependent::Arrival(ticket, dm.clone(), deadline));
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
                if let Some(read) = self.reads.gather(from, reply, Deps::merge) {
                    cx.answer(read.ticket, Outcome::FoundAll(read.found), Past::of(read.seen));
                }
            }
        }
    }

    /// 3.
    fn on_replicate(&mut self, _: ServerId, key: Key, d: Version<Self::Meta>, cx: &mut Cx<'_, Self>) {
        self.checks.arrived(d.stamp);
        self.wait(&key, d.stamp, d.meta.as_deref(), cx.me);
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
                self.vv.raise(cx.me.dc, newest_snapshot(cx));
                self.ceiling.hurry(|| self.vv.clone(), cx);
                self.collection.tick(self.report(), Peer::Tree, cx);
                let now = Hlc::at(cx.now);
                let safe = |point: &Vector| if R::COLLECTS_AT_SAFE { point.min() } else { now };
                self.collection.collect(cx, |point, d| d.stamp.ts <= safe(point));
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
            Timer::AskAgain => {
                cx.arm(Timer::AskAgain, cx.params.ask_again_us);
                self.checks.ask_again();
                self.checks.send(Peer::Check, cx);
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

    fn hard(&self) -> Hard {
        Hard { ceiling: self.ceiling.get(), stable: self.vv.clone() }
    }

    fn stable(&self) -> Vector {
        self.vv.clone()
    }

    fn parked(&self) -> usize {
        self.checks.len() + self.waiting_for_clock.len() + self.waiting_for_peers.len()
    }
}

impl<R: Rules> Server<R> {
    /// 2.
    fn put(&mut self, ticket: Ticket, key: Key, update: Update, dm: Deps, cx: &mut Cx<'_, Self>) {
        let (m, partition, dt) =
            (cx.me.dc, cx.me.partition, if R::PUT_ABOVE_DM { dm.latest() } else { Hlc::ZERO });
        let least = Hlc::at(cx.now).max(self.clock.next());
        if let Some(ahead_us) = cx.too_far_ahead(least.max(dt.next())) {
            return cx.fail(ticket, Failure::ClockSkew { ahead_us });
        }
        if dt >= least {
            let early = Early::Put(ticket, Request::Put(key, update, dm));
            self.waiting_for_clock.park(dt.next(), Micros::MAX, early);
            return self.arm_clock(cx);
        }
        let mut seen = Vector::default();
        let looked = cx.look(&key, &update, &self.installed(cx), |d| seen.include(d.stamp)); // D5
        let (mut stamp, previous) = (None, looked.previous);
        if looked.proceeds {
            let ut = least.max(seen.max().next());
            if let Some(ahead_us) = cx.too_far_ahead(ut) {
                return cx.fail(ticket, Failure::ClockSkew { ahead_us });
            }
            self.lift(ut, cx);
            self.announced = ut;
            let mut dm = dm;
            join(&mut dm, row(partition, &seen));
            let new = Stamp::new(ut, m);
            let d = Version { stamp: new, meta: Some(Box::new(dm)), write: update.write };
            cx.write(key.clone(), d, cx.all_regions());
            drop_matrix(&key, new, cx); // D4
            seen = Vector::default();
            seen.include(new);
            stamp = Some(new);
        }
        let past = Past { dm: row(partition, &seen), supersedes: looked.proceeds };
        cx.answer(ticket, Outcome::Written { stamp, previous }, past);
    }

    /// A read-only transaction, at its coordinator.
    fn rotx(&mut self, ticket: Ticket, keys: Vec<Key>, dt: Hlc, cx: &mut Cx<'_, Self>) {
        let dt = if R::ST_COVERS_DT { dt } else { Hlc::ZERO };
        let st = newest_snapshot(cx).max(dt).max(self.vv[cx.me.dc]); // D7, D8
        let deadline = cx.mono + cx.params.wait_limit_us;
        self.reads.scatter((ticket, keys), st, Deps::default(), deadline, Peer::SliceReq, cx);
    }

    /// A slice of it: (a) waits until nothing will be written here up to `st`.
    fn slice(&mut self, from: ServerId, request: SliceReq<Hlc>, cx: &mut Cx<'_, Self>) {
        let (st, deadline) = (request.at, cx.mono + cx.params.wait_limit_us);
        if R::SLICE_WAITS_FOR_CLOCK && self.time(cx) < st {
            self.waiting_for_clock.park(st, deadline, Early::Slice(from, request));
            return self.arm_clock(cx);
        }
        if R::SLICE_WAITS_FOR_CLOCK && R::SLICE_LIFTS {
            self.lift(st, cx); // I2
        }
        self.waiting_for_peers.park(st, deadline, (from, request));
        self.read_slices(cx);
    }

    /// (b) Reads the slices for which everything that others write up to their `st` is installed.
    fn read_slices(&mut self, cx: &mut Cx<'_, Self>) {
        let others = self.vv.iter().filter(|(i, _)| *i != cx.me.dc).map(|(_, installed)| installed);
        let installed = if R::SLICE_WAITS_FOR_PEERS { others.min() } else { None };
        for (to, SliceReq { id, keys, at: st }) in
            self.waiting_for_peers.wake(&installed.unwrap_or(Hlc(u64::MAX)))
        {
            let (view, mut seen) = (View { st, ..self.installed(cx) }, Vector::default());
            let found = cx.read(&keys, &view, |d| seen.include(d.stamp));
            cx.send(to, Peer::SliceReply(SliceReply { id, found, seen: read::<R>(cx.me, &seen) }));
        }
    }

    /// 3: a version waits for the rows of its matrix.
    fn wait(&mut self, key: &Key, stamp: Stamp, dm: Option<&Deps>, me: ServerId) {
        let mut rows = Deps::default();
        let checked = |own: bool| if own { R::CHECKS_OWN_ROW } else { R::CHECKS_OTHER_ROWS };
        let dm = dm.into_iter().flat_map(Deps::iter).filter(|row| checked(row.partition == me.partition));
        dm.for_each(|dep| rows.add(dep.clone()));
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
                    if !R::IN_ORDER {
                        self.vv.include(stamp);
                    }
                }
                Dependent::Arrival(ticket, dm, _) => cx.answer(ticket, Outcome::Adopted, Past::of(dm)),
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

    /// D3: what was received and not installed waits again.
    fn recover(&mut self, cx: &mut Cx<'_, Self>) {
        let (mut waiting, mut installed) = (Vec::new(), Vec::new());
        cx.store.dump(0, usize::MAX, |key, d| {
            if R::RECEIVED_WAITS_AGAIN && d.stamp.origin != cx.me.dc && !self.vv.covers(d.stamp) {
                waiting.push((d.stamp, owned(key), d.meta.clone()));
            } else if d.meta.is_some() {
                installed.push((d.stamp, owned(key)));
            }
        });
        installed.into_iter().for_each(|(stamp, key)| drop_matrix(&key, stamp, cx)); // D4
        waiting.sort_by_key(|(stamp, ..)| *stamp);
        waiting.iter().for_each(|(stamp, ..)| self.checks.arrived(*stamp));
        waiting.iter().for_each(|(stamp, key, dm)| self.wait(key, *stamp, dm.as_deref(), cx.me));
        self.install(cx);
    }

    /// Gives up what has waited too long. The coordinator of a slice gives up by itself.
    fn give_up(&mut self, cx: &mut Cx<'_, Self>) {
        let now = cx.mono;
        for late in self.checks.give_up(|work| matches!(work, Dependent::Arrival(.., until) if *until <= now))
        {
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
        let one = |time| Vector::from_entries([time]);
        Report::new(
            self.vv.clone(),
            &one(self.ceiling.stable().min()),
            self.reads.snapshots().map(|st| one(*st)),
        )
    }

    /// Moves the clock up to `ts`, if it is behind, and keeps the durable ceiling above it.
    fn lift(&mut self, ts: Hlc, cx: &mut Cx<'_, Self>) {
        self.clock = self.clock.max(ts);
        self.ceiling.renew(self.clock, || self.vv.clone(), cx);
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
fn newest_snapshot<R: Rules>(cx: &Cx<'_, Server<R>>) -> Hlc {
    Hlc::at(cx.now.saturating_sub(cx.params.snapshot_age_us))
}

fn owned(key: &[u8]) -> Key {
    Key(key.to_vec().into())
}

fn drop_matrix<R: Rules>(key: &Key, stamp: Stamp, cx: &mut Cx<'_, Server<R>>) {
    cx.store.meta_mut(key, stamp).into_iter().for_each(|dm| *dm = None);
}

/// What a reader comes to depend on that has seen these versions of a server (1).
fn read<R: Rules>(server: ServerId, seen: &Vector) -> Deps {
    if R::READS_ARE_DEPENDENCIES { row(server.partition, seen) } else { Deps::default() }
}

/// A session; what it remembers is merged with every answer (1, 2).
impl<R: Rules> OneRound for Server<R> {
    type Past = Past;

    fn question(op: Op, _: DcId, past: &Past) -> Request {
        match op {
            Op::Get { key } => Request::Get(key),
            Op::Put { key, update } => Request::Put(key, update, past.dm.clone()),
            Op::Rotx { keys } | Op::Snapshot { keys } => Request::Rotx(keys, past.dm.latest()),
            Op::Scan { cursor, limit, .. } => Request::Walk(Walk::Scan { cursor, limit }),
            Op::Count { .. } => Request::Walk(Walk::Count),
        }
    }

    fn arrival(_: DcId, past: Past) -> Request {
        Request::Cover(past.dm) // D6
    }
}
