//! The server's half of a protocol, and what its driver owes it.

use crate::component::Component;
use crate::removal::Away;
use crate::{Cx, Extensions, Info, Session, Ticket, Topology};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;
use std::fmt::Debug;
use tidemark_core::{Hlc, Key, Micros, ServerId, Stamp, Vector};
use tidemark_store::Version;

/// What can travel between servers and stand in a log.
pub trait Wire: Serialize + DeserializeOwned + Clone + Debug + Send + 'static {}

impl<T: Serialize + DeserializeOwned + Clone + Debug + Send + 'static> Wire for T {}

/// The values that a protocol can be tuned by; `Default` gives the paper's.
///
/// Field names end in their unit. An interval that decides when a server stabilises or sends heartbeats is
/// called `theta_us` or `delta_us`, so that the simulator can vary it.
pub trait Params: Wire + Default {
    /// Whether they fit `topology`.
    ///
    /// # Errors
    /// Says what is wrong with them.
    fn check(&self, _topology: &Topology) -> Result<(), String> {
        Ok(())
    }

    /// What of them says how versions that are stored are to be read: a node refuses a directory that was written with
    /// another. One line; nothing, as a rule.
    fn format(&self) -> String {
        String::new()
    }

    /// How long a version is kept after a newer one has taken its place, for reads at a time.
    fn keep_us(&self) -> Micros {
        0
    }

    /// Sets those that simulated schedules are to vary beside intervals, alike at all servers. `draw` returns a number below
    /// the one that it is given.
    fn vary(&mut self, _topology: &Topology, _draw: &mut dyn FnMut(usize) -> usize) {}
}

impl Params for () {}

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

/// How a server is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Status {
    /// What it believes to be stable: one entry a data centre, or one in all.
    pub stable: Vector,
    /// How many requests and versions are blocked here: none once everything has healed.
    #[serde(rename = "blocked")]
    pub blocked: usize,
    /// The data centre that it does without.
    pub away: Option<Away>,
    /// How many conflicts were detected here in this life: none if the protocol does not look.
    pub conflicts: Option<u64>,
    /// What else the protocol has counted here in this life, by name: what a paper reports of it.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub counted: BTreeMap<&'static str, u64>,
}

impl Status {
    /// Of a server that does without nobody and detects no conflicts.
    pub fn new(stable: Vector, blocked: usize) -> Self {
        Self { stable, blocked, ..Self::default() }
    }
}

/// What comes in order from the same partition of another data centre.
#[derive(Clone, Copy, Debug)]
pub struct Received<'a, M> {
    /// The time of the last version, or less if its server [announces](Extensions::announces) less; or that of a heartbeat. All that
    /// its server has written below is here. What comes later lies above, or was written at the same time by the transaction that
    /// wrote the version.
    pub upto: Hlc,
    /// What it wrote; nothing in a heartbeat. The versions are in the log and, unless the protocol does not
    /// [accept](Extensions::accepts) one, in the store: readers that are woken find them.
    pub versions: &'a [(Key, Version<M>)],
}

/// A consistency protocol: the state machine of one server, which holds one partition in one data centre.
///
/// # What the driver owes it
///
/// 1. One event at a time for each server.
/// 2. Effects leave the server's process only after every record of this *or an earlier* batch is durable as
///    the policy says, the versions that were merely read included. Versions and persisted state of one batch
///    are durable together or not at all. Answers to sessions of the region, and [what is said for them](Extensions::for_client),
///    may leave when they are written; then a loss of power may take both back.
/// 3. Replicated versions and heartbeats between two peers arrive in the order sent (erratum E-8), from the sender or over
///    a third data centre: versions exactly once as the protocol sees it, across crashes of either side; repeats are
///    dropped by the sender's incarnation and log position, never by stamp. Other messages arrive at most once, on a
///    channel of their own, in any order.
/// 4. A timer fires after its delay, measured on a clock that does not jump.
/// 5. `now` may jump either way, unless [`Info::clock`] says that it must not; `mono` does not.
/// 6. What was persisted is there at the next start.
///
/// # What the protocol owes its driver
///
/// A restarted server never serves below a stable value that could still be depended on, and never stamps at
/// or below a stamp it announced (see [`crate::Ceiling`]). It decides on its inputs alone, and never iterates
/// over anything whose order is not defined.
pub trait Protocol: Sized + 'static {
    /// Its name, what it promises, and what it can do.
    const INFO: Info;
    /// Optional features that it has.
    const EXTENSIONS: Extensions<Self> = Extensions::NONE;

    /// What is stored beside each version; it can be revised ([`Cx::revise`]).
    type Meta: Wire;
    /// What a session asks a server.
    type Request: Wire;
    /// What a server answers.
    type Reply: Wire;
    /// What servers say to each other, beside versions and heartbeats.
    type Peer: Wire;
    /// What must outlive a crash besides versions: [`Cx::persist`].
    type Hard: Wire + Default;
    /// Timers: one slot a value; arming it again moves it.
    type Timer: Copy + Ord + Debug + Send + 'static;
    /// What a reader can see: a rule for [`Protocol::visible`].
    type View;
    /// The client's half.
    type Session: Session<Self>;
    /// The tunable values.
    type Params: Params;
    /// What handles the events that this protocol does not: `()` if it shares them with none.
    type Component: Component<Self>;

    /// A server starts, for the first time or again.
    fn start(recovered: Recovered<Self::Hard>, cx: &mut Cx<'_, Self>) -> Self;

    /// A session asks. The answer goes to `ticket`, now or later, from here or from another server.
    fn on_request(&mut self, ticket: Ticket, request: Self::Request, cx: &mut Cx<'_, Self>);

    /// A sibling or peer says something.
    fn on_peer(&mut self, from: ServerId, message: Self::Peer, cx: &mut Cx<'_, Self>) {
        Self::Component::on_peer(self, from, message, cx);
    }

    /// Something comes of what peer `from` replicates: versions that it wrote, or a heartbeat.
    fn on_replicate(&mut self, from: ServerId, item: Received<'_, Self::Meta>, cx: &mut Cx<'_, Self>) {
        Self::Component::on_replicate(self, from, item, cx);
    }

    /// `peer` restarted: what was asked of it and not answered will not be.
    fn on_peer_reset(&mut self, peer: ServerId, cx: &mut Cx<'_, Self>) {
        Self::Component::on_peer_reset(self, peer, cx);
    }

    /// A timer fires.
    fn on_timer(&mut self, timer: Self::Timer, cx: &mut Cx<'_, Self>) {
        Self::Component::on_timer(self, timer, cx);
    }

    /// Whether a version can be seen: one rule for reads, slices, scans and collection.
    fn visible(view: &Self::View, stamp: Stamp, meta: &Self::Meta) -> bool;

    /// What is sent of `meta` when its version is replicated; by default all of it.
    fn shipped(meta: &Self::Meta) -> Self::Meta {
        meta.clone()
    }

    /// How this server is, for status pages and for tests.
    fn status(&self) -> Status {
        Status::default()
    }
}

/// For drivers: something comes of what peer `from` replicates. Versions are in the log; they are stored before the server
/// learns of them.
pub fn replicate<P: Protocol>(
    server: &mut P,
    from: ServerId,
    item: Received<'_, P::Meta>,
    cx: &mut Cx<'_, P>,
) {
    for (key, version) in item.versions {
        if P::EXTENSIONS.accepts.is_none_or(|accepts| accepts(cx.store, key, version)) {
            cx.insert(key, version.clone());
        }
    }
    server.on_replicate(from, item, cx);
}

/// For drivers: whether stores hold the newest version of each key and no other ([`Info::newest_only`]). What is kept for reads at a
/// time is an exception.
#[inline]
pub fn newest_only<P: Protocol>(params: &P::Params) -> bool {
    P::INFO.newest_only && (params.keep_us() == 0 || !P::INFO.reads_at_a_time)
}
