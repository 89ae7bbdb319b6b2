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
//! - D6 (E-13) A session that moves brings `sc`, and waits until `gss` covers it.
//! - D7 A conditional update reads in its snapshot, and depends on the version that decided it.
//!
//! **Invariants**
//! - I1 For i ≠ m, `gss[i]` and the `sc[i]` of sessions here never exceed `vv[i]` of any server of the data centre.
//! - I2 Nothing is prepared at or below `vv[m]`, or `snap[m]` of a snapshot that was read here.
//! - I3 For i ≠ m, `gss[i]` covers the CV of what was written here, after a restart too (E-12): new sessions see it.

use tidemark_contract::core::Transact;
pub use tidemark_contract::early::{Clock, Timer};
use tidemark_contract::info;
use tidemark_contract::prelude::*;
pub use tidemark_contract::stabilised::TransactionParams as Params;
use tidemark_contract::stabilised::leases::{self, Start, checks_nothing};
use tidemark_contract::stabilised::{self, FoundSlice, Stabilised, StableTime};
use tidemark_contract::timeline::{Lasting, Timeline};
use tidemark_contract::two_phase::{Commit, Decided, Part, State, Turn, Tx, given_up};

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
    STABLE_STAYS_HOME; // D6
    of stabilised: STABLE_SURVIVES, OFFERS_WHAT_IS_DURABLE, // D5
    HOLDS_SNAPSHOTS
}

/// What a session asks, with its SC_c; nothing: to cover that (D6).
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Request(pub Option<Op>, pub Vector);

/// What the servers of a data centre say to each other: slices are asked for at snap, and tell CV of what they found.
pub type Peer = stabilised::Peer<Vector, Vector, Commit<Vector>>;

/// What a reader can see: what the snapshot covers, wherever it was written.
pub struct View(Vector);

/// What may have to wait.
enum Task {
    Ask(Ticket, Op),
    Slice(ServerId, SliceReq<Vector>),
    Prepare(Tx, Part),
}

/// A server, `p_n^m`.
pub struct Cure {
    st: Stabilised<Self>,
    /// Clock, and what is pending; of what this server decides alone, whom to tell and what it replaced.
    time: Timeline<Vector, (Ticket, Option<Found>)>,
    /// Tasks with their snapshots: what waits until all up to a time is applied, and what waits for the clock alone.
    readers: Waiters<Hlc, (Vector, Task)>,
    writers: Waiters<Hlc, (Vector, Task)>,
}

const ABOUT: &str = "causal+ with write transactions (MSET is atomic); reads may wait";

impl Protocol for Cure {
    const INFO: Info = Info::new("cure", ABOUT, Promise::CausalSnapshot)
        .clock(info::Clock::Monotone)
        .partial()
        .interactive()
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
    type Component = Stabilised<Self>;

    fn start(mut was: Recovered<Self::Hard>, cx: &mut Cx<'_, Self>) -> Self {
        was.hard.undone.prepared.retain(|_| PREPARED_SURVIVES.kept());
        was.hard.undone.decided.retain(|_| DECIDED_SURVIVES.kept());
        let (m, mut st) = (cx.me.dc, Stabilised::start(&was, (*cx.params).into(), cx));
        st.vv = was.received; // what is pending lies below the ceiling
        let elsewhere = cx.topology.all_dcs().filter(|i| *i != m && TIMES_ARRIVE_WHOLE.kept());
        elsewhere.for_each(|i| st.vv[i] = st.vv[i].prev()); // D3
        let written_here = cx.store().versions().filter(|d| d.stamp.origin == m && GSS_SURVIVES.kept());
        written_here.for_each(|d| st.stable.merge(&d.meta.without(m))); // I3
        let time = Timeline::new(cx.me, was.life, was.hard, st.vv[m]);
        Self { st, time, readers: Waiters::default(), writers: Waiters::default() }
    }

    fn on_request(&mut self, ticket: Ticket, Request(op, sc): Request, cx: &mut Cx<'_, Self>) {
        let (snap, until) = (self.snapshot(&sc, cx), cx.mono + cx.params.wait_limit_us);
        match op {
            Some(Op::Rotx { keys } | Op::Snapshot { keys }) => {
                self.st.scatter((ticket, keys), snap, Vector::default(), cx);
            }
            Some(Op::PutAll { writes }) => self.time.commits.begin(ticket, writes, snap, until, cx.topology),
            Some(Op::Transact(step)) => self.step(ticket, *step, snap, until, cx),
            Some(op) => self.submit(Task::Ask(ticket, op), snap, cx),
            None if !STABLE_STAYS_HOME.kept() => cx.answer(ticket, Outcome::Adopted, sc),
            None => {
                let needs = (sc.without(cx.me.dc), sc);
                stabilised::arrive(self, ticket, needs, |_, sc| Answer(Outcome::Adopted, sc), cx);
            }
        }
        self.save(cx);
    }

    fn on_peer(&mut self, from: ServerId, message: Peer, cx: &mut Cx<'_, Self>) {
        match message {
            Peer::SliceReq(mut request) => {
                let at = std::mem::take(&mut request.at);
                self.submit(Task::Slice(from, request), at, cx);
            }
            Peer::Own(message) => self.commit(from, message, cx),
            message => stabilised::on_peer(self, from, message, cx),
        }
        self.save(cx);
    }

    fn on_replicate(&mut self, from: ServerId, item: Received<'_, Vector>, _: &mut Cx<'_, Self>) {
        let whole = item.versions.is_empty() || !TIMES_ARRIVE_WHOLE.kept();
        self.st.vv.raise(from.dc, if whole { item.upto } else { item.upto.prev() }); // D3
    }

    fn on_peer_reset(&mut self, peer: ServerId, cx: &mut Cx<'_, Self>) {
        stabilised::on_peer_reset(self, peer, cx);
        cx.fail_all(self.time.commits.reset(peer, cx.mono), given_up);
        self.save(cx);
    }

    fn on_timer(&mut self, timer: Timer, cx: &mut Cx<'_, Self>) {
        match timer {
            Timer::Own(Clock) => self.settle(cx),
            timer => stabilised::on_timer(self, timer, cx),
        }
        self.save(cx);
    }

    fn visible(View(snap): &View, _: Stamp, cv: &Vector) -> bool {
        cv.le(snap)
    }

    fn status(&self) -> Status {
        let blocked = self.readers.len() + self.writers.len() + self.time.commits.unfinished();
        Status::new(self.st.stable.clone(), blocked + self.st.waiting())
    }
}

impl StableTime for Cure {
    fn stabilised(&mut self) -> &mut Stabilised<Self> {
        &mut self.st
    }

    /// Once it need not wait any more.
    fn slice(&mut self, snap: Vector, keys: &Several<(u32, Key)>, cx: &mut Cx<'_, Self>) -> FoundSlice<Self> {
        let mut seen = Vector::default();
        let found = cx.read_slice(keys, &View(snap), |d| seen.merge(&d.meta));
        (found, seen)
    }

    fn settled(&mut self, safe: &Vector, _: DcId, d: &Version<Vector>) -> bool {
        d.meta.le(safe)
    }

    fn leased(&self) -> impl Iterator<Item = Vector> {
        self.readers.iter().map(|(snap, _)| snap.clone())
    }

    /// What is stable is persisted by [`Self::save`].
    fn theta(&mut self, cx: &mut Cx<'_, Self>) {
        stabilised::aggregate(self, cx);
        stabilised::collect(self, cx);
        stabilised::expire(self, cx);
        cx.fail_all(self.time.commits.tend(cx.mono), given_up);
        let why = || Failure::Unavailable("a clock lags, or a commit is open".to_string());
        let late = self.readers.expire(cx.mono).into_iter().chain(self.writers.expire(cx.mono));
        late.for_each(|(_, task)| self.refuse(task, why(), cx));
    }

    fn delta(&mut self, cx: &mut Cx<'_, Self>) {
        self.announce(cx);
    }
}

impl Cure {
    /// Start: `snap[m] = max(Clock, sc[m])`, `snap[i] = max(GSS[i], sc[i])`.
    fn snapshot(&mut self, sc: &Vector, cx: &Cx<'_, Self>) -> Vector {
        let (clock, mut snap) = (self.time.clock(cx.now), self.st.stable.clone());
        self.time.pass(clock);
        snap[cx.me.dc] = clock;
        if SNAP_COVERS_SC.kept() {
            snap.merge(sc);
        }
        snap
    }

    /// A step of an interactive transaction.
    fn step(&mut self, ticket: Ticket, step: Transact, snap: Vector, until: Micros, cx: &mut Cx<'_, Self>) {
        let nothing = Outcome::Written { stamp: None, previous: None };
        match step {
            Transact::Begin { regions: 1.., .. }
            | Transact::Bases
            | Transact::Changed { .. }
            | Transact::ReadBase { .. } => {
                cx.fail(ticket, leases::knows_no_bases());
            }
            Transact::Accept(_) => cx.fail(ticket, leases::has_no_edge()),
            Transact::Begin { .. } => {
                let floor = snap.min();
                leases::begin(
                    self,
                    ticket,
                    Start { at: snap, floor, base: false },
                    cx.params.transaction_limit_us,
                    Vector::default(),
                    cx,
                );
            }
            Transact::Read { snapshot, keys, .. } => match leases::snapshot(self, snapshot) {
                Ok(snap) => self.st.scatter((ticket, keys), snap, Vector::default(), cx),
                Err(why) => cx.fail(ticket, why),
            },
            Transact::Commit { watched, .. } if !watched.is_empty() => cx.fail(ticket, checks_nothing()),
            Transact::Commit { writes, .. } => {
                self.time.commits.begin(ticket, writes, snap, until, cx.topology)
            }
            Transact::End { snapshot } => {
                leases::end(self, snapshot, cx);
                cx.answer(ticket, nothing, Vector::default());
            }
        }
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
        self.time.next_due(cx.now, times).into_iter().for_each(|wait| cx.arm(Timer::Own(Clock), wait));
    }

    fn perform(&mut self, task: Task, snap: Vector, cx: &mut Cx<'_, Self>) {
        if READ_IS_FENCE.kept() {
            self.time.pass(snap[cx.me.dc].min(self.time.latest(cx.now))); // I2
        }
        let (view, mut seen) = (View(snap), Vector::default());
        match task {
            Task::Slice(from, request) => {
                stabilised::slice(self, from, SliceReq { at: view.0, ..request }, cx);
            }
            Task::Prepare(tx, writes) => {
                let pt = self.time.tick_above(above(&view.0), cx.now);
                self.time.commits.propose(tx, (pt, ()), view.0, writes, cx.mono);
            }
            Task::Ask(ticket, Op::Put { key, update }) => {
                let looked = cx.look(&key, update, &view, |d| seen.merge(&d.meta)); // D7
                let Some(write) = looked.write else {
                    let outcome = Outcome::Written { stamp: None, previous: looked.previous };
                    return cx.answer(ticket, outcome, seen);
                };
                let ct = self.time.tick_above(above(&view.0), cx.now);
                let (writes, here) = (vec![(key, write)], (ticket, looked.previous));
                self.time.commits.here(ct, view.0, writes, here); // `ct = pt`
                self.apply(cx);
            }
            Task::Ask(ticket, read) => {
                let outcome = cx.find(&Read::of(read), &view, |d| seen.merge(&d.meta));
                cx.answer(ticket, outcome, seen); // D2
            }
        }
    }

    /// Commit: `ct = max pt`.
    fn commit(&mut self, from: ServerId, message: Commit<Vector>, cx: &mut Cx<'_, Self>) {
        match self.time.commits.on_message(from, message, cx.mono) {
            Some(Turn::Prepare(tx, snap, writes, _)) => self.submit(Task::Prepare(tx, writes), snap, cx),
            Some(Turn::Decided(ticket, mut cv, Ok(Decided { stamp, .. }))) => {
                cv.include(stamp);
                cx.answer(ticket, Outcome::Written { stamp: Some(stamp), previous: None }, cv);
            }
            Some(Turn::Decided(ticket, _, Err(why))) => cx.fail(ticket, why),
            Some(Turn::Learnt) => self.settle(cx),
            Some(Turn::Again(tx, _)) => self.time.commits.applied(tx),
            // What is watched, and what writes nothing, no session of this protocol asks for.
            Some(Turn::Applied(_) | Turn::Look(..) | Turn::Seen(..)) | None => {}
        }
    }

    /// Apply and replicate: in the order of `ct`, once `Clock` has reached it and all that is prepared lies above.
    fn apply(&mut self, cx: &mut Cx<'_, Self>) {
        while let Some(transaction) = self.time.take_next(cx.now) {
            let (stamp, mut cv) = (transaction.stamp(cx.me.dc), transaction.snap);
            self.st.stable.merge(&cv.without(cx.me.dc)); // I3
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
        let up_to = if ANNOUNCE_BELOW_PENDING.kept() { self.time.applied(clock) } else { clock };
        self.st.vv.raise(cx.me.dc, up_to);
        self.time.pass(self.st.vv[cx.me.dc]);
        cx.heartbeat(self.st.vv[cx.me.dc]);
    }

    fn refuse(&mut self, task: Task, why: Failure, cx: &mut Cx<'_, Self>) {
        match task {
            Task::Ask(ticket, _) => cx.fail(ticket, why),
            Task::Prepare(tx, _) => self.time.commits.refuse(tx, why),
            Task::Slice(..) => {} // its coordinator gives up too
        }
    }

    fn save(&mut self, cx: &mut Cx<'_, Self>) {
        let Stabilised { ceiling, stable, .. } = &mut self.st;
        self.time.save(ceiling, || stable.clone(), Peer::Own, cx); // D4, D5
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
