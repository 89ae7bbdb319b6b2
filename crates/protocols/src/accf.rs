//! ACCF, the adaptive causal consistency framework: which servers share an entry of every version's dependencies, and
//! which tell each other what they have received, is configured; protocols that are known are points of that space.
//!
//! **Idea.** Dependencies are *tracked* with one time for each group of servers (T), and *checked* by servers that tell each
//! other what has arrived (C): who reads at the servers of one checking group alone reads what all of them can back, and
//! never waits. Elsewhere, or with a past that its group cannot back yet, a session reads the newest that there is, and a
//! server that lacks some of that past lets it wait. So groupings are a matter of speed, and never of safety.
//!
//! **Source.** M. Roohitavaf, dissertation (000), chapter 7, Algorithms 7.1 and 7.2.
//!
//! **Names.** `ds` DS_c of a session, ds of a version: one time a tracking group · T(i) `own_group`, T(j) in `peers` · `latest`
//! the last time from each server j · `vv` VV_i, by tracking group, +∞ [`NEVER`] · `svv` SVV_i^cg · `clock` HLC_i · `ut` update
//! time · `cg` checking group · `sv` snapshot vector · θ, Δ: [`Params`].
//!
//! **Deviations**
//! - D1 (E-7a) Line 4 is printed with `>`: it has to say that the group covers the session. `accf-published` keeps it.
//! - D2 (E-7b) Lines 15 and 21 overwrite `VV_i[T(j)]`, which is right where one server of a group feeds i and no other; the
//!   text's minimum is taken over all that do, and i itself. `accf-published` keeps it.
//! - D3 (E-7c) A version's own time is its stamp, by which the last writer wins. `ds[T(i)]` of a version holds it too.
//! - D4 Where only i's own clock is behind what the session depends on, it is moved instead of waited for.
//! - D5 (E-12) Stamps start above a persisted ceiling ([`Ceiling`]), with which the least `svv` is persisted.
//! - D6 A client may name several checking groups, whose minimum is their union's; or none: the first of the server's.
//!   Groups that a server is not in count for nothing there; if none is left, it checks itself alone.
//! - D7 Read-only transactions are ours. In a checking group that holds all servers asked, `sv` is `svv` and what the
//!   session depends on. If there is none, the servers asked are a group of the moment: one more round asks for their `vv`.
//!   A slice waits until `vv` has reached `sv`, and leaves out what `sv` does not cover with all that it depends on.
//! - D8 Collection is ours: below the least `svv` that was durable [`Params::collect_after_us`] ago. A slice that comes later is
//!   refused, and its transaction begins again above that.
//! - D9 A session that moves takes its ds along and waits for nothing: its reads do. A conditional update waits and looks
//!   as a GET does; so do SCAN and COUNT.
//! - D10 Groups change while the system runs ([`changes`]; 000 §9.6): a checking group comes once all of its servers have told what they
//!   have, and goes once nobody asks for it any more. Who asks for one that is not there is answered by another.
//! - D11 Versions say by which tracking they were written, and one counts for another as [`Tracked`] says. Nobody is shown less than what
//!   every group had at some time, though a new group has less: below that, versions may be gone.
//! - D12 Line 7 gives a session that is ahead of its group the newest version, with which it may stay ahead: it waits in its own
//!   group for as long as updates come. [`Ahead::Covered`] gives it what its group and its past cover instead.
//! - D13 Answers tell how long they waited in line 2: so whoever chooses groups knows what they cost.
//!
//! **Invariants**
//! - I1 Everything that a server of group t wrote for i up to `vv[t]` is here, and `svv` of cg never exceeds `vv` of its members.
//! - I2 A version's `ds` is at or above those of all that it depends on, and its `ut` above all of them.
//! - I3 What is written at i after a slice was read there has a `ds[T(i)]` above its `sv`.

mod changes;
mod groups;
mod lasting;
mod params;
mod rules;
mod session;
mod tracks;
mod transactions;
mod waiting;

use changes::{Changes, Spreading};
use groups::Groups;
pub use lasting::Remembered;
pub use params::{Ahead, Params};
pub use rules::*;
use serde::{Deserialize, Serialize};
pub use session::{Client, Reply, Request};
use tidemark_contract::core::promise::Promise;
use tidemark_contract::core::{DcId, Failure, Hlc, Key, Micros, Op, ServerId, Stamp, Update, Vector};
use tidemark_contract::cx::Read;
use tidemark_contract::gather::GatherId;
use tidemark_contract::grouping::tracked::{Reached, Tracked, everywhere};
use tidemark_contract::grouping::{Checking, CheckingGroup, CheckingGroups, Groupings, Tracking};
use tidemark_contract::order::Order;
use tidemark_contract::protocol::Received;
use tidemark_contract::removal::Standing;
use tidemark_contract::{
    Answer, Ceiling, Cx, Draft, Extensions, Info, Protocol, Recovered, SliceReply, SliceReq, Status, Ticket,
    Topology, Tree, Version, Waiters,
};
use tracks::Tracks;
use transactions::{Collection, Reading, Transactions};
use waiting::Work;

/// What servers say to each other.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[allow(missing_docs)]
pub enum Peer {
    Tree(CheckingGroup, Tracking, Tree),
    Ask(GatherId), // D7: what is your VV?
    Tell(GatherId, Reached),
    SliceReq(SliceReq<Reached>),
    SliceReply(SliceReply<Tracked>),
    /// D8: what the slice asks for is collected; not so what this covers.
    TooLate(GatherId, Reached),
    /// D10: what has changed; whether to answer what the other one knows.
    Changes(Changes, bool),
}

/// Timers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs)]
pub enum Timer {
    Theta,
    Delta,
}

/// What a reader can see: what a vector covers with all that it depends on, or whatever is here.
pub struct View(Option<Reached>);

/// A server, `i`.
pub struct Accf {
    clock: Hlc,
    tracks: Tracks,
    latest: Vector,
    /// VV_i as lines 15 and 21 keep it: what [`AccfPublished`] uses.
    overwritten: Vector,
    groups: Groups,
    sent_since_delta: bool,
    waiting: Waiters<Vector, Work>,
    transactions: Transactions,
    collection: Collection,
    ceiling: Ceiling,
    changes: Changes,
    spreading: Spreading,
}

const ABOUT: &str = "causal+ with groups of your choice for tracking and checking dependencies";

impl Protocol for Accf {
    const INFO: Info =
        Info::new("accf", ABOUT, Promise::CausalSnapshot).partial().rules(RULES).variants(VARIANTS);
    const EXTENSIONS: Extensions<Self> = Extensions {
        order: Some(Self::obey),
        checking: Some(CheckingGroups {
            groups: |params, topology, known| known.changes.choices(params, topology),
            waited: |Reply(_, waited)| *waited,
            standing: Self::standing,
        }),
        ..Extensions::NONE
    };
    type Meta = Tracked; // ds
    type Request = Request;
    type Reply = Reply;
    type Peer = Peer;
    type Hard = Remembered;
    type Timer = Timer;
    type View = View;
    type Session = Client;
    type Params = Params;
    type Component = ();

    fn start(Recovered { hard, life, received, .. }: Recovered<Remembered>, cx: &mut Cx<'_, Self>) -> Self {
        let (me, topology, params) = (cx.me, cx.topology, cx.params);
        let Remembered { hard, floor, changes } = hard;
        let tracks = Tracks::new(changes.tracking(params, topology), me, topology);
        let mut clock = received[me.dc];
        if STAMPS_SURVIVE.kept() {
            clock = clock.max(hard.ceiling); // D5
        }
        cx.arm(Timer::Theta, params.theta_us);
        cx.arm(Timer::Delta, params.delta_us);
        let mut groups = Groups::of(me, params, topology, &hard.stable, &tracks);
        groups.keep(&hard.stable);
        groups.keep(&floor);
        groups.change(&changes, cx.mono);
        Self {
            clock,
            overwritten: tracks.least(&received, clock),
            latest: received,
            groups,
            sent_since_delta: false,
            waiting: Waiters::default(),
            transactions: Transactions::new(life),
            collection: Collection::new(hard.stable.clone(), &floor, tracks.by, cx),
            ceiling: Ceiling::new(hard),
            tracks,
            changes,
            spreading: Spreading::default(),
        }
    }

    fn on_request(&mut self, ticket: Ticket, request: Request, cx: &mut Cx<'_, Self>) {
        if request.1.tracking() == self.tracks.by && request.1.groups() > self.tracks.count {
            let why = "the session depends on a tracking group that there is not";
            return cx.fail(ticket, Failure::StaleSession(why.to_string()));
        }
        self.take(ticket, request, cx.mono, cx);
    }

    fn on_peer(&mut self, from: ServerId, message: Peer, cx: &mut Cx<'_, Self>) {
        match message {
            Peer::Tree(cg, by, message) => {
                self.groups.on_message((from, cg, by, message), &self.reached(self.clock), cx);
            }
            Peer::Ask(id) => {
                let mut vv = self.reached(self.clock);
                vv.upto.merge(&self.collection.gone()); // D8
                cx.send(from, Peer::Tell(id, vv));
            }
            Peer::Tell(id, vv) => self.transactions.told(from, id, vv, cx),
            Peer::SliceReq(request) => self.take_slice(from, request, cx),
            Peer::SliceReply(reply) => self.transactions.gather(from, reply, cx),
            Peer::TooLate(id, kept) => self.transactions.again(id, &kept, cx),
            Peer::Changes(theirs, asks) => self.hear_of(from, &theirs, asks, cx), // D10
        }
    }

    /// Algorithm 7.2 lines 19 to 21.
    fn on_replicate(&mut self, from: ServerId, item: Received<'_, Tracked>, cx: &mut Cx<'_, Self>) {
        let group = self.tracks.of_peer(from.dc);
        let named = item.versions.last().map_or(item.upto, |(_, d)| d.meta.get(group));
        self.received(from.dc, item.upto, named, cx);
    }

    fn on_peer_reset(&mut self, peer: ServerId, cx: &mut Cx<'_, Self>) {
        self.transactions.reset(peer, cx);
        self.spreading.reset(peer);
    }

    fn on_timer(&mut self, timer: Timer, cx: &mut Cx<'_, Self>) {
        match timer {
            Timer::Theta => {
                cx.arm(Timer::Theta, cx.params.theta_us);
                self.advance(Hlc::at(cx.now), cx);
                let hurried = self.ceiling.hurried(cx.store().waiting(), || self.groups.least());
                self.persist(hurried, cx);
                self.groups.tick(&self.reached(self.clock), cx);
                self.collection.work(self.ceiling.stable(), cx); // D8
                self.give_up(cx);
                self.look_after_changes(cx); // D10
            }
            Timer::Delta => {
                cx.arm(Timer::Delta, cx.params.delta_us);
                if !std::mem::take(&mut self.sent_since_delta) {
                    let hlc = self.clock.tick(cx.now);
                    self.advance(hlc, cx);
                    cx.heartbeat(hlc);
                }
            }
        }
    }

    fn visible(View(covered): &View, _: Stamp, ds: &Tracked) -> bool {
        covered.as_ref().is_none_or(|covered| covered.covers(ds))
    }

    fn status(&self) -> Status {
        let by_dc = self.tracks.by_dc(&self.groups.least());
        let stable = match self.changes.tracked_otherwise() {
            // Versions of another tracking show when this time has come everywhere.
            true => everywhere(by_dc.min(), by_dc.entries().len()),
            false => by_dc,
        };
        Status::new(stable, self.waiting.len())
    }
}

impl Accf {
    /// D10.
    fn obey(&mut self, order: &Order, _records: &[u64], cx: &mut Cx<'_, Self>) -> Result<Standing, String> {
        let Order::Regrouping(order) = order else { return Err(order.unknown::<Self>()) };
        let now = { self.clock }.tick(cx.now);
        self.advance(now, cx); // no two orders have one time
        self.changes.obey(order, (now, cx.me), cx.params, cx.topology)?;
        self.changed(cx);
        Ok(Standing::default())
    }

    fn standing(&self, params: &Params, topology: &Topology) -> Groupings {
        let behind = self.tracks.behind(&self.vv(self.clock), self.clock);
        self.changes.standing(&self.groups, behind, params, topology)
    }

    /// `VV_i`, with `clock` as this server's own part of it.
    fn vv(&self, clock: Hlc) -> Vector {
        if LEAST_OF_GROUP.kept() { self.tracks.least(&self.latest, clock) } else { self.overwritten.clone() } // D2
    }

    /// The same, and of which tracking it is.
    fn reached(&self, clock: Hlc) -> Reached {
        self.by(self.vv(clock))
    }

    fn by(&self, upto: Vector) -> Reached {
        Reached { by: self.tracks.by, upto }
    }

    /// Answers what has waited for `waited` microseconds.
    fn answer(
        &mut self,
        ticket: Ticket,
        Request(op, ds, cgs): Request,
        waited: Micros,
        cx: &mut Cx<'_, Self>,
    ) {
        let mut seen = Tracked::by(self.tracks.by);
        let view = self.view(&ds, &cgs, cx);
        let outcome = match op {
            Op::Put { key, update } => return self.put(ticket, (key, update), ds, &view, cx),
            Op::Rotx { keys } | Op::Snapshot { keys } => {
                let (ds, deadline) = (ds.into_tracking(self.tracks.by), cx.mono + cx.params.wait_limit_us);
                let svv = |servers: &[ServerId]| {
                    let svv = self.groups.holding(servers, &cgs)?;
                    Some(Reached { by: self.tracks.by, upto: svv })
                };
                return self.transactions.begin(Reading { ticket, keys, ds, deadline }, svv, cx); // D7
            }
            read => cx.find(&Read::of(read), &view, |d| seen.merge(&d.meta)), // 8
        };
        cx.reply(ticket, Reply(Answer(outcome, seen), waited));
    }

    /// Algorithm 7.2 lines 4 to 7.
    fn view(&mut self, ds: &Tracked, cgs: &Checking, cx: &Cx<'_, Self>) -> View {
        let Self { groups, tracks, latest, overwritten, clock, .. } = self;
        let vv = || if LEAST_OF_GROUP.kept() { tracks.least(latest, *clock) } else { overwritten.clone() };
        let mut svv = Reached { by: tracks.by, upto: groups.svv(cgs, cx.mono, vv) }; // D6
        let stable = match STABLE_IF_COVERED.kept() {
            true => svv.covers(ds), // D1
            false => ds.entries().all(|(t, h)| h > svv.upto[t]),
        };
        if cx.params.ahead == Ahead::Covered {
            svv.raise(ds); // D12
            return View(Some(svv));
        }
        View(stable.then_some(svv))
    }

    /// Algorithm 7.2 lines 9 to 18.
    fn put(
        &mut self,
        ticket: Ticket,
        (key, update): (Key, Update),
        mut ds: Tracked,
        view: &View,
        cx: &mut Cx<'_, Self>,
    ) {
        let (seen, see) =
            (Tracked::by(self.tracks.by), |seen: &mut Tracked, d: &Version<_>| seen.merge(&d.meta)); // D9
        let (outcome, seen) = cx.update(&key, update, view, seen, see, |seen, cx| {
            ds = ds.into_tracking(self.tracks.by); // D11
            ds.merge(seen);
            let dt = if PUT_ABOVE_DS.kept() { ds.max() } else { Hlc::ZERO }; // 10
            let new = cx.stamp_above(self.clock, dt)?; // 11
            self.advance(new.ts, cx); // 15
            self.sent_since_delta = true;
            if !PUT_KEEPS_DS.kept() {
                ds = Tracked::by(self.tracks.by);
            }
            ds.raise(self.tracks.own, new.ts); // 13
            seen.raise(self.tracks.own, new.ts);
            Ok(Draft::new(new, ds)) // 12, 14, 17, 18
        });
        cx.answer(ticket, outcome, seen); // 16
    }

    /// Algorithm 7.2 line 21: everything from `dc` up to `ts` is here. `named` is what the paper's line assigns.
    fn received(&mut self, dc: DcId, ts: Hlc, named: Hlc, cx: &mut Cx<'_, Self>) {
        self.latest.raise(dc, ts);
        if !LEAST_OF_GROUP.kept() {
            let group = self.tracks.of_peer(dc);
            self.overwritten[group] = named;
        }
        if !self.waiting.is_empty() {
            let vv = self.vv(self.clock);
            self.waiting.wake(&vv).into_iter().for_each(|work| self.work(work, cx));
        }
    }
}
