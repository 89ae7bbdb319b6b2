//! Contrarian: read-only transactions of two rounds, or one and a half, that never block and move one version, so
//! that writes pay nothing for them.
//!
//! **Idea.** Transactions of one round have a price, and writes pay it (CC-LO). Contrarian asks twice instead: a
//! coordinator names a snapshot, one time a data centre, and the session then reads in it at each partition. The
//! snapshot's entry of its own data centre is the coordinator's clock, and hybrid clocks move up to it at once, so
//! nobody waits for one; the others are what is stable. Or the coordinator passes the question on with the snapshot,
//! and each partition answers the session: the same reads in three steps instead of four ([`Rounds`]).
//!
//! **Source.** D. Didona et al., *Causal consistency and latency optimality*, VLDB 2018 (002), §4 and §5; of one and a
//! half rounds tells the abstract of an earlier version (arXiv 1803.04237).
//!
//! **Names.** `st.vv` VV, the version vector (`vv[m]` is the server's HLC) · `st.stable` or `gss` GSS, the global stable
//! snapshot · `dv` DV, dependencies of a version with `DV[sr] = ut` among them, or what a session depends on (DV_c) ·
//! `sv` SV, a snapshot · θ, Δ in [`Params`].
//!
//! **Deviations**
//! - D1 The paper does not say how long a snapshot that a session was given can be read. Its coordinator keeps
//!   collection below it for [`Params::lease_us`]; a server that has collected more refuses, and the session asks
//!   for another snapshot, which covers what the server has collected.
//! - D2 (E-12) The persisted ceiling covers what reads promise too: no later write lies in a snapshot that was read
//!   here. What was stable need not survive for safety, since snapshots cover what their sessions depend on; it does
//!   because collection has used it.
//! - D3 (E-13) A session that moves brings its `dv`, and waits until the region's stable snapshot covers it.
//! - D4 A conditional update depends on the version that decided it, which it finds as a GET does; so does its
//!   session. SCAN and COUNT read like GET.
//! - D5 Clocks are not exchanged while stabilising: they tick by physical time, which is as fresh.
//! - D6 The steps of one and a half rounds are ours, for the paper has only two: the coordinator alone decides. Its own
//!   slice is one like the others; sessions always send their keys, and cope with either answer.
//!
//! **Invariants**
//! - I1 For i ≠ m, `gss[i]` and the `dv[i]` of sessions of this data centre never exceed `vv[i]` of any of its servers.
//! - I2 A version's `ut` is above the other entries of its `dv`, and above `sv[m]` of every snapshot read before
//!   where it was written.

use tidemark_contract::Reads;
use tidemark_contract::cx::Read as Single;
use tidemark_contract::prelude::*;
use tidemark_contract::slices::by_partition;
pub use tidemark_contract::stabilised::Timer;
use tidemark_contract::stabilised::{self, FoundSlice, Never, Stabilised, StableTime};

tidemark_contract::rules! {
    SV_COVERS_DV, // the first round
    READ_LIFTS_CLOCK, // the second
    PUT_ABOVE_DV,
    REFUSES_COLLECTED, // D1
    CEILING_COVERS_READS, // D2
    STABLE_STAYS_HOME; // D3
    of stabilised: STABLE_SURVIVES, CLOCK_SURVIVES, OFFERS_WHAT_IS_DURABLE // D2
}

/// How a coordinator goes on with a transaction that it has named a snapshot for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rounds {
    /// It answers, and the session asks the partitions: four steps.
    Two,
    /// It asks the partitions, and they answer the session: three steps, and more work for servers.
    OneAndAHalf,
}

/// The numbers: those of the paper's evaluation; the lease is ours (D1).
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// What a read-only transaction takes: `two`, or `one-and-a-half`.
    pub rounds: Rounds,
    /// θ: how often a server passes on what it has received.
    pub theta_us: Micros,
    /// Δ: how long a server that writes nothing lets its peers wait for a heartbeat.
    pub delta_us: Micros,
    /// Children of a node of the aggregation tree.
    pub fan_out: usize,
    /// How long collection stays below a snapshot that was given to a session.
    pub lease_us: Micros,
    /// How long a session that moved here waits for what it depends on.
    pub wait_limit_us: Micros,
}

impl tidemark_contract::Params for Params {}

impl Default for Params {
    fn default() -> Self {
        let (theta_us, delta_us, lease_us, wait_limit_us) = (5_000, 1_000, 100_000, 2_000_000);
        Self { rounds: Rounds::Two, theta_us, delta_us, fan_out: 2, lease_us, wait_limit_us }
    }
}

/// What a session asks.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[allow(missing_docs)]
pub enum Request {
    Get(Key, Vector),              // both rounds at the owner, DV_c
    Put(Key, Update, Vector),      // k, v, DV_c
    Start(Vec<Key>, Vector),       // the first round: ks, DV_c
    Read(Vec<(u32, Key)>, Vector), // the second: keys of one partition with their places, SV
    Walk(Walk, Vector),            // D4
    Cover(Vector),                 // D3: wait for what DV_c names
}

/// What a server answers.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Reply {
    /// An outcome, and the DV of what was read or written.
    Done(Outcome, Vector),
    /// SV.
    Snapshot(Vector),
    /// What a partition found, each with its place in the answer, and what the reader comes to depend on.
    Slice(Vec<(u32, Found)>, Vector),
    /// D1: versions of the snapshot were collected; a new one has to cover this.
    TooOld(Vector),
}

impl From<Answer<Vector>> for Reply {
    fn from(Answer(outcome, dv): Answer<Vector>) -> Self {
        Self::Done(outcome, dv)
    }
}

impl From<Failure> for Reply {
    fn from(failure: Failure) -> Self {
        Self::Done(Outcome::Failed(failure), Vector::default())
    }
}

/// A slice that answers its session (D6): whom to answer, keys, SV.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Read(pub Ticket, pub Vec<(u32, Key)>, pub Vector);

/// What the servers of a data centre say to each other. No coordinator waits for slices.
pub type Peer = stabilised::Peer<Never, (), Read>;

/// What a reader can see: what SV covers, wherever it was written.
pub struct View(Vector);

/// A server, `p_n^m`.
pub struct Contrarian {
    st: Stabilised<Self>,
    /// Snapshots that were given out, and until when collection stays below them (D1).
    leases: Vec<(Micros, Vector)>,
    /// Up to here collection may have gone in an earlier life.
    collected_before: Vector,
}

const ABOUT: &str = "causal+, snapshots of two rounds that never block; local writes show a moment later";

impl Protocol for Contrarian {
    const INFO: Info = Info::new("contrarian", ABOUT, Promise::CausalSnapshot).partial().rules(RULES);
    type Meta = Vector; // DV
    type Request = Request;
    type Reply = Reply;
    type Peer = Peer;
    type Hard = Hard;
    type Timer = Timer;
    type View = View;
    type Session = Client;
    type Params = Params;
    type Component = Stabilised<Self>;

    fn start(was: Recovered<Hard>, cx: &mut Cx<'_, Self>) -> Self {
        let &Params { theta_us, delta_us, fan_out, wait_limit_us, .. } = cx.params;
        let params = stabilised::Params { theta_us, delta_us, fan_out, wait_limit_us };
        let st = Stabilised::start(&was, params, cx);
        Self { st, leases: Vec::new(), collected_before: was.hard.stable }
    }

    fn on_request(&mut self, ticket: Ticket, request: Request, cx: &mut Cx<'_, Self>) {
        match request {
            Request::Get(key, dv) => self.find(ticket, &Single::Get(key), &dv, cx),
            Request::Walk(walk, dv) => self.find(ticket, &Single::Walk(walk), &dv, cx), // D4
            Request::Put(key, update, dv) => self.put(ticket, key, update, dv, cx),
            Request::Start(keys, dv) => self.coordinate(ticket, keys, &dv, cx),
            Request::Read(keys, sv) => self.read(ticket, &keys, sv, cx),
            Request::Cover(dv) => {
                let needs = (dv.without(cx.me.dc), dv); // what was written here is here
                stabilised::arrive(self, ticket, needs, |_, dv| Reply::Done(Outcome::Adopted, dv), cx);
            }
        }
    }

    fn on_peer(&mut self, from: ServerId, message: Peer, cx: &mut Cx<'_, Self>) {
        match message {
            Peer::Own(Read(ticket, keys, sv)) => self.read(ticket, &keys, sv, cx),
            message => stabilised::on_peer(self, from, message, cx),
        }
    }

    fn visible(View(sv): &View, _: Stamp, dv: &Vector) -> bool {
        dv.le(sv)
    }

    fn status(&self) -> Status {
        Status::new(self.st.stable.clone(), self.st.waiting())
    }
}

impl StableTime for Contrarian {
    fn stabilised(&mut self) -> &mut Stabilised<Self> {
        &mut self.st
    }

    fn slice(&mut self, at: Never, _: &Several<(u32, Key)>, _: &mut Cx<'_, Self>) -> FoundSlice<Self> {
        match at {}
    }

    fn leased(&self) -> impl Iterator<Item = Vector> {
        self.leases.iter().map(|(_, sv)| sv.clone())
    }

    fn settled(&mut self, safe: &Vector, _: DcId, d: &Version<Vector>) -> bool {
        d.meta.le(safe)
    }

    fn theta(&mut self, cx: &mut Cx<'_, Self>) {
        self.leases.retain(|(until, _)| *until > cx.mono);
        stabilised::theta(self, cx);
    }
}

impl Contrarian {
    /// The first round, and in one and a half the way to the second.
    fn coordinate(&mut self, ticket: Ticket, keys: Vec<Key>, dv: &Vector, cx: &mut Cx<'_, Self>) {
        let sv = self.snapshot(dv, cx);
        self.leases.push((cx.mono + cx.params.lease_us, sv.clone())); // D1
        if cx.params.rounds == Rounds::Two {
            return cx.reply(ticket, Reply::Snapshot(sv));
        }
        for (of, keys) in by_partition(keys, cx.topology) {
            cx.send(ServerId::new(cx.me.dc, of), Peer::Own(Read(ticket, keys, sv.clone())));
        }
    }

    /// `SV[m] = max(HLC, DV_c[m])`, `SV[i] = max(GSS[i], DV_c[i])`.
    fn snapshot(&mut self, dv: &Vector, cx: &mut Cx<'_, Self>) -> Vector {
        let m = cx.me.dc;
        self.lift(Hlc::at(cx.now).max(dv[m]), cx);
        let mut sv = self.st.stable.clone();
        if SV_COVERS_DV.kept() {
            sv.merge(dv);
        }
        sv.raise(m, self.st.vv[m]);
        sv
    }

    /// GET: both rounds at the owner.
    fn find(&mut self, ticket: Ticket, read: &Single, dv: &Vector, cx: &mut Cx<'_, Self>) {
        let (view, mut seen) = (View(self.snapshot(dv, cx)), Vector::default());
        let outcome = cx.find(read, &view, |d| seen.merge(&d.meta));
        cx.answer(ticket, outcome, seen);
    }

    /// The second round, at one partition.
    fn read(&mut self, ticket: Ticket, keys: &[(u32, Key)], sv: Vector, cx: &mut Cx<'_, Self>) {
        let mut collected = self.collected_before.clone();
        collected.merge(self.st.safe());
        if REFUSES_COLLECTED.kept() && !collected.le(&sv) {
            return cx.reply(ticket, Reply::TooOld(collected)); // D1
        }
        if READ_LIFTS_CLOCK.kept() {
            self.lift(sv[cx.me.dc], cx);
        }
        let mut seen = Vector::default();
        let found = cx.read(keys, &View(sv), |d| seen.merge(&d.meta));
        cx.reply(ticket, Reply::Slice(found, seen));
    }

    /// PUT.
    fn put(&mut self, ticket: Ticket, key: Key, update: Update, mut dv: Vector, cx: &mut Cx<'_, Self>) {
        let m = cx.me.dc;
        let view = View(if update.observes() { self.snapshot(&dv, cx) } else { Vector::default() });
        let see = |seen: &mut Vector, d: &Version<_>| seen.merge(&d.meta); // D4
        let (outcome, seen) = cx.update(&key, update, &view, Vector::default(), see, |seen, cx| {
            dv.merge(seen);
            let above = if PUT_ABOVE_DV.kept() { dv.max() } else { Hlc::ZERO };
            let new = cx.stamp_above(self.st.vv[m], above)?;
            self.st.written(new.ts, cx);
            dv[m] = new.ts;
            seen.include(new);
            Ok(Draft::new(new, dv))
        });
        cx.answer(ticket, outcome, seen);
    }

    /// Moves the clock up to `hlc`, if it is behind: later writes here lie above it.
    fn lift(&mut self, hlc: Hlc, cx: &mut Cx<'_, Self>) {
        if hlc > self.st.vv[cx.me.dc] {
            match CEILING_COVERS_READS.kept() {
                true => self.st.advance(hlc, cx), // D2
                false => self.st.vv[cx.me.dc] = hlc,
            }
        }
    }
}

/// A session.
pub struct Client {
    /// Its past is DV_c.
    token: Token<Vector>,
    /// The transaction that runs.
    rot: Reads<Vector>,
}

impl Client {
    /// The first round, or one and a half: asks for a snapshot that covers `dv`.
    fn start(&mut self, dv: Vector, cx: &mut SessionCx<'_, Contrarian>) {
        let slices = self.rot.slices(cx.topology).into_keys();
        let coordinator = ServerId::new(cx.dc, cx.topology.partition_of(&self.rot.keys()[0]));
        let ask = cx.ask_through(coordinator, Request::Start(self.rot.keys().to_vec(), dv)); // D6
        self.rot.expect(slices.map(|of| (ask, of)));
    }

    /// The second round: to each partition its keys.
    fn read(&mut self, sv: &Vector, cx: &mut SessionCx<'_, Contrarian>) {
        let slices = self.rot.slices(cx.topology).into_iter();
        self.rot.expect(slices.map(|(of, keys)| (cx.ask_partition(of, Request::Read(keys, sv.clone())), of)));
    }
}

impl Session<Contrarian> for Client {
    type Token = Token<Vector>;

    fn open(home: DcId) -> Self {
        let token = Token { home, past: Vector::default() };
        Self { token, rot: Reads::default() }
    }

    fn begin(&mut self, op: Op, cx: &mut SessionCx<'_, Contrarian>) {
        self.rot = Reads::default();
        let Some(server) = cx.begin(&op) else { return };
        let dv = self.token.past.clone();
        let request = match op {
            Op::Get { key } => Request::Get(key, dv),
            Op::Put { key, update } => Request::Put(key, update, dv),
            Op::Rotx { keys } | Op::Snapshot { keys } => {
                self.rot = Reads::new(keys);
                return self.start(dv, cx);
            }
            walk => Request::Walk(Walk::of(&walk), dv),
        };
        cx.ask(server, request);
    }

    fn on_reply(&mut self, ask: AskId, from: ServerId, reply: Reply, cx: &mut SessionCx<'_, Contrarian>) {
        match reply {
            Reply::Done(outcome, dv) => {
                self.token.past.merge(&dv);
                cx.done(outcome);
            }
            Reply::Slice(found, seen) => {
                let whole = self.rot.hear((ask, from.partition), found, |all| all.merge(&seen));
                let Some((found, seen)) = whole else { return };
                self.token.past.merge(&seen);
                cx.done(Outcome::FoundAll(found));
            }
            Reply::Snapshot(_) | Reply::TooOld(_) if !self.rot.waits_for(ask) => {} // of a snapshot given up already
            Reply::Snapshot(sv) => self.read(&sv, cx),
            Reply::TooOld(collected) => {
                let mut dv = self.token.past.clone();
                dv.merge(&collected);
                self.start(dv, cx); // D1
            }
        }
    }

    /// A coordinator that has named its snapshot is not needed any more.
    fn on_lost(&mut self, ask: AskId, cx: &mut SessionCx<'_, Contrarian>) {
        if self.rot.keys().is_empty() || self.rot.waits_for(ask) {
            cx.lost();
        }
    }

    fn token(&self) -> Token<Vector> {
        self.token.clone()
    }

    fn adopt(&mut self, Token { home, past: dv }: Token<Vector>, cx: &mut SessionCx<'_, Contrarian>) {
        if home == self.token.home || !STABLE_STAYS_HOME.kept() {
            self.token.past.merge(&dv);
            return cx.done(Outcome::Adopted);
        }
        cx.ask_partition(Default::default(), Request::Cover(dv)); // D3
    }
}
