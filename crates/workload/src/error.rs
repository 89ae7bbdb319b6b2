//! What is wrong with a description, and what to do about it.

use thiserror::Error;

/// Why a workload cannot be played.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum WorkloadError {
    /// No workload has this name.
    #[error("no workload is called {name:?}: there are {known}")]
    UnknownName {
        /// What was asked for.
        name: String,
        /// What there is, separated by commas.
        known: String,
    },
    /// The workload has no setting of this name.
    #[error("workload {workload:?} has no setting {setting:?}: it has {known}")]
    UnknownSetting {
        /// The workload.
        workload: String,
        /// What was asked for.
        setting: String,
        /// What there is, separated by commas.
        known: String,
    },
    /// A setting has a value that means nothing.
    #[error("setting {setting:?} of workload {workload:?}: {reason}")]
    BadValue {
        /// The workload.
        workload: String,
        /// Which setting.
        setting: String,
        /// What is wrong with it, and what would be right.
        reason: String,
    },
    /// The description and the store do not fit together.
    #[error("workload {workload:?} cannot be played here: {reason}")]
    DoesNotFit {
        /// The workload.
        workload: String,
        /// What does not fit, and what to change.
        reason: String,
    },
    /// A description does not say which workload it changes.
    #[error("a workload needs `base`, the name of the workload that it changes: one of {known}")]
    NoBase {
        /// What there is, separated by commas.
        known: String,
    },
}
