//! Transactions in parts: what is said of them, what of them survives a crash, and where one stands.

use crate::gather::GatherId;
use crate::synced::{DECISIONS_ARE_SYNCED, DOUBT_IS_SYNCED, FORGETS_WHEN_SYNCED, VOTES_ARE_SYNCED};
use crate::{Ticket, Topology, Wire};
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use tidemark_core::{DcId, Failure, Hlc, Key, Micros, PartitionId, Stamp, Update, Write};

/// The writes of a transaction.
pub type Writes = Vec<(Key, Write)>;

/// What a transaction does to keys, in order; each update with its place.
pub type Updates = Vec<(Key, Vec<(u32, Update)>)>;

/// Keys that have to be at the commit time what they were when they were looked at, each with its mark ([`Looked::mark`](crate::cx::apart::Looked::mark)).
pub type Watched = Vec<(Key, Bytes)>;

/// What a transaction asks of one participant.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// What it writes there.
    pub writes: Writes,
    /// What it has seen there, and depends on.
    pub watched: Watched,
    /// What it does there that is evaluated when it is prepared, each with its place in the transaction.
    pub updates: Updates,
}

/// When a transaction may commit, and how long proposals are gathered.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub struct Times {
    pub from: Hlc,
    pub until: Hlc,
    pub deadline: Micros,
}

/// No limit.
pub const NEVER: Hlc = Hlc(u64::MAX);

/// What its coordinator is told of a transaction that would commit after it may.
pub fn too_late() -> Failure {
    Failure::Unavailable("it came too late to be written with its time".to_string())
}

/// Names a transaction in its data centre: who decides, and its number there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Tx(pub PartitionId, pub GatherId);

/// What participants add to a transaction, each to what the others do.
pub trait Adds: Wire + Default {
    /// Adds what another one does.
    fn add(&mut self, other: Self);
}

/// Nothing.
impl Adds for () {
    fn add(&mut self, (): Self) {}
}

/// A commit time, and what participants have added.
pub type Agreed<D> = (Hlc, D);

/// What coordinators and participants say to each other.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Commit<S, D = ()> {
    /// To a participant: the snapshot, what is asked of it, and a time at or above which it should propose.
    Prepare(GatherId, S, Part, Hlc),
    /// To the coordinator: the proposed time, or why there is none; and whether the participant is sure.
    Prepared(GatherId, Result<Agreed<D>, Failure>, bool),
    /// To a participant: whether what is watched there is the same still, if the transaction commits at this time. From then on nothing
    /// is written there below.
    Look(GatherId, Hlc),
    /// To the coordinator: yes, or why not; and whether the participant is sure.
    Looked(GatherId, Result<(), Failure>, bool),
    /// To a participant: the commit time, or that it was aborted.
    Decision(GatherId, Option<Agreed<D>>),
    /// To the coordinator: it may forget its decision, as far as this participant is concerned.
    Applied(GatherId),
    /// To the coordinator: what became of it?
    Doubt(GatherId),
}

impl<S, D> Commit<S, D> {
    /// See [`Extensions::for_client`](crate::Extensions::for_client).
    pub fn is_for_client(&self) -> bool {
        match self {
            Self::Prepare(..) => true,
            Self::Applied(_) => !FORGETS_WHEN_SYNCED.kept(),
            Self::Prepared(..) | Self::Looked(..) => !VOTES_ARE_SYNCED.kept(),
            Self::Decision(_, Some(_)) => !DECISIONS_ARE_SYNCED.kept(),
            Self::Decision(_, None) => !DOUBT_IS_SYNCED.kept(),
            Self::Look(..) | Self::Doubt(_) => false,
        }
    }
}

/// What a message asks of the protocol.
#[derive(Debug)]
pub enum Turn<S, D = (), W = Ticket> {
    /// To call [`TwoPhase::propose`](super::TwoPhase::propose) or [`TwoPhase::refuse`](super::TwoPhase::refuse), now or later.
    Prepare(Tx, S, Part, Hlc),
    /// To call [`TwoPhase::looked`](super::TwoPhase::looked).
    Look(Tx, Hlc),
    /// To answer a session whose transaction writes nothing, and has seen what is there at one time.
    Seen(W, S),
    /// To answer a session whose transaction commits, or does not; or to wait for [`Turn::Applied`].
    Decided(W, S, Result<Decided<D>, Failure>),
    /// To apply what can be applied now: something is not in doubt any more.
    Learnt,
    /// To call [`TwoPhase::applied`](super::TwoPhase::applied), now or later: what was applied here commits at this time, and the coordinator has not heard.
    Again(Tx, Hlc),
    /// All participants have called [`TwoPhase::applied`](super::TwoPhase::applied).
    Applied(GatherId),
}

/// A transaction that commits.
#[derive(Clone, Debug)]
pub struct Decided<D> {
    /// Its number at this coordinator.
    pub id: GatherId,
    /// The stamp of its versions.
    pub stamp: Stamp,
    /// What participants have added.
    pub added: D,
    /// Who writes.
    pub participants: Vec<PartitionId>,
    /// All were sure of this time.
    pub sure: bool,
    /// The time at or above which they were asked to propose.
    pub from: Hlc,
}

/// What of the transactions of a server has to outlive a crash.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Undone<S, D = ()> {
    /// What is prepared here and not applied: its time, the snapshot, what is asked of this server.
    pub prepared: Vec<(Tx, Hlc, S, Part)>,
    /// What was decided here and not applied by all: the commit time with what was added, and who is missing.
    pub decided: Vec<(GatherId, Agreed<D>, Vec<PartitionId>)>,
    /// The latest commit time that was decided here.
    pub latest: Hlc,
}

impl<S, D> Default for Undone<S, D> {
    fn default() -> Self {
        Self { prepared: Vec::new(), decided: Vec::new(), latest: Hlc::ZERO }
    }
}

/// A transaction that is to be applied here.
#[derive(Debug, PartialEq, Eq)]
pub struct Transaction<S, L, D = ()> {
    /// Its time: proposed, or of the commit.
    pub time: Hlc,
    /// The snapshot.
    pub snap: S,
    /// Its writes here.
    pub writes: Writes,
    /// What it has seen here.
    pub watched: Watched,
    /// It was looked at for the second time, or may have been, in an earlier life.
    pub looked: bool,
    /// Where it stands.
    pub state: State<L, D>,
}

/// Where a transaction stands.
#[derive(Debug, PartialEq, Eq)]
pub enum State<L, D = ()> {
    /// It commits at its time or later, or never; its coordinator is asked at the moment given.
    InDoubt(Tx, Micros),
    /// It commits at its time, with what participants have added.
    Commits(Tx, D),
    /// It commits at its time, and concerns no other partition.
    Here(L),
}

impl<L, D> State<L, D> {
    /// Its name, if other partitions have to agree.
    pub fn tx(&self) -> Option<Tx> {
        match self {
            Self::InDoubt(tx, _) | Self::Commits(tx, _) => Some(*tx),
            Self::Here(_) => None,
        }
    }
}

impl<S, L, D> Transaction<S, L, D> {
    /// The stamp of its versions, in their data centre (I2).
    pub fn stamp(&self, origin: DcId) -> Stamp {
        Stamp { ts: self.time, origin, seq: self.state.tx().map_or(0, |tx| seq(tx.0)) }
    }

    /// What is asked of this server.
    pub fn part(&self) -> Part {
        Part { writes: self.writes.clone(), watched: self.watched.clone(), updates: Vec::new() }
    }

    pub(super) fn in_doubt(&self) -> bool {
        matches!(self.state, State::InDoubt(..))
    }
}

/// Tells coordinators apart in stamps.
pub(super) fn seq(coordinator: PartitionId) -> u32 {
    u32::from(coordinator.0) + 1
}

/// What is asked of each partition; of several writes of one key the last one.
pub(super) fn by_partition(
    Part { writes, watched, updates }: Part,
    topology: &Topology,
) -> BTreeMap<PartitionId, Part> {
    let mut parts = BTreeMap::<PartitionId, (BTreeMap<Key, Write>, Watched, Updates)>::new();
    for (key, write) in writes {
        parts.entry(topology.partition_of(&key)).or_default().0.insert(key, write);
    }
    for (key, mark) in watched {
        parts.entry(topology.partition_of(&key)).or_default().1.push((key, mark));
    }
    for (key, updates) in updates {
        parts.entry(topology.partition_of(&key)).or_default().2.push((key, updates));
    }
    let part = |(writes, watched, updates): (BTreeMap<Key, Write>, Watched, Updates)| Part {
        writes: writes.into_iter().collect(),
        watched,
        updates,
    };
    parts.into_iter().map(|(partition, all)| (partition, part(all))).collect()
}

/// What is under way.
impl<S: Wire, L, D: Adds, W> super::TwoPhase<S, L, D, W> {
    /// How many transactions are pending here, or decided here and not applied by all.
    pub fn unfinished(&self) -> usize {
        self.pending.len() + self.decided.len()
    }

    /// Whether [`Self::tend`] may have something to do later.
    pub fn is_busy(&self) -> bool {
        self.unfinished() > 0 || self.gathering.pending().next().is_some()
    }
}
