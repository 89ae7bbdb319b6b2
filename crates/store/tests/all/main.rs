//! Version chains and the log through the public interface.

mod at_once;
mod deadlines;
mod follow;
mod log_ballast;
mod log_crash;
mod log_failures;
mod log_fixture;
mod log_large;
mod log_recovery;
mod log_smoke;
mod log_snapshot;
mod log_support;
mod log_throughput;
mod sim_disk;
mod typed;
