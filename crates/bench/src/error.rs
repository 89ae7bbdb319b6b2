//! Why there is no measurement.

use tidemark_workload::WorkloadError;

/// Nothing was measured, and why. What breaks during a measurement is in its report instead.
#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    /// The plan makes no sense.
    #[error("{0}")]
    Plan(String),
    /// The workload makes no sense, or does not fit.
    #[error(transparent)]
    Workload(#[from] WorkloadError),
    /// A server cannot be reached, or does not want to talk.
    #[error("region {region}: {address} {reason}")]
    Unreachable {
        /// The region.
        region: String,
        /// The server, as host:port.
        address: String,
        /// What is wrong, and what to do.
        reason: String,
    },
    /// The store cannot be filled.
    #[error("the store cannot be filled: {0}")]
    Fill(String),
    /// This machine lacks something.
    #[error("the load cannot be generated here: {0}")]
    Machine(#[from] std::io::Error),
}

impl BenchError {
    /// Whether the command was wrong, and not a server.
    pub fn is_usage(&self) -> bool {
        matches!(self, Self::Plan(_) | Self::Workload(_))
    }
}
