//! Edge clients over WebSockets.
//!
//! - [`Driver`] drives the [client](tidemark_edge::client), which has no input and output of its own: it connects, sends, keeps time, and
//!   writes to the client's [`Disk`].
//! - [`Endpoint`] is where a gateway listens.
//! - [`load`] is many of them, and measures what they see.

mod disk;
mod driver;
mod endpoint;
pub mod load;
mod socket;

pub use disk::Disk;
pub use driver::{Driver, Setup, Traffic, draw_secret};
pub use endpoint::{BadEndpoint, Endpoint};
