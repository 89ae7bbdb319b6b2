//! RESP, the protocol of Redis clients: requests in, replies out, and the client's side of both.
//!
//! Nothing here reads a socket. A server fills a `BytesMut` and asks [`RequestParser`] for the requests in it;
//! it appends replies to a `Vec<u8>` through an [`Encoder`]. A client does the reverse with [`encode_request`]
//! and [`Decoder`].
//!
//! Source: the RESP2 and RESP3 specifications; limits, quoting rules and the wording of protocol errors were
//! compared with redis-server 7.0 through raw sockets.

mod ahead;
mod decode;
mod encode;
mod inline;
mod number;
mod protocol_error;
mod reply;
mod request;

pub use ahead::{Ahead, requests_ahead};
pub use decode::{DecodeError, Decoder, DecoderLimits};
pub use encode::{Encoder, Version, encode_request};
pub use number::{format_f64, parse_i64};
pub use protocol_error::ProtocolError;
pub use reply::Reply;
pub use request::{Request, RequestLimits, RequestParser};
