//! CC-LO: read-only transactions of one round that never block and move one version, for which writes pay.
//!
//! **Idea.** Transactions as fast as single reads: a session asks all partitions at once, and each answers with what it
//! has. What must not be mixed is kept apart by writes. A server remembers which transactions have read which version.
//! Before a write becomes visible, its server asks those that hold what it depends on for the transactions that have
//! read something older, and hides the new version from them (the *readers check*).
//!
//! **Source.** CC-LO of D. Didona et al., *Causal consistency and latency optimality*, VLDB 2018 (002), §3 and §5.1: the
//! design of COPS-SNOW (Lu et al., OSDI 2016) as they rebuilt it.
//!
//! **Names.** ROT a read-only transaction · `readers` X_rdrs, who has read a key, and which version · `hidden` X_old, who
//! must not see a version · `deps` the dependencies of a version, or what a session has read since its last write and
//! that write · the servers' Lamport clocks are HLCs.
//!
//! **Deviations**
//! - D1 (E-5) As published, old readers are kept with a time, and get the newest version before it. Clocks of partitions
//!   are not aligned within a ROT, so that such a time may lie before what another slice depends on. Here each version
//!   has the ROTs that must not see it: those from which its causes are hidden, and those that have read an older version
//!   of its key. A slice is of the newest versions that are not hidden.
//! - D2 (E-5b) Records are dropped [`Params::collect_us`] after they were made, as in the paper. So a ROT has a start, and
//!   the latest start of what a server dropped is its *floor*: it goes along with each answer to a readers check, and
//!   ROTs that do not start above it are refused. The session starts again, above the server's clock. A start may be any
//!   time: safety asks of it only that each record of a ROT has the same.
//! - D3 Servers persist a ceiling above their clocks, which are above all starts that they know of. A restarted server has
//!   no records, and its floor is there.
//! - D4 (E-4) A version from elsewhere waits until those very updates that it depends on are applied ([`Checks`]). The
//!   readers check comes after that, in questions of its own.
//! - D5 A session that moves brings its dependencies, and waits until they are applied. It keeps [`MOST_DEPS`] one by one.
//! - D6 A conditional update looks when it becomes visible, and depends on the version that decided it. GET, SCAN, COUNT
//!   and ROTs on one partition read what is newest, and leave no record.
//! - D7 Questions that are not answered are asked again; a client's write is given up after [`Params::wait_limit_us`].
//!
//! **Invariants**
//! - I1 A version is visible only if all versions in its past are, in this data centre.
//! - I2 A ROT that read a version older than X and starts above the floor is hidden from every version of which X is in
//!   the past; and so is one that X is hidden from.
//! - I3 At most one ROT a session stands in a record: sessions run one at a time.

mod readers;
mod session;

pub use readers::{Owner, Rot, Rots};
pub use session::Client;

use readers::{Records, here, merge};
use tidemark_contract::gather::{Gather, GatherId};
use tidemark_contract::prelude::*;
use tidemark_contract::{Ceiling, Check, Checks, Dep, Deps};

tidemark_contract::rules! {
    HIDES_VERSIONS, // D1
    REFUSES_OLD, // D2
    FLOOR_TRAVELS, // D2
    FLOOR_SURVIVES, // D3
    PUT_CHECKS_READERS, // the readers check
    REMOTE_CHECKS_READERS, // the same elsewhere
    REMOTE_CHECKS_DEPS, // D4
    READERS_GROW_OLD, // I2
    HIDDEN_IS_HANDED_ON, // I2
    OLD_VERSIONS_KEPT, // collection
    PUT_ABOVE_DEPS,
    DECIDED_IS_A_CAUSE, // D6
    ARRIVALS_WAIT, // D5
}

// As the paper tells it (E-5, E-5b).
tidemark_contract::variants! {
    "cc-lo-published", "cc-lo as published: old readers get what is older than a time; snapshots can tear": HIDES_VERSIONS, REFUSES_OLD;
}

/// The numbers; when records are dropped is the paper's.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// How long it is remembered who has read what.
    pub collect_us: Micros,
    /// How often a server tidies up, and how long one that writes nothing lets its peers wait for a heartbeat.
    pub delta_us: Micros,
    /// After how long a question is asked again.
    pub retry_us: Micros,
    /// How long a write waits for its readers check, and a session that moved here for what it depends on.
    pub wait_limit_us: Micros,
}

impl tidemark_contract::Params for Params {}

impl Default for Params {
    fn default() -> Self {
        let (collect_us, delta_us, retry_us, wait_limit_us) = (500_000, 5_000, 50_000, 2_000_000);
        Self { collect_us, delta_us, retry_us, wait_limit_us }
    }
}

/// Beside each version.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Meta {
    /// What has to be visible before it is; forgotten when it is.
    pub deps: Deps,
    /// It is visible.
    pub applied: bool,
}

/// What a session asks.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[allow(missing_docs)]
pub enum Request {
    Get(Key),
    Read(Option<Rot>, Vec<(u32, Key)>), // keys of one partition with their places; no ROT if there is no other
    Put(Key, Update, Deps),
    Walk(Walk),
    Cover(Deps), // D5
}

/// What a server answers.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Reply {
    /// An outcome, and the dependencies that come with it.
    Done(Outcome, Deps),
    /// What a ROT found, each with its place, the dependencies, and the server's clock.
    Slice(Vec<(u32, Found)>, Deps, Hlc),
    /// D2: it has to start above this.
    TooOld(Hlc),
}

/// What the servers of a data centre say to each other.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[allow(missing_docs)]
pub enum Peer {
    OldReaders(GatherId, Vec<Dep>), // who must not see what depends on these?
    Readers(GatherId, Rots, Hlc),   // these, and who did not start above the floor
    Check(Check),                   // D4
}

/// When a server has something to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs)]
pub enum Timer {
    Delta,
    Retry,
}

/// What waits: first for its dependencies to be applied, a version then for its readers check.
enum Work {
    /// A client's write, whose dependencies are, and until when it waits.
    Put(Ticket, Key, Update, Deps, Micros),
    /// A version from elsewhere.
    Apply(Key, Stamp, Deps),
    /// A session that moved here, and until when it waits (D5).
    Arrive(Ticket, Deps, Micros),
}

/// A server.
pub struct CcLo {
    clock: Hlc,
    sent_since_delta: bool,
    records: Records,
    /// Readers checks: what becomes visible then, and from whom it will be hidden.
    readers_checks: Gather<(Work, Rots)>,
    checks: Checks<Work>,
    ceiling: Ceiling,
}

const ABOUT: &str = "causal++, snapshots of one round that never block; writes first ask who has read older";

impl Protocol for CcLo {
    const INFO: Info = Info::new("cc-lo", ABOUT, Promise::CausalImmediate).rules(RULES).variants(VARIANTS);

    type Meta = Meta;
    type Request = Request;
    type Reply = Reply;
    type Peer = Peer;
    type Hard = Hard;
    type Timer = Timer;
    type View = ();
    type Session = Client;
    type Params = Params;
    type Component = ();

    fn start(Recovered { hard, received, life, .. }: Recovered<Hard>, cx: &mut Cx<'_, Self>) -> Self {
        let clock = hard.ceiling.max(received.max());
        let mut server = Self {
            clock,
            sent_since_delta: false,
            records: Records::new(if FLOOR_SURVIVES.kept() { clock } else { Hlc::ZERO }), // D3
            readers_checks: Gather::new(life),
            checks: Checks::new(cx.me, life, received),
            ceiling: Ceiling::new(hard),
        };
        let waiting = cx.store().pick(|d| (!d.meta.applied).then(|| d.meta.deps.clone()));
        waiting.iter().for_each(|(stamp, ..)| server.checks.arrived(*stamp));
        waiting.into_iter().for_each(|(stamp, key, deps)| server.arrived(key, stamp, deps));
        server.go_on(cx);
        cx.arm(Timer::Delta, cx.params.delta_us);
        cx.arm(Timer::Retry, cx.params.retry_us);
        server
    }

    fn on_request(&mut self, ticket: Ticket, request: Request, cx: &mut Cx<'_, Self>) {
        match request {
            Request::Get(key) => {
                let d = cx.latest(&key, &());
                let seen = d.map(|d| Deps::one(cx.me.partition, d.stamp)).unwrap_or_default();
                cx.reply(ticket, Reply::Done(Outcome::Found(found_of(d)), seen));
            }
            Request::Read(rot, keys) => self.read(ticket, rot, keys, cx),
            Request::Put(key, update, deps) => {
                let until = cx.mono + cx.params.wait_limit_us;
                self.check_readers(Work::Put(ticket, key, update, deps, until), cx);
            }
            Request::Walk(walk) => {
                let (partition, mut seen) = (cx.me.partition, Deps::default());
                let outcome = cx.walk(&walk, &(), |d| seen.include(partition, d.stamp));
                cx.reply(ticket, Reply::Done(outcome, seen));
            }
            Request::Cover(deps) => {
                let until = cx.mono + cx.params.wait_limit_us;
                self.checks.open(&deps.clone(), Work::Arrive(ticket, deps, until));
            }
        }
        self.go_on(cx);
    }

    fn on_peer(&mut self, from: ServerId, message: Peer, cx: &mut Cx<'_, Self>) {
        match message {
            Peer::OldReaders(id, deps) => {
                let rots = self.records.hidden_from(&deps);
                cx.send(from, Peer::Readers(id, rots, self.records.floor));
            }
            Peer::Readers(id, rots, floor) => {
                self.lift(rots.values().fold(floor, |most, rot| most.max(rot.time)), cx);
                if FLOOR_TRAVELS.kept() {
                    self.records.floor = floor.max(self.records.floor); // D2
                }
                let checked = self.readers_checks.answer(id, from, |(_, all)| self.records.take(all, &rots));
                checked.into_iter().for_each(|(work, rots)| self.install(work, rots, cx));
            }
            Peer::Check(message) => self.checks.on_message(from, message),
        }
        self.go_on(cx);
    }

    fn on_replicate(&mut self, from: ServerId, item: Received<'_, Meta>, cx: &mut Cx<'_, Self>) {
        for (key, d) in item.versions {
            self.lift(d.stamp.ts, cx);
            self.checks.arrived(d.stamp);
            self.arrived(key.clone(), d.stamp, d.meta.deps.clone());
        }
        self.checks.heard(from.dc, item.upto);
        self.go_on(cx);
    }

    fn on_peer_reset(&mut self, peer: ServerId, cx: &mut Cx<'_, Self>) {
        self.checks.reset(peer);
        let again = self.readers_checks.reset(peer);
        again.into_iter().for_each(|(work, _)| self.check_readers(work, cx)); // D7
        self.go_on(cx);
    }

    fn on_timer(&mut self, timer: Timer, cx: &mut Cx<'_, Self>) {
        match timer {
            Timer::Delta => {
                cx.arm(Timer::Delta, cx.params.delta_us);
                if !std::mem::take(&mut self.sent_since_delta) {
                    self.lift(self.clock.tick(cx.now), cx);
                    cx.heartbeat(self.clock);
                }
                self.records.drop_until(cx.mono);
                self.collect(cx);
            }
            Timer::Retry => {
                cx.arm(Timer::Retry, cx.params.retry_us);
                let (now, retried) = (cx.mono, self.readers_checks.expire(cx.mono));
                self.checks.ask_again();
                let late = |work: &Work| matches!(work, Work::Arrive(_, _, until) if *until <= now);
                for work in
                    self.checks.give_up(late).into_iter().chain(retried.into_iter().map(|(work, _)| work))
                {
                    let (ticket, failure) = match work {
                        Work::Arrive(ticket, ..) => (ticket, not_covered()),
                        Work::Put(ticket, .., until) if until <= now => (ticket, unanswered()),
                        work => {
                            self.check_readers(work, cx); // D7
                            continue;
                        }
                    };
                    cx.reply(ticket, Reply::Done(Outcome::Failed(failure), Deps::default()));
                }
                self.go_on(cx);
            }
        }
    }

    fn visible(_: &(), _: Stamp, meta: &Meta) -> bool {
        meta.applied
    }

    fn shipped(meta: &Meta) -> Meta {
        Meta { deps: meta.deps.clone(), applied: false }
    }

    fn status(&self) -> Status {
        let blocked = self.checks.len() + self.readers_checks.pending().count();
        Status { counted: self.records.counted(), ..Status::new(self.checks.applied(self.clock), blocked) }
    }
}

impl CcLo {
    /// One slice of a ROT.
    fn read(&mut self, ticket: Ticket, rot: Option<Rot>, keys: Vec<(u32, Key)>, cx: &mut Cx<'_, Self>) {
        let rot = rot.map(|rot| ((ticket.node, ticket.session), rot));
        if let Some((_, Rot { time: start, .. })) = rot {
            if let Some(ahead_us) = cx.too_far_ahead(start).filter(|_| start > self.clock) {
                let failed = Outcome::Failed(Failure::ClockSkew { ahead_us });
                return cx.reply(ticket, Reply::Done(failed, Deps::default()));
            }
            if REFUSES_OLD.kept() && start <= self.records.floor {
                return cx.reply(ticket, Reply::TooOld(self.clock)); // D2
            }
            self.lift(self.clock.observe(cx.now, start), cx);
        }
        let (mut seen, mut found) = (Deps::default(), Vec::with_capacity(keys.len()));
        for (place, key) in keys {
            let d = self.records.newest_for(rot, &key, cx);
            d.into_iter().for_each(|d| seen.include(cx.me.partition, d.stamp));
            found.push((place, found_of(d)));
            if let Some((owner, Rot { number, time: start })) = rot {
                let time = if HIDES_VERSIONS.kept() { start } else { self.clock };
                let stamp = d.map(|d| d.stamp);
                self.records.read(key, owner, (Rot { number, time }, stamp), cx.mono + cx.params.collect_us);
            }
        }
        cx.reply(ticket, Reply::Slice(found, seen, self.clock));
    }

    /// The readers check: asks who must not see what becomes visible.
    fn check_readers(&mut self, work: Work, cx: &mut Cx<'_, Self>) {
        let (deps, checks) = match &work {
            Work::Apply(.., deps) => (deps, REMOTE_CHECKS_READERS.kept()),
            Work::Put(.., deps, _) => (deps, PUT_CHECKS_READERS.kept()),
            Work::Arrive(_, deps, _) => (deps, false),
        };
        let server = |partition| ServerId::new(cx.me.dc, partition);
        let asked = deps.by_partition().filter(|(partition, _)| checks && *partition != cx.me.partition);
        let asked: Vec<(ServerId, Vec<Dep>)> = asked.map(|(of, deps)| (server(of), deps.to_vec())).collect();
        if !self.records.asks(&asked) {
            return self.install(work, Rots::default(), cx);
        }
        let servers = asked.iter().map(|(server, _)| *server).collect();
        let id = self.readers_checks.open(servers, cx.mono + cx.params.retry_us, (work, Rots::default()));
        asked.into_iter().for_each(|(server, deps)| cx.send(server, Peer::OldReaders(id, deps)));
    }

    /// All have answered: a version becomes visible, but not to `rots`.
    fn install(&mut self, work: Work, mut rots: Rots, cx: &mut Cx<'_, Self>) {
        let (key, stamp) = match work {
            Work::Arrive(ticket, deps, _) => return cx.reply(ticket, Reply::Done(Outcome::Adopted, deps)),
            Work::Apply(key, stamp, deps) => {
                if REMOTE_CHECKS_READERS.kept() {
                    merge(&mut rots, &self.records.hidden_from(here(&deps, cx.me.partition)));
                }
                cx.revise(&key, stamp, |meta| *meta = Meta { deps: Deps::default(), applied: true });
                self.checks.apply(stamp);
                (key, stamp)
            }
            Work::Put(ticket, key, update, deps, _) => {
                merge(&mut rots, &self.records.hidden_from(here(&deps, cx.me.partition)));
                let Some(stamp) = self.put(ticket, key.clone(), update, deps, &mut rots, cx) else { return };
                (key, stamp)
            }
        };
        if READERS_GROW_OLD.kept() {
            merge(&mut rots, &self.records.old_readers(&key, stamp));
        }
        self.records.hide(stamp, rots, cx.mono + cx.params.collect_us);
    }

    /// The end of PUT.
    fn put(
        &mut self,
        ticket: Ticket,
        key: Key,
        update: Update,
        mut deps: Deps,
        rots: &mut Rots,
        cx: &mut Cx<'_, Self>,
    ) -> Option<Stamp> {
        let n = cx.me.partition;
        let see = |seen: &mut Deps, d: &Version<_>| *seen = Deps::one(n, d.stamp); // D6
        let (outcome, seen) = cx.update(&key, update, &(), Deps::default(), see, |seen, cx| {
            if DECIDED_IS_A_CAUSE.kept() {
                merge(rots, &self.records.hidden_from(here(seen, n)));
                deps.merge(seen);
            }
            let above = if PUT_ABOVE_DEPS.kept() { deps.latest() } else { Hlc::ZERO };
            let new = cx.stamp_above(self.clock, above)?;
            self.lift(new.ts, cx);
            self.sent_since_delta = true;
            *seen = Deps::one(n, new);
            let meta = |deps| Meta { deps, applied: true };
            Ok(Draft::new(new, meta(deps)).in_memory(meta(Deps::default())))
        });
        let written = if let Outcome::Written { stamp, .. } = outcome { stamp } else { None };
        cx.reply(ticket, Reply::Done(outcome, seen));
        written
    }

    /// A version from elsewhere waits until what it depends on is applied (D4).
    fn arrived(&mut self, key: Key, stamp: Stamp, deps: Deps) {
        let awaited = if REMOTE_CHECKS_DEPS.kept() { deps.clone() } else { Deps::default() };
        self.checks.open(&awaited, Work::Apply(key, stamp, deps));
    }

    /// Goes on with what waited for dependencies that are applied now, and says what siblings have to hear.
    fn go_on(&mut self, cx: &mut Cx<'_, Self>) {
        while let Some(work) = self.checks.ready() {
            self.check_readers(work, cx);
        }
        self.checks.send(Peer::Check, cx);
    }

    /// Drops versions that no ROT can come back to: there is a newer one that is hidden from nobody.
    fn collect(&mut self, cx: &mut Cx<'_, Self>) {
        let applied = self.checks.applied(self.clock).min();
        let safe = |d: &Version<Meta>| {
            let needed = OLD_VERSIONS_KEPT.kept() && self.records.is_hidden(d.stamp);
            d.meta.applied && d.stamp.ts <= applied && !needed
        };
        cx.collect(PIECE, safe, |stamp| stamp.ts <= applied);
    }

    /// Moves the clock up to `hlc`, and keeps the durable ceiling above it (D3).
    fn lift(&mut self, hlc: Hlc, cx: &mut Cx<'_, Self>) {
        if hlc > self.clock {
            self.clock = hlc;
            self.ceiling.renew(hlc, Vector::default, cx);
        }
    }
}

/// How many keys collection looks at in one go.
const PIECE: usize = 2_000;
