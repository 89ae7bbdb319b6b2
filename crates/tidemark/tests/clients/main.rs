//! Unmodified clients against a running node, and its replies beside those of redis-server.
//!
//! The tests install what they need themselves: `redis-server` and `redis-tools` with apt-get (through sudo unless
//! root), redis-py into a virtual environment and the two JavaScript clients into a folder, both under `target/`, and so
//! the applications; Chromium with apt-get, or else with Playwright. An install that fails fails the test; the tests of the
//! session helpers, of applications and of the edge client are left out then, unless all tests have to run. Only Go, and
//! Java with Maven, have to be there for the tests with YCSB, which are left out otherwise; where all tests have to run,
//! they fail.

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
