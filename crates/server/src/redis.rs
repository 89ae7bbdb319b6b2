//! The Redis surface that needs neither the store nor a socket: what a request means, and the answers that a
//! connection and the server's settings suffice for.
//!
//! A gateway drives one [`Connection`] a client:
//!
//! ```text
//! parser.set_authenticated(connection.is_authenticated());
//! let Some(mut request) = parser.parse(&mut buffer)? else { read more };
//! match connection.parse(&mut request) {
//!     Err(error) => error.write(&mut encoder),
//!     Ok(Command::Local(call)) => connection.handle(&call, &mut context, &mut encoder),   // → Next
//!     Ok(command) => ask the store, then write its reply,
//! }
//! if connection.is_muted() { drop what was or will be written for this request }
//! ```
//!
//! Every command is one row of [`Table`]: the row decides arity errors, `COMMAND` and `docs/commands.md`. Wording
//! and order of checks were compared with redis-server 7.0; what 7.2 added follows its documentation.

mod command;
mod commands;
mod config;
mod connection;
mod document;
mod error;
mod glob;
mod registry;
mod table;

pub use command::{Call, Command, parse};
pub use commands::guarantee::Levels;
pub use commands::info::{Facts, ServerInfo};
pub use config::Config;
pub use connection::{Connection, Context, Next};
pub use document::command_document;
pub use error::ErrorReply;
pub use glob::glob_matches;
pub use registry::{Client, ClientRegistry};
pub use table::{Group, Handler, Keys, LocalFn, ParseFn, Spec, Table};

/// The version of Redis whose behaviour clients may expect.
pub const REDIS_VERSION: &str = "7.2.0";
