//! Scripts in Lua 5.1, as Redis runs them: a sandbox with the libraries that Redis has, and replies as scripts see them.
//!
//! Nothing here knows of keys, of the store or of time. A [`Host`] carries out the commands of a script and says how long it has
//! run.
//!
//! **Limits.** A script may run for [`Limits::run`], measured by the host, and hold [`Limits::memory`]. One that does not keep to them
//! is stopped, wherever it is; it cannot catch that. A function of a library runs to its end: a pattern that makes
//! `string.find` search for very long is not stopped.
//!
//! **Sandbox.** Globals and libraries cannot be changed, and a name that nobody has defined is an error. An empty table stands before
//! each of them. There is no `os`, `io`, `debug` or `require`, and no compiled chunk is loaded.

mod convert;
mod functions;
mod interpreter;
mod libraries;
mod number;
mod random;
mod redis;
mod sha1;
mod shebang;

pub use functions::{Header, Registered, is_name};
pub use interpreter::{Ended, Host, Interpreter, Limits, Script};
pub use sha1::sha1_hex;
pub use shebang::Shebang;
