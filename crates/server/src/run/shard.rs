//! The data thread: everything that one node owns, and the batches in which it works.
//!
//! **Idea.** All connections and the node itself live on one thread, so that an operation on a partition of this node is
//! a function call. A *batch* is what the thread does between two writes of the log: every connection that has something
//! to say runs its commands and leaves its replies in its own buffer; then one task commits, and releases the replies of
//! the batch as soon as they are durable. What other nodes hear is released by the node itself.
//!
//! **Invariants**
//! - I1 No reply leaves the process before the node has released its batch to clients; none with the text of a token, and none to an
//!   edge client, before it has released it to others.
//! - I2 [`Shard::core`] is borrowed only between two awaits, never across one.

use super::jobs::DiskThread;
use super::mute::Mute;
use crate::admin::{Ordered, Orders};
use crate::clock::Clock;
use crate::gateway::bus::Bus;
use crate::gateway::client::{Client, Clients};
use crate::gateway::confirming::Standings;
use crate::gateway::desk::Desk;
use crate::gateway::info::Identity;
use crate::gateway::listening::Listening;
use crate::gateway::memory::Memory;
use crate::gateway::rights::Rights;
use crate::gateway::visible::Ears;
use crate::gateway::waiting::Waiters;
use crate::net::Links;
use crate::stats::Stats;
use crate::{NodeConfig, ServeError, redis};
use std::cell::{Cell, RefCell};
use std::sync::Arc;
use tidemark_contract::Topology;
use tidemark_core::Micros;
use tidemark_node::{About, Fatal, Gate, Node, SessionId, node::NEVER};
use tidemark_replica::Now;
use tokio::sync::Notify;

/// The node, and what a client's command may need beside it.
pub(crate) struct Engine {
    pub(crate) node: Box<dyn Node>,
    /// Why it only answers reads, if it does.
    pub(crate) mute: Option<Mute>,
    /// What its protocol is.
    pub(crate) about: About,
    pub(crate) clock: Clock,
    /// The time of what is being done.
    pub(crate) now: Now,
    pub(crate) config: Arc<NodeConfig>,
    pub(crate) stats: Stats,
    pub(crate) identity: Identity,
    pub(crate) redis: redis::Config,
    pub(crate) registry: redis::ClientRegistry,
    pub(crate) shared: redis::Shared,
    pub(crate) bus: Bus,
    /// Rights of bounded counters that other regions are asked for, or ask for.
    pub(crate) rights: Rights,
    /// Operations of edge clients.
    pub(crate) desk: Desk,
    /// The limit of memory, and keys that are purged.
    pub(crate) memory: Memory,
    /// How the other nodes of the region stand.
    pub(crate) standings: Standings,
    /// Clients whose commands wait for a key, or for confirmations.
    pub(crate) waiters: Waiters,
    /// What the partitions of this node say of changes.
    pub(crate) ears: Ears,
    /// Other nodes of the region that listen, or are listened to.
    pub(crate) listening: Listening,
    /// Clients with replies in the batch that is being gathered.
    pub(crate) dirty: Vec<SessionId>,
    /// Those that are told something in it that outlives this machine: the text of a token.
    pub(crate) exported: Vec<SessionId>,
}

impl Engine {
    /// A node that was just opened.
    pub(crate) fn new(
        (node, mute): (Box<dyn Node>, Option<Mute>),
        clock: Clock,
        config: Arc<NodeConfig>,
        identity: Identity,
        redis: redis::Config,
    ) -> Self {
        let mut shared = redis::Shared::default();
        shared.configure(&redis);
        Self {
            about: node.about().clone(),
            node,
            mute,
            now: clock.now(),
            clock,
            config,
            stats: Stats::default(),
            identity,
            redis,
            registry: redis::ClientRegistry::default(),
            shared,
            bus: Bus::new(),
            rights: Rights::default(),
            desk: Desk::default(),
            memory: Memory::default(),
            standings: Standings::default(),
            waiters: Waiters::default(),
            ears: Ears::default(),
            listening: Listening::default(),
            dirty: Vec::new(),
            exported: Vec::new(),
        }
    }

    /// How many regions and partitions there are.
    #[inline]
    pub(crate) fn topology(&self) -> &Topology {
        &self.config.cluster.topology
    }

    /// Whether the gateway has something for the next batch that no client waits for.
    pub(crate) fn has_work(&self) -> bool {
        self.bus.has_work() || self.rights.has_work() || self.memory.has_work() || self.ears.has_more()
    }

    /// Notes that `client` has replies in this batch.
    #[inline]
    pub(crate) fn touch(&mut self, client: &mut Client) {
        if !client.out.dirty {
            client.out.dirty = true;
            self.dirty.push(client.session);
        }
    }
}

/// What one node owns.
pub(crate) struct Core {
    pub(crate) engine: Engine,
    pub(crate) clients: Clients,
    /// Clients, and up to where their replies may be written once a batch is released.
    pub(crate) gate: Gate<(SessionId, u64)>,
    /// The same, of replies with what a client may keep: once it is released to others.
    pub(crate) synced: Gate<(SessionId, u64)>,
    /// Clients to whom something was released.
    pub(crate) unwritten: Vec<SessionId>,
    pub(crate) links: Links,
    pub(crate) orders: Orders,
    pub(crate) ordered: Ordered,
}

impl Core {
    pub(crate) fn new(engine: Engine) -> Self {
        Self {
            engine,
            clients: Clients::default(),
            gate: Gate::default(),
            synced: Gate::default(),
            unwritten: Vec::new(),
            links: Links::default(),
            orders: Orders::default(),
            ordered: Ordered::default(),
        }
    }
}

/// The data thread's shared state.
pub(crate) struct Shard {
    pub(crate) core: RefCell<Core>,
    /// See [`Shard::want_batch`].
    pub(super) batch: Notify,
    batch_wanted: Cell<bool>,
    /// When the ticker wakes, and that it is to wake earlier.
    pub(super) ticks_at: Cell<Micros>,
    pub(super) sooner: Notify,
    /// The thread that waits for the disk.
    pub(super) disk: DiskThread,
    /// A client wants the node to stop.
    pub(crate) asked_to_stop: Notify,
    stop: Stop,
}

/// Whether and why the node stops.
#[derive(Default)]
struct Stop {
    /// It is stopping.
    flag: Cell<bool>,
    failure: RefCell<Option<ServeError>>,
    notify: Notify,
}

impl Shard {
    pub(crate) fn new(core: Core) -> Self {
        Self {
            core: RefCell::new(core),
            batch: Notify::new(),
            batch_wanted: Cell::new(false),
            ticks_at: Cell::new(NEVER),
            sooner: Notify::new(),
            disk: DiskThread::default(),
            asked_to_stop: Notify::new(),
            stop: Stop::default(),
        }
    }

    /// There is something to commit or to release.
    #[inline]
    pub(crate) fn want_batch(&self) {
        if !self.batch_wanted.replace(true) {
            self.batch.notify_one();
        }
    }

    /// Whether [`Self::want_batch`] was called since the last batch ended.
    pub(super) fn wants_batch(&self) -> bool {
        self.batch_wanted.get()
    }

    /// A batch ends: what is wanted from now on belongs to the next.
    pub(super) fn begin_batch(&self) {
        self.batch_wanted.set(false);
    }

    /// The node stops well.
    pub(crate) fn stop(&self) {
        self.stop.flag.set(true);
        self.stop.notify.notify_waiters();
    }

    /// The node cannot go on: nothing leaves it any more.
    pub(crate) fn fail(&self, fatal: &Fatal) {
        tracing::error!("{fatal}");
        self.stop.failure.borrow_mut().get_or_insert(ServeError::Failed(fatal.to_string()));
        self.stop();
    }

    /// Whether the node is stopping.
    pub(crate) fn is_stopping(&self) -> bool {
        self.stop.flag.get()
    }

    /// Returns when the node stops.
    pub(crate) async fn stopped(&self) {
        while !self.is_stopping() {
            self.stop.notify.notified().await;
        }
    }

    /// Why the node could not go on, if that is why it stops.
    pub(crate) fn failure(&self) -> Option<ServeError> {
        self.stop.failure.borrow_mut().take()
    }
}
