//! Tests of the RESP codec from outside.

mod checks;
mod mutation;
mod replies;
mod requests;
