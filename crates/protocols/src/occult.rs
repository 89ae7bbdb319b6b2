//! Occult: servers promise nothing, and sessions see to it that what they see is causally consistent.
//!
//! **Idea.** Each partition has one master, in one data centre. The others are slaves: they apply its writes in order
//! and show them at once. A *shardstamp* says how far a server has come with that; versions and sessions carry those
//! that they depend on. A session compares what a slave says of itself with what it knows to exist; where the slave is
//! behind, it asks again, and then the master. No server waits for another partition, so one that is slow slows nobody
//! else ("no slowdown cascades"). The price: a write needs the master, wherever that is, and fails while it is cut off.
//!
//! **Source.** S. A. Mehdi et al., *I Can't Believe It's Not Causal! Scalable Causal Consistency with No Slowdown
//! Cascades*, NSDI 2017: its abstract, summaries of its sections, and what others say of it (000 §3.2.2, 002 §7). The
//! paper's are shardstamps and causal timestamps, retrying and then asking the master, and the test of a set of reads:
//! none is older than another depends on. *Reconstructed*: all messages, whom a session asks when, reads of many keys.
//!
//! **Names.** `ss` a server's shardstamp · `ct` the causal timestamp of a session · `deps` that of a version, with its
//! own shardstamp · master, slave: [`master`].
//!
//! **Deviations**
//! - D1 Shardstamps are hybrid clock readings, as the paper makes them to compress timestamps. Nothing is compressed:
//!   a causal timestamp has an entry for each partition that is depended on.
//! - D2 Partition n is mastered in data centre n mod M, and no other takes over.
//! - D3 A session has no clock to wait by. Its second question asks the slave to wait, its third goes to the master.
//! - D4 Of the paper's transactions only the read-only ones: keys are read side by side, and what does not fit together
//!   is read again, at most [`ROUNDS`] times.
//! - D5 A conditional update looks at the master, and depends on what decided it. SCAN and COUNT read like GET.
//! - D6 (E-12, E-13) Restarts and moves need no care: `ss` is the time of the last record in the log, and shardstamps
//!   mean the same everywhere.
//!
//! **Invariants**
//! - I1 A server has every write of its partition up to its `ss`.
//! - I2 `deps` names all that a version depends on, and `ct` all that a session does.
//! - I3 A chain holds one version, the newest; tombstones stay.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use tidemark_contract::core::promise::Promise;
use tidemark_contract::core::{
    DcId, Failure, Hlc, Key, Micros, Op, Outcome, PartitionId, ServerId, Stamp, Update,
};
use tidemark_contract::cx::found_of;
use tidemark_contract::protocol::Received;
use tidemark_contract::{
    AskId, Cx, Draft, Info, Protocol, Reach, Reaches, Recovered, Session, SessionCx, Status, Ticket,
    Topology, Version, Waiters, Walk,
};

tidemark_contract::rules! {
    READS_ARE_VALIDATED,
    SETS_ARE_VALIDATED, // D4
    READS_JOIN_CT, // I2
    UPDATES_DEPEND_ON_CT, // I2
    CT_MOVES, // D6
}

/// How often a session reads one partition for one operation before it gives up.
pub const ROUNDS: u32 = 10;

/// The numbers: ours.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// How long a slave that is behind waits before it answers.
    pub wait_limit_us: Micros,
}

impl tidemark_contract::Params for Params {}

impl Default for Params {
    fn default() -> Self {
        Self { wait_limit_us: 50_000 }
    }
}

/// The data centre that writes `partition` (D2).
pub fn master(partition: PartitionId, topology: &Topology) -> DcId {
    DcId((partition.index() % topology.dcs) as u8)
}

/// A causal timestamp: a shardstamp for each partition that something depends on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shardstamps(BTreeMap<PartitionId, Hlc>);

impl Reaches for Shardstamps {
    fn reach(&self) -> Reach {
        let latest = self.0.values().copied().max().unwrap_or_default();
        let partitions = self.0.keys().last().map_or(0, |partition| partition.index() + 1);
        Reach { latest, dcs: 0, partitions }
    }

    fn join(&mut self, other: &Self) {
        self.merge(other);
    }
}

impl Shardstamps {
    /// The entry of `partition`; zero if there is none.
    pub fn get(&self, partition: PartitionId) -> Hlc {
        self.0.get(&partition).copied().unwrap_or_default()
    }

    fn raise(&mut self, partition: PartitionId, ss: Hlc) {
        let entry = self.0.entry(partition).or_default();
        *entry = ss.max(*entry);
    }

    fn merge(&mut self, other: &Shardstamps) {
        other.0.iter().for_each(|(partition, ss)| self.raise(*partition, *ss));
    }
}

/// What is read of one partition.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[allow(missing_docs)]
pub enum What {
    Key(Key),
    Keys(Vec<(u32, Key)>), // each with its place in the answer
    Walk(Walk),
}

/// What a session asks.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[allow(missing_docs)]
pub enum Request {
    Read(What, Hlc), // and up to where a slave is to be, D3
    Put(Key, Update, Shardstamps),
}

/// What a server answers: last, what the session comes to depend on.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[allow(missing_docs)]
pub enum Reply {
    Read(Outcome, Hlc, Shardstamps), // the server's ss
    Put(Outcome, Shardstamps),
}

/// Servers say nothing to each other.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Peer {}

/// When the first of those who wait has waited long enough.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Timer;

/// A server: the master of its partition, or a slave.
pub struct Occult {
    ss: Hlc,
    waiting: Waiters<Hlc, (Ticket, What)>,
}

const ABOUT: &str = "causal+, checked by sessions; a write needs the region of its partition's master";

impl Protocol for Occult {
    const INFO: Info = Info::new("occult", ABOUT, Promise::CausalSnapshot).newest_only().rules(RULES); // I3
    type Meta = Shardstamps; // deps
    type Request = Request;
    type Reply = Reply;
    type Peer = Peer;
    type Hard = ();
    type Timer = Timer;
    type View = ();
    type Session = Client;
    type Params = Params;
    type Component = ();

    fn start(recovered: Recovered<()>, cx: &mut Cx<'_, Self>) -> Self {
        let ss = recovered.received[master(cx.me.partition, cx.topology)]; // D6
        Self { ss, waiting: Waiters::default() }
    }

    fn on_request(&mut self, ticket: Ticket, request: Request, cx: &mut Cx<'_, Self>) {
        let is_master = master(cx.me.partition, cx.topology) == cx.me.dc;
        match request {
            Request::Read(what, at_least) if is_master || self.ss >= at_least => self.read(ticket, &what, cx),
            Request::Read(what, at_least) => {
                self.waiting.park(at_least, cx.mono + cx.params.wait_limit_us, (ticket, what));
                self.wait(cx);
            }
            Request::Put(key, update, ct) if is_master => self.put(ticket, key, update, ct, cx),
            Request::Put(..) => refuse(ticket, Failure::Misconfigured("not the master".to_string()), cx),
        }
    }

    fn on_replicate(&mut self, _: ServerId, item: Received<'_, Shardstamps>, cx: &mut Cx<'_, Self>) {
        self.ss = item.upto; // I1: masters send no heartbeats
        self.waiting.wake(&self.ss).into_iter().for_each(|(ticket, what)| self.read(ticket, &what, cx));
    }

    fn on_timer(&mut self, _: Timer, cx: &mut Cx<'_, Self>) {
        self.waiting.expire(cx.mono).into_iter().for_each(|(ticket, what)| self.read(ticket, &what, cx));
        self.wait(cx);
    }

    fn visible(_: &(), _: Stamp, _: &Shardstamps) -> bool {
        true
    }

    fn status(&self) -> Status {
        Status::new(Default::default(), self.waiting.len())
    }
}

impl Occult {
    /// Whatever is here, and how far that goes.
    fn read(&self, ticket: Ticket, what: &What, cx: &mut Cx<'_, Self>) {
        let mut deps = Shardstamps::default();
        let outcome = match what {
            What::Key(key) => Outcome::Found(found_of(cx.latest(key, &()).inspect(|d| deps.merge(&d.meta)))),
            What::Keys(keys) => {
                let found = cx.read(keys, &(), |d| deps.merge(&d.meta)).into_iter();
                Outcome::FoundAll(found.map(|(_, found)| found).collect())
            }
            What::Walk(walk) => cx.walk(walk, &(), |d| deps.merge(&d.meta)),
        };
        cx.reply(ticket, Reply::Read(outcome, self.ss, deps));
    }

    /// A write, at the master.
    fn put(&mut self, ticket: Ticket, key: Key, update: Update, ct: Shardstamps, cx: &mut Cx<'_, Self>) {
        let see = |seen: &mut Shardstamps, d: &Version<_>| seen.clone_from(&d.meta); // D5
        let (outcome, seen) = cx.update(&key, update, &(), Shardstamps::default(), see, |seen, cx| {
            let new = cx.stamp_above(self.ss, Hlc::ZERO)?;
            self.ss = new.ts; // I1
            seen.raise(cx.me.partition, self.ss);
            let mut deps = if UPDATES_DEPEND_ON_CT.kept() { ct } else { Shardstamps::default() };
            deps.merge(seen); // I2
            Ok(Draft::new(new, deps))
        });
        cx.reply(ticket, Reply::Put(outcome, seen));
    }

    fn wait(&self, cx: &mut Cx<'_, Self>) {
        self.waiting.next_deadline().into_iter().for_each(|at| cx.arm(Timer, at.saturating_sub(cx.mono)));
    }
}

fn refuse(ticket: Ticket, failure: Failure, cx: &mut Cx<'_, Occult>) {
    cx.reply(ticket, Reply::Put(Outcome::Failed(failure), Shardstamps::default()));
}

/// What a read asks of one partition, and what it was answered.
struct Part {
    partition: PartitionId,
    what: What,
    asked: u32,
    ask: AskId,
    answer: Option<(Outcome, Hlc, Shardstamps)>,
}

impl Part {
    /// Asks: whoever is here, then here again with patience, then the master (D3).
    fn ask(&mut self, at_least: Hlc, cx: &mut SessionCx<'_, Occult>) {
        let dc = if self.asked < 2 { cx.dc } else { master(self.partition, cx.topology) };
        let at_least = if self.asked == 0 { Hlc::ZERO } else { at_least };
        self.asked += 1;
        self.answer = None;
        let to = ServerId::new(dc, self.partition);
        self.ask = cx.ask(to, Request::Read(self.what.clone(), at_least));
    }
}

fn by_partition(keys: Vec<Key>, topology: &Topology) -> Vec<(PartitionId, What)> {
    let mut slices = BTreeMap::<PartitionId, Vec<(u32, Key)>>::new();
    for (place, key) in (0..).zip(keys) {
        slices.entry(topology.partition_of(&key)).or_default().push((place, key));
    }
    slices.into_iter().map(|(partition, keys)| (partition, What::Keys(keys))).collect()
}

/// A session.
pub struct Client {
    ct: Shardstamps,
    /// The read that runs.
    parts: Vec<Part>,
}

impl Client {
    /// All have answered. What is behind what the session knows, or behind what another answer depends on, is read
    /// again; if nothing is, this is what the session sees.
    fn validate(&mut self, cx: &mut SessionCx<'_, Occult>) {
        let mut ct = if READS_ARE_VALIDATED.kept() { self.ct.clone() } else { Shardstamps::default() };
        if SETS_ARE_VALIDATED.kept() {
            self.parts.iter().filter_map(|part| part.answer.as_ref()).for_each(|(.., deps)| ct.merge(deps));
        }
        let mut again = false;
        for part in &mut self.parts {
            let at_least = ct.get(part.partition);
            if part.answer.as_ref().is_some_and(|(_, ss, _)| *ss < at_least) {
                if part.asked == ROUNDS {
                    return cx.fail(Failure::Unavailable("what is read does not fit together".to_string()));
                }
                part.ask(at_least, cx);
                again = true;
            }
        }
        if !again {
            self.finish(cx);
        }
    }

    fn finish(&mut self, cx: &mut SessionCx<'_, Occult>) {
        let mut all = Vec::new();
        for part in std::mem::take(&mut self.parts) {
            let Some((outcome, _, deps)) = part.answer else { continue };
            if READS_JOIN_CT.kept() {
                self.ct.merge(&deps); // I2
            }
            match (part.what, outcome) {
                (What::Keys(keys), Outcome::FoundAll(found)) => {
                    all.extend(keys.into_iter().map(|(place, _)| place).zip(found));
                }
                (_, one) => return cx.done(one),
            }
        }
        all.sort_by_key(|(place, _)| *place);
        cx.done(Outcome::FoundAll(all.into_iter().map(|(_, found)| found).collect()));
    }
}

impl Session<Occult> for Client {
    type Token = Shardstamps;

    fn open(_: DcId) -> Self {
        Self { ct: Shardstamps::default(), parts: Vec::new() }
    }

    fn begin(&mut self, op: Op, cx: &mut SessionCx<'_, Occult>) {
        let Some(ServerId { partition, .. }) = cx.begin(&op) else { return };
        let whats = match op {
            Op::Put { key, update } => {
                let master = ServerId::new(master(partition, cx.topology), partition);
                cx.ask(master, Request::Put(key, update, self.ct.clone()));
                return;
            }
            Op::Get { key } => vec![(partition, What::Key(key))],
            Op::Rotx { keys } | Op::Snapshot { keys } => by_partition(keys, cx.topology),
            walk => vec![(partition, What::Walk(Walk::of(&walk)))],
        };
        let fresh =
            |(partition, what)| Part { partition, what, asked: 0, ask: AskId::default(), answer: None };
        self.parts = whats.into_iter().map(fresh).collect();
        self.parts.iter_mut().for_each(|part| part.ask(Hlc::ZERO, cx));
    }

    fn on_reply(&mut self, ask: AskId, _: ServerId, reply: Reply, cx: &mut SessionCx<'_, Occult>) {
        match reply {
            Reply::Put(outcome, deps) => {
                self.ct.merge(&deps);
                cx.done(outcome);
            }
            Reply::Read(got, ss, deps) => {
                let Some(part) = self.parts.iter_mut().find(|part| part.ask == ask) else { return };
                part.answer = Some((got, ss, deps));
                if self.parts.iter().all(|part| part.answer.is_some()) {
                    self.validate(cx);
                }
            }
        }
    }

    fn on_lost(&mut self, _: AskId, cx: &mut SessionCx<'_, Occult>) {
        self.parts.clear();
        cx.lost();
    }

    fn token(&self) -> Shardstamps {
        self.ct.clone()
    }

    fn adopt(&mut self, token: Shardstamps, cx: &mut SessionCx<'_, Occult>) {
        if CT_MOVES.kept() {
            self.ct.merge(&token); // D6
        }
        cx.done(Outcome::Adopted);
    }
}
