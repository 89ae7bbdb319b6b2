//! Connections to other nodes: sockets, what waits to be written to them, and the wide-area network that is emulated.
//!
//! The node decides what is sent on a connection, and when one is made or given up. A *link* is a connection from the
//! moment when the node wants it, or is told of it, until the node has forgotten it.

mod connection;
mod outbox;
mod wan;

use crate::run::shard::Core;
pub(crate) use connection::accept;
use outbox::Outbox;
use std::collections::HashMap;
use std::net::SocketAddr;
use std::rc::Rc;
use tidemark_node::{LinkId, LinkKind, Node, NodeId};
use tidemark_replica::Now;
use tokio::sync::Notify;
use tokio::task::AbortHandle;
pub(crate) use wan::Slowed;

/// The most that waits for a connection: records and copies are read, and parts of large payloads taken, when there is room; above it
/// the node keeps, or drops, its messages. It is little, so that what is urgent does not wait long behind the parts.
const OUTBOX_BYTES: usize = 8 << 20;

/// What a link and its connection's task share.
#[derive(Default)]
struct Pipe {
    outbox: Outbox,
    /// Told when the node reads on.
    resumed: Notify,
}

/// One link.
struct Link {
    pipe: Rc<Pipe>,
    side: Side,
    /// The other end, once both sides have accepted each other.
    peer: Option<(NodeId, LinkKind)>,
    /// The node has something to transmit, and is asked for it when the batch ends.
    ready: bool,
    /// Connects, reads and writes.
    task: AbortHandle,
}

/// Which side has connected.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Side {
    /// The other node, from there.
    Accepted(SocketAddr),
    /// This node, and there is no connection yet.
    Dialling,
    /// This node.
    Dialled,
}

/// All links of a node.
#[derive(Default)]
pub(crate) struct Links {
    links: HashMap<LinkId, Link>,
    ready: Vec<LinkId>,
    /// Links that an operator has slowed.
    pub(crate) slowed: Slowed,
}

impl Links {
    fn add(&mut self, id: LinkId, side: Side, pipe: Rc<Pipe>, task: AbortHandle) {
        self.links.insert(id, Link { pipe, side, peer: None, ready: false, task });
    }

    /// How many other sides have connected and are not accepted yet.
    fn strangers(&self) -> usize {
        let strange = |link: &&Link| matches!(link.side, Side::Accepted(_)) && link.peer.is_none();
        self.links.values().filter(strange).count()
    }

    /// The node has something to transmit.
    pub(crate) fn is_ready(&mut self, id: LinkId) {
        if let Some(link) = self.links.get_mut(&id)
            && !std::mem::replace(&mut link.ready, true)
        {
            self.ready.push(id);
        }
    }

    /// The node reads on.
    pub(crate) fn resume(&self, id: LinkId) {
        if let Some(link) = self.links.get(&id) {
            link.pipe.resumed.notify_one();
        }
    }

    /// How many bytes wait to be written to `node`, those that the emulated network holds included.
    pub(crate) fn queued_bytes(&self, node: NodeId) -> usize {
        let to = |link: &&Link| link.peer.is_some_and(|(peer, _)| peer == node);
        self.links.values().filter(to).map(|link| link.pipe.outbox.len()).sum()
    }

    /// Nothing is read or written any more.
    pub(crate) fn abort(&self) {
        self.links.values().for_each(|link| link.task.abort());
    }
}

impl Core {
    /// Takes what the node has for links that are ready and have room. Whether there is more.
    pub(crate) fn transmit(&mut self, now: Now) -> bool {
        let mut ready = std::mem::take(&mut self.links.ready);
        ready.retain(|id| {
            let Some(link) = self.links.links.get_mut(id) else { return false };
            let (outbox, node) = (&link.pipe.outbox, &mut self.engine.node);
            let room = outbox.room();
            // Without room its turn comes when some has been written.
            link.ready = room > 0 && outbox.fill(|out| node.transmit(now, *id, room, out));
            link.ready
        });
        self.links.ready = ready;
        !self.links.ready.is_empty()
    }

    /// Both sides of a link have accepted each other.
    pub(crate) fn link_is_up(&mut self, id: LinkId, node: NodeId, kind: LinkKind) {
        let now = self.engine.clock.now();
        let Some(link) = self.links.links.get_mut(&id) else { return };
        if let Side::Accepted(_) = link.side {
            // The answer to its handshake is not delayed.
            link.flush(&mut *self.engine.node, now, id);
        }
        link.peer = Some((node, kind));
        link.pipe.outbox.set_limit(OUTBOX_BYTES);
        self.set_latencies();
    }

    /// The node gives a link up, and has forgotten it.
    pub(crate) fn close_link(&mut self, id: LinkId) {
        if let Some(link) = self.end_link(id)
            && let (Side::Accepted(address), None) = (link.side, link.peer)
        {
            tracing::warn!("a connection from {address} did not complete its handshake");
        }
    }

    /// Forgets a link that the node has forgotten; what is left to be sent is still written.
    fn end_link(&mut self, id: LinkId) -> Option<Link> {
        let link = self.links.links.remove(&id)?;
        if link.side == Side::Dialling {
            link.task.abort();
        } else {
            let now = self.engine.clock.now();
            link.pipe.outbox.lose_what_is_under_way();
            link.flush(&mut *self.engine.node, now, id);
            link.pipe.outbox.finish();
        }
        Some(link)
    }
}

impl Link {
    /// Takes all that the node has for it.
    fn flush(&self, node: &mut dyn Node, now: Now, id: LinkId) {
        while self.pipe.outbox.fill(|out| node.transmit(now, id, usize::MAX, out)) {}
    }
}
