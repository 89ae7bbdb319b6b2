//! Unmodified clients against a running node, and its replies beside those of redis-server.
//!
//! `./x fetch --full` installs what the tests need, in the versions that are pinned. A test whose clients are not there is left
//! out; where all tests have to run, it fails.

mod applications;
mod differential;
mod documents;
mod edge;
#[path = "../torture/harness/mod.rs"]
mod harness;
mod install;
mod libraries;
mod sessions;
mod tools;
mod ycsb;
