//! Frames from a client to its gateway.

use super::primitive::{Malformed, Reader, put_base, put_bytes, put_count, put_micros_from, put_varint};
use super::{Base, Body, Operation, Secret, ValueHash};
use bytes::Bytes;

/// The version of the link.
pub const VERSION: u8 = 1;

/// A frame from a client to its gateway.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToGateway {
    /// The first frame of a connection.
    Hello(Hello),
    /// A transaction; they come in the order of their numbers.
    Transfer {
        /// The transaction.
        body: Body,
        /// Whether the client has sent it in an earlier connection.
        sent_before: bool,
    },
    /// Adds a key to those that the client watches.
    Watch {
        /// What the key is called from now on in this connection: 0, and then one more each time.
        reference: u64,
        /// 1 to [`KEY_MAX`](super::KEY_MAX) bytes; not watched yet.
        key: Bytes,
        /// The hash of the value that the client has for it at its base; [`NO_HASH`](super::NO_HASH): none.
        have: ValueHash,
    },
    /// Takes a key away from those that are watched. Its reference is not used again.
    Unwatch {
        /// That of its Watch.
        reference: u64,
    },
    /// How many regions must have a base whole.
    SetK {
        /// From now on.
        regions: u64,
    },
    /// Asks for a tick now. The first one of a connection ends its opening.
    Sync,
}

/// How a client introduces itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hello {
    /// Proves who it is.
    pub secret: Secret,
    /// K: how many regions must have a base whole.
    pub regions: u64,
    /// Its base; empty if it has none.
    pub base: Base,
    /// Its transactions up to this one are in the base.
    pub in_base: u64,
    /// The first transaction of its log, or the next one if the log is empty.
    pub first: u64,
    /// The check of the chain before `first`.
    pub check: [u8; 8],
    /// What authenticates the user; may be empty.
    pub token: Bytes,
}

/// How a Transfer names the base that its transaction depends on.
pub(super) enum Dependency {
    /// By the tick that brought it; 0: Hello.
    Tick(u64),
    /// Spelled out.
    Explicit,
}

const HELLO: u8 = 1;
const TRANSFER: u8 = 2;
const WATCH: u8 = 3;
const UNWATCH: u8 = 4;
const SET_K: u8 = 5;
const SYNC: u8 = 6;

/// The lower bits of a Transfer's head: how many operations it has, or that this follows.
const COUNT: u8 = 31;
const EXPLICIT: u8 = 1 << 5;
const SENT_BEFORE: u8 = 1 << 6;
const UNUSED: u8 = 1 << 7;

/// What of a connection an encoder needs.
pub(super) trait Context {
    /// The reference of a key, if it is watched.
    fn reference_of(&self, key: &[u8]) -> Option<u64>;
    /// How to name a base.
    fn dependency(&self, base: &Base) -> Dependency;
}

/// What of a connection a decoder needs.
pub(super) trait Memory {
    /// The watched key of a reference.
    fn key_of(&self, reference: u64) -> Option<Bytes>;
    /// The base of a tick.
    fn base_of(&self, tick: u64) -> Option<Base>;
}

impl ToGateway {
    pub(super) fn encode(&self, context: &impl Context) -> Vec<u8> {
        let mut out = Vec::new();
        match self {
            Self::Hello(hello) => hello.put(&mut out),
            Self::Transfer { body, sent_before } => put_transfer(&mut out, body, *sent_before, context),
            Self::Watch { reference, key, have } => {
                out.push(WATCH);
                put_varint(&mut out, *reference);
                put_bytes(&mut out, key);
                out.extend_from_slice(have);
            }
            Self::Unwatch { reference } => {
                out.push(UNWATCH);
                put_varint(&mut out, *reference);
            }
            Self::SetK { regions } => {
                out.push(SET_K);
                put_varint(&mut out, *regions);
            }
            Self::Sync => out.push(SYNC),
        }
        out
    }

    pub(super) fn decode(frame: &[u8], memory: &impl Memory) -> Result<Self, Malformed> {
        let mut reader = Reader::new(frame)?;
        let decoded = match reader.byte()? {
            HELLO => Self::Hello(Hello::read(&mut reader)?),
            TRANSFER => read_transfer(&mut reader, memory)?,
            WATCH => Self::Watch { reference: reader.varint()?, key: reader.key()?, have: reader.array()? },
            UNWATCH => Self::Unwatch { reference: reader.varint()? },
            SET_K => Self::SetK { regions: reader.varint()? },
            SYNC => Self::Sync,
            _ => return Err(Malformed("an unknown type of frame")),
        };
        reader.end()?;
        Ok(decoded)
    }
}

impl Hello {
    fn put(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&[HELLO, VERSION]);
        out.extend_from_slice(&self.secret.0);
        put_varint(out, self.regions);
        put_base(out, &self.base);
        put_varint(out, self.in_base);
        put_varint(out, self.first);
        out.extend_from_slice(&self.check);
        put_bytes(out, &self.token);
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        if reader.byte()? != VERSION {
            return Err(Malformed("another version"));
        }
        let hello = Self {
            secret: Secret(reader.array()?),
            regions: reader.varint()?,
            base: reader.base()?,
            in_base: reader.varint()?,
            first: reader.varint()?,
            check: reader.array()?,
            token: reader.bytes()?,
        };
        if hello.first == 0 { Err(Malformed("a log that begins with 0")) } else { Ok(hello) }
    }
}

fn put_transfer(out: &mut Vec<u8>, body: &Body, sent_before: bool, context: &impl Context) {
    let dependency = context.dependency(&body.dep);
    let (tick, explicit) = match dependency {
        Dependency::Tick(tick) => (tick, false),
        Dependency::Explicit => (0, true),
    };
    let count = body.operations.len();
    let short = u8::try_from(count).unwrap_or(COUNT).min(COUNT);
    out.push(TRANSFER);
    put_varint(out, body.k);
    out.push(short | if explicit { EXPLICIT } else { 0 } | if sent_before { SENT_BEFORE } else { 0 });
    put_varint(out, tick);
    if short == COUNT {
        put_count(out, count);
    }
    if explicit {
        put_base(out, &body.dep);
    }
    put_micros_from(out, body.h_us, body.dep.newest_us());
    for operation in &body.operations {
        operation.put(out, context.reference_of(&operation.key));
    }
}

fn read_transfer(reader: &mut Reader<'_>, memory: &impl Memory) -> Result<ToGateway, Malformed> {
    let (k, head, tick) = (reader.varint()?, reader.byte()?, reader.varint()?);
    if head & UNUSED != 0 {
        return Err(Malformed("an unknown bit"));
    }
    let count = match usize::from(head & COUNT) {
        short if short < usize::from(COUNT) => short,
        short => {
            let long = reader.count(2)?;
            if long < short {
                return Err(Malformed("a count longer than needed"));
            }
            long
        }
    };
    let dep = if head & EXPLICIT != 0 {
        reader.base()?
    } else {
        memory.base_of(tick).ok_or(Malformed("a tick that was not sent, or long ago"))?
    };
    let h_us = reader.micros_from(dep.newest_us())?;
    let operations = (0..count).map(|_| Operation::read(reader, |reference| memory.key_of(reference)));
    let body = Body { k, h_us, dep, operations: operations.collect::<Result<_, _>>()? };
    Ok(ToGateway::Transfer { body: body.valid()?, sent_before: head & SENT_BEFORE != 0 })
}
