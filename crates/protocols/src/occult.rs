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
//! paper's are shardstamps and causal timestamps, retrying and then asking the master, the test of a set of reads:
//! none is older than another depends on; and of transactions (`transactions.rs`) that masters are asked for the shardstamps that
//! their writes will have, and that what is written names them all. *Reconstructed*: all messages, whom a session asks
//! when, reads of many keys, who coordinates, and what crashes leave.
//!
//! **Names.** `ss` a server's shardstamp · `ct` the causal timestamp of a session · `deps` that of a version, with its
//! own shardstamp · master, slave: [`master`].
//!
//! **Deviations**
//! - D1 Shardstamps are hybrid clock readings, as the paper makes them to compress timestamps. Nothing is compressed:
//!   a causal timestamp has an entry for each partition that is depended on.
//! - D2 Partition n is mastered in data centre n mod M, and no other takes over.
//! - D3 A session has no clock to wait by. Its second question asks the slave to wait, its third goes to the master.
//! - D4 Of the paper's transactions those that only read, and those that only write. Keys are read side by side, and what does
//!   not fit together is read again, at most [`ROUNDS`] times.
//! - D5 A conditional update looks at the master, and depends on what decided it. SCAN and COUNT read like GET.
//! - D6 (E-12, E-13) Restarts and moves need no care: `ss` is the time of the last record in the log, and shardstamps
//!   mean the same everywhere.
//! - D7 A transaction has one shardstamp at all of its shards: the latest that their masters propose, or somewhat later. It locks no
//!   keys. The paper's has one of each master, which locks them, and compares what it has read with what it overwrites; one
//!   that only writes has read nothing.
//! - D8 What a transaction writes at one shard is one record: slaves have it whole.
//! - D9 The master of the first key coordinates, and not the client, which may vanish. What is prepared survives a crash, and so
//!   does what was decided, until all have written it.
//! - D10 A master writes in the order of shardstamps, so what comes after a transaction that it has agreed to waits for that, and
//!   so do readers who know of something later. It is a round trip between the masters, or until the coordinator is back.
//!
//! **Invariants**
//! - I1 A server has every write of its partition up to its `ss`: no two writes of a master have one time, and it has agreed to
//!   nothing at or below `ss`.
//! - I2 `deps` names all that a version depends on, and `ct` all that a session does.
//! - I3 A chain holds one version, the newest; tombstones stay.
//! - I4 `deps` names all shards that its transaction writes, with its time.
//! - I5 A write's shardstamp is above what its session knows of the shard.

mod session;
mod transactions;

use serde::{Deserialize, Serialize};
pub use session::{Client, ROUNDS};
use std::collections::BTreeMap;
use tidemark_contract::core::promise::Promise;
use tidemark_contract::core::{
    DcId, Failure, Hlc, Key, Micros, Outcome, PartitionId, ServerId, Stamp, Update,
};
use tidemark_contract::cx::found_of;
use tidemark_contract::protocol::Received;
use tidemark_contract::two_phase::{self, Commit, Undone, Writes};
use tidemark_contract::{
    Cx, Draft, Info, Protocol, Reach, Reaches, Recovered, Status, Ticket, Topology, Version, Waiters, Walk,
};
use transactions::Transactions;

tidemark_contract::rules! {
    READS_ARE_VALIDATED,
    SETS_ARE_VALIDATED, // D4
    READS_JOIN_CT, // I2
    UPDATES_DEPEND_ON_CT, // I2
    CT_MOVES, // D6
    NAMES_ALL_SHARDS, // I4
    WRITES_IN_ORDER, // I1
    WRITES_ABOVE_CT, // I5
    SHARDS_ARRIVE_WHOLE, // D8
    PREPARED_SURVIVES, // D9
    DECIDED_SURVIVES; // D9
    of two_phase: COMMIT_TIMES_DIFFER // I1
}

/// The numbers: ours.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// How long a server that is behind waits before it answers.
    pub wait_limit_us: Micros,
    /// How long the masters of a transaction may take to agree to it.
    pub commit_limit_us: Micros,
}

impl tidemark_contract::Params for Params {}

impl Default for Params {
    fn default() -> Self {
        Self { wait_limit_us: 50_000, commit_limit_us: 2_000_000 }
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
    PutAll(Writes, Shardstamps),
}

/// What a server answers: last, what the session comes to depend on.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[allow(missing_docs)]
pub enum Reply {
    Read(Outcome, Hlc, Shardstamps), // the server's ss
    Put(Outcome, Shardstamps),
}

impl From<Failure> for Reply {
    fn from(failure: Failure) -> Self {
        Self::Put(Outcome::Failed(failure), Shardstamps::default())
    }
}

/// What masters say to each other: causal timestamps, and the shardstamps that they propose.
pub type Peer = Commit<Shardstamps, Shardstamps>;

/// When the first of those who wait has waited long enough, or transactions are looked after.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Timer;

/// A server: the master of its partition, or a slave.
pub struct Occult {
    ss: Hlc,
    waiting: Waiters<Hlc, (Ticket, What)>,
    transactions: Transactions,
}

const ABOUT: &str = "causal+, checked by sessions; writes (MSET is atomic) need the regions of their masters";

impl Protocol for Occult {
    const INFO: Info =
        Info::new("occult", ABOUT, Promise::CausalSnapshot).newest_only().atomic_writes().rules(RULES); // I3
    type Meta = Shardstamps; // deps
    type Request = Request;
    type Reply = Reply;
    type Peer = Peer;
    type Hard = Undone<Shardstamps, Shardstamps>;
    type Timer = Timer;
    type View = ();
    type Session = Client;
    type Params = Params;
    type Component = ();

    fn start(was: Recovered<Self::Hard>, cx: &mut Cx<'_, Self>) -> Self {
        let ss = was.received.max(); // D6: only its master writes, whoever has coordinated that
        let transactions = Transactions::start(was, ss, cx);
        let mut server = Self { ss, waiting: Waiters::default(), transactions };
        server.wait(cx);
        server
    }

    fn on_request(&mut self, ticket: Ticket, request: Request, cx: &mut Cx<'_, Self>) {
        let is_master = master(cx.me.partition, cx.topology) == cx.me.dc;
        match request {
            Request::Read(what, at_least) if self.ss >= at_least || is_master && !self.is_held() => {
                self.read(ticket, &what, cx);
            }
            Request::Read(what, at_least) => {
                self.waiting.park(at_least, cx.mono + cx.params.wait_limit_us, (ticket, what));
            }
            Request::Put(key, update, ct) if is_master => self.put(ticket, key, update, ct, cx),
            Request::PutAll(writes, ct) if is_master => self.put_all(ticket, writes, ct, cx),
            Request::Put(..) | Request::PutAll(..) => {
                cx.fail(ticket, Failure::Misconfigured("not the master".to_string()));
            }
        }
        self.save(cx);
    }

    fn on_peer(&mut self, from: ServerId, message: Peer, cx: &mut Cx<'_, Self>) {
        self.on_commit(from, message, cx);
        self.save(cx);
    }

    fn on_peer_reset(&mut self, peer: ServerId, cx: &mut Cx<'_, Self>) {
        cx.fail_all(self.transactions.commits.reset(peer, cx.mono), two_phase::given_up);
        self.save(cx);
    }

    fn on_replicate(&mut self, _: ServerId, item: Received<'_, Shardstamps>, cx: &mut Cx<'_, Self>) {
        self.ss = item.upto; // I1: masters send no heartbeats
        self.wake(cx);
    }

    fn on_timer(&mut self, _: Timer, cx: &mut Cx<'_, Self>) {
        self.waiting.expire(cx.mono).into_iter().for_each(|(ticket, what)| self.read(ticket, &what, cx));
        self.tend(cx);
        self.save(cx);
    }

    fn visible(_: &(), _: Stamp, _: &Shardstamps) -> bool {
        true
    }

    fn status(&self) -> Status {
        Status::new(Default::default(), self.waiting.len() + self.transactions.commits.unfinished())
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

    /// A write, at the master, once it is its turn.
    fn write(
        &mut self,
        ticket: Ticket,
        (key, update): (Key, Update),
        (ct, new): (Shardstamps, Stamp),
        cx: &mut Cx<'_, Self>,
    ) {
        let see = |seen: &mut Shardstamps, d: &Version<_>| seen.clone_from(&d.meta); // D5
        let (outcome, seen) = cx.update(&key, update, &(), Shardstamps::default(), see, |seen, cx| {
            self.ss = new.ts; // I1
            seen.raise(cx.me.partition, self.ss);
            let mut deps = if UPDATES_DEPEND_ON_CT.kept() { ct } else { Shardstamps::default() };
            deps.merge(seen); // I2
            Ok(Draft::new(new, deps))
        });
        cx.reply(ticket, Reply::Put(outcome, seen));
    }

    /// Answers who waited for what has come.
    fn wake(&mut self, cx: &mut Cx<'_, Self>) {
        self.waiting.wake(&self.ss).into_iter().for_each(|(ticket, what)| self.read(ticket, &what, cx));
    }

    fn wait(&mut self, cx: &mut Cx<'_, Self>) {
        let due = self.waiting.next_deadline().into_iter().chain(self.transactions.tend_at(cx.mono)).min();
        due.into_iter().for_each(|at| cx.arm(Timer, at.saturating_sub(cx.mono)));
    }
}
