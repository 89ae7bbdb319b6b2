//! Tests of the RESP codec from outside.

mod ahead;
mod checks;
mod encoding;
mod inline;
mod mutation;
mod numbers;
mod replies;
mod requests;
