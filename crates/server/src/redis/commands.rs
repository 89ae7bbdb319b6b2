//! The commands. Each is one file, with its row of the table, its arguments, its operations and its reply, and one word
//! in the list of its group, or of its container if it is a subcommand.

use super::table::Spec;

/// Declares the files of commands and lists their rows.
macro_rules! commands {
    ($($name:ident),* $(,)?) => {
        $(pub(in crate::redis) mod $name;)*

        pub(super) static COMMANDS: &[&Spec] = &[$(&$name::SPEC),*];
    };
}

/// Declares the files of a container's subcommands and lists their rows, that of HELP last.
macro_rules! subcommands {
    ($help:literal, $($name:ident),* $(,)?) => {
        $(mod $name;)*

        static COMMANDS: &[&Spec] = &[$(&$name::SPEC,)* &crate::redis::commands::help::row($help)];
    };
}

/// Flags of commands, as COMMAND shows them: what they do, and whether they cost the same for keys of any size.
mod flags {
    pub(in crate::redis) const READ: &[&str] = &["readonly"];
    pub(in crate::redis) const FAST_READ: &[&str] = &["readonly", "fast"];
    /// It may need more memory.
    pub(in crate::redis) const WRITE: &[&str] = &["write", "denyoom"];
    pub(in crate::redis) const FAST_WRITE: &[&str] = &["write", "denyoom", "fast"];
    pub(in crate::redis) const REMOVE: &[&str] = &["write"];
    pub(in crate::redis) const DEBUG: &[&str] = &["write", "denyoom", "admin"];
    pub(in crate::redis) const FAST_REMOVE: &[&str] = &["write", "fast"];
}

/// Lists the rows of commands of a data type; of the subcommands of a container, with that of its HELP.
macro_rules! rows {
    ($base:ident $(with $help:literal)?; $($name:literal $verb:ident $arity:literal $flags:ident $since:literal $syntax:literal,
        $summary:literal $(, $remark:literal)?;)*) => {
        pub(super) static ROWS: &[&Spec] = &[$(&Spec {
            name: $name,
            arity: $arity,
            flags: crate::redis::commands::flags::$flags,
            since: $since,
            syntax: $syntax,
            summary: $summary,
            $(remark: $remark,)?
            handler: Handler::Typed(Verb::$verb),
            ..$base
        },)* $(&crate::redis::commands::help::row($help))?];
    };
}

/// Lists the rows of commands on several keys of data types.
macro_rules! group_rows {
    ($base:ident; $($name:literal $verb:ident $arity:literal $flags:ident $keys:ident $places:ident $since:literal $syntax:literal,
        $summary:literal $(, $remark:literal)?;)*) => {
        pub(super) static GROUP_ROWS: &[&Spec] = &[$(&Spec {
            name: $name,
            arity: $arity,
            flags: crate::redis::commands::flags::$flags,
            keys: Keys::$keys,
            since: $since,
            syntax: $syntax,
            summary: $summary,
            $(remark: $remark,)?
            handler: Handler::Group(Verb::$verb, typed::$places),
            ..$base
        }),*];
    };
}

mod bitmap;
mod blocking;
pub(super) mod connection;
mod consumer_group;
mod generic;
mod geo;
mod hash;
mod help;
mod hyperloglog;
mod list;
mod pubsub;
pub(super) mod scripting;
mod server;
mod set;
mod sorted_set;
mod stream;
mod stream_read;
pub(super) mod string;
mod tidemark;
mod transactions;
mod wait;

/// Every row, by group.
pub(super) static GROUPS: &[&[&Spec]] = &[
    string::COMMANDS,
    string::ROWS,
    string::GROUP_ROWS,
    bitmap::ROWS,
    bitmap::GROUP_ROWS,
    hyperloglog::ROWS,
    hyperloglog::GROUP_ROWS,
    hash::ROWS,
    set::ROWS,
    set::GROUP_ROWS,
    sorted_set::ROWS,
    sorted_set::GROUP_ROWS,
    geo::ROWS,
    geo::GROUP_ROWS,
    list::ROWS,
    list::GROUP_ROWS,
    blocking::COMMANDS,
    stream::ROWS,
    stream_read::COMMANDS,
    consumer_group::ROWS,
    consumer_group::COMMANDS,
    generic::ROWS,
    generic::GROUP_ROWS,
    generic::COMMANDS,
    wait::COMMANDS,
    pubsub::COMMANDS,
    connection::COMMANDS,
    server::COMMANDS,
    server::refused::COMMANDS,
    scripting::COMMANDS,
    scripting::ROWS,
    scripting::FUNCTION_ROWS,
    transactions::COMMANDS,
    tidemark::COMMANDS,
];
