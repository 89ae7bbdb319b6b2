//! Why transactions fail, in words.

use tidemark_contract::core::Failure;

/// Why the second look refuses: nothing has happened.
pub(super) fn changed() -> Failure {
    Failure::Refused("it has changed".into())
}

/// What was evaluated elsewhere was so too long ago.
pub(super) fn too_late() -> Failure {
    Failure::Unavailable(
        "the transaction was open for too long, and nothing was written: begin it again".into(),
    )
}

/// Why a command is given up.
pub(super) fn contested() -> Failure {
    Failure::Unavailable("other commands have changed its keys again and again".into())
}

/// D10.
pub(super) fn lags() -> Failure {
    Failure::Unavailable(
        "a partition of this region does not answer, and transactions wait for all of them".into(),
    )
}

/// T10, too late.
pub(super) fn not_shown() -> Failure {
    Failure::Indefinite(
        "the transaction has committed, but a partition of this region does not answer".into(),
    )
}
