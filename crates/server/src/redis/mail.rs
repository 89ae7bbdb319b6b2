//! What connections are sent that they did not request: messages of channels, and lines of MONITOR.

use bytes::Bytes;
use std::rc::Rc;
use tidemark_wire::resp::{Encoder, Version};

/// A message for one connection. The gateway delivers it once the command that caused it has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mail {
    /// The connection.
    pub to: u64,
    /// The message.
    pub message: Message,
    /// The node where it was published, if that is what it is about.
    pub source: Option<u16>,
}

/// What a client has published.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Publication {
    /// To a shard channel.
    pub shard: bool,
    /// The channel.
    pub channel: Bytes,
    /// The message.
    pub payload: Bytes,
    /// Whether this node has subscribers for it.
    pub has_receivers: bool,
    /// It is for this node alone.
    pub local: bool,
}

/// What a connection is sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// Somebody published to a channel.
    Channel {
        /// The channel.
        channel: Bytes,
        /// What was published.
        payload: Bytes,
    },
    /// Somebody published to a channel that matches a pattern.
    Pattern {
        /// The pattern.
        pattern: Bytes,
        /// The channel.
        channel: Bytes,
        /// What was published.
        payload: Bytes,
    },
    /// Somebody published to a shard channel.
    Shard {
        /// The channel.
        channel: Bytes,
        /// What was published.
        payload: Bytes,
    },
    /// A line of MONITOR.
    Line(Rc<str>),
    /// Keys that a client caches have changed; any may have, if none are given.
    Invalidate(Option<Vec<Bytes>>),
    /// The connection with this number, which was to be told of changed keys, is gone.
    RedirectionBroken(u64),
}

impl Message {
    /// Writes it in the version of its connection: a push in RESP3.
    pub fn write(&self, out: &mut Encoder<'_>) {
        let words: &[&[u8]] = match self {
            Self::Channel { channel, payload } => &[b"message", channel, payload],
            Self::Pattern { pattern, channel, payload } => &[b"pmessage", pattern, channel, payload],
            Self::Shard { channel, payload } => &[b"smessage", channel, payload],
            Self::Line(line) => return out.simple(line),
            Self::Invalidate(keys) => return invalidate(keys.as_deref(), out),
            Self::RedirectionBroken(id) => {
                out.push(2);
                out.bulk("tracking-redir-broken");
                return out.integer(*id as i64);
            }
        };
        out.push(words.len());
        words.iter().for_each(|word| out.bulk(word));
    }
}

/// A push in RESP3; in RESP2 a message of the channel that clients subscribe to for that.
fn invalidate(keys: Option<&[Bytes]>, out: &mut Encoder<'_>) {
    if out.version() == Version::Resp3 {
        out.push(2);
        out.bulk("invalidate");
    } else {
        out.array(3);
        out.bulk("message");
        out.bulk("__redis__:invalidate");
    }
    match keys {
        None => out.null(),
        Some(keys) => {
            out.array(keys.len());
            keys.iter().for_each(|key| out.bulk(key));
        }
    }
}
