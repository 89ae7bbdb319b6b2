//! Frames from a gateway to its client.

use super::primitive::{
    Malformed, Reader, ascends, put_bytes, put_count, put_micros, put_signed, put_varint,
};
use super::{Base, Update, Value};
use crate::rule::BASES_DOMINATE;
use bytes::Bytes;
use tidemark_core::Hlc;

/// A frame from a gateway to its client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToClient {
    /// The answer to Hello.
    Welcome(Welcome),
    /// Transactions up to `k` are durable in this region.
    Ack {
        /// The last of them.
        k: u64,
    },
    /// The gateway has transactions up to `k`: the client sends those after it again.
    Missing {
        /// 0: none.
        k: u64,
    },
    /// The time of a transaction is ahead of the region's clock.
    Later {
        /// How long the client waits before it sends again, in milliseconds.
        wait_ms: u64,
    },
    /// The region does not have the base that a transaction depends on.
    Behind {
        /// How long the client waits before it sends again, in milliseconds.
        wait_ms: u64,
    },
    /// The gateway has another transaction `k` of this client.
    Forked {
        /// The first that is known to differ.
        k: u64,
    },
    /// Transaction `k` was not taken with its time, and no region will take it: the client gives it and those after it new times.
    Retime {
        /// Its number.
        k: u64,
    },
    /// How many regions share what is new in this one, which is one of them. Fewer than the client's K: the region is isolated, and no newer
    /// base of K comes until this is sent again.
    Shared {
        /// At least 1.
        regions: u64,
    },
    /// An operation had no effect.
    Refused {
        /// Its transaction.
        k: u64,
        /// Its index in the transaction; the number of operations: all of them.
        operation: u64,
        /// A word for programs.
        code: Bytes,
        /// A sentence for people.
        text: Bytes,
    },
    /// The value of a watched key at the base of the last tick that was sent.
    Value {
        /// The reference of its Watch.
        reference: u64,
        /// The value.
        value: Value,
    },
    /// A new base, and what differs there.
    Tick(Tick),
    /// The connection is closed after it.
    Error {
        /// A word for programs.
        code: Bytes,
        /// A sentence for people.
        text: Bytes,
    },
}

/// The answer to Hello.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Welcome {
    /// The number of the gateway's region.
    pub region: u8,
    /// How many regions there are.
    pub regions: u8,
    /// The gateway's clock, in microseconds since 1970.
    pub time_us: u64,
    /// The last transaction of this client that the gateway has; 0: none.
    pub head: u64,
    /// The check of the chain up to it; zeros if there is none.
    pub check: [u8; 8],
    /// Between two ticks, in milliseconds.
    pub period_ms: u64,
    /// For how long the region knows which transactions it took, in milliseconds.
    pub retain_ms: u64,
    /// Whether the region has the base of Hello.
    pub covered: bool,
    /// The name of the region.
    pub name: Bytes,
}

/// A new base, and what differs there from the last one of this connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tick {
    /// The new base: it dominates the last one.
    pub to: Base,
    /// K: how many regions have it whole, at least.
    pub regions: u64,
    /// The client's transactions up to this one are in it.
    pub in_base: u64,
    /// The check of the chain up to it; zeros if there is none.
    pub check: [u8; 8],
    /// A bit for each region that is known to have it.
    pub have: u64,
    /// What differs, by ascending references.
    pub updates: Vec<Update>,
}

const WELCOME: u8 = 129;
const ACK: u8 = 130;
const MISSING: u8 = 131;
const LATER: u8 = 132;
const BEHIND: u8 = 133;
const FORKED: u8 = 134;
const RETIME: u8 = 135;
const REFUSED: u8 = 136;
const VALUE: u8 = 137;
const TICK: u8 = 138;
const ERROR: u8 = 139;
/// The first byte of [`ToClient::Shared`].
pub const SHARED: u8 = 140;

impl ToClient {
    /// Encodes beside the last tick of the connection and its base.
    pub(super) fn encode(&self, tick: u64, last: &Base) -> Vec<u8> {
        let mut out = Vec::new();
        let number = |out: &mut Vec<u8>, kind, number| {
            out.push(kind);
            put_varint(out, number);
        };
        match self {
            Self::Welcome(welcome) => welcome.put(&mut out),
            Self::Ack { k } => number(&mut out, ACK, *k),
            Self::Missing { k } => number(&mut out, MISSING, *k),
            Self::Later { wait_ms } => number(&mut out, LATER, *wait_ms),
            Self::Behind { wait_ms } => number(&mut out, BEHIND, *wait_ms),
            Self::Forked { k } => number(&mut out, FORKED, *k),
            Self::Retime { k } => number(&mut out, RETIME, *k),
            Self::Shared { regions } => number(&mut out, SHARED, *regions),
            Self::Refused { k, operation, code, text } => {
                number(&mut out, REFUSED, *k);
                put_varint(&mut out, *operation);
                put_bytes(&mut out, code);
                put_bytes(&mut out, text);
            }
            Self::Value { reference, value } => {
                number(&mut out, VALUE, *reference);
                put_varint(&mut out, tick);
                value.put(&mut out, Some(last.newest_us()));
            }
            Self::Tick(next) => {
                number(&mut out, TICK, tick + 1);
                next.put(&mut out, last);
            }
            Self::Error { code, text } => {
                out.push(ERROR);
                put_bytes(&mut out, code);
                put_bytes(&mut out, text);
            }
        }
        out
    }

    /// Decodes beside the last tick of the connection and its base.
    pub(super) fn decode(frame: &[u8], tick: u64, last: &Base) -> Result<Self, Malformed> {
        let mut reader = Reader::new(frame)?;
        let decoded = match reader.byte()? {
            WELCOME => Self::Welcome(Welcome::read(&mut reader)?),
            ACK => Self::Ack { k: reader.varint()? },
            MISSING => Self::Missing { k: reader.varint()? },
            LATER => Self::Later { wait_ms: reader.varint()? },
            BEHIND => Self::Behind { wait_ms: reader.varint()? },
            FORKED => Self::Forked { k: reader.varint()? },
            RETIME => Self::Retime { k: reader.varint()? },
            SHARED => Self::Shared { regions: reader.varint()? },
            REFUSED => Self::Refused {
                k: reader.varint()?,
                operation: reader.varint()?,
                code: reader.bytes()?,
                text: reader.bytes()?,
            },
            VALUE => {
                let reference = reader.varint()?;
                if tick == 0 || reader.varint()? != tick {
                    return Err(Malformed("a value that is not of the last tick"));
                }
                Self::Value { reference, value: Value::read(&mut reader, last.newest_us())? }
            }
            TICK => {
                if Some(reader.varint()?) != tick.checked_add(1) {
                    return Err(Malformed("a tick that is not the next one"));
                }
                Self::Tick(Tick::read(&mut reader, last)?)
            }
            ERROR => Self::Error { code: reader.bytes()?, text: reader.bytes()? },
            _ => return Err(Malformed("an unknown type of frame")),
        };
        reader.end()?;
        Ok(decoded)
    }
}

impl Welcome {
    fn put(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&[WELCOME, self.region, self.regions]);
        put_micros(out, self.time_us);
        put_varint(out, self.head);
        out.extend_from_slice(&self.check);
        put_varint(out, self.period_ms);
        put_varint(out, self.retain_ms);
        out.push(u8::from(self.covered));
        put_bytes(out, &self.name);
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        Ok(Self {
            region: reader.byte()?,
            regions: reader.byte()?,
            time_us: reader.micros()?,
            head: reader.varint()?,
            check: reader.array()?,
            period_ms: reader.varint()?,
            retain_ms: reader.varint()?,
            covered: match reader.byte()? {
                0 => false,
                1 => true,
                _ => return Err(Malformed("neither yes nor no")),
            },
            name: reader.bytes()?,
        })
    }
}

impl Tick {
    fn put(&self, out: &mut Vec<u8>, last: &Base) {
        put_count(out, self.to.0.len());
        for (region, entry) in self.to.0.iter().enumerate() {
            put_signed(out, entry.0.wrapping_sub(last.entry(region).0) as i64);
        }
        put_varint(out, self.regions);
        put_varint(out, self.in_base);
        out.extend_from_slice(&self.check);
        put_varint(out, self.have);
        put_count(out, self.updates.len());
        self.updates.iter().for_each(|update| update.put(out, self.to.newest_us()));
    }

    fn read(reader: &mut Reader<'_>, last: &Base) -> Result<Self, Malformed> {
        let entries = reader.entries()?;
        let to =
            (0..entries).map(|region| Ok(Hlc(last.entry(region).0.wrapping_add(reader.signed()? as u64))));
        let to = Base(to.collect::<Result<_, _>>()?);
        if !to.dominates(last) && BASES_DOMINATE.kept() {
            return Err(Malformed("a base below the last one"));
        }
        let (regions, in_base) = (reader.varint()?, reader.varint()?);
        let (check, have) = (reader.array()?, reader.varint()?);
        let count = reader.count(2)?;
        let mut updates: Vec<Update> = Vec::new();
        for _ in 0..count {
            let update = Update::read(reader, to.newest_us())?;
            ascends(updates.last().map(|last| &last.reference), &update.reference)?;
            updates.push(update);
        }
        Ok(Self { to, regions, in_base, check, have, updates })
    }
}
