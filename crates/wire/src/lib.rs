//! What goes over a socket, as bytes in and values out (no IO).
//!
//! [`resp`] is the protocol of Redis clients, both versions, both sides.

pub mod resp;
