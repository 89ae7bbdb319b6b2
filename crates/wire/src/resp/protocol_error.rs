//! Why bytes are no request, in the words of Redis.

use std::fmt;

/// The bytes are no request. The connection gets the error (its `Display`) and is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("ERR Protocol error: {kind}")]
pub struct ProtocolError {
    kind: ErrorKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ErrorKind {
    InlineTooBig,
    UnbalancedQuotes,
    CountLineTooBig,
    Count,
    CountUnauthenticated,
    BulkLineTooBig,
    NoBulk(u8),
    Bulk,
    BulkUnauthenticated,
    RequestTooBig,
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::InlineTooBig => "too big inline request",
            Self::UnbalancedQuotes => "unbalanced quotes in request",
            Self::CountLineTooBig => "too big mbulk count string",
            Self::Count => "invalid multibulk length",
            Self::CountUnauthenticated => "unauthenticated multibulk length",
            Self::BulkLineTooBig => "too big bulk count string",
            // An error is one line.
            Self::NoBulk(b'\r' | b'\n') => "expected '$', got ' '",
            Self::NoBulk(byte) => return write!(f, "expected '$', got '{}'", *byte as char),
            Self::Bulk => "invalid bulk length",
            Self::BulkUnauthenticated => "unauthenticated bulk length",
            Self::RequestTooBig => "request exceeds client-query-buffer-limit",
        })
    }
}

impl From<ErrorKind> for ProtocolError {
    fn from(kind: ErrorKind) -> Self {
        Self { kind }
    }
}
