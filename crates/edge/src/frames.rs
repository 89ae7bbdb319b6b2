//! What a client and its gateway send each other over a WebSocket: one frame a binary message.
//!
//! Many fields are differences to what was sent before on the same connection: keys become short references, bases become
//! the ticks that brought them, times become distances to the newest entry of a base. [`ClientLink`] and [`GatewayLink`] hold
//! what both sides have to remember for that, one for each connection. All frames pass through them, in the order in which they are
//! sent and received, so that neither side can compute a difference to something else than the other.
//!
//! **Invariants**
//! - I1 Whatever the bytes are, decoding returns a frame or [`Malformed`]; it never panics.
//! - I2 What decoding allocates is bounded by a constant times the length of the input.
//! - I3 A frame has one encoding: varints are minimal, fields and members ascend, references are the oldest unused numbers.

mod base;
mod link;
mod primitive;
mod row;
mod to_client;
mod to_gateway;
mod transaction;
mod value;

pub use base::Base;
pub use link::{ClientLink, GatewayLink, TICKS_KEPT, TICKS_REFERRED_TO};
pub use primitive::{Malformed, Unsendable};
pub(crate) use row::{decode_row, encode_row};
pub use to_client::{SHARED, Tick, ToClient, Welcome};
pub use to_gateway::{Hello, ToGateway, VERSION};
pub use transaction::{Body, Chain, Operation, OperationKind, Secret};
pub use value::{Change, NO_HASH, Update, Value, ValueHash, Written};

/// A frame has at most this many bytes.
pub const FRAME_MAX: usize = 16 << 20;

/// A key has 1 to this many bytes.
pub const KEY_MAX: usize = 4096;

/// A client watches at most this many keys at a time.
pub const WATCHED_MAX: usize = 65_536;

/// Times in microseconds are below this: they are the upper 52 bits of an [`Hlc`](tidemark_core::Hlc), and a double holds them.
pub const MICROS_END: u64 = 1 << 52;
