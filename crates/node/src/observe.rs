//! What passes between sessions and servers and between servers, told to whoever measures it: with its type, which only the node
//! knows, and with what caused it.
//!
//! A node without an observer tells nothing, and pays a branch for that.

use crate::core::Core;
use crate::layout::NodeId;
use crate::node::SessionId;
use serde::Serialize;
use std::fmt::Debug;
use tidemark_contract::forwarded::ForwardedSession;
use tidemark_contract::{Protocol, Ticket};
use tidemark_core::{Key, ServerId, Stamp};
use tidemark_replica::StreamItem;

/// Somebody who measures nodes.
pub trait Observer: Debug + Send + Sync {
    /// Something passes. Returns on whose behalf a server handles what arrives at it; everything that follows from that brings
    /// this number as its cause. 0 is nobody. For what leaves it means nothing.
    fn see(&self, passing: Passing<'_>) -> u64;
}

/// Something that passes.
#[derive(Clone, Copy, Debug)]
pub struct Passing<'a> {
    /// At which node.
    pub at: NodeId,
    /// The node at the other end; the same one if both ends are here.
    pub peer: NodeId,
    /// Which way.
    pub way: Way,
    /// On whose behalf: what the observer returned when this was caused. For what arrives it means nothing.
    pub cause: u64,
    /// What it is.
    pub what: What<'a>,
}

/// Which way something passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// It leaves the node.
    Out,
    /// It arrives.
    In,
    /// Both ends are here: it is told once.
    Within,
}

/// What passes.
#[derive(Clone, Copy, Debug)]
pub enum What<'a> {
    /// A request of a session to a server.
    Request {
        /// Whose.
        ticket: Ticket,
        /// To whom.
        to: ServerId,
        /// Its operation may change something.
        writes: bool,
        /// What is asked.
        content: &'a dyn Content,
    },
    /// A reply of a server to a session.
    Reply {
        /// To whose request.
        ticket: Ticket,
        /// None if the request was refused.
        content: Option<&'a dyn Content>,
    },
    /// A message of one server to another.
    Message {
        /// Who says it.
        from: ServerId,
        /// To whom.
        to: ServerId,
        /// What.
        content: &'a dyn Content,
    },
    /// A record of a replication stream.
    Record {
        /// The server that the stream comes from.
        from: ServerId,
        /// The server that it goes to.
        to: ServerId,
        /// Whose version.
        key: &'a Key,
        /// Which.
        stamp: Stamp,
        /// The item of the stream.
        content: &'a dyn Content,
    },
    /// A heartbeat, or the number of a record that does not go there, on a replication stream.
    Beat {
        /// The item of the stream.
        content: &'a dyn Content,
        /// It is a heartbeat.
        heartbeat: bool,
    },
    /// A message of a member of a Raft group to another.
    Raft {
        /// Bytes of its entries.
        bytes: usize,
        /// How many.
        entries: usize,
    },
    /// Timers of servers fire.
    Timers,
    /// An operation of a session ends, and this is its token then.
    Token {
        /// Whose.
        session: SessionId,
        /// The token.
        content: &'a dyn Content,
    },
}

/// Something that is sent, without its type.
pub trait Content: Debug {
    /// Writes it to `sink` in the form in which nodes send it.
    fn pour(&self, sink: &mut dyn Sink);
}

/// Takes the bytes of something that is sent.
pub trait Sink {
    /// A byte: of a number, a length, a tag.
    fn byte(&mut self, byte: u8);

    /// Several at once: a number, or all bytes of a key, a value, a text.
    fn bytes(&mut self, bytes: &[u8]);
}

struct Into<'a>(&'a mut dyn Sink);

impl postcard::ser_flavors::Flavor for Into<'_> {
    type Output = ();

    fn try_push(&mut self, byte: u8) -> postcard::Result<()> {
        self.0.byte(byte);
        Ok(())
    }

    fn try_extend(&mut self, data: &[u8]) -> postcard::Result<()> {
        self.0.bytes(data);
        Ok(())
    }

    fn finalize(self) -> postcard::Result<()> {
        Ok(())
    }
}

impl<T: Serialize + Debug> Content for T {
    fn pour(&self, sink: &mut dyn Sink) {
        postcard::serialize_with_flavor(self, Into(sink)).expect("what servers exchange can be encoded");
    }
}

/// The token of a session, made only if somebody looks at it.
pub(crate) struct TokenOf<'a, P: Protocol>(pub(crate) &'a ForwardedSession<P>);

impl<P: Protocol> Debug for TokenOf<'_, P> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.token().fmt(f)
    }
}

impl<P: Protocol> Content for TokenOf<'_, P> {
    fn pour(&self, sink: &mut dyn Sink) {
        self.0.token().pour(sink);
    }
}

impl What<'_> {
    pub(crate) fn raft(message: &tidemark_group::Message) -> Self {
        let bytes = message.entries.iter().map(|entry| entry.data.len()).sum();
        Self::Raft { bytes, entries: message.entries.len() }
    }
}

impl Core {
    /// Tells the observer, if there is one, of an item of a replication stream between two servers.
    #[inline]
    pub(crate) fn sees_item<P: Protocol>(
        &self,
        way: Way,
        peer: NodeId,
        (from, to): (ServerId, ServerId),
        item: &StreamItem<P>,
    ) -> u64 {
        if self.config.observer.is_none() {
            return 0;
        }
        let what = match item {
            StreamItem::Record { key, version, .. } => {
                What::Record { from, to, key, stamp: version.stamp, content: item }
            }
            StreamItem::Heartbeat { .. } => What::Beat { content: item, heartbeat: true },
            StreamItem::Skipped { .. } | StreamItem::Floor { .. } | StreamItem::Everywhere { .. } => {
                What::Beat { content: item, heartbeat: false }
            }
        };
        self.sees(way, peer, 0, what)
    }

    /// As [`Self::sees_item`], of several.
    #[inline]
    pub(crate) fn sees_items<P: Protocol>(
        &self,
        way: Way,
        peer: NodeId,
        ends: (ServerId, ServerId),
        items: &[StreamItem<P>],
    ) {
        if self.config.observer.is_some() {
            items.iter().for_each(|item| {
                self.sees_item(way, peer, ends, item);
            });
        }
    }
}
