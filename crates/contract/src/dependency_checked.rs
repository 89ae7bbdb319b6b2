//! Dependency checks of each version, with their whole life: what waits, questions to siblings, what is applied everywhere,
//! the clock under its durable ceiling, the timers, heartbeats, collection, restarts, and sessions that migrate. COPS, COPS-GT, Eiger.
//!
//! A version from another data centre waits until what it depends on is applied here. The server knows by itself what is
//! applied of its own partition, and asks its siblings for the rest ([`Checks`]). A protocol keeps a [`DependencyChecked`],
//! implements [`Checked`], and names the one as its [`Component`]. A step that it treats specially is a hook of the trait, or
//! an event of the protocol: it is overridden there, and as a rule calls the function of the same name here.
//!
//! **Rules**
//! - C1 A version waits for answers of siblings, and what waited before a crash is checked again. That a version was
//!   applied is logged before anybody learns of it.
//! - C2 (E-8, E-12) The clock restarts at a persisted ceiling, above everything announced or stamped.
//! - C3 A session that migrates waits until what it depends on is applied here.
//!
//! **Collection.** A version takes the place of those before it once it is applied in every data centre: then none that waits is
//! older. Heartbeats, every θ, let go of tombstones.

use crate::checks::Everywhere;
use crate::component::Component;
use crate::dependants::{Applied, Dependant};
use crate::protocol::Received;
use crate::session::not_covered;
use crate::synced::CHECKS_ARE_SYNCED;
use crate::{Ceiling, Check, Checks, Collector, Cx, Dep, Deps, Hard, Protocol, Recovered, Scope, Status};
use crate::{Ticket, Wire};
use serde::{Deserialize, Serialize};
use tidemark_core::{Failure, Hlc, Key, Micros, Outcome, ServerId, Stamp, Vector};
use tidemark_store::Version;

crate::rules! { from crate::Rule::COMPONENTS + 8;
    ASKS_SIBLINGS, // C1
    WAITING_SURVIVES, // C1
    APPLIED_SURVIVES, // C1
    MOVERS_WAIT, // C3
}

/// A timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Timer {
    /// To tell peers what is applied.
    Theta,
    /// To ask siblings again.
    Retry,
}

/// The parameters. The papers give none for these.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// How often servers tell their peers what they have applied.
    pub theta_us: Micros,
    /// How often a dependency check that is not answered is asked again.
    pub retry_us: Micros,
    /// How long a session that moved here waits for what it depends on.
    pub wait_limit_us: Micros,
}

impl crate::Params for Params {}

impl Default for Params {
    fn default() -> Self {
        Self { theta_us: 20_000, retry_us: 500_000, wait_limit_us: 2_000_000 }
    }
}

/// What servers send each other.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[allow(missing_docs)]
pub enum Peer {
    Check(Check),    // siblings
    Applied(Vector), // peers: what is applied, as `Checks::applied` has it
}

/// The messages of a protocol with such checks: a [`Peer`], or one with more in it or beside it.
pub trait Messages: Wire {
    /// Makes a message of a server whose clock is at `clock`.
    fn of(message: Peer, clock: Hlc) -> Self;

    /// The component's part, if it has one.
    fn shared(self) -> Option<Peer>;
}

impl Messages for Peer {
    fn of(message: Peer, _: Hlc) -> Self {
        message
    }

    fn shared(self) -> Option<Peer> {
        Some(self)
    }
}

/// One server's share of the checks. `C` is what a session that migrates brings, `H` what survives a crash.
pub struct DependencyChecked<C, H = Hard> {
    /// The clock: at or above all that was stamped or announced here, or applied.
    pub clock: Hlc,
    /// What waits.
    pub checks: Checks<Dependant<C>>,
    /// What is applied in every data centre.
    pub everywhere: Everywhere,
    ceiling: Ceiling<H>,
    collector: Collector,
    params: Params,
}

/// A protocol that checks the dependencies of each version.
pub trait Checked: Protocol<Peer: Messages, Hard: AsRef<Hard> + AsMut<Hard>, Timer = Timer> {
    /// What a session depends on.
    type Context: Default + 'static;

    /// The component's state.
    fn dependency_checked(&mut self) -> &mut DependencyChecked<Self::Context, Self::Hard>;

    /// What a version depends on, if it is not applied.
    fn waits(meta: &Self::Meta) -> Option<&Deps>;

    /// A version waits for nothing any more: it counts as applied, and shows.
    fn met(&mut self, version: Applied, cx: &mut Cx<'_, Self>) {
        self.dependency_checked().checks.apply(version.stamp);
        self.apply(&version, cx);
    }

    /// [Shows](DependencyChecked::show) a version.
    fn apply(&mut self, version: &Applied, cx: &mut Cx<'_, Self>);

    /// Tells a session how its operation ended, and what it comes to depend on.
    fn answer(&mut self, ticket: Ticket, outcome: Outcome, seen: Self::Context, cx: &mut Cx<'_, Self>);

    /// Whatever is written here from now on has a time above this: the clock, unless something is pending below.
    fn announced(&mut self) -> Hlc {
        self.dependency_checked().clock
    }

    /// What a version that was received has to wait for: all that it depends on.
    fn awaited(&self, _key: &Key, version: &Version<Self::Meta>, _cx: &Cx<'_, Self>) -> Deps {
        Self::waits(&version.meta).cloned().unwrap_or_default()
    }

    /// Whether older versions of its key can go, where `everywhere` says what is applied in every data centre.
    fn settled(&self, everywhere: &Vector, version: &Version<Self::Meta>) -> bool {
        version.stamp.ts <= everywhere.min()
    }

    /// θ.
    fn theta(&mut self, cx: &mut Cx<'_, Self>) {
        announce(self, cx);
        collect(self, cx);
    }
}

impl<C, H: AsRef<Hard> + AsMut<Hard> + Clone> DependencyChecked<C, H> {
    /// Moves the clock up to `to`, if it is behind, and keeps the durable ceiling above it (C2).
    pub fn advance<P: Protocol<Hard = H>>(&mut self, to: Hlc, cx: &mut Cx<'_, P>) {
        if to > self.clock {
            self.clock = to;
            self.ceiling.renew(to, Vector::default, cx);
        }
    }

    /// The stamp of a write here, above `above` (see [`Cx::stamp_above`]); the clock moves up to it.
    ///
    /// # Errors
    /// `ClockSkew` if it is too far ahead of physical time.
    #[inline]
    pub fn stamp<P: Protocol<Hard = H>>(&mut self, above: Hlc, cx: &mut Cx<'_, P>) -> Result<Stamp, Failure> {
        let stamp = cx.stamp_above(self.clock, above)?;
        self.advance(stamp.ts, cx);
        Ok(stamp)
    }

    /// A version is applied: the clock moves up to its time, and `change` makes it show (see [`Applied::show`]).
    pub fn show<P: Protocol>(
        &mut self,
        version: &Applied,
        change: impl Fn(&mut P::Meta),
        cx: &mut Cx<'_, P>,
    ) {
        self.clock = self.clock.max(version.stamp.ts);
        version.show(change, cx);
    }

    /// For each other data centre, up to where all that it writes on this partition is applied here.
    pub fn applied(&self) -> Vector {
        self.checks.applied(self.clock)
    }

    /// Changes what survives a crash.
    pub fn persist<P: Protocol<Hard = H>>(&mut self, change: impl FnOnce(&mut H), cx: &mut Cx<'_, P>) {
        self.ceiling.persist(change, cx);
    }

    /// What is applied everywhere, and how much waits.
    pub fn status(&self) -> Status {
        Status::new(self.everywhere.get().clone(), self.checks.len())
    }
}

/// A server starts, which `server` makes of the component's state: the clock starts above the ceiling (C2), what waited waits
/// again (C1), and the timers are armed.
pub fn start<P: Checked>(
    was: &Recovered<P::Hard>,
    params: Params,
    cx: &mut Cx<'_, P>,
    server: impl FnOnce(DependencyChecked<P::Context, P::Hard>, &mut Cx<'_, P>) -> P,
) -> P {
    let state = DependencyChecked {
        clock: was.received.max().max(was.hard.as_ref().ceiling),
        checks: Checks::new(cx.me, was.life, was.received.clone()),
        everywhere: Everywhere::new(cx.topology.dcs),
        ceiling: Ceiling::new(was.hard.clone()),
        collector: Collector::default(),
        params,
    };
    let mut server = server(state, cx);
    recover(&mut server, &was.received, cx);
    server
}

fn recover<P: Checked>(server: &mut P, received: &Vector, cx: &mut Cx<'_, P>) {
    let ahead = |stamp: &Stamp| stamp.origin != cx.me.dc && stamp.ts > received[stamp.origin];
    let ahead: Vec<Stamp> = cx.store.versions().map(|version| version.stamp).filter(ahead).collect();
    ahead.into_iter().for_each(|stamp| server.dependency_checked().checks.is_here(stamp));
    let waiting = cx.store.pick(|version| P::waits(&version.meta).cloned());
    waiting.iter().for_each(|(stamp, ..)| server.dependency_checked().checks.arrived(*stamp));
    for version in waiting.chunk_by(|(a, ..), (b, ..)| a == b) {
        let (stamp, key, near) = version[0].clone();
        let others = version[1..].iter().map(|(_, key, _)| key.clone()).collect();
        let near = if WAITING_SURVIVES.kept() { near } else { Deps::default() };
        check(server, (key, others), stamp, near, cx);
    }
    go_on(server, cx);
    let Params { theta_us, retry_us, .. } = server.dependency_checked().params;
    cx.arm(Timer::Theta, theta_us);
    cx.arm(Timer::Retry, retry_us);
}

/// A session migrates to this region with `context`, and waits (C3) for what that depends on, which `near` tells.
pub fn arrive<P: Checked>(
    server: &mut P,
    ticket: Ticket,
    context: P::Context,
    near: fn(&P::Context) -> &Deps,
    cx: &mut Cx<'_, P>,
) {
    let dc = server.dependency_checked();
    let near = if MOVERS_WAIT.kept() { near(&context).clone() } else { Deps::default() };
    dc.checks.session(ticket, context, &near, cx.mono + dc.params.wait_limit_us);
    go_on(server, cx);
}

/// A version waits for `near`.
fn check<P: Checked>(
    server: &mut P,
    keys: (Key, Vec<Key>),
    stamp: Stamp,
    mut near: Deps,
    cx: &mut Cx<'_, P>,
) {
    let own = |dep: &Dep| dep.partition == cx.me.partition;
    near.retain(|dep| if own(dep) { !is_met(dep, cx) } else { ASKS_SIBLINGS.kept() });
    server.dependency_checked().checks.version(keys, stamp, &near);
}

/// Whether a dependency on this partition counts as met though that very update may not be applied here: see [`Scope::Newer`].
fn is_met<P: Checked>(dep: &Dep, cx: &Cx<'_, P>) -> bool {
    let Scope::Newer(key) = &dep.scope else { return false };
    let newest = cx.store.chain(key).find(|version| P::waits(&version.meta).is_none());
    newest.is_some_and(|version| version.stamp >= dep.stamp)
}

/// Applies what waits for nothing any more, lets in the sessions that are covered, and sends what there is to send.
pub fn go_on<P: Checked>(server: &mut P, cx: &mut Cx<'_, P>) {
    while let Some(dependant) = server.dependency_checked().checks.ready() {
        match dependant {
            Dependant::Version(version) => server.met(version, cx),
            Dependant::Session(ticket, context, _) => server.answer(ticket, Outcome::Adopted, context, cx),
        }
    }
    let DependencyChecked { checks, clock, .. } = server.dependency_checked();
    checks.send(|check| P::Peer::of(Peer::Check(check), *clock), cx);
}

impl<P: Checked> Component<P> for DependencyChecked<P::Context, P::Hard> {
    fn for_client(_: &P::Peer) -> bool {
        !CHECKS_ARE_SYNCED.kept()
    }

    fn on_peer(server: &mut P, from: ServerId, message: P::Peer, cx: &mut Cx<'_, P>) {
        message.shared().into_iter().for_each(|message| on_peer(server, from, message, cx));
    }

    fn on_replicate(server: &mut P, from: ServerId, item: Received<'_, P::Meta>, cx: &mut Cx<'_, P>) {
        for (key, version) in item.versions {
            let near = server.awaited(key, version, cx);
            server.dependency_checked().checks.arrived(version.stamp);
            let mut keys = version.write.keys(key).cloned();
            let keys = (keys.next().unwrap_or_else(|| key.clone()), keys.collect());
            check(server, keys, version.stamp, near, cx);
        }
        server.dependency_checked().checks.heard(from.dc, item.upto);
        go_on(server, cx);
    }

    fn on_peer_reset(server: &mut P, peer: ServerId, cx: &mut Cx<'_, P>) {
        server.dependency_checked().checks.reset(peer);
        go_on(server, cx);
    }

    fn on_timer(server: &mut P, timer: Timer, cx: &mut Cx<'_, P>) {
        let Params { theta_us, retry_us, .. } = server.dependency_checked().params;
        match timer {
            Timer::Theta => {
                cx.arm(Timer::Theta, theta_us);
                server.theta(cx);
                for ticket in server.dependency_checked().checks.turn_away(cx.mono) {
                    server.answer(ticket, Outcome::Failed(not_covered()), P::Context::default(), cx);
                }
            }
            Timer::Retry => {
                cx.arm(Timer::Retry, retry_us);
                server.dependency_checked().checks.ask_again();
                go_on(server, cx);
            }
        }
    }
}

/// A message of the component.
pub fn on_peer<P: Checked>(server: &mut P, from: ServerId, message: Peer, cx: &mut Cx<'_, P>) {
    match message {
        Peer::Check(Check::Ask(id, mut deps)) => {
            deps.retain(|dep| !is_met(dep, cx));
            server.dependency_checked().checks.on_message(from, Check::Ask(id, deps));
        }
        Peer::Check(met) => server.dependency_checked().checks.on_message(from, met),
        Peer::Applied(applied) => server.dependency_checked().everywhere.tell(from.dc, &applied),
    }
    go_on(server, cx);
}

/// θ: a heartbeat, and to peers what is applied here.
pub fn announce<P: Checked>(server: &mut P, cx: &mut Cx<'_, P>) {
    let dc = server.dependency_checked();
    dc.advance(dc.clock.tick(cx.now), cx);
    let announced = server.announced();
    cx.heartbeat(announced);
    let dc = server.dependency_checked();
    let applied = dc.checks.applied(announced);
    dc.everywhere.tell(cx.me.dc, &applied);
    let message = P::Peer::of(Peer::Applied(applied), dc.clock);
    cx.topology.peers(cx.me).for_each(|peer| cx.send(peer, message.clone()));
}

/// θ: drops a piece of what nobody reads any more.
pub fn collect<P: Checked>(server: &mut P, cx: &mut Cx<'_, P>) {
    let DependencyChecked { collector, everywhere, .. } = server.dependency_checked();
    collector.raise(everywhere.get(), cx.store);
    let mut collector = std::mem::take(collector);
    collector.work(cx, |everywhere, version| server.settled(everywhere, version));
    server.dependency_checked().collector = collector;
}
