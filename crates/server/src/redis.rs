//! The Redis surface: what a request means, which operations of the session it takes, and how it is answered. It knows
//! [`tidemark_core::Op`] and [`tidemark_core::Outcome`], no protocol and no socket.
//!
//! A gateway drives one [`Connection`] a client:
//!
//! ```text
//! parser.set_authenticated(connection.is_authenticated());
//! let Some(mut request) = parser.parse(&mut buffer)? else { read more };
//! match connection.parse(&mut request)?.work {
//!     Work::Local(call) => connection.handle(&call, &mut context),   // → Next; then the command behind it
//!     Work::Operations(task) => task.begin(…), then a step for each outcome,
//! }
//! if connection.is_muted() { drop what was or will be written for this request }
//! ```
//!
//! Every command is a file below `commands` and one row of [`Table`]: the row decides arity errors, `COMMAND` and
//! `docs/commands.md`. Wording and order of checks were compared with redis-server 7.0; what 7.2 added follows its
//! documentation.

mod arguments;
mod blocking;
mod command;
mod command_stats;
mod commands;
mod config;
mod connection;
mod document;
mod error;
mod events;
mod failure;
mod functions;
mod interactive;
mod key_places;
mod keyspace;
mod latency;
mod mail;
mod operations;
mod pause;
mod prelude;
mod programs;
mod reading;
mod registry;
mod reserved;
mod scripts;
mod server_info;
mod shared;
mod slow_log;
mod spread;
mod subscriptions;
mod table;
mod task;
mod tracking;
mod transaction;
mod typed;
mod watch;

pub use blocking::{Confirmed, Queue, Wanted};
pub use command::{Call, Command, Work, parse};
pub use config::{Config, OutputLimit};
pub use connection::{Connection, Context, Next, Refusal};
pub use document::command_document;
pub use error::ErrorReply;
pub use events::Event;
pub use keyspace::Keyspace;
pub use mail::{Mail, Message, Publication};
pub use pause::{Extent, Pause, may_write};
pub use programs::interpret;
pub use registry::{Client, ClientRegistry};
pub(crate) use reserved::is_reserved;
pub use scripts::Scripts;
pub use server_info::{Facts, ServerInfo};
pub use shared::{Ended, Shared};
pub use subscriptions::{Counts, Space, Subscriptions};
pub use table::{Family, Group, Handler, Keys, LocalFn, ParseFn, Spec, Table};
pub use task::{Pending, Step, Steps, Task};
pub use tidemark_core::glob::glob_matches;
pub use tracking::{By, KeysRead, Tracking};
pub use watch::{Noted, Watch};

/// The version of Redis whose behaviour clients may expect.
pub const REDIS_VERSION: &str = "7.2.0";
