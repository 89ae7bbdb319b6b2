//! What the files of commands use.

pub(super) use super::arguments::{Arguments, integer, is};
pub(super) use super::command::Call;
pub(super) use super::connection::{Connection, Context, Next};
pub(super) use super::error::ErrorReply;
pub(super) use super::keyspace::{Cursor, Keyspace};
pub(super) use super::operations::{
    assign, counted, found, found_all, remove, scanned, value_or_null, write_keys, written,
};
pub(super) use super::table::{Family, Group, Handler, Keys, Spec};
pub(super) use super::task::{Step, Steps, Task};
pub(super) use super::typed;
pub(super) use bytes::Bytes;
pub(super) use tidemark_core::{
    Command, Condition, Found, Key, Op, Outcome, Reply, Update, Value, Verb, Write,
};
pub(super) use tidemark_wire::resp::{Encoder, Request};

/// What a request of a command of operations comes to.
pub(super) type Parsed = Result<Task, ErrorReply>;

/// What a command that needs no operation comes to.
pub(super) type Answer = Result<Next, ErrorReply>;
