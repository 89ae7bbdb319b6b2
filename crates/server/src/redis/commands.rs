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

pub(super) mod connection;
mod generic;
mod help;
mod scripting;
mod server;
pub(super) mod string;
mod tidemark;

/// Every row, by group.
pub(super) static GROUPS: &[&[&Spec]] = &[
    string::COMMANDS,
    generic::COMMANDS,
    connection::COMMANDS,
    server::COMMANDS,
    scripting::COMMANDS,
    tidemark::COMMANDS,
];
