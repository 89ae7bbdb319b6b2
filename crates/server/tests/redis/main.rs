//! Tests of the Redis surface from outside.

mod answers;
mod clients;
mod documents;
mod harness;
mod parsing;
mod pubsub;
mod server;
mod settings;
