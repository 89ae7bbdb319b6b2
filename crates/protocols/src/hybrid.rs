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
//! **Names.** `st.vv` VV, the version vector (`vv[m]` is the server's HLC) · `st.stable` or `gst` GST, up to which everything has arrived
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

use std::collections::BTreeMap;
use tidemark_contract::prelude::*;
use tidemark_contract::stabilised::{self, FoundSlice, Stabilised, StableTime};
use tidemark_contract::{Check, Checks, Deps, Past as _};

mod causes;
mod past;

use causes::Work;
pub use past::{Meta, Params, Past, most_deps};

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
    MOVERS_WAIT, // D7
    STABLE_STAYS_HOME, // D7
    LISTS_ARE_LONG; // D8; safe without: for schedules that are too small to have long lists
    of stabilised: STABLE_SURVIVES, CLOCK_SURVIVES, OFFERS_WHAT_IS_DURABLE // D4
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

/// What servers say to each other beside slices, which are read at a time, and the tree.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[allow(missing_docs)]
pub enum Message {
    Stable(Hlc),       // between roots: the sender's GST (8)
    Check(Check, Hlc), // and the sender's GST (D2)
}

/// What servers say to each other.
pub type Peer = stabilised::Peer<Hlc, Past, Message>;

/// Timers.
pub type Timer = stabilised::Timer<Retry>;

/// The timer of checks that are not answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Retry;

/// What a reader can see.
pub enum View {
    /// What shows.
    Fresh,
    /// A snapshot: everything up to `st`, wherever it was written.
    At(Hlc),
}

/// A server, `p_n^m`.
pub struct Hybrid {
    st: Stabilised<Self>,
    ust: Hlc,
    /// The GST of the other data centres, as their roots told this one; at other servers nothing.
    told: Vector,
    /// What was received and does not show, and whether its causes were asked for.
    hidden: BTreeMap<Stamp, (Key, bool)>,
    checks: Checks<Work>,
    transactions: Waiters<Hlc, (Ticket, Vec<Key>)>,
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
    type Component = Stabilised<Self>;

    fn start(was: Recovered<Hard>, cx: &mut Cx<'_, Self>) -> Self {
        let mut told = Vector::zero(cx.topology.dcs);
        told[cx.me.dc] = Hlc(u64::MAX);
        let known = cx.store().versions().map(|d| d.meta.since.unwrap_or_default().max(d.meta.floor));
        let gst = known.fold(was.hard.stable.min(), Hlc::max); // D4
        let mut st = Stabilised::start(&was, cx.params.shared(), cx);
        st.stable = Vector::from(if STABLE_SURVIVES.kept() { gst } else { Hlc::ZERO });
        let mut server = Self {
            st,
            ust: Hlc::ZERO,
            told,
            hidden: BTreeMap::new(),
            checks: Checks::new(cx.me, was.life, was.received),
            transactions: Waiters::default(),
        };
        let hidden = cx.store().pick(|d| d.meta.since.is_none().then(|| d.meta.near.is_empty()));
        hidden.into_iter().for_each(|(stamp, key, bare)| server.receive(key, stamp, bare, cx));
        cx.arm(Timer::Own(Retry), cx.params.retry_us);
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
                if dt <= self.gst() || !ROTX_WAITS.kept() {
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
            Peer::Own(Message::Stable(gst)) => self.told.raise(from.dc, gst),
            Peer::Own(Message::Check(mut check, gst)) => {
                if CHECKS_TELL_GST.kept() {
                    self.raise(gst, cx); // D2
                }
                if let (false, Check::Ask(_, deps)) = (CAUSES_HAVE_CAUSES.kept(), &mut check) {
                    deps.retain(|dep| dep.stamp.ts > self.st.vv[dep.stamp.origin]);
                }
                self.checks.on_message(from, check); // 3
            }
            message => stabilised::on_peer(self, from, message, cx),
        }
        self.go_on(cx);
    }

    fn on_replicate(&mut self, from: ServerId, item: Received<'_, Meta>, cx: &mut Cx<'_, Self>) {
        self.st.vv.raise(from.dc, item.upto);
        for (key, d) in item.versions {
            self.raise(if FLOOR_IS_ADOPTED.kept() { d.meta.floor } else { Hlc::ZERO }, cx); // 7
            self.receive(key.clone(), d.stamp, d.meta.near.is_empty(), cx);
        }
        self.checks.heard(from.dc, item.upto);
        self.go_on(cx);
    }

    fn on_peer_reset(&mut self, peer: ServerId, cx: &mut Cx<'_, Self>) {
        stabilised::on_peer_reset(self, peer, cx);
        self.checks.reset(peer);
        self.go_on(cx);
    }

    fn on_timer(&mut self, timer: Timer, cx: &mut Cx<'_, Self>) {
        match timer {
            Timer::Own(Retry) => {
                cx.arm(timer, cx.params.retry_us);
                let hidden = &self.hidden;
                self.checks.give_up(|work| matches!(work, Work::Show(at) if !hidden.contains_key(at))); // 5
                self.checks.ask_again();
            }
            timer => stabilised::on_timer(self, timer, cx),
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
        Status::new(self.st.stable.clone(), self.transactions.len() + self.checks.len())
    }
}

impl StableTime for Hybrid {
    fn stabilised(&mut self) -> &mut Stabilised<Self> {
        &mut self.st
    }

    fn slice(&mut self, st: Hlc, keys: &Several<(u32, Key)>, cx: &mut Cx<'_, Self>) -> FoundSlice<Self> {
        self.raise(st, cx);
        let mut seen = self.known();
        let partition = cx.me.partition;
        let found = cx.read_slice(keys, &View::At(st), |d| seen.see(partition, d.stamp));
        (found, seen)
    }

    fn settled(&mut self, safe: &Vector, _: DcId, d: &Version<Meta>) -> bool {
        d.stamp.ts <= safe.min()
    }

    /// Two numbers go up the tree: what was received, and what the root was told (8).
    fn share(&mut self, cx: &mut Cx<'_, Self>) -> Vector {
        let told = if cx.me.partition == ROOT { self.told.min() } else { Hlc(u64::MAX) };
        Vector::from_entries([self.st.vv.min(), told])
    }

    fn learn(&mut self, stable: &Vector, cx: &mut Cx<'_, Self>) {
        if let [gst, told] = stable.entries() {
            self.raise(*gst, cx);
            self.ust = self.ust.max(*told);
        }
    }

    fn theta(&mut self, cx: &mut Cx<'_, Self>) {
        stabilised::hurry(self, cx);
        stabilised::aggregate(self, cx);
        let peers = cx.topology.peers(cx.me).filter(|peer| peer.partition == ROOT);
        peers.for_each(|peer| cx.send(peer, Peer::Own(Message::Stable(self.gst())))); // 8
        stabilised::collect(self, cx);
        stabilised::expire(self, cx);
        self.turn_away(cx);
    }
}

impl Hybrid {
    /// GET.
    fn get(&mut self, ticket: Ticket, key: Key, until: Micros, cx: &mut Cx<'_, Self>) {
        let newest = cx.chain(&key).next().filter(|d| d.meta.since.is_none());
        if let Some(stamp) = newest.map(|d| d.stamp) {
            self.look_into(stamp, cx); // 1
            if cx.mono < until {
                return self.checks.open(&Deps::one(cx.me.partition, stamp), Work::Get(ticket, key, until));
            }
        }
        let mut past = self.known();
        let partition = cx.me.partition;
        let outcome = cx.find(&Read::Get(key), &View::Fresh, |d| past.see(partition, d.stamp));
        cx.answer(ticket, outcome, past);
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
            let new = cx.stamp_above(self.st.vv[m], above)?;
            self.st.written(new.ts, cx);
            *said = self.known();
            said.see(n, new);
            let meta = |near| Meta { near, floor: past.ust, since: Some(self.gst()) };
            Ok(Draft::new(new, meta(past.near)).in_memory(meta(Deps::default())))
        });
        cx.answer(ticket, outcome, said);
    }

    /// `GST ← max(GST, gst)`, and all up to it shows.
    fn raise(&mut self, gst: Hlc, cx: &mut Cx<'_, Self>) {
        if gst > self.gst() {
            self.st.stable = Vector::from(gst);
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
        self.st.scatter((ticket, keys), self.gst(), self.known(), cx); // 9
    }

    fn turn_away(&mut self, cx: &mut Cx<'_, Self>) {
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

    fn gst(&self) -> Hlc {
        self.st.stable.min()
    }

    /// What every answer says: the GST, and what is stable everywhere.
    fn known(&self) -> Past {
        let gst = self.gst();
        Past {
            gst,
            ust: if FORGETS_ONLY_EVERYWHERE.kept() { gst.min(self.ust) } else { gst },
            ..Past::default()
        }
    }
}

const ROOT: PartitionId = PartitionId(0);
