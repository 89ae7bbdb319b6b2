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
//!   here, beside the persisted one. Stamps start above a persisted ceiling ([`Ceiling`]).
//! - D3 (E-13) A token's stable vector is adopted only in the region it speaks of; elsewhere the session waits
//!   until the region covers its dependencies.
//! - D4 Collection (the paper has none): below the least of all snapshots in use and of all persisted `dsv`.
//! - D5 A conditional update depends on the version that decided it, and so does its session.
//! - D6 The coordinator of a ROTX is the owner of its first key.
//!
//! **Invariants**
//! - I1 `dsv` never falls, and `dsv[i] <= vv[i]` at every server of the data centre, for i ≠ m.
//! - I2 A version's `ut` is above every entry of its `ds`, and above `dsv[m]` where it was written.

use serde::{Deserialize, Serialize};
use std::marker::PhantomData;
use tidemark_contract::core::promise::Promise;
use tidemark_contract::core::{
    DcId, Failure, Found, Hlc, Key, Micros, Op, Outcome, PartitionId, ServerId, Stamp, Update, Vector,
};
use tidemark_contract::{
    AskId, Ceiling, Collector, Cx, Gather, GatherId, Pass, Protocol, Recovered, Report, Session, SessionCx,
    Stabilisation, Ticket, Version, Waiters, Walk, found_of,
};

/// Where the corrected protocol and the published one differ, and what the checker's mutants break.
pub trait Rules: 'static {
    /// The protocol's name under these rules.
    const NAME: &'static str;
    /// One line about it.
    const ABOUT: &'static str;
    /// D1: a remote version is readable only if its own time is stable.
    const UT_MUST_BE_STABLE: bool = true;
    /// Algorithm 5.4 line 21: a slice lifts the local entry, so that later writes lie above the snapshot.
    const SLICE_LIFTS: bool = true;
    /// Algorithm 5.2 line 8: a write's time is above `dsv[m]`.
    const PUT_ABOVE_DSV: bool = true;
    /// Algorithm 5.2 line 7: a write merges its dependencies into `dsv`.
    const PUT_MERGES_DS: bool = true;
    /// D2: the stable vector survives a crash.
    const DSV_SURVIVES: bool = true;
    /// D3: a token's stable vector is not adopted away from home.
    const STABLE_STAYS_HOME: bool = true;
}

/// The protocol as it should be.
pub struct Corrected;

impl Rules for Corrected {
    const NAME: &'static str = "causal-spartan-x";
    const ABOUT: &'static str =
        "causal+ on hybrid clocks: writes never wait, one-round snapshots never block";
}

/// The protocol to the letter of the paper, for the checker to convict (E-3).
pub struct Published;

impl Rules for Published {
    const NAME: &'static str = "causal-spartan-x-published";
    const ABOUT: &'static str = "CausalSpartanX to the letter, with erratum E-3: for study only";
    const UT_MUST_BE_STABLE: bool = false;
}

/// The protocol as it should be.
pub type CausalSpartanX = Server<Corrected>;
/// The protocol to the letter of the paper.
pub type CausalSpartanXPublished = Server<Published>;

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
    /// How long a session that moved here waits for what it depends on.
    pub wait_limit_us: Micros,
}

impl Default for Params {
    fn default() -> Self {
        Self { theta_us: 5_000, delta_us: 5_000, fan_out: 2, wait_limit_us: 2_000_000 }
    }
}

/// What a session asks.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[allow(missing_docs)]
pub enum Request {
    Get {
        key: Key,
        dsv: Vector,
    },
    Put {
        key: Key,
        update: Update,
        ds: Vector,
    },
    Rotx {
        keys: Vec<Key>,
        dsv: Vector,
        ds: Vector,
    },
    Walk {
        walk: Walk,
        dsv: Vector,
    },
    /// D3: wait until this data centre covers `ds`.
    Cover {
        ds: Vector,
    },
}

/// What a server answers.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[allow(missing_docs)]
pub enum Reply {
    Got {
        found: Found,
        ds: Vector,
        dsv: Vector,
    },
    /// `ds` is what a conditional update saw; with a new version, that version too.
    Put {
        outcome: Outcome,
        ds: Vector,
    },
    Rotx {
        found: Vec<Found>,
        ds: Vector,
        dsv: Vector,
    },
    Walked {
        outcome: Outcome,
        ds: Vector,
        dsv: Vector,
    },
    Covered {
        dsv: Vector,
    },
    Failed(Failure),
}

/// What servers say to each other.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[allow(missing_docs)]
pub enum Peer {
    Up(Report),
    Down(Report),
    /// Keys with their places in the transaction.
    SliceReq {
        id: GatherId,
        keys: Vec<(u32, Key)>,
        sv: Vector,
    },
    SliceReply {
        id: GatherId,
        found: Vec<(u32, Found)>,
        ds: Vector,
    },
}

/// What outlives a crash.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Hard {
    ceiling: Hlc,
    dsv: Vector,
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
    /// GET in data centre `m`: what was written here, and what is stable.
    Fresh {
        /// This data centre.
        m: DcId,
        /// The stable vector.
        dsv: Vector,
        /// D1.
        ut_must_be_stable: bool,
    },
    /// A snapshot: what it covers, wherever it was written.
    At {
        /// The snapshot vector.
        sv: Vector,
    },
}

/// A read-only transaction that waits for its slices.
struct Rotx {
    ticket: Ticket,
    found: Vec<Found>,
    ds: Vector,
    sv: Vector,
}

/// A server, `p_n^m`.
pub struct Server<R> {
    vv: Vector,
    dsv: Vector,
    sent_since_delta: bool,
    tree: Stabilisation,
    rotxs: Gather<Rotx>,
    /// Sessions that moved here and wait until `dsv` covers what they depend on.
    arrivals: Waiters<Vector, Ticket>,
    ceiling: Ceiling,
    durable_dsv: Vector,
    collector: Collector,
    rules: PhantomData<R>,
}

impl<R: Rules> Protocol for Server<R> {
    const NAME: &'static str = R::NAME;
    const ABOUT: &'static str = R::ABOUT;
    const PROMISE: Promise = Promise::CausalImmediate;

    type Meta = Vector;
    type Request = Request;
    type Reply = Reply;
    type Peer = Peer;
    type Hard = Hard;
    type Timer = Timer;
    type View = View;
    type Session = Client<R>;
    type Params = Params;

    fn start(recovered: Recovered<Hard>, cx: &mut Cx<'_, Self>) -> Self {
        let m = cx.me.dc;
        let mut vv = recovered.received;
        vv.raise(m, recovered.hard.ceiling);
        let mut dsv = Vector::zero(cx.topology.dcs);
        if R::DSV_SURVIVES {
            dsv.merge(&recovered.hard.dsv);
            let written_here = cx.store.versions().filter(|version| version.stamp.origin == m);
            written_here.for_each(|version| dsv.merge(&version.meta)); // D2
        }
        cx.arm(Timer::Theta, cx.params.theta_us);
        cx.arm(Timer::Delta, cx.params.delta_us);
        Self {
            tree: Stabilisation::new(cx.me, cx.topology, cx.params.fan_out),
            rotxs: Gather::new(recovered.life),
            arrivals: Waiters::default(),
            ceiling: Ceiling::new(recovered.hard.ceiling),
            durable_dsv: recovered.hard.dsv,
            collector: Collector::default(),
            sent_since_delta: false,
            rules: PhantomData,
            vv,
            dsv,
        }
    }

    fn on_request(&mut self, ticket: Ticket, request: Request, cx: &mut Cx<'_, Self>) {
        match request {
            Request::Get { key, dsv } => self.get(ticket, &key, &dsv, cx),
            Request::Put { key, update, ds } => self.put(ticket, key, update, ds, cx),
            Request::Rotx { keys, dsv, ds } => self.rotx(ticket, keys, dsv, ds, cx),
            Request::Walk { walk, dsv } => {
                self.dsv.merge(&dsv);
                let mut ds = Vector::default();
                let outcome = cx.walk(&walk, &self.fresh(cx.me.dc), |d| depend(&mut ds, d));
                cx.reply(ticket, Reply::Walked { outcome, ds, dsv: self.dsv.clone() });
            }
            Request::Cover { mut ds } => {
                ds[cx.me.dc] = Hlc::ZERO; // what was written here is here
                self.arrivals.park(ds, cx.now + cx.params.wait_limit_us, ticket);
                self.wake(cx);
            }
        }
    }

    fn on_peer(&mut self, from: ServerId, message: Peer, cx: &mut Cx<'_, Self>) {
        match message {
            Peer::Up(report) => {
                if self.tree.on_report(from, report) {
                    self.stabilise(cx);
                }
            }
            Peer::Down(report) => self.adopt_stable(report, cx),
            Peer::SliceReq { id, keys, sv } => {
                let (found, ds) = self.slice(&keys, &sv, cx);
                cx.send(from, Peer::SliceReply { id, found, ds });
            }
            Peer::SliceReply { id, found, ds } => {
                let whole = self.rotxs.answer(id, from, |rotx| rotx.take(found, &ds));
                whole.into_iter().for_each(|rotx| self.finish(rotx, cx));
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
        self.rotxs.reset(peer).into_iter().for_each(|rotx| unavailable(rotx, cx));
    }

    fn on_timer(&mut self, timer: Timer, cx: &mut Cx<'_, Self>) {
        match timer {
            // Algorithm 5.3 lines 1 and 2.
            Timer::Theta => {
                cx.arm(Timer::Theta, cx.params.theta_us);
                self.stabilise(cx);
                self.collector.work(cx.store, |safe, d| d.meta.le(safe) && safe.covers(d.stamp));
                self.rotxs.expire(cx.now).into_iter().for_each(|rotx| unavailable(rotx, cx));
                for ticket in self.arrivals.expire(cx.now) {
                    let why = "this region has not received what the session depends on".to_string();
                    cx.reply(ticket, Reply::Failed(Failure::StaleSession(why)));
                }
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
            View::Fresh { m, dsv, ut_must_be_stable } => {
                stamp.origin == *m || ds.le(dsv) && (!ut_must_be_stable || dsv.covers(stamp))
            }
            View::At { sv } => ds.le(sv) && sv.covers(stamp),
        }
    }

    fn hard(&self) -> Hard {
        Hard { ceiling: self.ceiling.get(), dsv: self.dsv.clone() }
    }

    fn stable(&self) -> Vector {
        self.dsv.clone()
    }

    fn parked(&self) -> usize {
        self.arrivals.len()
    }
}

impl<R: Rules> Server<R> {
    /// Algorithm 5.2 lines 1 to 5.
    fn get(&mut self, ticket: Ticket, key: &Key, dsv: &Vector, cx: &mut Cx<'_, Self>) {
        self.dsv.merge(dsv); // 2
        let d = cx.latest(key, &self.fresh(cx.me.dc)); // 3
        let mut ds = Vector::default();
        d.into_iter().for_each(|d| depend(&mut ds, d)); // 4
        let found = found_of(d);
        cx.reply(ticket, Reply::Got { found, ds, dsv: self.dsv.clone() }); // 5
    }

    /// Algorithm 5.2 lines 6 to 19.
    fn put(&mut self, ticket: Ticket, key: Key, update: Update, mut ds: Vector, cx: &mut Cx<'_, Self>) {
        let m = cx.me.dc;
        if R::PUT_MERGES_DS {
            self.dsv.merge(&ds); // 7
        }
        let mut seen = Vector::default();
        let before = cx.look(&key, &update, &self.fresh(m), |d| depend(&mut seen, d)); // D5
        if !before.proceeds {
            let outcome = Outcome::Written { stamp: None, previous: before.previous };
            return cx.reply(ticket, Reply::Put { outcome, ds: seen });
        }
        ds.merge(&seen);
        let dt = if R::PUT_ABOVE_DSV { ds.max().max(self.dsv[m]) } else { ds.max() }; // 8
        let ut = self.vv[m].observe(cx.now, dt); // 9
        if let Some(ahead_us) = cx.too_far_ahead(ut) {
            return cx.reply(ticket, Reply::Failed(Failure::ClockSkew { ahead_us }));
        }
        self.advance(ut, cx);
        let stamp = Stamp::new(ut, m);
        seen.include(stamp);
        let outcome = Outcome::Written { stamp: Some(stamp), previous: before.previous };
        cx.reply(ticket, Reply::Put { outcome, ds: seen }); // 17
        cx.write(key, Version { stamp, meta: ds, write: update.write }, cx.all_regions()); // 10 to 16, 18, 19
        self.sent_since_delta = true;
    }

    /// Algorithm 5.4 lines 9 to 18.
    fn rotx(&mut self, ticket: Ticket, keys: Vec<Key>, dsv: Vector, ds: Vector, cx: &mut Cx<'_, Self>) {
        self.dsv.merge(&dsv); // 10
        self.dsv.merge(&ds);
        let sv = self.dsv.clone(); // 12
        let mut slices = vec![Vec::new(); cx.topology.partitions];
        let found = vec![Found::default(); keys.len()]; // 11
        for (place, key) in keys.into_iter().enumerate() {
            slices[cx.topology.partition_of(&key).index()].push((place as u32, key));
        }
        let mut rotx = Rotx { ticket, found, ds, sv: sv.clone() };
        let mine = std::mem::take(&mut slices[cx.me.partition.index()]);
        let (found, ds) = self.slice(&mine, &sv, cx);
        rotx.take(found, &ds);
        let asked = slices.into_iter().enumerate().filter(|(_, keys)| !keys.is_empty());
        let asked: Vec<_> =
            asked.map(|(n, keys)| (ServerId::new(cx.me.dc, PartitionId(n as u16)), keys)).collect();
        if asked.is_empty() {
            return self.finish(rotx, cx);
        }
        let servers = asked.iter().map(|(server, _)| *server).collect();
        let id = self.rotxs.open(servers, cx.now + cx.params.wait_limit_us, rotx);
        for (server, keys) in asked {
            cx.send(server, Peer::SliceReq { id, keys, sv: sv.clone() }); // 13, 14
        }
    }

    /// Algorithm 5.4 lines 20 to 24.
    fn slice(
        &mut self,
        keys: &[(u32, Key)],
        sv: &Vector,
        cx: &mut Cx<'_, Self>,
    ) -> (Vec<(u32, Found)>, Vector) {
        let m = cx.me.dc;
        if R::SLICE_LIFTS {
            self.dsv.raise(m, sv[m]); // 21
        }
        let (view, mut ds) = (View::At { sv: sv.clone() }, Vector::default());
        let found = keys.iter().map(|(place, key)| {
            let d = cx.latest(key, &view); // 22
            d.into_iter().for_each(|d| depend(&mut ds, d)); // 23
            (*place, found_of(d))
        });
        (found.collect(), ds)
    }

    fn finish(&mut self, rotx: Rotx, cx: &mut Cx<'_, Self>) {
        cx.reply(rotx.ticket, Reply::Rotx { found: rotx.found, ds: rotx.ds, dsv: self.dsv.clone() }); // 18
    }

    /// Algorithm 5.3 line 2, through the tree.
    fn stabilise(&mut self, cx: &mut Cx<'_, Self>) {
        let mut safe = self.durable_dsv.clone();
        self.rotxs.pending().for_each(|rotx| safe.meet(&rotx.sv)); // D4
        match self.tree.aggregate(Report { stable: self.vv.clone(), safe }) {
            Some(Pass::Up(parent, report)) => cx.send(parent, Peer::Up(report)),
            Some(Pass::Down(report)) => self.adopt_stable(report, cx),
            None => {}
        }
    }

    fn adopt_stable(&mut self, report: Report, cx: &mut Cx<'_, Self>) {
        self.dsv.merge(&report.stable); // I1
        self.collector.raise(&report.safe, cx.store);
        self.tree.children().for_each(|child| cx.send(child, Peer::Down(report.clone())));
        self.wake(cx);
    }

    fn wake(&mut self, cx: &mut Cx<'_, Self>) {
        for ticket in self.arrivals.wake(&self.dsv) {
            cx.reply(ticket, Reply::Covered { dsv: self.dsv.clone() });
        }
    }

    /// Moves the clock, `vv[m]`, and keeps the durable ceiling above it.
    fn advance(&mut self, hlc: Hlc, cx: &mut Cx<'_, Self>) {
        self.vv[cx.me.dc] = hlc;
        if let Some(ceiling) = self.ceiling.renew(hlc) {
            self.durable_dsv = self.dsv.clone();
            cx.persist(Hard { ceiling, dsv: self.dsv.clone() });
        }
    }

    fn fresh(&self, m: DcId) -> View {
        View::Fresh { m, dsv: self.dsv.clone(), ut_must_be_stable: R::UT_MUST_BE_STABLE }
    }
}

impl Rotx {
    fn take(&mut self, found: Vec<(u32, Found)>, ds: &Vector) {
        self.ds.merge(ds); // 16, 17
        found.into_iter().for_each(|(place, found)| self.found[place as usize] = found);
    }
}

/// `maxDS(ds, d.ds ∪ {(d.sr, d.ut)})`.
fn depend(ds: &mut Vector, d: &Version<Vector>) {
    ds.merge(&d.meta);
    ds.include(d.stamp);
}

fn unavailable<R: Rules>(rotx: Rotx, cx: &mut Cx<'_, Server<R>>) {
    let why = "a partition that the transaction reads did not answer".to_string();
    cx.reply(rotx.ticket, Reply::Failed(Failure::Unavailable(why)));
}

/// A session: Algorithm 5.1, and the client side of 5.4.
pub struct Client<R> {
    home: DcId,
    ds: Vector,
    dsv: Vector,
    /// Dependencies that come with a token, once this region covers them.
    arriving: Vector,
    rules: PhantomData<R>,
}

/// What a session hands over.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Token {
    home: DcId,
    ds: Vector,
    dsv: Vector,
}

impl<R: Rules> Session<Server<R>> for Client<R> {
    type Token = Token;

    fn open(home: DcId) -> Self {
        let none = Vector::default();
        Self { home, ds: none.clone(), dsv: none.clone(), arriving: none, rules: PhantomData }
    }

    fn begin(&mut self, op: Op, cx: &mut SessionCx<'_, Server<R>>) {
        cx.may_write(matches!(op, Op::Put { .. }));
        let (ds, dsv) = (self.ds.clone(), self.dsv.clone());
        let partition = match &op {
            Op::Get { key } | Op::Put { key, .. } => cx.topology.partition_of(key),
            Op::Rotx { keys } | Op::Snapshot { keys } => match keys.first() {
                Some(key) => cx.topology.partition_of(key), // D6
                None => return cx.done(Outcome::FoundAll(Vec::new())),
            },
            Op::Scan { partition, .. } | Op::Count { partition } => *partition,
        };
        let request = match op {
            Op::Get { key } => Request::Get { key, dsv },
            Op::Put { key, update } => Request::Put { key, update, ds },
            Op::Rotx { keys } | Op::Snapshot { keys } => Request::Rotx { keys, dsv, ds },
            Op::Scan { cursor, limit, .. } => Request::Walk { walk: Walk::Scan { cursor, limit }, dsv },
            Op::Count { .. } => Request::Walk { walk: Walk::Count, dsv },
        };
        cx.ask_partition(partition, request);
    }

    fn on_reply(&mut self, _ask: AskId, _from: ServerId, reply: Reply, cx: &mut SessionCx<'_, Server<R>>) {
        match reply {
            Reply::Got { found, ds, dsv } => {
                self.learn(&ds, &dsv); // 5.1 lines 4 and 5
                cx.done(Outcome::Found(found));
            }
            Reply::Put { outcome, ds } => {
                self.ds.merge(&ds); // 5.1 line 10
                cx.done(outcome);
            }
            Reply::Rotx { found, ds, dsv } => {
                self.learn(&ds, &dsv); // 5.4 lines 5 and 6
                cx.done(Outcome::FoundAll(found));
            }
            Reply::Walked { outcome, ds, dsv } => {
                self.learn(&ds, &dsv);
                cx.done(outcome);
            }
            Reply::Covered { dsv } => {
                let arrived = std::mem::take(&mut self.arriving);
                self.learn(&arrived, &dsv);
                cx.done(Outcome::Adopted);
            }
            Reply::Failed(failure) => cx.fail(failure),
        }
    }

    fn token(&self) -> Token {
        Token { home: self.home, ds: self.ds.clone(), dsv: self.dsv.clone() }
    }

    fn adopt(&mut self, token: Token, cx: &mut SessionCx<'_, Server<R>>) {
        if token.home == self.home {
            self.learn(&token.ds, &token.dsv);
            return cx.done(Outcome::Adopted);
        }
        if !R::STABLE_STAYS_HOME {
            self.dsv.merge(&token.dsv);
        }
        self.arriving = token.ds.clone();
        cx.ask_partition(PartitionId(0), Request::Cover { ds: token.ds });
    }
}

impl<R> Client<R> {
    fn learn(&mut self, ds: &Vector, dsv: &Vector) {
        self.dsv.merge(dsv);
        self.ds.merge(ds);
    }
}
