//! **Causal+** for single reads: a read of a key returns the newest version of it in the session's causal
//! past, or a newer one. A stale read of a key's initial absence is a violation too.
//!
//! Source: the dissertation's Definition 14 with 8 (happens-before), 9 (dependency) and 13 (visible+), for
//! the last writer wins; first stated by Lloyd et al., *Don't settle for eventual* (COPS, SOSP 2011).
//!
//! Removal is fine where a delete at or above that version may have been collected. What an update observed
//! is a single read. A read-only transaction is several of them, each owed what its session's past held before it;
//! the snapshot property asks for that too, and where it is checked, such a violation is reported there alone. What
//! a transaction returns is in the past of what follows.

use super::{Finding, Findings};
use crate::index::{Index, Ref};
use crate::property::Property;
use crate::report::Violation;
use crate::story::read_words;
use crate::walk::Past;

#[inline]
pub(super) fn on_read(findings: &mut Findings<'_>, e: u32, read: Ref, past: &Past<'_>) {
    let index = findings.index;
    if let Some(newer) = past.newest_above(read.key, index.rank(read.version))
        && !index.excused(read, newer)
    {
        findings.found(Property::Causal, e, read, newer);
    }
}

pub(super) fn tell(index: &Index<'_>, f: &Finding) -> Violation {
    let explanation = format!(
        "{} reads {}, but {} is in its causal past",
        index.actor(f.e),
        read_words(index, f.at),
        index.version_words(f.newer)
    );
    Violation { property: f.property, explanation, steps: index.chain_or_ends(f.newer, f.e, false) }
}
