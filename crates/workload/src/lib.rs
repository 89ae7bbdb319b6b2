//! What clients do, described once: a simulator and a load generator play the same workloads.
//!
//! A [`Workload`] is a description, a [`KeySpace`] names the keys, a [`Client`] makes one session's requests out of both,
//! and a [`Recorder`] keeps what they took. All of it follows from the seed: no clock, no thread, no socket.

mod cache;
mod cdf;
mod choose;
mod client;
mod error;
mod filling;
mod keys;
mod named;
mod objects;
mod pairs;
mod recorder;
mod social;
mod summary;
mod validate;
mod workload;
mod zipf;

pub use cache::Cache;
pub use cdf::{Cdf, Point};
pub use client::{Client, Kind, Request};
pub use error::WorkloadError;
pub use keys::KeySpace;
pub use objects::{Change, Object, Objects, Shape, Transaction};
pub use recorder::{Failures, Recorder};
pub use summary::{Latency, Slice, Summary};
pub use workload::{Choice, Names, Pattern, Think, Workload};
pub use zipf::Zipf;
