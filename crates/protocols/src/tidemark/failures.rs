//! Why transactions fail, in words.

use tidemark_contract::core::{DcId, Failure};

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

/// D16.
pub(super) fn no_bases(most: usize) -> Failure {
    Failure::Refused(match most {
        0 => "this cluster keeps no snapshots that several regions have: base_regions in [protocol] is 0"
            .into(),
        most => {
            format!("this cluster keeps snapshots that up to {most} regions have: base_regions in [protocol]")
        }
    })
}

/// D16.
pub(super) fn no_base_yet(regions: usize) -> Failure {
    Failure::Unavailable(format!("{regions} regions have not told yet that they have the same snapshot"))
}

/// D17.
pub(super) fn no_edge() -> Failure {
    Failure::Refused(
        "this cluster takes no transactions of edge clients: set base_regions and edge_retain_us in [protocol]".into(),
    )
}

/// D17.
pub(super) fn not_after() -> Failure {
    Failure::Refused("the time of a transaction has to be above everything that it depends on".into())
}

/// D21: of what comes from a data centre that is excluded.
pub(super) fn bygone(dc: DcId) -> Failure {
    Failure::StaleSession(format!(
        "the session depends on what region {dc} had, and that was lost when the region was excluded: begin a new session"
    ))
}

/// D21.
pub(super) fn excluded_for_good(dc: DcId) -> String {
    format!(
        "region {dc} is excluded for good: what others had not received of it counts as never written, so it cannot be readmitted"
    )
}
