//! Error replies, in the words of Redis: clients and test suites match on them.

use super::failure::in_words;
use super::table::Spec;
use std::borrow::Cow;
use std::fmt;
use tidemark_core::Failure;
use tidemark_wire::resp::{Encoder, Request};

/// How much of a request an error repeats.
const ECHO_BYTES_MAX: usize = 128;

/// An error: a word in capitals, then what is wrong. It may repeat bytes that a client sent.
#[derive(Clone, PartialEq, Eq)]
pub struct ErrorReply(Cow<'static, [u8]>);

impl ErrorReply {
    /// The command cannot be part of an interactive transaction.
    pub const IN_TRANSACTION: Self =
        Self::fixed("ERR Command not allowed inside TIDE.BEGIN: end it with TIDE.COMMIT or TIDE.ROLLBACK");
    /// `ERR syntax error`.
    pub const SYNTAX: Self = Self::fixed("ERR syntax error");
    /// An argument that should be an integer is none, or too large.
    pub const NOT_AN_INTEGER: Self = Self::fixed("ERR value is not an integer or out of range");
    /// EXEC with arguments.
    pub const ABORTED_BY_ARITY: Self = Self::fixed(
        "EXECABORT Transaction discarded because of: wrong number of arguments for 'exec' command",
    );
    /// A key holds something of another type.
    pub const WRONG_TYPE: Self =
        Self::fixed("WRONGTYPE Operation against a key holding the wrong kind of value");
    /// CLIENT UNBLOCK has ended a command that waited.
    pub const UNBLOCKED: Self = Self::fixed("UNBLOCKED client unblocked via CLIENT UNBLOCK");
    /// A SCAN cursor that no reply can have contained.
    pub const INVALID_CURSOR: Self = Self::fixed("ERR invalid cursor");
    /// The session answered an operation with the outcome of another one: a defect of the protocol.
    pub const UNEXPECTED: Self =
        Self::fixed("ERR the consistency protocol returned a reply of another kind than was requested");
    /// A password is needed first.
    pub const NOAUTH: Self = Self::fixed("NOAUTH Authentication required.");
    /// The name or the password is wrong.
    pub const WRONGPASS: Self = Self::fixed("WRONGPASS invalid username-password pair or user is disabled.");

    /// The node cannot open its log, as its disk is full: it only answers reads.
    pub const LOADING: Self =
        Self::fixed("LOADING the disk of this node is full: it only answers reads until there is room");

    /// Memory is at its limit, and the command may add data.
    pub const OUT_OF_MEMORY: Self = Self::fixed("OOM command not allowed when used memory > 'maxmemory'.");
    /// The same of EXEC, where such a command is queued.
    pub const OUT_OF_MEMORY_AT_EXEC: Self = Self::fixed(
        "EXECABORT Transaction discarded because of: OOM command not allowed when used memory > 'maxmemory'.",
    );
    /// The same of a script that says what it does, and not that it may be run then.
    pub const OUT_OF_MEMORY_FOR_SCRIPT: Self = Self::fixed(
        "OOM allow-oom flag is not set on the script, can not run it when used memory > 'maxmemory'",
    );

    /// An error that is always the same.
    pub const fn fixed(text: &'static str) -> Self {
        Self(Cow::Borrowed(text.as_bytes()))
    }

    /// An error with something in it.
    #[cold]
    pub fn new(text: impl Into<Vec<u8>>) -> Self {
        Self(Cow::Owned(text.into()))
    }

    /// `ERR unknown command '…', with args beginning with: …`.
    #[cold]
    pub fn unknown_command(request: &Request<'_>) -> Self {
        let mut text = b"ERR unknown command '".to_vec();
        text.extend_from_slice(head(&request[0], ECHO_BYTES_MAX));
        text.extend_from_slice(b"', with args beginning with: ");
        let start = text.len();
        for argument in request.iter().skip(1) {
            let Some(room) = ECHO_BYTES_MAX.checked_sub(text.len() - start).filter(|room| *room > 0) else {
                break;
            };
            text.push(b'\'');
            text.extend_from_slice(head(argument, room));
            text.extend_from_slice(b"' ");
        }
        Self::new(text)
    }

    /// `ERR unknown subcommand '…'. Try CLIENT HELP.`
    #[cold]
    pub fn unknown_subcommand(container: &Spec, subcommand: &[u8]) -> Self {
        let mut text = b"ERR unknown subcommand '".to_vec();
        text.extend_from_slice(head(subcommand, ECHO_BYTES_MAX));
        text.extend_from_slice(format!("'. Try {} HELP.", container.name.to_ascii_uppercase()).as_bytes());
        Self::new(text)
    }

    /// A failure of the session, in words.
    #[cold]
    pub fn of(failure: &Failure) -> Self {
        Self::new(in_words(failure))
    }

    /// More arguments than a subcommand takes, where Redis does not tell that from an unknown subcommand.
    #[cold]
    pub fn wrong_call(spec: &Spec) -> Self {
        let (container, name) = spec.name.split_once('|').unwrap_or((spec.name, ""));
        Self::new(format!(
            "ERR unknown subcommand or wrong number of arguments for '{name}'. Try {} HELP.",
            container.to_ascii_uppercase()
        ))
    }

    /// `ERR wrong number of arguments for 'x' command`; subcommands are named `client|id`.
    #[cold]
    pub fn arity(name: &str) -> Self {
        Self::new(format!("ERR wrong number of arguments for '{name}' command"))
    }

    /// The text.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// Writes it as a reply.
    pub fn write(&self, out: &mut Encoder<'_>) {
        out.error(&self.0);
    }
}

impl fmt::Display for ErrorReply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&String::from_utf8_lossy(&self.0))
    }
}

impl fmt::Debug for ErrorReply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

fn head(bytes: &[u8], length: usize) -> &[u8] {
    &bytes[..bytes.len().min(length)]
}
