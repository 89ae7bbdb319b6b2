//! Wren: snapshots that every server has before anybody reads in them, so that no read waits, and two times a version.
//!
//! **Idea.** A transaction reads what all servers of its data centre have: up to one time of what was written here, up to
//! another of what was written elsewhere. Such a snapshot is a little old, and lacks what the client has just written; the
//! client keeps that itself, until snapshots have it. Writes commit together, in two phases.
//!
//! **Source.** K. Spirovska, D. Didona, W. Zwaenepoel, *Wren: nonblocking reads in a partitioned transactional causally
//! consistent data store*, DSN 2018. Its pseudo-code could not be consulted, so no lines are cited: PROTOCOLS §10 sums it
//! up, and the rules were held against the code that the authors published. The numbers are CausalSpartanX's.
//!
//! **Names.** `st.vv` VV, the version vector (up to `vv[m]` all is applied here) · `lst` and `rst`, in `st.stable`, the
//! local and the remote stable time · `hwt` HWT_c, when a session wrote last · `pt` prepare time · `ct` commit time, a
//! version's `ut` · `rdt` remote dependency time, the `rst` of a transaction's snapshot · WC the client's cache.
//!
//! **Deviations**
//! - D1 Transactions do not stay open: the server that is asked starts one for each operation.
//! - D2 WC answers GET and read-only transactions. What else looks (a conditional update, SCAN, COUNT) waits until
//!   snapshots have what its session wrote; so does who takes over a token, which carries no values.
//! - D3 Versions of one `ct` arrive one after the other: a peer has received up to `ct` when the announcement after them
//!   says so, and until then up to just below.
//! - D4 What is prepared survives a crash, and so does what was decided, until all have applied it.
//! - D5 (E-12) Times start above a persisted ceiling ([`Timeline`]). What is stable survives, for collection has used it;
//!   and `rst` covers the `rdt` of what was written here: new sessions see it.
//! - D6 (E-13) A session that moves waits for what its past means there: `rst` at all that it has seen.
//! - D7 What commits is applied at once, not at the next ΔR, and the update of a single key is acknowledged then.
//!
//! **Invariants**
//! - I1 All servers of the data centre have what was written here up to any `lst` here, and elsewhere up to any `rst`.
//! - I2 The `rst` of a snapshot is below its `lst`. So all of it is at or below `lst`, and what is in WC is above: newer than
//!   a deletion, too, of which nothing is left. A tombstone goes only once it is at or below all `lst` and `rst`, hence announced.
//! - I3 A version's `ut` is above the snapshot of its transaction, and above what its session had written.

use tidemark_contract::core::Transact;
use tidemark_contract::own_writes::{self, OwnWrites};
use tidemark_contract::prelude::*;
use tidemark_contract::stabilised::leases::{self, Start, checks_nothing};
use tidemark_contract::stabilised::{self, FoundSlice, Stabilised, StableTime};
pub use tidemark_contract::stabilised::{Timer, TransactionParams as Params};
use tidemark_contract::timeline::{Lasting, Timeline};
use tidemark_contract::two_phase::{Commit, Decided, State, Turn, given_up};

tidemark_contract::rules! {
    START_COVERS_SESSION,
    REMOTE_BELOW_LOCAL, // I2
    DEPENDS_ON_RDT,
    READS_OWN_WRITES, // WC
    OTHERS_WAIT_FOR_OWN, // D2
    COMMIT_ABOVE_HWT, // I3
    ANNOUNCE_BELOW_PENDING,
    TIMES_ARRIVE_WHOLE, // D3
    PREPARED_SURVIVES, // D4
    DECIDED_SURVIVES, // D4
    RDT_IS_COVERED, // D5
    STABLE_STAYS_HOME; // D6
    of stabilised: OFFERS_WHAT_IS_DURABLE, // D5
    HOLDS_SNAPSHOTS;
    of own_writes: SNAPSHOTS_OVERRULE_OWN // I2
}

/// Two times, as the aggregation tree takes them: a snapshot, or what is stable.
type Times = Vector;
const LST: DcId = DcId(0);
const RST: DcId = DcId(1);

/// What a session remembers, and what an answer adds to it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Past {
    /// Its last snapshot.
    pub seen: Times,
    /// HWT_c.
    pub hwt: Hlc,
}

impl tidemark_contract::Past for Past {
    type Said = Self;

    fn merge(&mut self, other: &Self) {
        self.seen.merge(&other.seen);
        self.hwt = self.hwt.max(other.hwt);
    }

    fn reach(&self, home: DcId) -> Reach {
        Reach { latest: self.hwt.max(self.seen.max()), ..Reach::of(home, []) }
    }

    /// D2.
    fn own_writes(&self) -> Option<Hlc> {
        Some(if READS_OWN_WRITES.kept() { self.seen[LST] } else { self.hwt })
    }
}

/// What a session asks, with its home and what it remembers; nothing: to cover that (D2, D6).
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Request(pub Option<Op>, pub DcId, pub Past);

/// What the servers of a data centre say to each other.
pub type Peer = stabilised::Peer<Times, (), Commit<Past>>;

/// What a reader can see in data centre m: what the snapshot covers.
pub struct View(DcId, Times);

/// A server, `p_n^m`.
pub struct Wren {
    st: Stabilised<Self>,
    /// HLC, and what is pending; of what this server decides alone, whom to tell and what it replaced.
    time: Timeline<Past, (Ticket, Option<Found>)>,
    /// What waits until snapshots have what its session wrote (D2, D6).
    waiting: Waiters<Times, (Ticket, Option<Op>, Past)>,
}

const ABOUT: &str = "causal+ with write transactions (MSET is atomic); reads never wait";

impl Protocol for Wren {
    const INFO: Info = Info::new("wren", ABOUT, Promise::CausalSnapshot).partial().interactive().rules(RULES);
    type Meta = Hlc; // rdt
    type Request = Request;
    type Reply = Answer<Past>;
    type Peer = Peer;
    type Hard = Lasting<Past>;
    type Timer = Timer;
    type View = View;
    type Session = OneRoundSession<Self, OwnWrites>; // WC
    type Params = Params;
    type Component = Stabilised<Self>;

    fn start(mut was: Recovered<Self::Hard>, cx: &mut Cx<'_, Self>) -> Self {
        was.hard.undone.prepared.retain(|_| PREPARED_SURVIVES.kept());
        was.hard.undone.decided.retain(|_| DECIDED_SURVIVES.kept());
        let (m, mut st) = (cx.me.dc, Stabilised::start(&was, (*cx.params).into(), cx));
        st.vv = was.received; // what is pending lies below the ceiling
        st.stable = was.hard.times.stable.clone();
        let elsewhere = cx.topology.all_dcs().filter(|i| *i != m && TIMES_ARRIVE_WHOLE.kept());
        elsewhere.for_each(|i| st.vv[i] = st.vv[i].prev()); // D3
        let written_here = cx.store().versions().filter(|d| d.stamp.origin == m && RDT_IS_COVERED.kept());
        written_here.for_each(|d| st.stable.raise(RST, d.meta)); // D5
        let time = Timeline::new(cx.me, was.life, was.hard, st.vv[m]);
        Self { st, time, waiting: Waiters::default() }
    }

    fn on_request(&mut self, ticket: Ticket, Request(op, home, mut past): Request, cx: &mut Cx<'_, Self>) {
        if home != cx.me.dc && STABLE_STAYS_HOME.kept() {
            let rst = past.seen.max().max(past.hwt);
            past.seen = Times::from_entries([rst.next(), rst]); // D6, I2
        }
        let mut until = if op.is_none() { past.seen.clone() } else { Times::default() };
        if OTHERS_WAIT_FOR_OWN.kept() && !op.as_ref().is_some_and(cached) {
            until.raise(LST, past.hwt); // D2
        }
        if START_COVERS_SESSION.kept() && op.is_some() {
            self.st.stable.merge(&past.seen);
        }
        self.waiting.park(until, cx.mono + cx.params.wait_limit_us, (ticket, op, past));
        self.wake(cx);
        self.save(cx);
    }

    fn on_peer(&mut self, from: ServerId, message: Peer, cx: &mut Cx<'_, Self>) {
        match message {
            Peer::Own(message) => self.commit(from, message, cx),
            message => stabilised::on_peer(self, from, message, cx),
        }
        self.save(cx);
    }

    fn on_replicate(&mut self, from: ServerId, item: Received<'_, Hlc>, _: &mut Cx<'_, Self>) {
        let whole = item.versions.is_empty() || !TIMES_ARRIVE_WHOLE.kept();
        self.st.vv.raise(from.dc, if whole { item.upto } else { item.upto.prev() }); // D3
    }

    fn on_peer_reset(&mut self, peer: ServerId, cx: &mut Cx<'_, Self>) {
        stabilised::on_peer_reset(self, peer, cx);
        cx.fail_all(self.time.commits.reset(peer, cx.mono), given_up);
        self.save(cx);
    }

    fn on_timer(&mut self, timer: Timer, cx: &mut Cx<'_, Self>) {
        stabilised::on_timer(self, timer, cx);
        self.save(cx);
    }

    /// `ut <= lst` and `rdt <= rst` of what was written here; of what was written elsewhere the other way round.
    fn visible(View(m, at): &View, stamp: Stamp, rdt: &Hlc) -> bool {
        let (own, others) = if stamp.origin == *m { (LST, RST) } else { (RST, LST) };
        stamp.ts <= at[own] && (*rdt <= at[others] || !DEPENDS_ON_RDT.kept())
    }

    fn status(&self) -> Status {
        Status::new(
            Vector::from_entries([self.snapshot()[RST]]),
            self.waiting.len() + self.time.commits.unfinished(),
        )
    }
}

impl StableTime for Wren {
    fn stabilised(&mut self) -> &mut Stabilised<Self> {
        &mut self.st
    }

    fn slice(&mut self, at: Times, keys: &Several<(u32, Key)>, cx: &mut Cx<'_, Self>) -> FoundSlice<Self> {
        self.st.stable.merge(&at);
        (cx.read_slice(keys, &View(cx.me.dc, at), |_| ()), ())
    }

    fn settled(&mut self, safe: &Times, m: DcId, d: &Version<Hlc>) -> bool {
        Self::visible(&View(m, safe.clone()), d.stamp, &d.meta)
    }

    /// BiST: the time up to which this server has what was written here, and what was written elsewhere.
    fn share(&mut self, cx: &mut Cx<'_, Self>) -> Times {
        let (m, vv) = (cx.me.dc, &self.st.vv);
        let elsewhere = cx.topology.all_dcs().filter(|i| *i != m).map(|i| vv[i]).min();
        Times::from_entries([vv[m], elsewhere.unwrap_or(vv[m])])
    }

    /// Does what waited for snapshots to have what its session wrote, or for nothing.
    fn wake(&mut self, cx: &mut Cx<'_, Self>) {
        for (ticket, op, past) in self.waiting.wake(&self.snapshot()) {
            let past = Past { seen: self.snapshot(), ..past };
            match op {
                None => cx.answer(ticket, Outcome::Adopted, past),
                Some(op) => self.perform(ticket, op, past, cx),
            }
        }
    }

    /// What is stable is persisted by [`Self::save`].
    fn theta(&mut self, cx: &mut Cx<'_, Self>) {
        stabilised::aggregate(self, cx);
        stabilised::collect(self, cx);
        stabilised::expire(self, cx);
        cx.fail_all(self.time.commits.tend(cx.mono), given_up);
        cx.fail_all(self.waiting.expire(cx.mono).into_iter().map(|late| late.0), not_covered);
    }

    fn delta(&mut self, cx: &mut Cx<'_, Self>) {
        self.announce(cx);
    }
}

impl Wren {
    /// Start: a snapshot that every server of the data centre has installed.
    fn snapshot(&self) -> Times {
        let mut at = self.st.stable.clone();
        if REMOTE_BELOW_LOCAL.kept() {
            at[RST] = at[RST].min(at[LST].prev()); // I2
        }
        at
    }

    fn perform(&mut self, ticket: Ticket, op: Op, past: Past, cx: &mut Cx<'_, Self>) {
        let (until, view) = (cx.mono + cx.params.wait_limit_us, View(cx.me.dc, past.seen.clone()));
        match op {
            Op::Rotx { keys } | Op::Snapshot { keys } => {
                self.st.scatter_then((ticket, keys), (past.seen, ()), Self::found, cx);
            }
            Op::PutAll { writes } => self.time.commits.begin(ticket, writes, past, until, cx.topology),
            Op::Transact(step) => self.step(ticket, *step, past, cx),
            Op::Put { key, update } => {
                let looked = cx.look(&key, update, &view, |_| ());
                let Some(write) = looked.write else {
                    let outcome = Outcome::Written { stamp: None, previous: looked.previous };
                    return cx.answer(ticket, outcome, past);
                };
                let ct = match self.prepare(&past, cx) {
                    Ok(pt) => pt, // alone
                    Err(why) => return cx.fail(ticket, why),
                };
                self.time.commits.here(ct, past, vec![(key, write)], (ticket, looked.previous));
                self.apply(cx);
            }
            read => {
                let outcome = cx.find(&Read::of(read), &view, |_| ());
                cx.answer(ticket, outcome, past);
            }
        }
    }

    /// A step of an interactive transaction.
    fn step(&mut self, ticket: Ticket, step: Transact, past: Past, cx: &mut Cx<'_, Self>) {
        match step {
            Transact::Begin { regions: 1.., .. }
            | Transact::Bases
            | Transact::Changed { .. }
            | Transact::ReadBase { .. } => {
                cx.fail(ticket, leases::knows_no_bases());
            }
            Transact::Accept(_) => cx.fail(ticket, leases::has_no_edge()),
            Transact::Begin { .. } => {
                let (at, floor) = (past.seen.clone(), past.seen.min());
                let start = Start { at, floor, base: false };
                leases::begin(self, ticket, start, cx.params.transaction_limit_us, past, cx);
            }
            Transact::Read { snapshot, keys, .. } => match leases::snapshot(self, snapshot) {
                Ok(at) => self.st.scatter_then((ticket, keys), (at, ()), Self::found, cx),
                Err(why) => cx.fail(ticket, why),
            },
            Transact::Commit { watched, .. } if !watched.is_empty() => cx.fail(ticket, checks_nothing()),
            Transact::Commit { writes, .. } => {
                let until = cx.mono + cx.params.wait_limit_us;
                self.time.commits.begin(ticket, writes, past, until, cx.topology);
            }
            Transact::End { snapshot } => {
                leases::end(self, snapshot, cx);
                cx.answer(ticket, Outcome::Written { stamp: None, previous: None }, past);
            }
        }
    }

    /// All slices of a snapshot are here.
    fn found(&mut self, read: SnapshotRead<Times, ()>) -> Answer<Past> {
        Answer(Outcome::FoundAll(read.found), Past { seen: read.at, ..Past::default() })
    }

    /// Prepare: `pt = HLC = max(Clock, HLC + 1, max(lst, rst, hwt) + 1)`.
    fn prepare(&mut self, past: &Past, cx: &Cx<'_, Self>) -> Result<Hlc, Failure> {
        let above = past.seen.max().max(if COMMIT_ABOVE_HWT.kept() { past.hwt } else { Hlc::ZERO }); // I3
        match cx.too_far_ahead(self.time.clock(cx.now).max(above).next()) {
            Some(ahead_us) => Err(Failure::ClockSkew { ahead_us }),
            None => Ok(self.time.tick_above(above, cx.now)),
        }
    }

    /// Commit: `ct = max pt`.
    fn commit(&mut self, from: ServerId, message: Commit<Past>, cx: &mut Cx<'_, Self>) {
        match self.time.commits.on_message(from, message, cx.mono) {
            Some(Turn::Prepare(tx, past, writes, _)) => match self.prepare(&past, cx) {
                Ok(pt) => self.time.commits.propose(tx, (pt, ()), past, writes, cx.mono),
                Err(why) => self.time.commits.refuse(tx, why),
            },
            Some(Turn::Decided(ticket, past, Ok(Decided { stamp, .. }))) => {
                let outcome = Outcome::Written { stamp: Some(stamp), previous: None };
                cx.answer(ticket, outcome, Past { hwt: stamp.ts, ..past });
            }
            Some(Turn::Decided(ticket, _, Err(why))) => cx.fail(ticket, why),
            Some(Turn::Learnt) => self.apply(cx),
            Some(Turn::Again(tx, _)) => self.time.commits.applied(tx),
            // What is watched, and what writes nothing, no session of this protocol asks for.
            Some(Turn::Applied(_) | Turn::Look(..) | Turn::Seen(..)) | None => {}
        }
    }

    /// Apply and replicate: in the order of `ct`, once all that is prepared lies above.
    fn apply(&mut self, cx: &mut Cx<'_, Self>) {
        self.time.pass(self.time.commits.decided().fold(Hlc::ZERO, Hlc::max)); // `HLC = max(HLC, ct)`
        while let Some(transaction) = self.time.take_next(cx.now) {
            let (stamp, past) = (transaction.stamp(cx.me.dc), transaction.snap);
            let rdt = past.seen[RST];
            self.st.stable.raise(RST, rdt); // D5
            for (key, write) in transaction.writes {
                cx.write(key, Version { stamp, meta: rdt, write });
            }
            if let State::Here((ticket, previous)) = transaction.state {
                let outcome = Outcome::Written { stamp: Some(stamp), previous };
                cx.answer(ticket, outcome, Past { hwt: stamp.ts, ..past });
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

    fn save(&mut self, cx: &mut Cx<'_, Self>) {
        let stable = self.snapshot();
        self.time.save(&mut self.st.ceiling, || stable.clone(), Peer::Own, cx); // D4, D5
    }
}

/// Whether WC has what the operation would miss; one that does not look misses nothing.
fn cached(op: &Op) -> bool {
    !matches!(op, Op::Scan { .. } | Op::Count { .. })
        && !matches!(op, Op::Put { update, .. } if update.observes())
}

impl OneRound for Wren {
    type Past = Past;

    fn question(op: Option<Op>, home: DcId, past: &Past) -> Request {
        Request(op, home, past.clone())
    }
}
