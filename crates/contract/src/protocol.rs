//! The server's half of a protocol, and what its driver owes it.

use crate::{Away, Cx, Exclusion, Groupings, Members, Regrouping, Session, Standing, Ticket, Topology};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt::Debug;
use tidemark_core::promise::Promise;
use tidemark_core::{CheckingGroup, Hlc, Key, Micros, ServerId, Stamp, Vector};
use tidemark_store::Version;

/// What can travel between servers and stand in a log.
pub trait Wire: Serialize + DeserializeOwned + Clone + Debug + Send + 'static {}

impl<T: Serialize + DeserializeOwned + Clone + Debug + Send + 'static> Wire for T {}

/// The numbers that a protocol can be tuned by; `Default` gives the paper's.
///
/// Field names end in their unit. An interval that decides when a server stabilises or sends heartbeats is
/// called `theta_us` or `delta_us`, so that the simulator can vary it.
pub trait Params: Wire + Default {}

impl<T: Wire + Default> Params for T {}

/// What a protocol needs of its physical clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clock {
    /// It bears jumps both ways.
    Any,
    /// It must never go back: the driver holds it where it was until physical time has caught up.
    Monotone,
}

/// What survived, when a server starts. The store already holds the versions.
#[derive(Clone, Debug)]
pub struct Recovered<H> {
    /// The last state that was persisted; the default if none was.
    pub hard: H,
    /// Differs for every start of this server: 1 at the first.
    pub life: u64,
    /// For each other data centre the time of the last record received from this partition's server there;
    /// for this data centre the time of the last version written here. What was collected since is included.
    pub received: Vector,
    /// For each other data centre the number of the last record received from this partition's server there; for this
    /// data centre that of the last version written here. Records are numbered from 1 without gaps, the same everywhere:
    /// a server may number its own versions by going on from here, one for each [`Cx::write`].
    pub records: Vec<u64>,
}

/// A consistency protocol: the state machine of one server, which holds one partition in one data centre.
///
/// # What the driver owes it
///
/// 1. One event at a time for each server.
/// 2. Effects leave the server's process only after every record of this *or an earlier* batch is durable as
///    the policy says, the versions that were merely read included. Versions and persisted state of one batch
///    are durable together or not at all.
/// 3. Replicated versions and heartbeats between two peers arrive in the order sent (erratum E-8): versions
///    exactly once as the protocol sees it, across crashes of either side; repeats are dropped by the sender's
///    incarnation and log position, never by stamp. Other messages arrive at most once, on a channel of their
///    own, in any order.
/// 4. A timer fires after its delay, measured on a clock that does not jump.
/// 5. `now` may jump either way, unless [`Protocol::CLOCK`] says that it must not; `mono` does not.
/// 6. What was persisted is there at the next start.
///
/// # What the protocol owes its driver
///
/// A restarted server never serves below a stable value that could still be depended on, and never stamps at
/// or below a stamp it announced (see [`crate::Ceiling`]). It decides on its inputs alone, and never iterates
/// over anything whose order is not defined.
pub trait Protocol: Sized + 'static {
    /// The name by which users choose it: lower case, words joined by hyphens.
    const NAME: &'static str;
    /// One line for `tidemark protocols`.
    const ABOUT: &'static str;
    /// What the checker holds it to.
    const PROMISE: Promise;
    /// What it needs of its clock.
    const CLOCK: Clock = Clock::Any;
    /// Whether its sessions take [`tidemark_core::Op::PutAll`]. Where they do not, writes of several keys are done one
    /// after the other.
    const ATOMIC_WRITES: bool = false;
    /// Whether its sessions heed which guarantees an operation asks for ([`crate::SessionCx::guarantees`]). Where they do not,
    /// every operation gets all that the protocol promises.
    const GUARANTEES: bool = false;
    /// Whether of each key only the newest version counts, and its handlers drop the others as soon as there is a newer one.
    /// Then recovery does the same with what logs hold, and so does who follows a leader.
    const NEWEST_ONLY: bool = false;

    /// Whether data centres may hold some keys only ([`crate::Placement`]): whether its servers do without versions that never come, as
    /// they do where time says what has arrived, and not where each dependency is looked for.
    const PARTIAL: bool = false;

    /// Whether followers of a group may answer questions that only read: see [`Self::read_at_follower`].
    const FOLLOWERS_READ: bool = false;

    /// What is stored beside each version; it can be revised ([`Cx::revise`]).
    type Meta: Wire;
    /// What a session asks a server.
    type Request: Wire;
    /// What a server answers.
    type Reply: Wire;
    /// What servers say to each other, beside versions and heartbeats.
    type Peer: Wire;
    /// What must outlive a crash besides versions.
    type Hard: Wire + Default;
    /// Timers: one slot a value; arming it again moves it.
    type Timer: Copy + Ord + Debug + Send + 'static;
    /// What a reader can see: a rule for [`Protocol::visible`].
    type View;
    /// The client's half.
    type Session: Session<Self>;
    /// The numbers.
    type Params: Params;

    /// Whether `params` fit `topology`.
    ///
    /// # Errors
    /// Says what is wrong with them.
    fn check(_params: &Self::Params, _topology: &Topology) -> Result<(), String> {
        Ok(())
    }

    /// What of `params` says how versions that are stored are to be read: a node refuses a directory that was written with
    /// another. One line; nothing, as a rule.
    fn stored(_params: &Self::Params) -> String {
        String::new()
    }

    /// The checking groups that operations may choose ([`crate::SessionCx::checking`]), as far as a server knows
    /// that has persisted `hard`. REQUIRES: [`Self::check`] found nothing wrong.
    fn checking_groups(
        _params: &Self::Params,
        _topology: &Topology,
        _hard: &Self::Hard,
    ) -> Vec<(CheckingGroup, Members)> {
        Vec::new()
    }

    /// How long what was asked had to wait until what the session depends on was there, in microseconds, as far as the answer tells.
    fn waited(_reply: &Self::Reply) -> Micros {
        0
    }

    /// Sets `params` that simulated schedules are to vary beside intervals, alike at all servers. `draw` returns a number below
    /// the one that it is given.
    fn vary(_params: &mut Self::Params, _topology: &Topology, _draw: &mut dyn FnMut(usize) -> usize) {}

    /// A server starts, for the first time or again.
    fn start(recovered: Recovered<Self::Hard>, cx: &mut Cx<'_, Self>) -> Self;

    /// A session asks. The answer goes to `ticket`, now or later, from here or from another server.
    fn on_request(&mut self, ticket: Ticket, request: Self::Request, cx: &mut Cx<'_, Self>);

    /// A sibling or peer says something.
    fn on_peer(&mut self, from: ServerId, message: Self::Peer, cx: &mut Cx<'_, Self>);

    /// A version that peer `from` wrote arrives. It is in the log already.
    fn on_replicate(&mut self, from: ServerId, key: Key, version: Version<Self::Meta>, cx: &mut Cx<'_, Self>);

    /// Peer `from` says that whatever it writes from now on has a time above `ts`.
    fn on_heartbeat(&mut self, from: ServerId, ts: Hlc, cx: &mut Cx<'_, Self>);

    /// `peer` restarted: what was asked of it and not answered will not be.
    fn on_peer_reset(&mut self, peer: ServerId, cx: &mut Cx<'_, Self>);

    /// A timer fires.
    fn on_timer(&mut self, timer: Self::Timer, cx: &mut Cx<'_, Self>);

    /// An operator orders a data centre to be excluded or readmitted, step by step. The answer leaves once what it says
    /// is durable.
    ///
    /// # Errors
    /// Says why the order is not carried out. A protocol that knows none refuses all.
    fn on_exclusion(&mut self, _order: &Exclusion, _cx: &mut Cx<'_, Self>) -> Result<Standing, String> {
        Err(format!("{} cannot do without a region", Self::NAME))
    }

    /// An operator orders groups of servers to change. Whoever is asked tells the other servers.
    ///
    /// # Errors
    /// Says why the order is not carried out. A protocol that knows none refuses all.
    fn on_regrouping(&mut self, _order: &Regrouping, _cx: &mut Cx<'_, Self>) -> Result<(), String> {
        Err(format!("{} has no groups that could change", Self::NAME))
    }

    /// Whether a version can be seen: one rule for reads, slices, scans and collection.
    fn visible(view: &Self::View, stamp: Stamp, meta: &Self::Meta) -> bool;

    /// Which of the versions that a reader can see it gets; they come newest first. By default the last writer wins.
    /// A protocol that resolves conflicts decides by what is seen and nothing else (see [`crate::Conflicts`]).
    #[inline]
    fn resolve<'v>(
        mut seen: impl Iterator<Item = &'v Version<Self::Meta>>,
    ) -> Option<&'v Version<Self::Meta>> {
        seen.next()
    }

    /// What a follower of the server's group answers to a question that only reads, by `store`, which holds what is applied
    /// of each data centre's records up to `applied`, one number each; none if the leader has to answer. A follower has
    /// what its leader had a moment ago, and nothing that is not agreed on. REQUIRES: [`Self::FOLLOWERS_READ`].
    fn read_at_follower(
        _question: &Self::Request,
        _applied: &[u64],
        _store: &crate::Store<Self::Meta>,
    ) -> Option<Self::Reply> {
        None
    }

    /// What is sent of `meta` when its version is replicated; by default all of it.
    fn shipped(meta: &Self::Meta) -> Self::Meta {
        meta.clone()
    }

    /// What must outlive a crash, as of now: written beside the versions when a snapshot is taken.
    fn hard(&self) -> Self::Hard;

    /// What this server believes to be stable, for status pages: one entry a data centre, or one in all.
    fn stable(&self) -> Vector {
        Vector::default()
    }

    /// How many conflicts were detected here in this life, for status pages: none if the protocol does not look.
    fn conflicts(&self) -> Option<u64> {
        None
    }

    /// The data centre that this server does without, for status pages.
    fn absence(&self) -> Option<&Away> {
        None
    }

    /// The groups of servers, for status pages: none if the protocol has none.
    fn groupings(&self, _params: &Self::Params, _topology: &Topology) -> Option<Groupings> {
        None
    }

    /// How much work is parked, for status pages.
    fn parked(&self) -> usize {
        0
    }
}
