//! NuKV: the session guarantees, key by key, of which each request chooses those that it wants.
//!
//! **Idea.** Servers exchange versions as under eventual consistency. A session remembers how far into whose log it has
//! read and written. A read brings that along, and waits where its server has not received as much; a write brings the
//! latest time that it has to win over, and never waits, because a hybrid clock is simply moved above it. An operation
//! that asks for less brings less. Nothing is said between partitions, so that a slow one slows nobody else.
//!
//! **Source.** M. Roohitavaf, J.-S. Ahn, W.-H. Kang et al., *Session Guarantees with Raft and Hybrid Logical Clocks*,
//! ICDCN 2019 (003), algorithms 1 and 2; the dissertation (000), chapter 4. Step numbers are those of PROTOCOLS §14.
//!
//! **Names.** `hrm`, `hwm` a session's highest-read and highest-write matrices, here by partition · `dt_r`, `dt_w` the
//! highest times that it has read, written · `dt` that of a request · `sv` a server's stable vector · `idx` a version's
//! log index at its origin, `x` that in an answer · `t` the time of a version.
//!
//! **Deviations**
//! - D1 A partition of a data centre is a server, and may be a group: `idx` is the number of the version's record in its
//!   log. Followers answer GETs that they need not park, and leave the others to the leader. The feeds of the driver are
//!   the paper's forwarder `XC` and its test for repeats: in order, exactly once, resuming at the record that was
//!   confirmed. They ship what is durable.
//! - D2 (E-6a) A write is answered with its own index, once it is durable. Printed is `sv[d]`, before the commit.
//! - D3 (E-6b) The last writer wins by (t, dc_id, idx). Printed is t alone, which is no total order.
//! - D4 (E-6c) `sv` rises only, and a read is answered with the index of the version that it returns. Printed are an
//!   assignment and `sv[v.dc_id]`, which makes readers that roam wait for more than they saw.
//! - D5 A request brings the maximum of `hrv` and `hwv`, which is what a server waits for.
//! - D6 A read that has waited for [`Params::wait_limit_us`] fails, and says that this region is behind its session.
//! - D7 A conditional update waits as a GET does, has read what decided it, and wins over that whatever it asks for. SCAN
//!   and COUNT read like GET. Of several keys each is read with its guarantees, and there is no snapshot.
//! - D8 Who comes from another region is let in at once: log indexes mean the same everywhere (E-13 does not apply).
//! - D9 The clock rises with what arrives as well, not with requests alone: a write wins over all it could replace.
//! - D10 `nukv-physical` does without the hybrid clock: `t` is physical time, and a write waits for its causes to arrive,
//!   as the paper has it, and until `t` is above its `dt`, which it needs to win.
//! - D11 §2.2 says that times near physical time allow reads of the version "at a given physical time", and not how: `dated.rs`.
//!
//! **Invariants**
//! - I1 Every version of origin d with an index up to `sv[d]` has been applied here.
//! - I2 `hrm` and `hwm` are at or above the index of all that the session has read and written, `dt_r` and `dt_w` the time.
//! - I3 A chain holds one version, the newest, unless older ones are kept for reads at a time (D11); tombstones stay.

use serde::{Deserialize, Serialize};
use tidemark_contract::core::promise::Promise;
use tidemark_contract::core::{DcId, Failure, Found, Hlc, Key, Micros, Op, Outcome, ServerId, Stamp, Update};
use tidemark_contract::early::Alarm;
use tidemark_contract::protocol::Received;
use tidemark_contract::waiters::Threshold;
use tidemark_contract::{
    AskId, Cx, Extensions, Hard, Info, Parts, Protocol, Recovered, Session, SessionCx, Status, Store, Ticket,
    Version, Waiters, Walk, stabilised,
};

mod dated;
mod params;
mod past;
mod reads;
use dated::Dated;
pub use params::Params;
pub use past::{Indexes, Past, Seen};

tidemark_contract::rules! {
    READS_WAIT,
    FOLLOWERS_LOOK, // at what the session has seen, D1
    SV_RISES, // D4
    SV_SURVIVES, // I1
    READS_ANSWER_IDX, // D4
    WRITES_ANSWER_IDX, // D2
    TIES_ARE_BROKEN, // D3
    DT_COVERS_READS,
    DT_COVERS_WRITES,
    PUT_ABOVE_DT,
    PUT_ABOVE_OBSERVED, // D7
    PAST_MOVES; // D8
    of stabilised: READS_AT_STABLE, READS_ABOVE_HORIZON // D11
}

/// Those that do not concern reads at a time.
const WITHOUT_DATES: &[tidemark_contract::Rule] = RULES.split_at(RULES.len() - 2).0;

// The listings as printed (E-6).
tidemark_contract::variants! {
    "nukv-published", "as printed: wrong (writes answered with an index below their own, ties)":
        SV_RISES, READS_ANSWER_IDX, WRITES_ANSWER_IDX, TIES_ARE_BROKEN;
}

/// What is done.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[allow(missing_docs)]
pub enum What {
    Get(Vec<Key>),         // of one partition
    Put(Key, Update, Hlc), // dt
    Walk(Walk),
    At(Vec<Key>, Micros), // of one partition: D11
}

/// What a session asks: where it looks, after `sv` has reached these.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Request(pub What, pub Indexes);

/// What a server answers, and what that has read and written.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct Reply {
    pub outcome: Outcome,
    pub read: Seen,
    pub wrote: Seen,
}

/// Servers say nothing to each other.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Peer {}

/// When one of those who wait has waited long enough, the clock is where a write wants it, or a heartbeat is due (D11).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Timer;

/// A write that came before its time: `dt`, and when it is given up.
struct Early(Ticket, Key, Update, Hlc, Micros);

/// With a hybrid clock.
pub type NuKv = Server<true>;
/// Without (D10): the clock is physical, and writes wait.
pub type NuKvPhysical = Server<false>;

/// A server: a leader `L_d`, and its group.
pub struct Server<const HYBRID: bool> {
    hlc: Hlc,
    sv: Indexes,
    waiting: Waiters<Indexes, (Ticket, What)>,
    early: Waiters<Hlc, Early>,
    dated: Dated,
    alarm: Alarm,
}

impl<const HYBRID: bool> Protocol for Server<HYBRID> {
    const INFO: Info = Info::new(
        if HYBRID { "nukv" } else { "nukv-physical" },
        if HYBRID {
            "session guarantees key by key; each request chooses which, and writes never wait"
        } else {
            "nukv without the hybrid clock: writes wait for what they follow, and for the time"
        },
        Promise::Session,
    )
    .newest_only() // I3
    .reads_at_a_time(HYBRID)
    .guarantees()
    .rules(if HYBRID { RULES } else { WITHOUT_DATES })
    .variants(if HYBRID { VARIANTS } else { &[] });
    const EXTENSIONS: Extensions<Self> = Extensions {
        accepts: Some(Self::accepts),
        follower_read: Some(Self::get_behind),
        ..Extensions::NONE
    };
    type Meta = u64; // idx
    type Request = Request;
    type Reply = Reply;
    type Peer = Peer;
    type Hard = Hard; // D11
    type Timer = Timer;
    type View = ();
    type Session = Client<HYBRID>;
    type Params = Params;
    type Component = ();

    fn start(recovered: Recovered<Hard>, cx: &mut Cx<'_, Self>) -> Self {
        let hlc = recovered.received.max().max(recovered.hard.ceiling);
        let dated = Dated::start(&recovered, cx);
        let sv = if SV_SURVIVES.kept() { Indexes(recovered.records) } else { Indexes::default() }; // I1, D1
        let (waiting, early, alarm) = (Waiters::default(), Waiters::default(), Alarm::default());
        Self { hlc, sv, waiting, early, dated, alarm }
    }

    /// GET, step 1; PUT.
    fn on_request(&mut self, ticket: Ticket, Request(what, after): Request, cx: &mut Cx<'_, Self>) {
        if !READS_WAIT.kept() || after.reached(&self.sv) {
            return self.serve(ticket, what, cx);
        }
        self.waiting.park(after, cx.mono + cx.params.wait_limit_us, (ticket, what));
        self.wait(cx);
    }

    /// Replicate and commit.
    fn on_replicate(&mut self, from: ServerId, item: Received<'_, u64>, cx: &mut Cx<'_, Self>) {
        for (_, d) in item.versions {
            self.hlc = self.hlc.max(d.stamp.ts); // D9
            self.applied(from.dc, d.meta, cx);
        }
        self.heard(from.dc, item.upto, cx);
    }

    fn on_timer(&mut self, _: Timer, cx: &mut Cx<'_, Self>) {
        self.alarm.rang(Hlc::at(cx.now));
        for Early(ticket, key, update, dt, deadline) in self.early.wake(&Hlc::at(cx.now)) {
            self.put(ticket, (key, update), dt, deadline, cx);
        }
        for Early(ticket, _, _, dt, _) in self.early.expire(cx.mono) {
            let ahead_us = dt.micros().saturating_sub(cx.now);
            fail(ticket, Failure::ClockSkew { ahead_us }, cx);
        }
        let why = "this region has not received what the session has seen; try again, or ask for less";
        for (ticket, _) in self.waiting.expire(cx.mono) {
            fail(ticket, Failure::StaleSession(why.to_string()), cx); // D6
        }
        self.beat(cx);
        self.wait(cx);
    }

    fn visible(_: &(), _: Stamp, _: &u64) -> bool {
        true
    }

    fn status(&self) -> Status {
        Status::new(Default::default(), self.waiting.len() + self.early.len() + self.dated.waiting())
    }
}

impl<const HYBRID: bool> Server<HYBRID> {
    /// What is applied of each data centre's log.
    pub fn sv(&self) -> &Indexes {
        &self.sv
    }

    /// D3. Where time alone decides, the version that came first stays.
    fn accepts(store: &Store<u64>, key: &Key, d: &Version<u64>) -> bool {
        TIES_ARE_BROKEN.kept() || store.chain(key).next().is_none_or(|newest| newest.stamp.ts != d.stamp.ts)
    }

    fn serve(&mut self, ticket: Ticket, what: What, cx: &mut Cx<'_, Self>) {
        let mut read = Seen::default();
        let outcome = match what {
            What::Put(key, update, dt) => {
                return self.put(ticket, (key, update), dt, cx.mono + cx.params.wait_limit_us, cx);
            }
            What::Get(keys) => return cx.reply(ticket, Self::get(&keys, &self.sv, cx.store())),
            What::At(keys, time) => return self.at(ticket, keys, time, cx),
            What::Walk(walk) => cx.walk(&walk, &(), |d| Self::read(d, &self.sv, &mut read)),
        };
        cx.reply(ticket, Reply { outcome, read, wrote: Seen::default() });
    }

    /// PUT, steps 1 and 2.
    fn put(
        &mut self,
        ticket: Ticket,
        (key, update): (Key, Update),
        dt: Hlc,
        deadline: Micros,
        cx: &mut Cx<'_, Self>,
    ) {
        let (mut read, mut wrote) = (Seen::default(), Seen::default());
        let looked = cx.look(&key, update.clone(), &(), |d| Self::read(d, &self.sv, &mut read)); // D7
        let (mut stamp, previous) = (None, looked.previous);
        if let Some(write) = looked.write {
            let above = if PUT_ABOVE_DT.kept() { dt } else { Hlc::ZERO };
            let above = if PUT_ABOVE_OBSERVED.kept() { above.max(read.t) } else { above };
            let t = if HYBRID { self.hlc.observe(cx.now, above) } else { Hlc::at(cx.now) };
            if let Some(ahead_us) = cx.too_far_ahead(t.max(above)) {
                return fail(ticket, Failure::ClockSkew { ahead_us }, cx);
            }
            if t <= above {
                self.early.park(above.next(), deadline, Early(ticket, key, update, dt, deadline)); // D10
                return self.wait(cx);
            }
            self.hlc = t;
            let (d, idx) = (cx.me.dc, self.sv.get(cx.me.dc) + 1);
            // The low bits tell apart what was written within one microsecond (D3, D10).
            let new = Stamp { ts: t, origin: d, seq: idx as u32 };
            cx.write(key, Version { stamp: new, meta: idx, write });
            wrote.x.raise(d, if WRITES_ANSWER_IDX.kept() { idx } else { idx - 1 }); // D2
            (wrote.t, stamp) = (t, Some(new));
        }
        cx.reply(ticket, Reply { outcome: Outcome::Written { stamp, previous }, read, wrote: wrote.clone() });
        if stamp.is_some() {
            self.applied(cx.me.dc, self.sv.get(cx.me.dc) + 1, cx);
        }
    }

    /// A version of `origin` is here.
    fn applied(&mut self, origin: DcId, idx: u64, cx: &mut Cx<'_, Self>) {
        if SV_RISES.kept() {
            self.sv.raise(origin, idx); // D4
        } else {
            self.sv.set(origin, idx);
        }
        self.waiting.wake(&self.sv).into_iter().for_each(|(ticket, what)| self.serve(ticket, what, cx));
    }

    fn wait(&mut self, cx: &mut Cx<'_, Self>) {
        let clock = self.early.least().map(|t| self.alarm.until(*t, cx));
        let dated = self.dated.next();
        let deadlines =
            [self.waiting.next_deadline(), self.early.next_deadline(), dated].into_iter().flatten();
        let next = deadlines.map(|at| at.saturating_sub(cx.mono)).chain(clock).min();
        next.into_iter().for_each(|delay| self.alarm.ring(Timer, delay, cx));
    }
}

fn fail<const HYBRID: bool>(ticket: Ticket, failure: Failure, cx: &mut Cx<'_, Server<HYBRID>>) {
    let outcome = Outcome::Failed(failure);
    cx.reply(ticket, Reply { outcome, read: Seen::default(), wrote: Seen::default() });
}

/// A session.
pub struct Client<const HYBRID: bool> {
    past: Past,
    /// The read of several keys that runs.
    parts: Parts<Found>,
}

impl<const HYBRID: bool> Session<Server<HYBRID>> for Client<HYBRID> {
    type Token = Past;

    fn open(_: DcId) -> Self {
        Self { past: Past::default(), parts: Parts::default() }
    }

    fn begin(&mut self, op: Op, cx: &mut SessionCx<'_, Server<HYBRID>>) {
        let Some(server) = cx.begin(&op) else { return };
        let (past, asked, topology) = (&self.past, cx.guarantees, cx.topology);
        let after = past.reads_after(server.partition, asked);
        let request = match op {
            Op::Get { key } => Request(What::Get(vec![key]), after),
            Op::Put { key, update } => {
                let mut after = if update.observes() { after } else { Indexes::default() };
                if !HYBRID {
                    after.merge(&past.writes_follow(server.partition, asked)); // D10
                }
                Request(What::Put(key, update, past.writes_after(asked)), after)
            }
            Op::Rotx { keys } | Op::Snapshot { keys } => {
                let after = |keys: &[Key]| past.reads_after(topology.partition_of(&keys[0]), asked);
                let request = |keys: Vec<Key>| Request(What::Get(keys.clone()), after(&keys));
                self.parts = Parts::ask(&keys, request, cx); // D7
                return;
            }
            Op::At { keys, time } => {
                let request = |keys| Request(What::At(keys, time), Indexes::default());
                self.parts = Parts::ask(&keys, request, cx); // D11
                return;
            }
            walk => Request(What::Walk(Walk::of(&walk)), after),
        };
        cx.ask(server, request);
    }

    fn on_reply(&mut self, ask: AskId, from: ServerId, reply: Reply, cx: &mut SessionCx<'_, Server<HYBRID>>) {
        self.past.learn(from.partition, &reply.read, &reply.wrote); // GET, step 4; PUT
        let outcome = match reply.outcome {
            Outcome::FoundAll(found) if self.parts.heard(ask, found.iter().cloned()) => {
                let Some(all) = self.parts.whole() else { return };
                Outcome::FoundAll(all)
            }
            Outcome::FoundAll(found) => Outcome::Found(found.into_iter().next().unwrap_or_default()),
            outcome => outcome,
        };
        self.parts = Parts::default();
        cx.done(outcome);
    }

    fn on_lost(&mut self, _: AskId, cx: &mut SessionCx<'_, Server<HYBRID>>) {
        self.parts = Parts::default();
        cx.lost();
    }

    fn token(&self) -> Past {
        self.past.clone()
    }

    fn adopt(&mut self, past: Past, cx: &mut SessionCx<'_, Server<HYBRID>>) {
        if PAST_MOVES.kept() {
            self.past.merge(&past); // D8
        }
        cx.done(Outcome::Adopted);
    }
}
