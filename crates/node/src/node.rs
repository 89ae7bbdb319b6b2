//! The interface between a node and its driver.
//!
//! A [`Node`] is everything between bytes and partitions: sessions, requests and their deadlines, links to other nodes,
//! leadership, replication streams, timers, durability. It is sans-IO: its driver owns sockets, disk threads, clocks and
//! sleeping. The server drives it with real ones.
//!
//! # The event loop
//!
//! One iteration of a driver's loop is a *batch*:
//!
//! 1. Inputs: [`Node::begin`] for operations of clients, [`Node::receive`] for bytes of other nodes, [`Node::tick`] when
//!    [`Node::next_timeout`] has come, [`Node::done`] for jobs that ended.
//! 2. [`Node::commit`] ends the batch: one write of the log, or one entry of the Raft group.
//! 3. [`Node::poll`] until it returns nothing. Jobs go to threads.
//! 4. [`Node::released`]: replies of the batches up to there may be written to clients, and to edge clients.
//! 5. [`Node::transmit`] for each link that was [`Output::Ready`]; it may want another batch ([`Node::wants_commit`]).
//!
//! # What must be durable before an output leaves
//!
//! *Durable* is synced, unless the policy is `no`; in a Raft group, agreed on. *Written* is enough for what only clients of this region
//! are told, under `everysec`.
//!
//! | output | requirement | kept by |
//! |---|---|---|
//! | the outcome that [`Node::begin`] returns | the batch of the call is written: `released().clients >=` what the next [`Node::commit`] returns. It covers versions that were merely read, also those of earlier batches | driver, with a [`crate::Gate`] |
//! | [`Output::Done`] | the batch in which the driver hands it on, likewise | driver |
//! | the text of [`Node::export`]; an outcome for an edge client, which keeps it | likewise, but synced: `released().others` | driver |
//! | a request, reply or refusal within the region; of messages, those that are [for a client](tidemark_contract::Extensions::for_client) | the batch that caused it is written: a request carries dependencies on what its session has just read | node |
//! | the same to another region; any other message | the batch that caused it | node |
//! | a request that is returned because this node does not lead; Raft append and heartbeat of a leader | nothing | – |
//! | Raft vote, append response | term, vote and entries are synced | node |
//! | a record on a replication stream, a heartbeat on it | the record, in a Raft group committed | node |
//! | confirmation on a stream | the record is durable here | node |
//! | what a session knows, to sessions that share its past | the batch in which it came to know it | node |
//! | part of a copy; that it was taken | its source is durable by construction; sealed and loaded | node |
//! | handshake | the epoch that it names, in a Raft group the first entry of its term; the file `member` | node |
//! | [`Output::Ordered`] | the batch of the order | node |
//! | a broadcast | the batch of the call; within the region, written | node |
//! | [`Output::Dial`], [`Output::Up`], [`Output::Close`], [`Output::Ready`], [`Output::Resume`], [`Output::Job`], [`Output::Notice`], status | nothing. Status may show what a crash takes back | – |

use crate::cuts::CutOrder;
use crate::findings::Condition;
use crate::follow::{Choice, NodeGroups};
use crate::inspect::Inspect;
use crate::job::{Done, Job};
use crate::layout::NodeId;
use crate::link::frame::FrameError;
use crate::link::hello::LinkKind;
use crate::notice::Notice;
use crate::shared::PastName;
use crate::status::{Counters, Status};
use crate::token::TokenError;
use bytes::BytesMut;
use tidemark_contract::Ticket;
use tidemark_contract::info::Transactions;
use tidemark_contract::order::Order as ProtocolOrder;
use tidemark_contract::removal::Standing;
use tidemark_core::{Guarantees, Micros, Op, Outcome, PartitionId};
use tidemark_replica::{Change, Now};
use tidemark_store::{Expired, Sought};

/// Names a session of this node. Never used again, not by the next epoch of the node either.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionId(pub(crate) u64);

impl SessionId {
    /// The session whose ticket this is, at its own node.
    pub fn of(ticket: Ticket) -> Self {
        Self(ticket.session)
    }

    /// A small number that no other open session of this node has: a place in a table.
    #[inline]
    pub fn slot(self) -> usize {
        (self.0 & ((1 << crate::sessions::SLOT_BITS) - 1)) as usize
    }
}

/// Names a connection to another node. Never used again in this start of the node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LinkId(pub u64);

/// The number of a batch: 1 is the first. Later batches have higher numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Batch(pub u64);

/// The last batches that may leave a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Released {
    /// Clients may be told of all that was done up to this batch.
    pub clients: Batch,
    /// Anybody may be told of it, and keep it: a loss of power takes nothing of it back.
    pub others: Batch,
}

/// Names an operator's order; the driver chooses it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OrderId(pub u64);

/// What the operations of a session ask for.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// Session guarantees; protocols that know no weaker ones give all.
    pub guarantees: Guarantees,
    /// Which checking groups answer.
    pub checking: Choice,
}

impl Default for Options {
    fn default() -> Self {
        Self { guarantees: Guarantees::ALL, checking: Choice::Node }
    }
}

/// Whether a link wants more bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// Read on.
    Go,
    /// Keep what is left of the bytes and read no more until [`Output::Resume`].
    Pause,
}

/// To whom something is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// The other nodes of this region.
    Region,
    /// All other nodes.
    Cluster,
}

/// An operator's order.
#[derive(Clone, Debug)]
pub enum Order {
    /// For the protocol: every partition of this node carries it out, or the first, which tells all others
    /// ([`ProtocolOrder::spreads`]).
    Protocol(ProtocolOrder),
    /// A node is to leave the Raft group of this one, which leads it.
    RemoveMember(NodeId),
    /// Links are cut or healed.
    Cut(CutOrder),
    /// Conditions that the driver knows of and an operator should, until it says otherwise.
    Known(Vec<Condition>),
}

/// What an order came to: what each partition says, or why it was not carried out.
pub type OrderAnswer = Result<Vec<(PartitionId, Standing)>, String>;

/// What a driver has to do.
#[derive(Debug)]
pub enum Output {
    /// An operation that was pending has ended. Its reply belongs to the batch in which the driver writes it.
    Done {
        /// Whose.
        session: SessionId,
        /// How it ended.
        outcome: Outcome,
    },
    /// Leadership was lost: the session has read what was never committed, or waits for it. Discard what is not released
    /// to it, close its connection and the session.
    Ended {
        /// Which.
        session: SessionId,
    },
    /// Connect to a node, then call [`Node::connected`], or [`Node::disconnected`] if that fails.
    Dial {
        /// The link that the connection becomes.
        link: LinkId,
        /// The node.
        to: NodeId,
        /// What it is for.
        kind: LinkKind,
    },
    /// The handshake of a link is over: both sides accept it. The driver knows now how far away the other side is.
    Up {
        /// The link.
        link: LinkId,
        /// The node at its other end.
        node: NodeId,
        /// What it is for.
        kind: LinkKind,
    },
    /// Write what [`Node::transmit`] has left, then close the connection. The node has forgotten the link.
    Close {
        /// Which.
        link: LinkId,
    },
    /// [`Node::transmit`] has something.
    Ready {
        /// Which.
        link: LinkId,
    },
    /// Call [`Node::receive`] with what was left, and read on.
    Resume {
        /// Which.
        link: LinkId,
    },
    /// Something that blocks: run it on a thread, then give what it returns to [`Node::done`].
    Job(Job),
    /// An order was carried out, or not; what it changed is durable.
    Ordered {
        /// Which.
        id: OrderId,
        /// What came of it.
        answer: OrderAnswer,
    },
    /// The driver of another node has called [`Node::broadcast`].
    Broadcast {
        /// The other node.
        node: NodeId,
        /// What it said.
        content: Vec<u8>,
    },
    /// Something for the log of whoever runs the node.
    Notice(Notice),
}

/// The node cannot go on: nothing may leave it any more, and its process stops and says why.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{0}")]
pub struct Fatal(pub String);

/// A link cannot go on: its connection is to be closed. The node has forgotten the link.
#[derive(Debug, thiserror::Error)]
pub enum LinkError {
    /// The bytes are no frames.
    #[error(transparent)]
    Frame(#[from] FrameError),
    /// The other side, or this one, refuses the link.
    #[error("{0}")]
    Refused(String),
}

/// What the gateway has to know of the protocol that a node runs.
#[derive(Clone, Debug)]
pub struct About {
    /// The protocol's name.
    pub protocol: &'static str,
    /// What it promises, in a word.
    pub promise: String,
    /// Which transactions its sessions take.
    pub transactions: Transactions,
    /// Whether it keeps data types.
    pub types: bool,
    /// Whether its sessions heed which guarantees an operation asks for.
    pub guarantees: bool,
}

/// A node. See the [module](self) for the order of calls. Calls name sessions and links that are open, unless said otherwise.
pub trait Node: Inspect + NodeGroups {
    /// The protocol that it runs.
    fn about(&self) -> &About;

    /// Opens a session with an empty past. REQUIRES: fewer than a million are open.
    fn open(&mut self) -> SessionId;

    /// What the session's operations ask for from now on.
    fn configure(&mut self, session: SessionId, options: Options);

    /// Begins an operation. Returns its outcome if it ends within the call; else [`Output::Done`] follows. One operation of
    /// a session at a time.
    fn begin(&mut self, now: Now, session: SessionId, op: Op) -> Option<Outcome>;

    /// The session's token as text (`tm1.…`).
    fn export(&mut self, now: Now, session: SessionId) -> String;

    /// Takes over the past that a token stands for. Returns as [`Self::begin`] does.
    ///
    /// # Errors
    /// The text is no token, or not one for here and now.
    fn import(&mut self, now: Now, session: SessionId, text: &[u8]) -> Result<Option<Outcome>, TokenError>;

    /// The session is told of something that another one did in this batch: should the batch never be released, it ends, as
    /// if it had read that itself.
    fn inform(&mut self, session: SessionId);

    /// The session shares one past with all that were given the same name, from its next operation on; without a name it keeps
    /// its past to itself. What a session knows when its outcome leaves, the others know when they begin an operation. REQUIRES:
    /// no operation of the session is running.
    fn share(&mut self, session: SessionId, past: Option<PastName>);

    /// Closes a session, at any point of an operation. Closing one that is not open does nothing.
    fn close(&mut self, session: SessionId);

    /// Sends `content` to the drivers of other nodes, once this batch may leave: at most once, and in the order of the
    /// calls as long as a link stands. It is dropped where a link is down, or has too much waiting.
    fn broadcast(&mut self, now: Now, reach: Reach, content: &[u8]);

    /// Another node has connected to this one.
    fn accepted(&mut self, now: Now) -> LinkId;

    /// The connection that [`Output::Dial`] asked for stands.
    fn connected(&mut self, now: Now, link: LinkId);

    /// A connection has ended, or could not be made. A link that the node has forgotten is ignored.
    fn disconnected(&mut self, now: Now, link: LinkId, why: &str);

    /// Takes the whole frames at the beginning of `bytes`. A link that the node has forgotten takes all bytes and does
    /// nothing.
    ///
    /// # Errors
    /// They are no frames, or the link is refused: close the connection once [`Self::transmit`] has given what is left.
    fn receive(&mut self, now: Now, link: LinkId, bytes: &mut BytesMut) -> Result<Flow, LinkError>;

    /// Appends frames to `out`, about `room` bytes at most. Whether there is more: call again when there is room.
    fn transmit(&mut self, now: Now, link: LinkId, room: usize, out: &mut Vec<u8>) -> bool;

    /// When [`Self::tick`] has to be called, on the clock that does not jump.
    fn next_timeout(&self) -> Micros;

    /// Time has passed.
    fn tick(&mut self, now: Now);

    /// A job has ended. One of an earlier opening of a member is ignored.
    fn done(&mut self, now: Now, done: Done);

    /// An operator orders something.
    fn order(&mut self, now: Now, id: OrderId, order: Order);

    /// Sees to it that a snapshot is taken soon, after which the older part of the log can go.
    ///
    /// # Errors
    /// Why none is taken now.
    fn want_snapshot(&mut self) -> Result<(), &'static str>;

    /// Appends what has changed at the partitions of this node since the last call, as a reader sees it who comes now and brings
    /// nothing. Somebody listens from this call on, or nobody does. True if there is more: call again soon. REQUIRES: the
    /// protocol carries data types.
    fn changes(&mut self, listens: bool, told: &mut Vec<Change>) -> bool;

    /// The node is to end: if it leads its Raft group, another member takes over. Called again and again; true once there is
    /// nothing left to wait for.
    fn hand_over(&mut self, now: Now) -> bool;

    /// Ends the batch. With `synced`, the driver holds back something until what was done in it is released to others.
    ///
    /// # Errors
    /// The log failed: nothing of this batch may leave, and the process must stop. Every later call returns the same.
    fn commit(&mut self, now: Now, synced: bool) -> Result<Batch, Fatal>;

    /// Returns what may leave. Each commit looks at it, and it never falls. REQUIRES: [`Self::poll`] was drained since the last commit.
    fn released(&self) -> Released;

    /// The next output.
    fn poll(&mut self) -> Option<Output>;

    /// How the node stands.
    fn status(&mut self, now: Now) -> Status;

    /// Up to `limit` keys that it serves whose deadlines are the nearest, expired ones first.
    fn nearest_deadlines(&self, limit: usize) -> Vec<Expired>;

    /// Operations on these keys will begin soon: what they read is fetched for all of them at once.
    fn fetch(&self, all: &[Sought<'_>]);

    /// What it has counted since it started.
    fn counters(&self) -> &Counters;

    /// Whether a batch should be ended soon: something waits for [`Self::commit`], or for [`Self::poll`].
    fn wants_commit(&self) -> bool;

    /// Ends well: writes and syncs everything and marks the log as closed. REQUIRES: no job of lane `Log` is running.
    ///
    /// # Errors
    /// The log failed.
    fn shut_down(self: Box<Self>, now: Now) -> Result<(), Fatal>;
}

/// When nothing is due.
pub const NEVER: Micros = Micros::MAX;
