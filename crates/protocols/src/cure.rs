//! Cure: causal consistency with transactions that write many keys at once.
//!
//! **Idea.** A transaction reads in a snapshot: of its own data centre the coordinator's clock, of others what is stable.
//! Its writes commit together: the partitions that hold the keys propose times, the latest is the commit's, and all
//! versions carry the snapshot with that time in it. Reads pay: they wait for clocks that are behind the snapshot, and
//! for transactions that may still commit within it.
//!
//! **Source.** D. D. Akkoorath et al., *Cure: strong semantics meets high availability and low latency*, ICDCS 2016. Its
//! pseudo-code could not be consulted, so no lines are cited; the rules for reading and preparing were held against
//! AntidoteDB's, and against the Cure that Wren's authors measured. The numbers are CausalSpartanX's.
//!
//! **Names.** `vv` VV, the version vector (up to `vv[m]` all is applied here) · `gss` GSS, the global stable snapshot · `sc`
//! SC_c, what a session depends on · `snap` a snapshot · `pt` prepare time · `ct` commit time · CV, the commit vector of
//! a version: `snap` with `CV[m] = ct` · θ [`Params::theta_us`] · Δ [`Params::delta_us`].
//!
//! **Deviations**
//! - D1 Values are registers, not replicated data types: the last writer wins, by `ct`. So a write waits until `Clock` is
//!   above all of `snap`, not only its entry of the own data centre.
//! - D2 A session depends on what it read, not on the snapshot it read in: it waits less for clocks.
//! - D3 Versions of one `ct` arrive one after the other: a peer has received up to `ct` when the announcement after them
//!   says so, and until then up to just below.
//! - D4 What is prepared survives a crash, and so does what was decided, until all have applied it. A read waits for all
//!   that is pending at or below its snapshot; AntidoteDB lets it pass what writes other keys.
//! - D5 (E-12) Times start above a persisted ceiling ([`Timeline`]), which covers snapshots that were read.
//! - D6 (E-13) A session that moves brings `sc`, and waits for the next stabilisation that covers it.
//! - D7 A conditional update reads in its snapshot, and depends on the version that decided it.
//!
//! **Invariants**
//! - I1 For i ≠ m, `gss[i]` and the `sc[i]` of sessions here never exceed `vv[i]` of any server of the data centre.
//! - I2 Nothing is prepared at or below `vv[m]`, or `snap[m]` of a snapshot that was read here.
//! - I3 For i ≠ m, `gss[i]` covers the CV of what was written here, after a restart too (E-12): new sessions see it.

pub use crate::causal_spartan_x::Params;
pub use crate::gentlerain::Timer;
use serde::{Deserialize, Serialize};
use tidemark_contract::core::promise::Promise;
use tidemark_contract::core::{DcId, Failure, Found, Hlc, Key, Op, Outcome, ServerId, Stamp, Vector};
use tidemark_contract::gather::GatherId;
use tidemark_contract::timeline::{Lasting, Timeline};
use tidemark_contract::two_phase::State;
use tidemark_contract::two_phase::{Commit, Turn, Tx, Writes, given_up};
use tidemark_contract::{
    Answer, Arrivals, Clock, Cx, Info, OneRound, OneRoundSession, Protocol, Recovered, Report, SliceReply,
    SliceReq, Slices, Stabilisation, Status, Ticket, Tree, Version, Waiters, Walk, found_of, unanswered,
};

tidemark_contract::rules! {
    SNAP_COVERS_SC,
    READ_WAITS_FOR_CLOCK,
    READ_WAITS_FOR_PENDING,
    READ_IS_FENCE, // I2
    PREPARE_ABOVE_SNAP, // D1
    ANNOUNCE_BELOW_PENDING,
    TIMES_ARRIVE_WHOLE, // D3
    PREPARED_SURVIVES, // D4
    DECIDED_SURVIVES, // D4
    GSS_SURVIVES, // I3
    STABLE_STAYS_HOME, // D6
}

/// What a session asks, with its SC_c; nothing: to cover that (D6).
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Request(pub Option<Op>, pub Vector);

/// What the servers of a data centre say to each other.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[allow(missing_docs)]
pub enum Peer {
    Tree(Tree),
    SliceReq(SliceReq<Vector>),
    SliceReply(SliceReply<Vector>),
    Commit(Commit<Vector>),
}

/// What a reader can see: what the snapshot covers, wherever it was written.
pub struct View(Vector);

/// What may have to wait.
enum Task {
    Ask(Ticket, Op),
    Slice(ServerId, GatherId, Vec<(u32, Key)>),
    Prepare(Tx, Writes),
}

/// A server, `p_n^m`.
pub struct Cure {
    vv: Vector,
    gss: Vector,
    /// Clock, and what is pending; of what this server decides alone, whom to tell and what it replaced.
    time: Timeline<Vector, (Ticket, Option<Found>)>,
    reads: Slices<Vector, Vector>,
    /// Tasks with their snapshots: what waits until all up to a time is applied, and what waits for the clock alone.
    readers: Waiters<Hlc, (Vector, Task)>,
    writers: Waiters<Hlc, (Vector, Task)>,
    arrivals: Arrivals,
    stabilisation: Stabilisation,
}

const ABOUT: &str = "causal+ with write transactions (MSET is atomic); reads may wait";

impl Protocol for Cure {
    const INFO: Info = Info::new("cure", ABOUT, Promise::CausalSnapshot)
        .clock(Clock::Monotone)
        .partial()
        .atomic_writes()
        .rules(RULES);
    type Meta = Vector; // CV
    type Request = Request;
    type Reply = Answer<Vector>;
    type Peer = Peer;
    type Hard = Lasting<Vector>;
    type Timer = Timer;
    type View = View;
    type Session = OneRoundSession<Self>;
    type Params = Params;
    type Component = ();

    fn start(mut was: Recovered<Self::Hard>, cx: &mut Cx<'_, Self>) -> Self {
        was.hard.undone.prepared.retain(|_| PREPARED_SURVIVES.kept());
        was.hard.undone.decided.retain(|_| DECIDED_SURVIVES.kept());
        let (m, mut vv, mut gss) = (cx.me.dc, was.received, Vector::zero(cx.topology.dcs));
        let written_here = cx.store.versions().filter(|d| d.stamp.origin == m && GSS_SURVIVES.kept());
        written_here.for_each(|d| gss.merge(&d.meta.without(m))); // I3
        let elsewhere = cx.topology.all_dcs().filter(|i| *i != m && TIMES_ARRIVE_WHOLE.kept());
        elsewhere.for_each(|i| vv[i] = vv[i].prev()); // D3
        gss.merge(&was.hard.times.stable);
        cx.arm(Timer::Theta, cx.params.theta_us);
        cx.arm(Timer::Delta, cx.params.delta_us);
        Self {
            time: Timeline::new(cx.me, was.life, was.hard, vv[m]),
            vv,
            gss,
            reads: Slices::new(was.life),
            readers: Waiters::default(),
            writers: Waiters::default(),
            arrivals: Arrivals::default(),
            stabilisation: Stabilisation::new(cx.me, cx.topology, cx.params.fan_out),
        }
    }

    fn on_request(&mut self, ticket: Ticket, Request(op, sc): Request, cx: &mut Cx<'_, Self>) {
        let (snap, until) = (self.snapshot(&sc, cx), cx.mono + cx.params.wait_limit_us);
        match op {
            Some(Op::Rotx { keys } | Op::Snapshot { keys }) => {
                self.reads.scatter((ticket, keys), snap, Vector::default(), until, Peer::SliceReq, cx);
            }
            Some(Op::PutAll { writes }) => self.time.commits.begin(ticket, writes, snap, until, cx.topology),
            Some(op) => self.submit(Task::Ask(ticket, op), snap, cx),
            None if !STABLE_STAYS_HOME.kept() => cx.answer(ticket, Outcome::Adopted, sc),
            None => self.arrivals.wait(ticket, sc, cx.me.dc, until),
        }
        self.save(cx);
    }

    fn on_peer(&mut self, from: ServerId, message: Peer, cx: &mut Cx<'_, Self>) {
        match message {
            Peer::Tree(message) => {
                let stable = self.stabilisation.on_message((from, message), self.report(), Peer::Tree, cx);
                self.adopt(stable, cx);
            }
            Peer::SliceReq(SliceReq { id, keys, at }) => self.submit(Task::Slice(from, id, keys), at, cx),
            Peer::SliceReply(reply) => {
                if let Some(read) = self.reads.gather(from, reply, |seen, more| seen.merge(&more)) {
                    cx.answer(read.ticket, Outcome::FoundAll(read.found), read.seen);
                }
            }
            Peer::Commit(message) => self.commit(from, message, cx),
        }
        self.save(cx);
    }

    fn on_replicate(&mut self, from: ServerId, key: Key, d: Version<Vector>, cx: &mut Cx<'_, Self>) {
        let ct = d.stamp.ts;
        cx.store.insert(&key, d);
        self.vv.raise(from.dc, if TIMES_ARRIVE_WHOLE.kept() { ct.prev() } else { ct }); // D3
    }

    fn on_heartbeat(&mut self, from: ServerId, time: Hlc, _cx: &mut Cx<'_, Self>) {
        self.vv.raise(from.dc, time);
    }

    fn on_peer_reset(&mut self, peer: ServerId, cx: &mut Cx<'_, Self>) {
        cx.fail_all(self.reads.reset(peer), unanswered);
        cx.fail_all(self.time.commits.reset(peer, cx.mono), given_up);
        self.save(cx);
    }

    fn on_timer(&mut self, timer: Timer, cx: &mut Cx<'_, Self>) {
        match timer {
            Timer::Theta => {
                cx.arm(Timer::Theta, cx.params.theta_us);
                let stable = self.stabilisation.tick(self.report(), Peer::Tree, cx);
                self.adopt(stable, cx);
                self.stabilisation.collect(cx, |safe, d| d.meta.le(safe));
                cx.fail_all(self.reads.expire(cx.mono), unanswered);
                cx.fail_all(self.time.commits.tend(cx.mono), given_up);
                self.arrivals.turn_away(cx);
                let why = || Failure::Unavailable("a clock lags, or a commit is open".to_string());
                let late = self.readers.expire(cx.mono).into_iter().chain(self.writers.expire(cx.mono));
                late.for_each(|(_, task)| self.refuse(task, why(), cx));
            }
            Timer::Delta => {
                cx.arm(Timer::Delta, cx.params.delta_us);
                self.announce(cx);
            }
            Timer::Clock => self.settle(cx),
        }
        self.save(cx);
    }

    fn visible(View(snap): &View, _: Stamp, cv: &Vector) -> bool {
        cv.le(snap)
    }

    fn status(&self) -> Status {
        Status::new(
            self.gss.clone(),
            self.readers.len() + self.writers.len() + self.time.commits.unfinished() + self.arrivals.len(),
        )
    }
}

impl Cure {
    /// Start: `snap[m] = max(Clock, sc[m])`, `snap[i] = max(GSS[i], sc[i])`.
    fn snapshot(&mut self, sc: &Vector, cx: &Cx<'_, Self>) -> Vector {
        let (clock, mut snap) = (self.time.clock(cx.now), self.gss.clone());
        self.time.pass(clock);
        snap[cx.me.dc] = clock;
        if SNAP_COVERS_SC.kept() {
            snap.merge(sc);
        }
        snap
    }

    /// Read: once all up to `snap[m]` is applied. Write: once `Clock` is above `snap` (D1).
    fn submit(&mut self, task: Task, snap: Vector, cx: &mut Cx<'_, Self>) {
        let (until, clock) = (cx.mono + cx.params.wait_limit_us, self.time.clock(cx.now));
        let at = if READ_WAITS_FOR_CLOCK.kept() { snap[cx.me.dc] } else { clock.min(snap[cx.me.dc]) };
        let above = above(&snap).next();
        let (reads, writes) = match &task {
            Task::Ask(_, Op::Put { update, .. }) => (update.observes(), true),
            Task::Prepare(..) => (false, true),
            _ => (true, false),
        };
        match cx.too_far_ahead(clock.max(above)).filter(|_| writes) {
            Some(ahead_us) => self.refuse(task, Failure::ClockSkew { ahead_us }, cx),
            None if reads => self.readers.park(if writes { above } else { at }, until, (snap, task)),
            None => self.writers.park(above, until, (snap, task)),
        }
        self.settle(cx);
    }

    /// Applies what can be applied, and does what waited for that, or for the clock. Reads go first: what is prepared
    /// then lies above them.
    fn settle(&mut self, cx: &mut Cx<'_, Self>) {
        self.apply(cx);
        let latest = self.time.latest(cx.now);
        let applied = if READ_WAITS_FOR_PENDING.kept() { self.time.applied(latest) } else { latest };
        for (snap, task) in self.readers.wake(&applied).into_iter().chain(self.writers.wake(&latest)) {
            self.perform(task, snap, cx);
        }
        let times = self.readers.thresholds().chain(self.writers.thresholds()).copied();
        self.time.next_due(cx.now, times).into_iter().for_each(|wait| cx.arm(Timer::Clock, wait));
    }

    fn perform(&mut self, task: Task, snap: Vector, cx: &mut Cx<'_, Self>) {
        if READ_IS_FENCE.kept() {
            self.time.pass(snap[cx.me.dc].min(self.time.latest(cx.now))); // I2
        }
        let (view, mut seen) = (View(snap), Vector::default());
        match task {
            Task::Slice(from, id, keys) => {
                let found = cx.read(&keys, &view, |d| seen.merge(&d.meta));
                cx.send(from, Peer::SliceReply(SliceReply { id, found, seen }));
            }
            Task::Prepare(tx, writes) => {
                let pt = self.time.tick_above(above(&view.0), cx.now);
                self.time.commits.propose(tx, pt, view.0, writes, cx.mono);
            }
            Task::Ask(ticket, Op::Get { key }) => {
                let d = cx.latest(&key, &view);
                let (found, cv) = (found_of(d), d.map(|d| d.meta.clone()).unwrap_or_default());
                cx.answer(ticket, Outcome::Found(found), cv); // D2
            }
            Task::Ask(ticket, Op::Put { key, update }) => {
                let looked = cx.look(&key, &update, &view, |d| seen = d.meta.clone()); // D7
                if !looked.proceeds {
                    let outcome = Outcome::Written { stamp: None, previous: looked.previous };
                    return cx.answer(ticket, outcome, seen);
                }
                let ct = self.time.tick_above(above(&view.0), cx.now);
                let (writes, here) = (vec![(key, update.write)], (ticket, looked.previous));
                self.time.commits.here(ct, view.0, writes, here); // `ct = pt`
                self.apply(cx);
            }
            Task::Ask(ticket, walk) => {
                let outcome = cx.walk(&Walk::of(&walk), &view, |d| seen.merge(&d.meta));
                cx.answer(ticket, outcome, seen);
            }
        }
    }

    /// Commit: `ct = max pt`.
    fn commit(&mut self, from: ServerId, message: Commit<Vector>, cx: &mut Cx<'_, Self>) {
        match self.time.commits.on_message(from, message, cx.mono) {
            Some(Turn::Prepare(tx, snap, writes)) => self.submit(Task::Prepare(tx, writes), snap, cx),
            Some(Turn::Decided(ticket, mut cv, Ok(stamp))) => {
                cv.include(stamp);
                cx.answer(ticket, Outcome::Written { stamp: Some(stamp), previous: None }, cv);
            }
            Some(Turn::Decided(ticket, _, Err(why))) => cx.fail(ticket, why),
            Some(Turn::Learnt) => self.settle(cx),
            None => {}
        }
    }

    /// Apply and replicate: in the order of `ct`, once `Clock` has reached it and all that is prepared lies above.
    fn apply(&mut self, cx: &mut Cx<'_, Self>) {
        while let Some(transaction) = self.time.take_next(cx.now) {
            let (stamp, mut cv) = (transaction.stamp(cx.me.dc), transaction.snap);
            self.gss.merge(&cv.without(cx.me.dc)); // I3
            cv.include(stamp);
            for (key, write) in transaction.writes {
                cx.write(key, Version { stamp, meta: cv.clone(), write });
            }
            if let State::Here((ticket, previous)) = transaction.state {
                cx.answer(ticket, Outcome::Written { stamp: Some(stamp), previous }, cv);
            }
            self.announce(cx); // D3
        }
    }

    /// Heartbeat: no time at or above anything pending.
    fn announce(&mut self, cx: &mut Cx<'_, Self>) {
        let clock = self.time.clock(cx.now);
        self.vv.raise(cx.me.dc, if ANNOUNCE_BELOW_PENDING.kept() { self.time.applied(clock) } else { clock });
        self.time.pass(self.vv[cx.me.dc]);
        cx.heartbeat(self.vv[cx.me.dc]);
    }

    fn report(&self) -> Report {
        let read = self.reads.snapshots().chain(self.readers.iter().map(|(snap, _)| snap));
        Report::new(self.vv.clone(), self.time.stable(), read.cloned())
    }

    /// `GSS = max(GSS, stable)`, and lets in the sessions that it covers.
    fn adopt(&mut self, stable: Option<Vector>, cx: &mut Cx<'_, Self>) {
        stable.into_iter().for_each(|stable| self.gss.merge(&stable)); // I1
        for (ticket, sc) in self.arrivals.enter(&self.gss) {
            cx.answer(ticket, Outcome::Adopted, sc);
        }
    }

    fn refuse(&mut self, task: Task, why: Failure, cx: &mut Cx<'_, Self>) {
        match task {
            Task::Ask(ticket, _) => cx.fail(ticket, why),
            Task::Prepare(tx, _) => self.time.commits.refuse(tx, why),
            Task::Slice(..) => {} // its coordinator gives up too
        }
    }

    fn save(&mut self, cx: &mut Cx<'_, Self>) {
        self.time.save(|| self.gss.clone(), Peer::Commit, cx); // D4, D5
    }
}

/// What a write has to be above of.
fn above(snap: &Vector) -> Hlc {
    if PREPARE_ABOVE_SNAP.kept() { snap.max() } else { Hlc::ZERO } // D1
}

impl OneRound for Cure {
    type Past = Vector;

    fn question(op: Option<Op>, _home: DcId, sc: &Vector) -> Request {
        Request(op, sc.clone())
    }
}
