//! Stable time, with its whole life: the version vector, the stable vector and its tree, the durable ceiling, snapshot reads,
//! sessions that migrate, the timers θ and Δ, heartbeats, collection, and restarts. `at_a_time.rs` adds reads at a physical time.
//!
//! A protocol keeps a [`Stabilised`], implements [`StableTime`], and names the one as its [`Component`]. Events that it does not
//! treat specially go to the functions of this module. A step that it does treat specially is a hook of the trait, or an event
//! of the protocol: it is overridden there, and as a rule calls the function of the same name here.
//!
//! **Rules of restarts**
//! - S1 (E-12) `stable` restarts at the persisted value; what the protocol's own versions imply is added by the protocol.
//! - S2 (E-8, E-12) The clock restarts at a persisted ceiling, above everything announced, stamped, or promised to a slice.
//! - S3 (E-12) A server offers for collection the stable value that it has persisted, and no more than its open snapshots.
//! - S4 (E-2) `stable` is merged, never assigned.
//! - S5 (E-13) A session that migrates waits until `stable` covers what its past needs in this region.
//! - S6 (E-13) What is stable in one region means nothing in another: a [`Past`] that migrates leaves it behind.

use crate::component::Component;
use crate::horizon::Horizon;
use crate::protocol::Received;
use crate::session::not_covered;
use crate::several::Several;
use crate::slices::{SnapshotRead, unanswered};
use crate::{
    Answer, Ceiling, Cx, Hard, Params as _, Past as _, Protocol, Recovered, SliceReply, SliceReq, Slices,
    Stabilisation, Ticket, Waiters,
};
use tidemark_core::{DcId, Failure, Found, Hlc, Key, Outcome, ServerId, Vector};
use tidemark_store::Version;

mod at_a_time;
mod heartbeats;
pub mod leases;
mod messages;
mod params;
mod past;
mod reports;

pub use at_a_time::{at_a_time, not_stable};
pub use heartbeats::{delta, is_due};
use leases::Leases;
pub use messages::{Messages, Never, Peer, Timer, Timers};
pub use params::{KeepParams, Params, TRANSACTION_LIMIT_US, TransactionParams};
pub use past::{Past, cover, turn_away};
use reports::{report, tree};

crate::rules! { from crate::Rule::COMPONENTS;
    STABLE_SURVIVES, // S1
    CLOCK_SURVIVES, // S2
    OFFERS_WHAT_IS_DURABLE, // S3
    STABLE_STAYS_HOME, // S6
    READS_AT_STABLE, // T1
    READS_ABOVE_HORIZON, // T2
    HOLDS_SNAPSHOTS, // leases
    TRANSACTIONS_STAND_APART, // interactive ones: others of the region have gone on from what the snapshot shows
}

/// Names a snapshot of `P`.
pub type At<P> = <<P as Protocol>::Peer as Messages>::At;
/// What a slice of `P` tells its reader.
pub type Slice<P> = <<P as Protocol>::Peer as Messages>::Slice;
/// What a slice of `P` finds, each value with its place in the answer, and what it tells.
pub type FoundSlice<P> = (Vec<(u32, Found)>, Slice<P>);

/// One server's share of what is stable.
pub struct Stabilised<P: StableTime> {
    /// Up to where everything of each data centre was received; the own entry is the clock.
    pub vv: Vector,
    /// The stable vector, time, or times.
    pub stable: Vector,
    /// What survives a crash.
    pub ceiling: Ceiling<P::Hard>,
    written_since_delta: bool,
    reads: Slices<At<P>, (Slice<P>, WhenFound<P>)>,
    leases: Leases<At<P>>,
    arrivals: Waiters<Vector, Arrival<P>>,
    /// Requests that wait for `stable`, and are taken up again from their beginning.
    blocked: Waiters<Vector, Blocked<P>>,
    tree: Stabilisation,
    /// From when on versions are kept for reads at a time.
    pub horizon: Horizon,
    params: Params,
}

/// A session that migrated: whom to answer, what it depends on, and what it is told once this region covers that.
type Arrival<P> = (Ticket, Vector, fn(&mut P, Vector) -> <P as Protocol>::Reply);

/// What the reader is told once all slices of its snapshot are here.
type WhenFound<P> = fn(&mut P, SnapshotRead<At<P>, Slice<P>>) -> <P as Protocol>::Reply;

/// A request that waits: whom to answer, what was asked, and why it failed if it waits too long.
type Blocked<P> = (Ticket, <P as Protocol>::Request, fn() -> Failure);

/// A protocol by stable time: the hooks in which such protocols differ.
pub trait StableTime:
    Protocol<Peer: Messages, Timer: Timers, Hard: AsRef<Hard> + AsMut<Hard>, Reply: From<Failure>>
{
    /// The component's state.
    fn stabilised(&mut self) -> &mut Stabilised<Self>;

    /// Reads keys of this partition in the snapshot `at`.
    fn slice(&mut self, at: At<Self>, keys: &Several<(u32, Key)>, cx: &mut Cx<'_, Self>) -> FoundSlice<Self>;

    /// Whether a version is in every snapshot from `safe` on, in data centre `here`: then older ones of its key can go.
    fn settled(&mut self, safe: &Vector, here: DcId, version: &Version<Self::Meta>) -> bool;

    /// Snapshots that sessions may still ask for, beside those that this server reads: collection stays below them.
    fn leased(&self) -> impl Iterator<Item = Vector> {
        std::iter::empty()
    }

    /// What this server offers for collection, beside what is read (S3): the stable value that it has persisted.
    fn durable(&mut self) -> Vector {
        durable(self)
    }

    /// This server's share of the stable vector: what it has received, as a rule.
    fn share(&mut self, _cx: &mut Cx<'_, Self>) -> Vector {
        self.stabilised().vv.clone()
    }

    /// The tree has said what is stable.
    fn learn(&mut self, stable: &Vector, _cx: &mut Cx<'_, Self>) {
        self.stabilised().stable.merge(stable); // S4
    }

    /// Goes on with what waits for the stable vector, which may have risen.
    fn wake(&mut self, cx: &mut Cx<'_, Self>) {
        wake(self, cx);
    }

    /// θ.
    fn theta(&mut self, cx: &mut Cx<'_, Self>) {
        theta(self, cx);
    }

    /// Δ.
    fn delta(&mut self, cx: &mut Cx<'_, Self>) {
        delta(self, cx);
    }
}

impl<P: StableTime> Stabilised<P> {
    /// A server starts: S1 and S2, and θ and Δ are armed.
    pub fn start(was: &Recovered<P::Hard>, params: Params, cx: &mut Cx<'_, P>) -> Self {
        let (mut vv, mut stable, hard) =
            (was.received.clone(), Vector::zero(cx.topology.dcs), was.hard.as_ref());
        if CLOCK_SURVIVES.kept() {
            vv.raise(cx.me.dc, hard.ceiling);
        }
        if STABLE_SURVIVES.kept() {
            stable.merge(&hard.stable);
            // No floor that was told in an earlier life is above it: what is offered for collection is durable (S3).
            cx.store.raise_floor(hard.stable.min());
        }
        cx.arm(P::Timer::THETA, params.theta_us);
        cx.arm(P::Timer::DELTA, params.delta_us);
        Self {
            horizon: Horizon::starts(vv.max()), // T3
            vv,
            stable,
            ceiling: Ceiling::new(was.hard.clone()),
            written_since_delta: false,
            reads: Slices::new(was.life),
            leases: Leases::new(was.life),
            arrivals: Waiters::default(),
            blocked: Waiters::default(),
            tree: Stabilisation::new(cx.me, cx.topology, params.fan_out),
            params,
        }
    }

    /// Moves the clock up to `to`, if it is behind, and keeps the durable ceiling above it (S2).
    pub fn advance(&mut self, to: Hlc, cx: &mut Cx<'_, P>) {
        self.vv.raise(cx.me.dc, to);
        self.promise(self.vv[cx.me.dc], cx);
    }

    /// As [`Self::advance`], for a write: no heartbeat is due.
    pub fn written(&mut self, ut: Hlc, cx: &mut Cx<'_, P>) {
        self.advance(ut, cx);
        self.written_since_delta = true;
    }

    /// No later life stamps at or below `time` (S2).
    pub fn promise(&mut self, time: Hlc, cx: &mut Cx<'_, P>) {
        self.ceiling.renew(time, || self.stable.clone(), cx);
    }

    /// Reads keys in a snapshot, through this server. The reader is told `seen`, and what slices tell.
    pub fn scatter(
        &mut self,
        asked: (Ticket, impl Into<Several>),
        at: At<P>,
        seen: Slice<P>,
        cx: &mut Cx<'_, P>,
    ) where
        P::Reply: From<Answer<Slice<P>>>,
    {
        let found: WhenFound<P> = |_, read| Answer(Outcome::FoundAll(read.found), read.seen).into();
        self.scatter_then(asked, (at, seen), found, cx);
    }

    /// As [`Self::scatter`]; the reader is told what `found` makes of it.
    pub fn scatter_then(
        &mut self,
        (ticket, keys): (Ticket, impl Into<Several>),
        (at, seen): (At<P>, Slice<P>),
        found: WhenFound<P>,
        cx: &mut Cx<'_, P>,
    ) {
        let deadline = cx.mono + self.params.wait_limit_us;
        let wrap = |request| P::Peer::of(Peer::SliceReq(request));
        self.reads.scatter((ticket, keys.into()), at, (seen, found), deadline, wrap, cx);
    }

    /// Blocks a request until `stable` covers what it `needs`: then it is asked once more. If it waits too long, it has `failed`.
    pub fn block(
        &mut self,
        needs: Vector,
        (ticket, request): (Ticket, P::Request),
        failed: fn() -> Failure,
        cx: &Cx<'_, P>,
    ) {
        self.blocked.park(needs, cx.mono + self.params.wait_limit_us, (ticket, request, failed));
    }

    /// Below this nobody in the data centre reads any more.
    pub fn safe(&self) -> &Vector {
        self.tree.safe()
    }

    /// How many sessions wait that migrated, and how many requests are blocked.
    pub fn waiting(&self) -> usize {
        self.arrivals.len() + self.blocked.len()
    }
}

impl<P: StableTime> Component<P> for Stabilised<P> {
    fn for_client(message: &P::Peer) -> bool {
        message.is_for_client()
    }

    fn on_peer(server: &mut P, from: ServerId, message: P::Peer, cx: &mut Cx<'_, P>) {
        on_peer(server, from, message, cx);
    }

    fn on_replicate(server: &mut P, from: ServerId, item: Received<'_, P::Meta>, _: &mut Cx<'_, P>) {
        server.stabilised().vv.raise(from.dc, item.upto);
    }

    fn on_peer_reset(server: &mut P, peer: ServerId, cx: &mut Cx<'_, P>) {
        on_peer_reset(server, peer, cx);
    }

    fn on_timer(server: &mut P, timer: P::Timer, cx: &mut Cx<'_, P>) {
        on_timer(server, timer, cx);
    }
}

/// A message of the component.
pub fn on_peer<P: StableTime>(server: &mut P, from: ServerId, message: P::Peer, cx: &mut Cx<'_, P>) {
    match message.shared() {
        Ok(Peer::Tree(message)) => {
            let report = report(server, cx);
            let stable = server.stabilised().tree.on_message((from, message), report, tree::<P>, cx);
            heard(server, stable, cx);
        }
        Ok(Peer::SliceReq(request)) => slice(server, from, request, cx),
        Ok(Peer::SliceReply(reply)) => {
            let read = server.stabilised().reads.gather(from, reply, |(all, _), seen| all.merge(&seen));
            let Some(SnapshotRead { ticket, at, found, seen: (seen, when_found) }) = read else { return };
            let reply = when_found(server, SnapshotRead { ticket, at, found, seen });
            cx.reply(ticket, reply);
        }
        Ok(Peer::Own(never)) => match never {},
        Err(own) => unreachable!("{} sends {own:?} and does not handle it", P::INFO.name),
    }
}

/// Fails the reads that wait for `peer`.
pub fn on_peer_reset<P: StableTime>(server: &mut P, peer: ServerId, cx: &mut Cx<'_, P>) {
    cx.fail_all(server.stabilised().reads.reset(peer), unanswered);
}

/// A timer of the component: it is armed again first.
pub fn on_timer<P: StableTime>(server: &mut P, timer: P::Timer, cx: &mut Cx<'_, P>) {
    let Params { theta_us, delta_us, .. } = server.stabilised().params;
    if timer == P::Timer::THETA {
        cx.arm(timer, theta_us);
        server.theta(cx);
    } else if timer == P::Timer::DELTA {
        cx.arm(timer, delta_us);
        server.delta(cx);
    } else {
        unreachable!("{} arms {timer:?} and does not handle it", P::INFO.name)
    }
}

/// θ: what [`StableTime::theta`] does by default. A protocol that does more calls the steps.
pub fn theta<P: StableTime>(server: &mut P, cx: &mut Cx<'_, P>) {
    hurry(server, cx);
    aggregate(server, cx);
    collect(server, cx);
    expire(server, cx);
}

/// θ: persists the stable value out of turn, if much waits for collection.
pub fn hurry<P: StableTime>(server: &mut P, cx: &mut Cx<'_, P>) {
    let Stabilised { ceiling, stable, .. } = server.stabilised();
    if cx.params.keep_us() == 0 {
        ceiling.hurry(|| stable.clone(), cx); // else what waits has to, for the horizon
    }
}

/// θ: passes on along the tree what this server has.
pub fn aggregate<P: StableTime>(server: &mut P, cx: &mut Cx<'_, P>) {
    let report = report(server, cx);
    server.stabilised().tree.tick(report, tree::<P>, cx);
    server.wake(cx);
}

/// θ: drops a piece of what nobody reads any more.
pub fn collect<P: StableTime>(server: &mut P, cx: &mut Cx<'_, P>) {
    let passed = server.stabilised().safe().min();
    collect_passed(server, passed, cx);
}

/// As [`collect`], where nobody will write anything up to `passed`, or send it: up to there tombstones go.
pub fn collect_passed<P: StableTime>(server: &mut P, passed: Hlc, cx: &mut Cx<'_, P>) {
    let mut collector = std::mem::take(&mut server.stabilised().tree.collector);
    let (here, upto) = (cx.me.dc, server.stabilised().collects_up_to(cx));
    collector.work_on(cx.store, passed, |safe, version| {
        version.stamp.ts <= upto && server.settled(safe, here, version)
    });
    server.stabilised().tree.collector = collector;
}

/// θ: ends what has waited too long.
pub fn expire<P: StableTime>(server: &mut P, cx: &mut Cx<'_, P>) {
    leases::expire(server, cx);
    cx.fail_all(server.stabilised().reads.expire(cx.mono), unanswered);
    let late = server.stabilised().arrivals.expire(cx.mono);
    cx.fail_all(late.into_iter().map(|(ticket, ..)| ticket), not_covered);
    for (ticket, _, failed) in server.stabilised().blocked.expire(cx.mono) {
        cx.fail(ticket, failed());
    }
}

/// Replies to a coordinator. A protocol whose slices may be blocked takes their requests itself, and calls this later.
pub fn slice<P: StableTime>(server: &mut P, to: ServerId, request: SliceReq<At<P>>, cx: &mut Cx<'_, P>) {
    let SliceReq { id, keys, at } = request;
    let (found, seen) = server.slice(at, &keys, cx);
    cx.send(to, P::Peer::of(Peer::SliceReply(SliceReply { id, found, seen })));
}

/// A session migrates to this region with `dependencies`, and waits until `stable` covers what it `needs` of them (S5): what was
/// written elsewhere, as a rule. Then it is told what `admitted` makes of its dependencies.
pub fn arrive<P: StableTime>(
    server: &mut P,
    ticket: Ticket,
    (needs, dependencies): (Vector, Vector),
    admitted: fn(&mut P, Vector) -> P::Reply,
    cx: &mut Cx<'_, P>,
) {
    let st = server.stabilised();
    st.arrivals.park(needs, cx.mono + st.params.wait_limit_us, (ticket, dependencies, admitted));
    server.wake(cx);
}

/// What [`StableTime::wake`] does by default: lets in the sessions that this region covers, and takes up again the requests
/// that need not wait any more.
pub fn wake<P: StableTime>(server: &mut P, cx: &mut Cx<'_, P>) {
    let Stabilised { arrivals, blocked, stable, .. } = server.stabilised();
    let (admits, requests) = (arrivals.wake(stable), blocked.wake(stable));
    for (ticket, dependencies, admitted) in admits {
        let reply = admitted(server, dependencies);
        cx.reply(ticket, reply);
    }
    for (ticket, request, _) in requests {
        server.on_request(ticket, request, cx);
    }
}

/// What [`StableTime::durable`] does by default.
pub fn durable<P: StableTime>(server: &mut P) -> Vector {
    let Stabilised { ceiling, stable, .. } = server.stabilised();
    if OFFERS_WHAT_IS_DURABLE.kept() { ceiling.stable().clone() } else { stable.clone() }
}

/// The tree moved, and perhaps said what is stable.
fn heard<P: StableTime>(server: &mut P, stable: Option<Vector>, cx: &mut Cx<'_, P>) {
    stable.into_iter().for_each(|stable| server.learn(&stable, cx));
    server.wake(cx);
}
