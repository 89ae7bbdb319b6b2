//! A transaction of a client: its operations, its body, and the chain of digests that names it.

use super::primitive::{
    Malformed, Reader, put_base, put_bytes, put_count, put_micros, put_signed, put_varint,
};
use super::{Base, KEY_MAX};
use bytes::Bytes;
use sha2::{Digest, Sha256};
use std::fmt;

/// What one operation does to its key. Each but those of lists is one Redis command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OperationKind {
    /// `SET key value`
    Set(Bytes),
    /// `DEL key`
    Delete,
    /// `INCRBY key amount`
    Add(i64),
    /// `HSET key field value`
    MapSet(Bytes, Bytes),
    /// `HDEL key field`
    MapDelete(Bytes),
    /// `SADD key member`
    SetAdd(Bytes),
    /// `SREM key member`
    SetRemove(Bytes),
    /// `HINCRBY key field amount`
    MapAdd(Bytes, i64),
    /// The element of a list at this position has this value, whether it is there or not ([`crate::position`]).
    ListSet(Bytes, Bytes),
    /// The element of a list at this position goes.
    ListRemove(Bytes),
}

impl OperationKind {
    /// The field, position or member that it writes, if it writes one.
    pub(crate) fn element(&self) -> Option<&Bytes> {
        match self {
            Self::MapSet(element, _)
            | Self::MapAdd(element, _)
            | Self::SetAdd(element)
            | Self::ListSet(element, _) => Some(element),
            _ => None,
        }
    }
}

/// An operation of a transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operation {
    /// 1 to [`KEY_MAX`] bytes.
    pub key: Bytes,
    /// What happens to it.
    pub kind: OperationKind,
}

/// A transaction as its client has committed it. Its encoding is what the client's disk and the digest contain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Body {
    /// Its number among the transactions of its client, from 1, without gaps.
    pub k: u64,
    /// When it counts, in microseconds since 1970: of two writes the one with the greater time wins.
    pub h_us: u64,
    /// The base that its client saw when it prepared it.
    pub dep: Base,
    /// At least one when it is committed; with a later time perhaps none: the client has seen all of them overwritten.
    pub operations: Vec<Operation>,
}

/// 32 random bytes that a client never shows to anybody but gateways.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(pub [u8; 32]);

/// The digest of a client's first transactions: each digest covers the one before it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Chain(pub [u8; 32]);

impl Secret {
    /// The public name of the client: the first 16 bytes of SHA-256 of the secret.
    pub fn cid(&self) -> [u8; 16] {
        Sha256::digest(self.0)[..16].try_into().expect("a digest has 32 bytes")
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}

impl Chain {
    /// Before the first transaction.
    pub const START: Self = Self([0; 32]);

    /// Of a chain of which nobody has more than its check: after transactions that were lost for good.
    #[must_use]
    pub fn resumed(check: [u8; 8]) -> Self {
        let mut chain = Self::START;
        chain.0[..8].copy_from_slice(&check);
        chain
    }

    /// The digest after one more transaction with this encoded body.
    #[must_use]
    pub fn then(&self, body: &[u8]) -> Self {
        Self(Sha256::new().chain_update(self.0).chain_update(body).finalize().into())
    }

    /// Its first 8 bytes: what Hello and Welcome carry.
    pub fn check(&self) -> [u8; 8] {
        self.0[..8].try_into().expect("a digest has 32 bytes")
    }
}

impl fmt::Debug for Chain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Chain({:02x?})", self.check())
    }
}

impl Body {
    /// The bytes that the digest covers, with every key spelled out.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        put_varint(&mut out, self.k);
        put_micros(&mut out, self.h_us);
        put_base(&mut out, &self.dep);
        put_count(&mut out, self.operations.len());
        self.operations.iter().for_each(|operation| operation.put(&mut out, None));
        out
    }

    /// The inverse of [`Body::encode`].
    ///
    /// # Errors
    /// The bytes are not the encoding of a body.
    pub fn decode(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(bytes)?;
        let (k, h_us, dep) = (reader.varint()?, reader.micros()?, reader.base()?);
        let count = reader.count(3)?;
        let spelled = |_| None;
        let operations = (0..count).map(|_| Operation::read(&mut reader, spelled));
        let body = Self { k, h_us, dep, operations: operations.collect::<Result<_, _>>()? };
        reader.end()?;
        body.valid()
    }

    /// Itself, if its number can be.
    pub(super) fn valid(self) -> Result<Self, Malformed> {
        match self {
            Self { k: 0, .. } => Err(Malformed("a transaction with the number 0")),
            body => Ok(body),
        }
    }
}

impl Operation {
    /// Whether its key has a length that keys may have.
    pub fn is_valid(&self) -> bool {
        (1..=KEY_MAX).contains(&self.key.len())
    }

    /// Appends its encoding; `reference` stands for the key, if the connection has one.
    pub(super) fn put(&self, out: &mut Vec<u8>, reference: Option<u64>) {
        put_varint(out, reference.map_or(0, |reference| reference + 1));
        if reference.is_none() {
            put_bytes(out, &self.key);
        }
        out.push(self.kind.opcode());
        match &self.kind {
            OperationKind::Delete => {}
            OperationKind::Add(amount) => put_signed(out, *amount),
            OperationKind::Set(one)
            | OperationKind::MapDelete(one)
            | OperationKind::SetAdd(one)
            | OperationKind::SetRemove(one)
            | OperationKind::ListRemove(one) => put_bytes(out, one),
            OperationKind::MapSet(one, value) | OperationKind::ListSet(one, value) => {
                put_bytes(out, one);
                put_bytes(out, value);
            }
            OperationKind::MapAdd(field, amount) => {
                put_bytes(out, field);
                put_signed(out, *amount);
            }
        }
    }

    /// Decodes one; `key_of` says which key a reference of the connection stands for.
    pub(super) fn read(
        reader: &mut Reader<'_>,
        key_of: impl Fn(u64) -> Option<Bytes>,
    ) -> Result<Self, Malformed> {
        let key = match reader.varint()? {
            0 => reader.key()?,
            reference => key_of(reference - 1).ok_or(Malformed("a key that is not watched"))?,
        };
        let kind = match reader.byte()? {
            1 => OperationKind::Set(reader.bytes()?),
            2 => OperationKind::Delete,
            3 => OperationKind::Add(reader.signed()?),
            4 => OperationKind::MapSet(reader.bytes()?, reader.bytes()?),
            5 => OperationKind::MapDelete(reader.bytes()?),
            6 => OperationKind::SetAdd(reader.bytes()?),
            7 => OperationKind::SetRemove(reader.bytes()?),
            8 => OperationKind::MapAdd(reader.bytes()?, reader.signed()?),
            9 => OperationKind::ListSet(reader.bytes()?, reader.bytes()?),
            10 => OperationKind::ListRemove(reader.bytes()?),
            _ => return Err(Malformed("an unknown operation")),
        };
        Ok(Self { key, kind })
    }
}

impl OperationKind {
    fn opcode(&self) -> u8 {
        match self {
            Self::Set(_) => 1,
            Self::Delete => 2,
            Self::Add(_) => 3,
            Self::MapSet(..) => 4,
            Self::MapDelete(_) => 5,
            Self::SetAdd(_) => 6,
            Self::SetRemove(_) => 7,
            Self::MapAdd(..) => 8,
            Self::ListSet(..) => 9,
            Self::ListRemove(_) => 10,
        }
    }
}
