//! Hybrid: one number a version, and a list of nearest causes that is looked at only if somebody reads what the
//! number cannot vouch for yet.
//!
//! **Idea.** A stable time costs a version one number, and its readers wait for the farthest region. Lists of causes
//! show a version as soon as they are there, for messages about each version, read or not. Here a version has both. It
//! shows once the stable time has passed it; if it is asked for before, its server asks siblings for those causes that
//! the stable time has not passed either. So writes show as early as in COPS, and only what is read early is checked.
//! Causes that are stable in every region are not listed to begin with, which bounds what is carried.
//!
//! **Source.** Proposed as future work in the dissertation (000 §9.1); PROTOCOLS §17 sketches it; we know of nobody who
//! built it. The stable time is GentleRain's on hybrid clocks, the checks are those of COPS, on operations (E-4). Steps
//! are numbered as in `docs/protocols.md`.
//!
//! **Names.** `vv` VV, the version vector (`vv[m]` is the server's HLC) · `gst` GST, up to which everything has arrived
//! at every server of the data centre · `ust` the least GST of all data centres · `near` nearest causes above `ust` ·
//! `floor` the `ust` that they leave out · `dt` the latest time that a session has seen · `ut` update time · `st`
//! snapshot time · θ [`Params::theta_us`] · Δ [`Params::delta_us`].
//!
//! **Deviations** from §17, which is wrong where it says "repaired"
//! - D1 (repaired) One time vouches, not a vector. That a version and its nearest causes are below a stable *vector* says
//!   nothing of causes of causes, which a third region wrote: lists are nearest, and stamps alone rise along all causes.
//! - D2 (repaired) A cause that a sibling vouches for by its GST is covered by that alone. So siblings tell their GST
//!   with every check, which the reader takes along; and they are asked after causes written in this data centre, too.
//! - D3 A version carries its floor, and whoever receives it adopts that as a GST, which it is: this data centre said so.
//! - D4 (E-12, repaired) That a version showed by its list is logged before anybody learns of it, with the GST of that
//!   moment; one written here keeps that of its PUT. A restarted server begins at the largest of these, and floors.
//! - D5 A GET waits for the newest version, until the first θ after [`Params::check_wait_us`]; if that was in vain it
//!   returns the newest that shows, and the check goes on. SCAN, COUNT and conditional updates, which depend on what
//!   decided them, wait for nothing.
//! - D6 ROTX waits until GST has passed `dt`. A snapshot is everything up to the GST of its coordinator, the owner of its
//!   first key: §17 would have CausalSpartanX's with a vector, to which what was read by its list is unknown (E-3).
//! - D7 (E-13) A session that moves waits until its listed causes show in the new region, and adopts its `ust` as GST.
//! - D8 Beyond [`most_deps`] the rest of a list become causes on *all* that a server wrote up to a time.
//!
//! **Invariants**
//! - I1 `gst` never falls; every server of the data centre has received all up to it, and writes above it.
//! - I2 If a version shows, each version in its past shows in this data centre to whoever comes with the GST that it
//!   keeps ([`Meta::since`]), as whoever has read it does.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use tidemark_contract::core::promise::Promise;
use tidemark_contract::core::{
    DcId, Failure, Hlc, Key, Micros, Op, Outcome, PartitionId, ServerId, Stamp, Update, Vector,
};
use tidemark_contract::{
    Answer, Ceiling, Check, Checks, Cx, Deps, Draft, Hard, Info, OneRound, OneRoundSession, Past as _,
    Protocol, Reach, Recovered, Report, SliceReply, SliceReq, Slices, Stabilisation, Status, Ticket, Tree,
    Version, Waiters, Walk, found_of, not_covered, unanswered,
};

tidemark_contract::rules! {
    CHECKS_CAUSES, // 2
    CAUSES_HAVE_CAUSES, // 3, D1
    CHECKS_TELL_GST, // 3, D2
    ASKS_AFTER_OWN, // 2, D2
    PUT_CARRIES_GST, // 6: E-1
    PUT_ABOVE_PAST, // 6
    FLOOR_IS_ADOPTED, // 7, D3
    FORGETS_ONLY_EVERYWHERE, // 8
    ROTX_WAITS, // 9, D6
    MARKS_SURVIVE, // 4, D4
    GST_SURVIVES, // D4
    MOVERS_WAIT, // D7
    STABLE_STAYS_HOME, // D7
    LISTS_ARE_LONG, // D8; safe without: for schedules that are too small to have long lists
}

/// D8: how many causes are listed one by one.
pub fn most_deps() -> usize {
    if LISTS_ARE_LONG.kept() { 64 } else { 2 }
}

/// The numbers.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// θ: how often a server passes on what it has received.
    pub theta_us: Micros,
    /// Δ: how long a server that writes nothing lets its peers wait for a heartbeat.
    pub delta_us: Micros,
    /// Children of a node of the aggregation tree.
    pub fan_out: usize,
    /// How long a GET waits for the causes of a version, and then for θ; at 0 it does not: the check is for the next.
    pub check_wait_us: Micros,
    /// How often a check that is not answered is asked again.
    pub retry_us: Micros,
    /// How long a ROTX, or a session that moved here, waits.
    pub wait_limit_us: Micros,
}

impl tidemark_contract::Params for Params {}

impl Default for Params {
    fn default() -> Self {
        let (theta_us, delta_us, fan_out) = (5_000, 5_000, 2);
        Self {
            theta_us,
            delta_us,
            fan_out,
            check_wait_us: 2_000,
            retry_us: 500_000,
            wait_limit_us: 2_000_000,
        }
    }
}

/// What is stored beside a version.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Meta {
    /// Its nearest causes above `floor`; none once it shows, for nobody asks again.
    pub near: Deps,
    /// What is not listed was stable up to here, in every data centre.
    pub floor: Hlc,
    /// It shows, and did so first under this GST (D4). Not shipped.
    pub since: Option<Hlc>,
}

/// What a session remembers, and what an answer adds to it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct Past {
    pub near: Deps,
    pub dt: Hlc,
    pub gst: Hlc,
    pub ust: Hlc,
}

impl Past {
    fn see(&mut self, partition: PartitionId, stamp: Stamp) {
        self.near.include(partition, stamp);
        self.dt = self.dt.max(stamp.ts);
    }
}

impl tidemark_contract::Past for Past {
    type Said = Self;

    fn merge(&mut self, other: &Self) {
        self.dt = self.dt.max(other.dt);
        self.gst = self.gst.max(other.gst);
        self.ust = self.ust.max(other.ust);
        self.near.merge(&other.near);
        self.near.retain(|dep| dep.stamp.ts > self.ust); // 8
    }

    fn reach(&self, home: DcId) -> Reach {
        self.near.reach_with(home, self.dt.max(self.gst).max(self.ust))
    }

    /// What a session wrote depends on all that it knew: from then on that is all it has to list.
    fn learn(&mut self, outcome: &Outcome, said: &Past) {
        if matches!(outcome, Outcome::Written { stamp: Some(_), .. }) {
            self.near = Deps::default(); // 6
        }
        self.merge(said);
        self.near.bound(most_deps()); // D8
    }
}

/// What a session asks.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[allow(missing_docs)]
pub enum Request {
    Get(Key, Hlc), // gst
    Put(Key, Update, Past),
    Rotx(Vec<Key>, Hlc, Hlc), // dt, gst
    Walk(Walk, Hlc),          // gst
    Cover(Past),              // D7
}

/// What servers say to each other.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[allow(missing_docs)]
pub enum Peer {
    Tree(Tree),
    Stable(Hlc),       // between roots: the sender's GST (8)
    Check(Check, Hlc), // and the sender's GST (D2)
    SliceReq(SliceReq<Hlc>),
    SliceReply(SliceReply<Past>),
}

/// Timers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs)]
pub enum Timer {
    Theta,
    Delta,
    Retry,
}

/// What a reader can see.
pub enum View {
    /// What shows.
    Fresh,
    /// A snapshot: everything up to `st`, wherever it was written.
    At(Hlc),
}

/// What waits for causes.
enum Work {
    /// A version.
    Show(Stamp),
    /// A GET, until a time: for the newest version of its key.
    Get(Ticket, Key, Micros),
    /// A session that moved here, until a time.
    Adopt(Ticket, Past, Micros),
}

/// A server, `p_n^m`.
pub struct Hybrid {
    vv: Vector,
    gst: Hlc,
    ust: Hlc,
    /// The GST of the other data centres, as their roots told this one; at other servers nothing.
    told: Vector,
    sent_since_delta: bool,
    /// What was received and does not show, and whether its causes were asked for.
    hidden: BTreeMap<Stamp, (Key, bool)>,
    checks: Checks<Work>,
    transactions: Waiters<Hlc, (Ticket, Vec<Key>)>,
    reads: Slices<Hlc, Past>,
    stabilisation: Stabilisation,
    ceiling: Ceiling,
}

const ABOUT: &str = "causal+ by one number, and by lists of causes where a reader is ahead of it";

impl Protocol for Hybrid {
    const INFO: Info = Info::new("hybrid", ABOUT, Promise::CausalImmediate).rules(RULES);

    type Meta = Meta;
    type Request = Request;
    type Reply = Answer<Past>;
    type Peer = Peer;
    type Hard = Hard;
    type Timer = Timer;
    type View = View;
    type Session = OneRoundSession<Self>;
    type Params = Params;
    type Component = ();

    fn start(Recovered { hard, life, received, .. }: Recovered<Hard>, cx: &mut Cx<'_, Self>) -> Self {
        let (mut vv, mut told) = (received.clone(), Vector::zero(cx.topology.dcs));
        vv.raise(cx.me.dc, hard.ceiling);
        told[cx.me.dc] = Hlc(u64::MAX);
        let known = cx.store.versions().map(|d| d.meta.since.unwrap_or_default().max(d.meta.floor));
        let gst = known.fold(hard.stable.min(), Hlc::max); // D4
        let mut server = Self {
            vv,
            gst: if GST_SURVIVES.kept() { gst } else { Hlc::ZERO },
            ust: Hlc::ZERO,
            told,
            sent_since_delta: false,
            hidden: BTreeMap::new(),
            checks: Checks::new(cx.me, life, received),
            transactions: Waiters::default(),
            reads: Slices::new(life),
            stabilisation: Stabilisation::new(cx.me, cx.topology, cx.params.fan_out),
            ceiling: Ceiling::new(hard),
        };
        let hidden = cx.store.pick(|d| d.meta.since.is_none().then(|| d.meta.near.is_empty()));
        hidden.into_iter().for_each(|(stamp, key, bare)| server.receive(key, stamp, bare, cx));
        cx.arm(Timer::Theta, cx.params.theta_us);
        cx.arm(Timer::Delta, cx.params.delta_us);
        cx.arm(Timer::Retry, cx.params.retry_us);
        server
    }

    fn on_request(&mut self, ticket: Ticket, request: Request, cx: &mut Cx<'_, Self>) {
        match request {
            Request::Get(key, gst) => {
                self.raise(gst, cx);
                self.get(ticket, key, cx.mono + cx.params.check_wait_us, cx);
            }
            Request::Put(key, update, past) => self.put(ticket, key, update, past, cx),
            Request::Rotx(keys, dt, gst) => {
                self.raise(gst, cx);
                if dt <= self.gst || !ROTX_WAITS.kept() {
                    self.snapshot(ticket, keys, cx);
                } else {
                    self.transactions.park(dt, cx.mono + cx.params.wait_limit_us, (ticket, keys)); // 9
                }
            }
            Request::Walk(walk, gst) => {
                self.raise(gst, cx);
                let mut past = self.known();
                let outcome = cx.walk(&walk, &View::Fresh, |d| past.see(cx.me.partition, d.stamp));
                past.near.bound(most_deps());
                cx.answer(ticket, outcome, past);
            }
            Request::Cover(past) => {
                self.raise(past.ust, cx); // D7
                let near = if MOVERS_WAIT.kept() { past.near.clone() } else { Deps::default() };
                self.check(near, Work::Adopt(ticket, past, cx.mono + cx.params.wait_limit_us));
            }
        }
        self.go_on(cx);
    }

    fn on_peer(&mut self, from: ServerId, message: Peer, cx: &mut Cx<'_, Self>) {
        match message {
            Peer::Tree(message) => {
                let mine = self.report(cx);
                let stable = self.stabilisation.on_message((from, message), mine, Peer::Tree, cx);
                self.adopt(stable, cx);
            }
            Peer::Stable(gst) => self.told.raise(from.dc, gst),
            Peer::Check(mut check, gst) => {
                if CHECKS_TELL_GST.kept() {
                    self.raise(gst, cx); // D2
                }
                if let (false, Check::Ask(_, deps)) = (CAUSES_HAVE_CAUSES.kept(), &mut check) {
                    deps.retain(|dep| dep.stamp.ts > self.vv[dep.stamp.origin]);
                }
                self.checks.on_message(from, check); // 3
            }
            Peer::SliceReq(SliceReq { id, keys, at: st }) => {
                self.raise(st, cx);
                let mut seen = self.known();
                let found = cx.read(&keys, &View::At(st), |d| seen.see(cx.me.partition, d.stamp));
                cx.send(from, Peer::SliceReply(SliceReply { id, found, seen }));
            }
            Peer::SliceReply(reply) => {
                if let Some(read) = self.reads.gather(from, reply, |past, slice| past.merge(&slice)) {
                    cx.answer(read.ticket, Outcome::FoundAll(read.found), read.seen);
                }
            }
        }
        self.go_on(cx);
    }

    fn on_replicate(&mut self, from: ServerId, key: Key, d: Version<Meta>, cx: &mut Cx<'_, Self>) {
        let (stamp, floor, bare) = (d.stamp, d.meta.floor, d.meta.near.is_empty());
        self.vv.raise(from.dc, stamp.ts);
        cx.store.insert(&key, d);
        self.raise(if FLOOR_IS_ADOPTED.kept() { floor } else { Hlc::ZERO }, cx); // 7
        self.receive(key, stamp, bare, cx);
        self.go_on(cx);
    }

    fn on_heartbeat(&mut self, from: ServerId, hlc: Hlc, cx: &mut Cx<'_, Self>) {
        self.vv.raise(from.dc, hlc);
        self.checks.heard(from.dc, hlc);
        self.go_on(cx);
    }

    fn on_peer_reset(&mut self, peer: ServerId, cx: &mut Cx<'_, Self>) {
        cx.fail_all(self.reads.reset(peer), unanswered);
        self.checks.reset(peer);
        self.go_on(cx);
    }

    fn on_timer(&mut self, timer: Timer, cx: &mut Cx<'_, Self>) {
        match timer {
            Timer::Theta => {
                cx.arm(Timer::Theta, cx.params.theta_us);
                self.ceiling.hurry(|| one(self.gst), cx);
                let mine = self.report(cx);
                let stable = self.stabilisation.tick(mine, Peer::Tree, cx);
                self.adopt(stable, cx);
                let peers = cx.topology.peers(cx.me).filter(|peer| peer.partition == ROOT);
                peers.for_each(|peer| cx.send(peer, Peer::Stable(self.gst))); // 8
                self.stabilisation.collect(cx, |safe, d| d.stamp.ts <= safe.min());
                self.turn_away(cx);
            }
            Timer::Delta => {
                cx.arm(Timer::Delta, cx.params.delta_us);
                if !std::mem::take(&mut self.sent_since_delta) {
                    let hlc = self.vv[cx.me.dc].tick(cx.now);
                    self.advance(hlc, cx);
                    cx.heartbeat(hlc);
                }
            }
            Timer::Retry => {
                cx.arm(Timer::Retry, cx.params.retry_us);
                let hidden = &self.hidden;
                self.checks.give_up(|work| matches!(work, Work::Show(at) if !hidden.contains_key(at))); // 5
                self.checks.ask_again();
            }
        }
        self.go_on(cx);
    }

    fn visible(view: &View, stamp: Stamp, meta: &Meta) -> bool {
        match view {
            View::Fresh => meta.since.is_some(),
            View::At(st) => stamp.ts <= *st,
        }
    }

    fn shipped(meta: &Meta) -> Meta {
        Meta { since: None, ..meta.clone() }
    }

    fn status(&self) -> Status {
        Status::new(one(self.gst), self.transactions.len() + self.checks.len())
    }
}

impl Hybrid {
    /// GET.
    fn get(&mut self, ticket: Ticket, key: Key, until: Micros, cx: &mut Cx<'_, Self>) {
        let newest = cx.store.chain(&key).next().filter(|d| d.meta.since.is_none());
        if let Some(stamp) = newest.map(|d| d.stamp) {
            self.look_into(stamp, cx); // 1
            if cx.mono < until {
                return self.checks.open(&Deps::one(cx.me.partition, stamp), Work::Get(ticket, key, until));
            }
        }
        let (d, mut past) = (cx.latest(&key, &View::Fresh), self.known());
        d.into_iter().for_each(|d| past.see(cx.me.partition, d.stamp));
        let found = Outcome::Found(found_of(d));
        cx.answer(ticket, found, past);
    }

    /// PUT, which waits for nothing.
    fn put(&mut self, ticket: Ticket, key: Key, update: Update, mut past: Past, cx: &mut Cx<'_, Self>) {
        if PUT_CARRIES_GST.kept() {
            self.raise(past.gst, cx); // 6
        }
        let ServerId { dc: m, partition: n } = cx.me;
        let see = |said: &mut Past, d: &Version<_>| said.see(n, d.stamp); // D5
        let (outcome, said) = cx.update(&key, update, &View::Fresh, self.known(), see, |said, cx| {
            past.merge(said);
            past.near.bound(most_deps()); // D8
            let above = if PUT_ABOVE_PAST.kept() { past.dt } else { Hlc::ZERO };
            let new = cx.stamp_above(self.vv[m], above)?;
            self.advance(new.ts, cx);
            self.sent_since_delta = true;
            *said = self.known();
            said.see(n, new);
            let meta = |near| Meta { near, floor: past.ust, since: Some(self.gst) };
            Ok(Draft::new(new, meta(past.near)).in_memory(meta(Deps::default())))
        });
        cx.answer(ticket, outcome, said);
    }

    /// A version is here. Without a list it shows: all that it depends on is stable.
    fn receive(&mut self, key: Key, stamp: Stamp, bare: bool, cx: &mut Cx<'_, Self>) {
        self.hidden.insert(stamp, (key, false));
        self.checks.arrived(stamp);
        if bare || !CHECKS_CAUSES.kept() || stamp.ts <= self.gst {
            self.show(stamp, false, cx);
        }
    }

    /// Asks for the causes of a version, unless that was done or it shows.
    fn look_into(&mut self, stamp: Stamp, cx: &mut Cx<'_, Self>) {
        let Some((key, asked)) = self.hidden.get_mut(&stamp) else { return };
        if !std::mem::replace(asked, true) {
            let near = cx.store.meta_mut(key, stamp).map(|meta| meta.near.clone());
            self.check(near.unwrap_or_default(), Work::Show(stamp)); // 2
        }
    }

    /// `work` waits for those of `near` that GST does not vouch for.
    fn check(&mut self, mut near: Deps, work: Work) {
        near.retain(|dep| dep.stamp.ts > self.gst); // 2
        match ASKS_AFTER_OWN.kept() {
            true => self.checks.open_all(&near, work), // D2
            false => self.checks.open(&near, work),
        }
    }

    /// Does what waits for nothing any more, and says what there is to say.
    fn go_on(&mut self, cx: &mut Cx<'_, Self>) {
        loop {
            if let Some(stamp) = self.checks.wanted() {
                self.look_into(stamp, cx); // 3
            } else if let Some(work) = self.checks.ready() {
                self.finish(work, cx);
            } else {
                break;
            }
        }
        self.checks.send(|check| Peer::Check(check, self.gst), cx);
    }

    fn finish(&mut self, work: Work, cx: &mut Cx<'_, Self>) {
        match work {
            Work::Show(stamp) => self.show(stamp, MARKS_SURVIVE.kept(), cx), // 4
            Work::Get(ticket, key, until) => self.get(ticket, key, until, cx),
            Work::Adopt(ticket, past, _) => {
                cx.answer(ticket, Outcome::Adopted, Past { gst: self.gst, ..past });
            }
        }
    }

    /// A version shows, and its list is forgotten.
    fn show(&mut self, stamp: Stamp, logged: bool, cx: &mut Cx<'_, Self>) {
        let Some((key, _)) = self.hidden.remove(&stamp) else { return };
        let shows = |meta: &mut Meta| *meta = Meta { since: Some(self.gst), ..Meta::default() };
        match logged {
            true => cx.revise(&key, stamp, shows),
            false => cx.store.meta_mut(&key, stamp).into_iter().for_each(shows),
        }
        self.checks.apply(stamp);
    }

    /// `GST ← max(GST, gst)`, and all up to it shows.
    fn raise(&mut self, gst: Hlc, cx: &mut Cx<'_, Self>) {
        if gst > self.gst {
            self.gst = gst;
            while let Some(stamp) = self.hidden.keys().next().filter(|stamp| stamp.ts <= gst) {
                self.show(*stamp, false, cx); // 5
            }
            for (ticket, keys) in self.transactions.wake(&gst) {
                self.snapshot(ticket, keys, cx);
            }
        }
    }

    /// ROTX and SNAPSHOT: everything up to GST.
    fn snapshot(&mut self, ticket: Ticket, keys: Vec<Key>, cx: &mut Cx<'_, Self>) {
        let (st, deadline) = (self.gst, cx.mono + cx.params.wait_limit_us);
        self.reads.scatter((ticket, keys), st, self.known(), deadline, Peer::SliceReq, cx); // 9
    }

    fn turn_away(&mut self, cx: &mut Cx<'_, Self>) {
        cx.fail_all(self.reads.expire(cx.mono), unanswered);
        let unstable = || {
            Failure::Unavailable("the session's past is not stable here: a region lags or is cut off".into())
        };
        cx.fail_all(self.transactions.expire(cx.mono).into_iter().map(|(ticket, _)| ticket), unstable);
        let late = |work: &Work| matches!(work, Work::Get(.., at) | Work::Adopt(.., at) if *at <= cx.mono);
        for work in self.checks.give_up(late) {
            match work {
                Work::Adopt(ticket, ..) => cx.fail(ticket, not_covered()),
                get => self.finish(get, cx), // D5
            }
        }
    }

    /// Two numbers go up the tree: what was received, and what the root was told (8).
    fn report(&self, cx: &Cx<'_, Self>) -> Report {
        let told = if cx.me.partition == ROOT { self.told.min() } else { Hlc(u64::MAX) };
        let received = Vector::from_entries([self.vv.min(), told]);
        Report::new(received, self.ceiling.stable(), self.reads.snapshots().map(|st| one(*st)))
    }

    fn adopt(&mut self, stable: Option<Vector>, cx: &mut Cx<'_, Self>) {
        if let Some([gst, told]) = stable.as_ref().map(Vector::entries) {
            self.raise(*gst, cx);
            self.ust = self.ust.max(*told);
        }
    }

    /// Moves the clock, and keeps the durable ceiling above it.
    fn advance(&mut self, hlc: Hlc, cx: &mut Cx<'_, Self>) {
        self.vv[cx.me.dc] = hlc;
        self.ceiling.renew(hlc, || one(self.gst), cx);
    }

    /// What every answer says: the GST, and what is stable everywhere.
    fn known(&self) -> Past {
        let ust = if FORGETS_ONLY_EVERYWHERE.kept() { self.gst.min(self.ust) } else { self.gst };
        Past { gst: self.gst, ust, ..Past::default() }
    }
}

const ROOT: PartitionId = PartitionId(0);

fn one(time: Hlc) -> Vector {
    Vector::from_entries([time])
}

/// A session.
impl OneRound for Hybrid {
    type Past = Past;

    fn question(op: Option<Op>, _: DcId, past: &Past) -> Request {
        let gst = past.gst;
        match op {
            Some(Op::Get { key }) => Request::Get(key, gst),
            Some(Op::Put { key, update }) => Request::Put(key, update, past.clone()),
            Some(Op::Snapshot { keys }) => Request::Rotx(keys, Hlc::ZERO, gst),
            Some(Op::Rotx { keys }) => Request::Rotx(keys, past.dt, gst),
            Some(walk) => Request::Walk(Walk::of(&walk), gst),
            None => Request::Cover(past.clone()), // D7
        }
    }

    fn travels(past: &Past) -> Past {
        let gst = if STABLE_STAYS_HOME.kept() { past.ust } else { past.gst };
        Past { gst, ust: past.ust, ..Past::default() }
    }
}
