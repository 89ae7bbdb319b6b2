//! The commands, one file a family: its rows of the table with what parses or answers them.

pub(super) mod checking;
pub(super) mod client;
pub(super) mod config;
pub(super) mod connection;
pub(super) mod generic;
pub(super) mod guarantee;
pub(super) mod help;
pub(super) mod info;
pub(super) mod introspection;
pub(super) mod server;
pub(super) mod session;
pub(super) mod string;

use super::table::Spec;

/// Every row.
pub(super) static FAMILIES: &[&[Spec]] = &[
    string::SPECS,
    generic::SPECS,
    session::SPECS,
    guarantee::SPECS,
    checking::SPECS,
    connection::SPECS,
    client::SPECS,
    config::SPECS,
    introspection::SPECS,
    info::SPECS,
    server::SPECS,
];
