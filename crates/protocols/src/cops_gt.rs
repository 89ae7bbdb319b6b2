//! COPS-GT: COPS with read-only transactions of at most two rounds that never block.
//!
//! **Idea.** A version carries the newest update of every key in its past. A transaction reads all its keys at once; if
//! something that it returned comes after a newer version of another of its keys, it reads exactly that version in a
//! second round. Which is there: what came after it shows here only because it does. So old versions are kept a while.
//!
//! **Source.** W. Lloyd et al., *Don't Settle for Eventual: Scalable Causal Consistency for Wide-Area Storage with COPS*,
//! SOSP 2011; steps as in PROTOCOLS §2 (T1 to T4 those of `get_trans`). Of the paper itself only the beginning could be
//! read: that old versions are kept for five seconds, and what *never depend* means, are taken from §2.
//!
//! **Names.** As in [`crate::cops`], and: all dependencies: [`Causes`] · `ccv` the causally correct version of a key ·
//! `get_by_version`: [`Request::Versions`] · `trans_time`: [`Params::trans_time_us`].
//!
//! **Deviations**
//! - D1 to D6 are those of COPS. Contexts are settled, and tombstones let go, by what is stable in *all* partitions.
//! - D7 The paper drops dependencies and old versions after a time that is longer than any transaction. Here the time is
//!   for liveness only: a server refuses a version that it has dropped, and a list says up to where it names nothing
//!   (`floor`, never above what was applied everywhere). A transaction whose reads may be older than that begins again.
//! - D8 For each key a list names the last writer's update only, with no graph: that is all that `ccv` asks for.
//! - D9 Lists are as long as what is under way is much, and grow while a data centre is away; `near` is bounded (D4).
//!
//! **Invariants**
//! - I1 to I3 are those of COPS.
//! - I4 Of each key in the past of a version its list names the newest update, or that lies at or below its `floor`, and
//!   was applied in every data centre when it was dropped.

use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use tidemark_contract::causes::Causes;
use tidemark_contract::core::promise::Promise;
use tidemark_contract::core::{
    DcId, Failure, Found, Hlc, Key, Micros, Op, Outcome, PartitionId, ServerId, Stamp, Update, Vector,
};
use tidemark_contract::watched::Watched;
use tidemark_contract::{
    AskId, Ceiling, Check, Checks, Cx, Dependant, Deps, Draft, Everywhere, Hard, Info, Parts, Past, Protocol,
    Reach, Recovered, Report, Session, SessionCx, Stabilisation, Status, Ticket, Token, Tree, Version, Walk,
    found_of, not_covered,
};

tidemark_contract::rules! {
    CHECKS, // 4, 5
    LISTS_ALL, // 2
    SECOND_ROUND, // T3
    REFUSES_DROPPED, // D7
    MINDS_FLOORS, // D7
    STABLE_IN_ALL, // D7, I4
    APPLIED_SURVIVES, // D3
    MOVERS_WAIT, // D6
}

/// D4.
const MOST_DEPS: usize = 64;

/// The numbers: the paper's five seconds; the others it does not give.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// How often servers tell their peers what they have applied, and their data centre what is applied everywhere.
    pub theta_us: Micros,
    /// Children of a node of the aggregation tree.
    pub fan_out: usize,
    /// How often a dependency check that is not answered is asked again.
    pub retry_us: Micros,
    /// How long versions are kept that newer ones have taken the place of.
    pub trans_time_us: Micros,
    /// How long a session that moved here waits for what it depends on.
    pub wait_limit_us: Micros,
}

impl tidemark_contract::Params for Params {}

impl Default for Params {
    fn default() -> Self {
        let (retry_us, trans_time_us, wait_limit_us) = (500_000, 5_000_000, 2_000_000);
        Self { theta_us: 20_000, fan_out: 2, retry_us, trans_time_us, wait_limit_us }
    }
}

/// How often a transaction begins before it is given up.
const TRIES: u32 = 20;

/// What a session depends on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Context {
    /// The latest time in its past.
    pub clock: Hlc,
    /// What was read since the last put, and that put.
    pub near: Deps,
    /// All of it.
    pub past: Causes,
}

impl Context {
    /// Adds a version that was read or written.
    fn include(&mut self, at: PartitionId, key: &Key, stamp: Stamp, past: &Causes) {
        self.clock = self.clock.max(stamp.ts);
        self.near.include(at, stamp);
        self.past.merge(past);
        self.past.include(key, stamp);
    }

    fn settle(&mut self, stable: &Vector, most: usize) {
        self.past.settle(stable);
        self.near.retain(|dep| !stable.covers(dep.stamp));
        self.near.bound(most);
    }
}

impl Past for Context {
    fn merge(&mut self, other: &Self) {
        self.clock = self.clock.max(other.clock);
        self.near.merge(&other.near);
        self.past.merge(&other.past);
    }

    fn reach(&self, home: DcId) -> Reach {
        let mut reach = self.near.reach_with(home, self.clock.max(self.past.floor().max()));
        reach.dcs = reach.dcs.max(self.past.floor().entries().len());
        self.past.list().iter().for_each(|(_, stamp)| reach.include(*stamp));
        reach
    }
}

/// What is stored beside a version.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Meta {
    /// It is not applied: what it depends on is checked.
    pub waits: bool,
    /// Its nearest dependencies; none once it was applied.
    pub near: Deps,
    /// All of them.
    pub past: Causes,
}

/// What a session asks.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[allow(missing_docs)]
pub enum Request {
    Read(Vec<Key>), // get, and T1
    /// T3: exactly these.
    Versions(Vec<(Key, Stamp)>),
    Put(Key, Update, Context), // put_after
    Walk(Walk),
    Cover(Context), // D6
}

/// One key's part of an answer.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Got {
    found: Found,
    past: Causes,
}

/// What a server answers; the last part is what is stable.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Reply {
    /// An outcome, and what the session depends on now. After a put that is all its `near`.
    Done(Outcome, Context, Vector),
    /// What was found, and up to where everything that belongs here was applied.
    Slice(Vec<Got>, Vector, Vector),
    /// D7: a version of the second round was dropped.
    TooOld,
}

/// What servers say to each other.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[allow(missing_docs)]
pub enum Peer {
    Check(Check),    // siblings
    Tree(Tree),      // siblings (D7)
    Applied(Vector), // peers (D4)
}

pub use crate::cops::Timer;

/// A server.
pub struct CopsGt {
    clock: Hlc,
    checks: Checks<Dependant<Context>>,
    everywhere: Everywhere,
    /// What is applied in every data centre, all partitions together.
    stable: Vector,
    stabilisation: Stabilisation,
    /// What was stable, each with the time when no transaction is older any more; and what is that already.
    aged: VecDeque<(Micros, Vector)>,
    ripe: Vector,
    /// Keys with versions to drop, those that are older than the stamp, and when.
    overwritten: VecDeque<(Micros, Key, Stamp)>,
    /// Versions whose lists are not empty.
    listed: Watched,
    ceiling: Ceiling,
}

const ABOUT: &str = "COPS with snapshots of two rounds that never block; lists all dependencies";

impl Protocol for CopsGt {
    const INFO: Info = Info::new("cops-gt", ABOUT, Promise::CausalImmediate).rules(RULES);
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

    fn start(Recovered { hard, life, received, .. }: Recovered<Hard>, cx: &mut Cx<'_, Self>) -> Self {
        let mut server = Self {
            clock: received.max().max(hard.ceiling),
            checks: Checks::new(cx.me, life, received),
            everywhere: Everywhere::new(cx.topology.dcs),
            stable: Vector::zero(cx.topology.dcs),
            stabilisation: Stabilisation::new(cx.me, cx.topology, cx.params.fan_out),
            aged: VecDeque::new(),
            ripe: Vector::default(),
            overwritten: VecDeque::new(),
            listed: Watched::default(),
            ceiling: Ceiling::new(hard),
        };
        server.recover(cx);
        cx.arm(Timer::Theta, cx.params.theta_us);
        cx.arm(Timer::Retry, cx.params.retry_us);
        server
    }

    fn on_request(&mut self, ticket: Ticket, request: Request, cx: &mut Cx<'_, Self>) {
        match request {
            Request::Read(keys) => {
                let got = keys.iter().map(|key| got(cx.latest(key, &()))).collect();
                let applied = self.checks.applied(self.clock);
                cx.reply(ticket, Reply::Slice(got, applied, self.settled())); // T1
            }
            Request::Versions(wanted) => self.versions(ticket, &wanted, cx),
            Request::Put(key, update, context) => self.put(ticket, key, update, context, cx),
            Request::Walk(walk) => {
                let (outcome, seen) = self.walk(&walk, cx);
                self.done(ticket, outcome, seen, cx);
            }
            Request::Cover(context) => {
                let near = if MOVERS_WAIT.kept() { context.near.clone() } else { Deps::default() };
                let until = cx.mono + cx.params.wait_limit_us;
                self.checks.session(ticket, context, &near, until);
                self.go_on(cx);
            }
        }
    }

    fn on_peer(&mut self, from: ServerId, message: Peer, cx: &mut Cx<'_, Self>) {
        match message {
            Peer::Check(message) => self.checks.on_message(from, message),
            Peer::Applied(applied) => self.everywhere.tell(from.dc, &applied),
            Peer::Tree(message) => {
                let stable = self.stabilisation.on_message((from, message), self.report(), Peer::Tree, cx);
                stable.into_iter().for_each(|stable| self.stable.merge(&stable));
            }
        }
        self.go_on(cx);
    }

    fn on_replicate(&mut self, _: ServerId, key: Key, d: Version<Meta>, cx: &mut Cx<'_, Self>) {
        let (stamp, near) = (d.stamp, d.meta.near.clone());
        cx.store.insert(&key, d);
        self.checks.arrived(stamp);
        self.check(key, stamp, &near); // 4
        self.go_on(cx);
    }

    fn on_heartbeat(&mut self, from: ServerId, ts: Hlc, cx: &mut Cx<'_, Self>) {
        self.checks.heard(from.dc, ts);
        self.go_on(cx);
    }

    fn on_peer_reset(&mut self, peer: ServerId, cx: &mut Cx<'_, Self>) {
        self.checks.reset(peer);
        self.go_on(cx);
    }

    fn on_timer(&mut self, timer: Timer, cx: &mut Cx<'_, Self>) {
        match timer {
            Timer::Theta => {
                cx.arm(Timer::Theta, cx.params.theta_us);
                self.tell(cx);
                self.collect(cx);
                for ticket in self.checks.turn_away(cx.mono) {
                    self.done(ticket, Outcome::Failed(not_covered()), Context::default(), cx);
                }
            }
            Timer::Retry => {
                cx.arm(Timer::Retry, cx.params.retry_us);
                self.checks.ask_again(); // 7
                self.go_on(cx);
            }
        }
    }

    fn visible((): &(), _: Stamp, meta: &Meta) -> bool {
        !meta.waits
    }

    fn shipped(meta: &Meta) -> Meta {
        Meta { waits: true, ..meta.clone() }
    }

    fn status(&self) -> Status {
        Status::new(self.stable.clone(), self.checks.len())
    }
}

impl CopsGt {
    /// Goes on with what waits, and with what is to be dropped or has a list, among what survived.
    fn recover(&mut self, cx: &mut Cx<'_, Self>) {
        let (mut here, mut last) = (Vec::new(), Vec::new());
        cx.store.dump(0, usize::MAX, |key, d| {
            if d.meta.waits || !d.meta.past.list().is_empty() || last == key {
                here.push((d.stamp, Key(key.to_vec().into()), d.meta.waits.then(|| d.meta.near.clone())));
            }
            last.clear();
            last.extend_from_slice(key);
        });
        here.sort_by_key(|(stamp, ..)| *stamp);
        let waiting = here.iter().filter(|(_, _, near)| near.is_some());
        waiting.for_each(|(stamp, ..)| self.checks.arrived(*stamp));
        for (stamp, key, near) in here {
            match near {
                Some(near) => self.check(key, stamp, &near), // D3
                None => self.shows(key, stamp, cx),
            }
        }
        self.go_on(cx);
    }

    /// `put_after`.
    fn put(&mut self, ticket: Ticket, key: Key, update: Update, mut context: Context, cx: &mut Cx<'_, Self>) {
        let n = cx.me.partition;
        let see = |seen: &mut Context, d: &Version<Meta>| seen.include(n, &key, d.stamp, &d.meta.past); // D5
        let (outcome, seen) = cx.update(&key, update, &(), Context::default(), see, |seen, cx| {
            context.merge(seen);
            context.settle(&self.settled(), MOST_DEPS);
            let ver = cx.stamp_above(self.clock, context.clock)?; // 3
            self.advance(ver.ts, cx);
            seen.near = Deps::default();
            seen.include(n, &key, ver, &Causes::default());
            let Context { near, past, .. } = context;
            let in_memory = Meta { waits: false, near: Deps::default(), past: past.clone() };
            Ok(Draft::new(ver, Meta { waits: false, near, past }).in_memory(in_memory))
        });
        if let Outcome::Written { stamp: Some(ver), .. } = outcome {
            self.shows(key, ver, cx);
        }
        self.done(ticket, outcome, seen, cx);
    }

    /// `get_by_version`: exactly these, or none.
    fn versions(&self, ticket: Ticket, wanted: &[(Key, Stamp)], cx: &mut Cx<'_, Self>) {
        let find = |(key, stamp): &(Key, Stamp)| cx.store.chain(key).find(|d| d.stamp == *stamp);
        let there: Vec<_> = wanted.iter().map(find).collect();
        let dropped = there.iter().any(|d| d.is_none_or(|d| d.meta.waits));
        if dropped && REFUSES_DROPPED.kept() {
            return cx.reply(ticket, Reply::TooOld); // D7
        }
        let there = there.into_iter().map(got).collect();
        cx.reply(ticket, Reply::Slice(there, Vector::default(), self.settled())); // T3
    }

    /// A scan comes to depend on each version that decided about a key, a tombstone included.
    fn walk(&self, walk: &Walk, cx: &Cx<'_, Self>) -> (Outcome, Context) {
        let mut seen = Context::default();
        let Walk::Scan { cursor, limit } = walk else { return (cx.walk(walk, &(), |_| ()), seen) };
        let mut latest: Vec<(Key, Version<Meta>)> = Vec::new();
        let cursor = cx.store.dump(*cursor, *limit as usize, |key, d| {
            if latest.last().is_some_and(|(last, _)| last[..] == *key) {
                latest.pop_if(|_| !d.meta.waits);
            }
            if !d.meta.waits {
                latest.push((Key(key.to_vec().into()), d.clone()));
            }
        });
        latest.iter().for_each(|(key, d)| seen.include(cx.me.partition, key, d.stamp, &d.meta.past));
        seen.settle(&self.settled(), MOST_DEPS);
        let keys = latest.into_iter().filter(|(_, d)| d.write.value().is_some()).map(|(key, _)| key);
        (Outcome::Keys { keys: keys.collect(), cursor }, seen)
    }

    /// Checks what a version depends on.
    fn check(&mut self, key: Key, stamp: Stamp, near: &Deps) {
        let near = if CHECKS.kept() { near } else { &Deps::default() };
        self.checks.version(key, stamp, near);
    }

    /// Does what waits for nothing any more, and says what there is to say.
    fn go_on(&mut self, cx: &mut Cx<'_, Self>) {
        while let Some(dependant) = self.checks.met() {
            match dependant {
                Dependant::Version(d) => {
                    self.clock = self.clock.max(d.stamp.ts); // 6
                    let shows = |meta: &mut Meta| (meta.waits, meta.near) = (false, Deps::default());
                    d.show(APPLIED_SURVIVES.kept(), shows, cx); // D3
                    self.shows(d.key, d.stamp, cx);
                }
                Dependant::Session(ticket, context, _) => self.done(ticket, Outcome::Adopted, context, cx),
            }
        }
        self.checks.send(Peer::Check, cx);
    }

    /// A version shows: what is older is kept for a while (D7), and its list until it is stable.
    fn shows(&mut self, key: Key, stamp: Stamp, cx: &mut Cx<'_, Self>) {
        let mut shown = cx.store.chain(&key).filter(|d| !d.meta.waits);
        let (newest, older) = (shown.next().map(|d| (d.stamp, d.meta.past.list().is_empty())), shown.next());
        let Some((newest, bare)) = newest else { return };
        if older.is_some() {
            self.overwritten.push_back((cx.mono + cx.params.trans_time_us, key.clone(), newest));
        }
        if newest == stamp && !bare {
            self.listed.watch(&key, stamp);
        }
    }

    /// Tells peers and siblings what is applied here and everywhere.
    fn tell(&mut self, cx: &mut Cx<'_, Self>) {
        self.advance(self.clock.tick(cx.now), cx);
        cx.heartbeat(self.clock);
        let applied = self.checks.applied(self.clock);
        self.everywhere.tell(cx.me.dc, &applied);
        cx.topology.peers(cx.me).for_each(|peer| cx.send(peer, Peer::Applied(applied.clone())));
        let stable = self.stabilisation.tick(self.report(), Peer::Tree, cx);
        stable.into_iter().for_each(|stable| self.stable.merge(&stable));
    }

    /// What the tree takes from this server: what is applied everywhere, and what was a while ago.
    fn report(&self) -> Report {
        Report::new(self.everywhere.get().clone(), &self.ripe, std::iter::empty())
    }

    /// Drops what no transaction asks for any more, if none takes longer than it should (D7).
    fn collect(&mut self, cx: &mut Cx<'_, Self>) {
        while self.overwritten.front().is_some_and(|(until, ..)| *until <= cx.mono) {
            let Some((_, key, stamp)) = self.overwritten.pop_front() else { break };
            if !cx.store.chain(&key).any(|d| d.stamp < stamp && d.meta.waits) {
                cx.store.cut(&key, |d| d.stamp == stamp); // I3
            }
        }
        if self.aged.back().is_none_or(|(_, last)| *last != self.stable) {
            self.aged.push_back((cx.mono + cx.params.trans_time_us, self.stable.clone()));
        }
        let young = self.aged.iter().position(|(until, _)| *until > cx.mono).unwrap_or(self.aged.len());
        self.aged.drain(..young).for_each(|(_, ripe)| self.ripe.merge(&ripe));
        self.stabilisation.collect(cx, |ripe, d| d.stamp.ts <= ripe.min()); // tombstones, mostly
        let stable = self.settled();
        self.listed.settle(cx.store, |meta| {
            meta.past.settle(&stable);
            meta.past.list().is_empty()
        });
    }

    /// What lists need not name any more.
    fn settled(&self) -> Vector {
        if STABLE_IN_ALL.kept() { self.stable.clone() } else { self.everywhere.get().clone() }
    }

    fn done(&self, ticket: Ticket, outcome: Outcome, seen: Context, cx: &mut Cx<'_, Self>) {
        cx.reply(ticket, Reply::Done(outcome, seen, self.settled()));
    }

    /// Moves the clock, and keeps the durable ceiling above it.
    fn advance(&mut self, clock: Hlc, cx: &mut Cx<'_, Self>) {
        self.clock = clock;
        self.ceiling.renew(clock, Vector::default, cx);
    }
}

fn got(d: Option<&Version<Meta>>) -> Got {
    Got { found: found_of(d), past: d.map(|d| d.meta.past.clone()).unwrap_or_default() }
}

/// A session.
pub struct Client {
    /// Its past is its context.
    token: Token<Context>,
    /// What it has been told is stable.
    stable: Vector,
    /// The get or transaction that runs.
    trans: Trans,
}

/// `get_trans`, or a get: a transaction of one key.
#[derive(Default)]
struct Trans {
    single: bool,
    keys: Vec<Key>,
    /// How often it began.
    tries: u32,
    /// All up to here was applied everywhere before it began.
    known: Vector,
    /// T1: what was found, and up to where everything was applied there.
    first: Parts<(Got, Vector)>,
    /// What is returned, but for the places of which the second round is to tell.
    got: Vec<Got>,
    wanted: Vec<usize>,
    second: Parts<Got>,
}

impl Client {
    /// T1.
    fn begin_trans(&mut self, cx: &mut SessionCx<'_, CopsGt>) {
        self.trans.tries += 1;
        if self.trans.tries > TRIES {
            let why = "what the transaction reads is overwritten faster than it reads".to_string();
            return cx.fail(Failure::Unavailable(why));
        }
        self.trans.known.merge(&self.stable);
        self.trans.second = Parts::default();
        self.trans.first = Parts::ask(&self.trans.keys, Request::Read, cx);
    }

    /// T2 and T3: which version of each key belongs to what was found of the others?
    fn second_round(&mut self, first: Vec<(Got, Vector)>, cx: &mut SessionCx<'_, CopsGt>) {
        let trans = &mut self.trans;
        let owner = |key: &Key| cx.topology.partition_of(key);
        let mut joint = Causes::default();
        first.iter().for_each(|(got, _)| joint.merge(&got.past));
        // What was read where all up to its floors was applied cannot be older than anything that a list lacks (I4).
        let applied = |at: &Vector| {
            let mut applied = at.clone();
            applied.merge(&trans.known);
            applied
        };
        let at_once = trans.keys.iter().all(|key| owner(key) == owner(&trans.keys[0]));
        if MINDS_FLOORS.kept() && !at_once && first.iter().any(|(_, at)| !joint.floor().le(&applied(at))) {
            trans.known.merge(joint.floor()); // D7
            return self.begin_trans(cx);
        }
        let ccv = |place: usize| joint.newest(&trans.keys[place]); // T2
        let behind = |place: &usize| {
            let (got, at) = &first[*place];
            let missed = |ccv: Stamp| got.found.stamp < Some(ccv) && !applied(at).covers(ccv);
            SECOND_ROUND.kept() && !at_once && ccv(*place).is_some_and(missed)
        };
        trans.wanted = (0..trans.keys.len()).filter(behind).collect();
        trans.got = first.into_iter().map(|(got, _)| got).collect();
        if trans.wanted.is_empty() {
            return self.end_trans(cx);
        }
        let wanted: Vec<Key> = trans.wanted.iter().map(|place| trans.keys[*place].clone()).collect();
        let exactly = |key: Key| joint.newest(&key).map(|stamp| (key, stamp));
        let request = |keys: Vec<Key>| Request::Versions(keys.into_iter().filter_map(exactly).collect());
        trans.second = Parts::ask(&wanted, request, cx); // T3
    }

    /// T4.
    fn end_trans(&mut self, cx: &mut SessionCx<'_, CopsGt>) {
        let Trans { single, keys, got, .. } = std::mem::take(&mut self.trans);
        let context = &mut self.token.past;
        for (key, Got { found, past }) in keys.iter().zip(&got) {
            let past = if LISTS_ALL.kept() { past } else { &Causes::default() };
            let mut include = |stamp| context.include(cx.topology.partition_of(key), key, stamp, past);
            found.stamp.into_iter().for_each(&mut include);
        }
        context.settle(&self.stable, MOST_DEPS);
        let mut found: Vec<Found> = got.into_iter().map(|got| got.found).collect();
        cx.done(if single { Outcome::Found(found.remove(0)) } else { Outcome::FoundAll(found) });
    }
}

impl Session<CopsGt> for Client {
    type Token = Token<Context>;

    fn open(home: DcId) -> Self {
        let token = Token { home, past: Context::default() };
        Self { token, stable: Vector::default(), trans: Trans::default() }
    }

    fn begin(&mut self, op: Op, cx: &mut SessionCx<'_, CopsGt>) {
        let Some(server) = cx.begin(&op) else { return };
        let single = matches!(op, Op::Get { .. });
        let request = match op {
            Op::Get { key } => {
                self.trans = Trans { single, keys: vec![key], ..Trans::default() };
                return self.begin_trans(cx); // 1
            }
            Op::Rotx { keys } | Op::Snapshot { keys } => {
                self.trans = Trans { single, keys, ..Trans::default() };
                return self.begin_trans(cx);
            }
            Op::Put { key, update } => Request::Put(key, update, self.token.past.clone()), // 2
            walk => Request::Walk(Walk::of(&walk)),
        };
        cx.ask(server, request);
    }

    fn on_reply(&mut self, ask: AskId, _: ServerId, reply: Reply, cx: &mut SessionCx<'_, CopsGt>) {
        match reply {
            Reply::Done(outcome, seen, stable) => {
                self.stable.merge(&stable);
                let past = &mut self.token.past;
                if matches!(outcome, Outcome::Written { stamp: Some(_), .. }) {
                    past.near = Deps::default(); // 2
                }
                past.merge(&seen);
                past.settle(&self.stable, MOST_DEPS);
                cx.done(outcome);
            }
            Reply::Slice(got, applied, stable) => {
                self.stable.merge(&stable);
                let Trans { first, second, wanted, .. } = &mut self.trans;
                if first.heard(ask, got.iter().map(|got| (got.clone(), applied.clone()))) {
                    first.whole().into_iter().for_each(|first| self.second_round(first, cx));
                } else if second.heard(ask, got)
                    && let Some(second) = second.whole()
                {
                    let places = std::mem::take(wanted).into_iter();
                    places.zip(second).for_each(|(place, got)| self.trans.got[place] = got);
                    self.end_trans(cx);
                }
            }
            Reply::TooOld if self.trans.second.heard(ask, []) => self.begin_trans(cx), // D7
            Reply::TooOld => {}
        }
    }

    fn token(&self) -> Token<Context> {
        self.token.clone()
    }

    fn adopt(&mut self, Token { home, past }: Token<Context>, cx: &mut SessionCx<'_, CopsGt>) {
        if home == self.token.home {
            self.token.past.merge(&past);
            return cx.done(Outcome::Adopted);
        }
        let partition = past.near.iter().next().map_or_else(Default::default, |dep| dep.partition);
        cx.ask_partition(partition, Request::Cover(past)); // D6
    }
}
