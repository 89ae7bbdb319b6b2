//! The client, the gateway and the frames between them; the file of a client; and all of it over the default protocol.

mod bytes;
mod client;
mod file;
mod frames;
mod gateway;
mod lists;
mod model;
mod support;
mod transcripts;
mod values;
mod whole;
