//! POCC, optimistic causal consistency: whatever has arrived is read at once, and a read waits if something that the
//! session depends on is still on its way.
//!
//! **Idea.** Elsewhere a version is hidden until its causes have arrived, which they nearly always have. Here it is
//! shown, and its reader remembers what it depends on; the server that is asked next waits for what has not arrived.
//! Reads are as fresh as can be. The price is availability: while a link between regions is cut, whoever has seen an
//! effect waits for its cause, and is told so after a while.
//!
//! **Source.** K. Spirovska, D. Didona, W. Zwaenepoel, *Optimistic Causal Consistency for Geo-Replicated Key-Value
//! Stores*, ICDCS 2017 and TPDS 2020. Only the abstract could be read, and Table 2 of Contrarian's authors (002): they
//! say that versions show on arrival, that serving checks dependencies, that there is a pessimistic fallback, and that
//! transactions have a coordinator, two rounds and one version. RDV and DV are from this project's notes; all other
//! rules of transactions and of moving, and all numbers, are *reconstructed*.
//!
//! **Names.** `st.vv` VV, the version vector (`vv[m]` is the server's HLC) · `dv` DV, dependencies; DV_c of a session ·
//! `rdv` RDV_c, those of what it has read · `st.stable` or `gss` GSS, the global stable snapshot · `sv`
//! SV, a snapshot · `ut` update time · θ, Δ: [`Params`].
//!
//! **Deviations**
//! - D1 The clock is hybrid, where the paper's is physical: neither a PUT nor a snapshot waits for a clock.
//! - D2 (E-12) The persisted ceiling covers what slices promise too. `gss` is persisted because collection has
//!   used it; no snapshot lies below it.
//! - D3 (E-13) A session that moves does not wait: what it has seen joins its `rdv`, and its reads wait.
//! - D4 No fallback: the paper closes a session that waited in vain, and opens another that reads what is stable. Here
//!   the operation fails after [`Params::wait_limit_us`], with the reason, and the session may try again or be left.
//! - D5 A conditional update waits and looks as a GET does, and depends on what decided it. So do SCAN and COUNT.
//! - D6 Collection: below the least of all snapshots in use and of all persisted `gss` of the data centre.
//!
//! **Invariants**
//! - I1 What a session's `dv` has above its `rdv` it wrote or read itself: a later read of those keys finds it there.
//! - I2 For i ≠ m, `gss[i]` never exceeds `vv[i]` of any server of the data centre.
//! - I3 A version's `ut` is above its `dv`, and above `sv[m]` of every snapshot read before where it was written.

use tidemark_contract::Past as _;
use tidemark_contract::prelude::*;
use tidemark_contract::stabilised::{self, FoundSlice, Stabilised, StableTime};
pub use tidemark_contract::stabilised::{Params, Timer};

tidemark_contract::rules! {
    GET_WAITS,
    SLICE_WAITS,
    SLICE_LIFTS_CLOCK, // I3
    SV_COVERS_DV,
    PUT_ABOVE_DV, // I3
    MOVED_READS_WAIT; // D3
    of stabilised: STABLE_SURVIVES, CLOCK_SURVIVES, OFFERS_WHAT_IS_DURABLE // D2, D6
}

/// What a session remembers, and what an answer adds to it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct Past {
    pub rdv: Vector,
    pub dv: Vector,
}

impl tidemark_contract::Past for Past {
    type Said = Self;

    fn merge(&mut self, other: &Past) {
        self.rdv.merge(&other.rdv);
        self.dv.merge(&other.dv);
    }

    fn reach(&self, home: DcId) -> Reach {
        Reach::of(home, [&self.rdv, &self.dv])
    }
}

impl Past {
    /// It saw `d`.
    fn depend(&mut self, d: &Version<Vector>) {
        self.rdv.merge(&d.meta);
        self.dv.depend_on(d.stamp, &d.meta);
    }
}

/// What a session asks, and its past.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Request(pub Op, pub Past);

/// What the servers of a data centre say to each other: slices are asked for at SV, and tell what their reader has seen.
pub type Peer = stabilised::Peer<Vector, Past>;

/// What a reader can see: whatever has arrived, or a snapshot: what sv covers with all that it depends on.
pub struct View(Option<Vector>);

/// Work that waits until `vv` has risen.
enum Work {
    Asked(Ticket, Op, Past),
    Slice(ServerId, SliceReq<Vector>),
}

/// A server, `p_n^m`.
pub struct Pocc {
    st: Stabilised<Self>,
    waiting: Waiters<Vector, Work>,
}

const ABOUT: &str = "causal+, optimistic: reads are fresh, and wait for causes that have not arrived";

impl Protocol for Pocc {
    const INFO: Info = Info::new("pocc", ABOUT, Promise::CausalImmediate).partial().rules(RULES);
    type Meta = Vector; // dv
    type Request = Request;
    type Reply = Answer<Past>;
    type Peer = Peer;
    type Hard = Hard;
    type Timer = Timer;
    type View = View;
    type Session = Client;
    type Params = Params;
    type Component = Stabilised<Self>;

    fn start(was: Recovered<Hard>, cx: &mut Cx<'_, Self>) -> Self {
        let mut st = Stabilised::start(&was, *cx.params, cx);
        if STABLE_SURVIVES.kept() {
            st.vv.merge(&was.hard.stable); // D2
        }
        Self { st, waiting: Waiters::default() }
    }

    fn on_request(&mut self, ticket: Ticket, Request(op, past): Request, cx: &mut Cx<'_, Self>) {
        let looks = match &op {
            Op::Put { key, update } => update.observes() || cx.store().is_typed(key), // D5
            Op::Rotx { .. } | Op::Snapshot { .. } => false,
            _ => true,
        };
        self.when((looks && GET_WAITS.kept()).then(|| past.rdv.clone()), Work::Asked(ticket, op, past), cx);
    }

    fn on_peer(&mut self, from: ServerId, message: Peer, cx: &mut Cx<'_, Self>) {
        match message {
            Peer::SliceReq(request) => {
                self.when(SLICE_WAITS.kept().then(|| request.at.clone()), Work::Slice(from, request), cx);
            }
            message => stabilised::on_peer(self, from, message, cx),
        }
    }

    /// Everything that `from` wrote up to a time is here.
    fn on_replicate(&mut self, from: ServerId, item: Received<'_, Vector>, cx: &mut Cx<'_, Self>) {
        self.st.vv.raise(from.dc, item.upto);
        self.waiting.wake(&self.st.vv).into_iter().for_each(|work| self.work(work, cx));
    }

    fn visible(View(sv): &View, stamp: Stamp, dv: &Vector) -> bool {
        sv.as_ref().is_none_or(|sv| sv.covers(stamp) && dv.le(sv))
    }

    fn status(&self) -> Status {
        Status::new(self.st.stable.clone(), self.waiting.len())
    }
}

impl StableTime for Pocc {
    fn stabilised(&mut self) -> &mut Stabilised<Self> {
        &mut self.st
    }

    fn slice(&mut self, sv: Vector, keys: &Several<(u32, Key)>, cx: &mut Cx<'_, Self>) -> FoundSlice<Self> {
        if SLICE_LIFTS_CLOCK.kept() {
            self.st.advance(sv[cx.me.dc], cx);
        }
        let mut seen = Past::default();
        let found = cx.read_slice(keys, &View(Some(sv)), |d| seen.depend(d));
        (found, seen)
    }

    /// D6.
    fn settled(&mut self, safe: &Vector, _: DcId, d: &Version<Vector>) -> bool {
        d.meta.le(safe) && safe.covers(d.stamp)
    }

    /// Ends, too, what has waited too long (D4). Whoever waits for a slice gives up by itself.
    fn theta(&mut self, cx: &mut Cx<'_, Self>) {
        stabilised::theta(self, cx);
        let why = "what this session has seen depends on writes that have not arrived here yet";
        for work in self.waiting.expire(cx.mono) {
            if let Work::Asked(ticket, ..) = work {
                cx.fail(ticket, Failure::Unavailable(why.to_string()));
            }
        }
    }
}

impl Pocc {
    /// Does `work` once what `needs` names of other data centres has arrived.
    fn when(&mut self, needs: Option<Vector>, work: Work, cx: &mut Cx<'_, Self>) {
        let needs = needs.unwrap_or_default().without(cx.me.dc);
        if needs.le(&self.st.vv) {
            return self.work(work, cx);
        }
        self.waiting.park(needs, cx.mono + cx.params.wait_limit_us, work);
    }

    fn work(&mut self, work: Work, cx: &mut Cx<'_, Self>) {
        match work {
            Work::Asked(ticket, op, past) => self.answer(ticket, op, past, cx),
            Work::Slice(from, request) => stabilised::slice(self, from, request, cx),
        }
    }

    fn answer(&mut self, ticket: Ticket, op: Op, past: Past, cx: &mut Cx<'_, Self>) {
        match op {
            Op::Put { key, update } => self.put(ticket, (key, update), past.dv, cx),
            Op::Rotx { keys } | Op::Snapshot { keys } => {
                let sv = self.snapshot(&past, cx);
                self.st.scatter((ticket, keys), sv, past, cx);
            }
            read => {
                let mut seen = Past::default();
                let outcome = cx.find(&Read::of(read), &View(None), |d| seen.depend(d));
                cx.answer(ticket, outcome, seen);
            }
        }
    }

    /// PUT.
    fn put(&mut self, ticket: Ticket, (key, update): (Key, Update), mut dv: Vector, cx: &mut Cx<'_, Self>) {
        let m = cx.me.dc;
        let (outcome, seen) =
            cx.update(&key, update, &View(None), Past::default(), Past::depend, |seen, cx| {
                dv.merge(&seen.dv); // D5
                let above = if PUT_ABOVE_DV.kept() { dv.max() } else { Hlc::ZERO };
                let new = cx.stamp_above(self.st.vv[m], above)?; // I3
                self.st.written(new.ts, cx);
                seen.dv.include(new);
                Ok(Draft::new(new, dv))
            });
        cx.answer(ticket, outcome, seen);
    }

    /// SV: all that the session depends on, and all that has arrived here.
    fn snapshot(&mut self, past: &Past, cx: &mut Cx<'_, Self>) -> Vector {
        let m = cx.me.dc;
        self.st.advance(Hlc::at(cx.now).max(past.dv[m]), cx);
        let mut sv = if SV_COVERS_DV.kept() { past.dv.clone() } else { Vector::default() };
        sv.merge(&self.st.stable); // D2
        sv.merge(&self.st.vv);
        sv
    }
}

/// A session.
pub struct Client {
    token: Token<Past>,
}

impl Session<Pocc> for Client {
    type Token = Token<Past>;

    fn open(home: DcId) -> Self {
        Self { token: Token { home, past: Past::default() } }
    }

    fn begin(&mut self, op: Op, cx: &mut SessionCx<'_, Pocc>) {
        if let Some(server) = cx.begin(&op) {
            cx.ask(server, Request(op, self.token.past.clone()));
        }
    }

    fn on_reply(
        &mut self,
        _: AskId,
        _: ServerId,
        Answer(outcome, past): Answer<Past>,
        cx: &mut SessionCx<'_, Pocc>,
    ) {
        self.token.past.merge(&past);
        cx.done(outcome);
    }

    fn token(&self) -> Token<Past> {
        self.token.clone()
    }

    /// D3.
    fn adopt(&mut self, Token { home, past }: Token<Past>, cx: &mut SessionCx<'_, Pocc>) {
        let mine = &mut self.token.past;
        mine.merge(&past);
        if home != self.token.home && MOVED_READS_WAIT.kept() {
            mine.rdv.merge(&past.dv);
        }
        cx.done(Outcome::Adopted);
    }
}
