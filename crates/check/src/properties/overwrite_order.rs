//! **Overwrite order**: a version is newer than every version of its key that it causally depends on, so
//! that whoever overwrites what it has seen wins.
//!
//! Source: the dissertation, after Definition 12: if `v1 dep v2` then `f(v1, v2) = v1`, which Definitions 13
//! to 15 (causal+ and causal++) suppose of the conflict resolution `f`.

use super::{Finding, Findings};
use crate::index::{Index, Ref};
use crate::property::Property;
use crate::report::Violation;
use crate::walk::Past;

#[inline]
pub(super) fn on_write(findings: &mut Findings<'_>, e: u32, wrote: Ref, past: &Past<'_>) {
    if let Some(newer) = past.newest_above(wrote.key, findings.index.rank(wrote.version)) {
        findings.found(Property::OverwriteOrder, e, wrote, newer);
    }
}

pub(super) fn tell(index: &Index<'_>, f: &Finding) -> Violation {
    let explanation = format!(
        "{} writes {} = {}, which loses to {} in its own causal past",
        index.actor(f.e),
        index.key_words(f.at.key),
        index.version_words(f.at.version),
        index.version_words(f.newer)
    );
    Violation { property: f.property, explanation, steps: index.chain_or_ends(f.newer, f.e, true) }
}
