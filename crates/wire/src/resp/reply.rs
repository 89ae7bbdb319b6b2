//! A reply as a value: what a client gets.

use bytes::Bytes;

/// Any reply of either protocol version.
#[derive(Clone, Debug, PartialEq)]
pub enum Reply {
    /// `+`: a short text.
    Simple(Bytes),
    /// `-`: an error, its first word saying which.
    Error(Bytes),
    /// `:`: a number.
    Integer(i64),
    /// `$`: any bytes.
    Bulk(Bytes),
    /// `$-1`, `*-1` or `_`.
    Null,
    /// `*`: a list.
    Array(Vec<Reply>),
    /// `%`: pairs, in the order sent.
    Map(Vec<(Reply, Reply)>),
    /// `~`: a set, in the order sent.
    Set(Vec<Reply>),
    /// `>`: a message that no request asked for.
    Push(Vec<Reply>),
    /// `,`: a double.
    Double(f64),
    /// `#`: a truth value.
    Boolean(bool),
    /// `(`: an integer of any size, as its digits.
    BigNumber(Bytes),
    /// `!`: an error of any bytes.
    BulkError(Bytes),
    /// `=`: text with its three-letter format.
    Verbatim([u8; 3], Bytes),
    /// `|`: a reply with remarks about it.
    Attributed(Vec<(Reply, Reply)>, Box<Reply>),
}

impl Reply {
    /// The bytes of a string of any kind, errors excluded.
    pub fn bytes(&self) -> Option<&Bytes> {
        match self {
            Self::Simple(bytes) | Self::Bulk(bytes) | Self::Verbatim(_, bytes) | Self::BigNumber(bytes) => {
                Some(bytes)
            }
            _ => None,
        }
    }

    /// The text of an error.
    pub fn error(&self) -> Option<&Bytes> {
        match self {
            Self::Error(text) | Self::BulkError(text) => Some(text),
            _ => None,
        }
    }

    /// The number that it is.
    pub fn integer(&self) -> Option<i64> {
        match self {
            Self::Integer(value) => Some(*value),
            _ => None,
        }
    }

    /// The elements of a list, set or push.
    pub fn items(&self) -> Option<&[Reply]> {
        match self {
            Self::Array(items) | Self::Set(items) | Self::Push(items) => Some(items),
            _ => None,
        }
    }

    /// What a map, or a flat list of pairs as RESP2 sends them, holds for `key`.
    pub fn lookup(&self, key: &str) -> Option<&Reply> {
        let is_key = |reply: &Reply| reply.bytes().is_some_and(|bytes| bytes == key.as_bytes());
        match self {
            Self::Map(pairs) => pairs.iter().find(|(k, _)| is_key(k)).map(|(_, value)| value),
            Self::Array(items) => items.chunks_exact(2).find(|pair| is_key(&pair[0])).map(|pair| &pair[1]),
            _ => None,
        }
    }
}

impl From<&'static str> for Reply {
    /// A bulk string.
    fn from(text: &'static str) -> Self {
        Self::Bulk(Bytes::from_static(text.as_bytes()))
    }
}
