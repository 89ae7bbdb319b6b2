//! **Monotonic reads**: a session that has read a version of a key never reads an older one of it later.
//!
//! Source: Terry et al. (PDIS 1994), per key as in the dissertation's Definition 4.
//!
//! What a `snapshot` returned counts as read, but a `snapshot` itself may go back. Removal is fine where a
//! delete at or above what was read may have been collected.
//!
//! A read that did not ask for it ([`tidemark_core::Guarantees`]) is exempt; what it returned counts for later ones.

use super::{Finding, Findings};
use crate::index::{Index, Ref};
use crate::property::Property;
use crate::report::Violation;
use crate::story::read_words;

/// `seen` is the newest version of the key that the session has read.
#[inline]
pub(super) fn on_read(findings: &mut Findings<'_>, e: u32, read: Ref, seen: u32) {
    let index = findings.index;
    if index.rank(seen) > index.rank(read.version) && !index.excused(read, seen) {
        findings.found(Property::MonotonicReads, e, read, seen);
    }
}

pub(super) fn tell(index: &Index<'_>, f: &Finding) -> Violation {
    let explanation = format!(
        "{} reads {}, although it had read the newer {}",
        index.actor(f.e),
        read_words(index, f.at),
        index.version_words(f.newer)
    );
    let steps = index.story(index.own_story(index.earlier_read(f.e, f.newer).unwrap_or(f.e), f.e));
    Violation { property: f.property, explanation, steps }
}
