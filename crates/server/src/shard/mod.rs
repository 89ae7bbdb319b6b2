//! The data thread: everything that one node owns, and the turns in which it works.
//!
//! **Idea.** All connections, all links and all partitions of a node live on one thread, so that a request for a
//! partition of this node is a function call. A *turn* is what the thread does between two writes of the log: every
//! connection that has something to say runs its commands and leaves its replies in its own buffer; then one task
//! commits, and releases the replies and messages of the turn as soon as they are durable.
//!
//! **Invariants**
//! - I1 Nothing leaves the process (a reply, a question to another node, a message) before the commit of its turn is
//!   durable as the policy says.
//! - I2 [`Shard::core`] is borrowed only between two awaits, never across one.

pub(crate) mod client;
pub(crate) mod dialect;
pub(crate) mod disk;
pub(crate) mod engine;
mod following;
pub(crate) mod open;
pub(crate) mod questions;
pub(crate) mod seat;
pub(crate) mod serving;
pub(crate) mod ticker;
pub(crate) mod turn;

use crate::ServeError;
use crate::link::links::Links;
use client::Clients;
use engine::Engine;
use seat::Broken;
use std::cell::{Cell, RefCell};
use tidemark_contract::Protocol;
use tidemark_core::Micros;
use tokio::sync::{Notify, watch};
use turn::Turns;

/// What one node owns.
pub(crate) struct Core<P: Protocol> {
    pub(crate) engine: Engine<P>,
    pub(crate) clients: Clients<P>,
    pub(crate) turns: Turns,
    pub(crate) links: Links,
}

/// The data thread's shared state.
pub(crate) struct Shard<P: Protocol> {
    pub(crate) core: RefCell<Core<P>>,
    /// See [`Shard::want_turn`].
    turn: Notify,
    turn_wanted: Cell<bool>,
    /// When the ticker wakes, and that it is to wake earlier.
    ticks_at: Cell<Micros>,
    sooner: Notify,
    /// Feeds may have something to send, or to confirm.
    pub(crate) pump: Notify,
    /// A fault was injected or healed, or this node has begun or ceased to lead its group.
    pub(crate) changes: watch::Sender<u64>,
    /// A node was met for the first time since it started, or since it leads; or this one leads.
    pub(crate) met: watch::Sender<u64>,
    /// Work for the thread that waits for the disk.
    pub(crate) disk: disk::DiskThread,
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

impl<P: Protocol> Shard<P> {
    pub(crate) fn new(core: Core<P>, disk: disk::DiskThread) -> Self {
        Self {
            core: RefCell::new(core),
            turn: Notify::new(),
            turn_wanted: Cell::new(false),
            ticks_at: Cell::new(0),
            sooner: Notify::new(),
            pump: Notify::new(),
            changes: watch::Sender::new(0),
            met: watch::Sender::new(0),
            disk,
            stop: Stop::default(),
        }
    }

    /// There is something to commit, to route or to release.
    #[inline]
    pub(crate) fn want_turn(&self) {
        if !self.turn_wanted.replace(true) {
            self.turn.notify_one();
        }
    }

    /// Whether [`Self::want_turn`] was called since the last turn ended.
    pub(crate) fn wants_turn(&self) -> bool {
        self.turn_wanted.get()
    }

    /// The node stops well.
    pub(crate) fn stop(&self) {
        self.stop.flag.set(true);
        self.stop.notify.notify_waiters();
    }

    /// The node cannot go on: nothing leaves it any more.
    pub(crate) fn fail(&self, broken: &Broken) {
        tracing::error!("{broken}");
        self.stop.failure.borrow_mut().get_or_insert(ServeError::Failed(broken.to_string()));
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
