//! **Writes follow reads**, per key: a session's write of a key wins over every version of it that the
//! session had read.
//!
//! Source: Terry et al. (PDIS 1994), per key as in the dissertation's Definition 7: where the write is
//! committed nobody reads what its writer had read. Under last-writer-wins that is a statement about stamps.
//! What an update observed counts as read before it.
//!
//! A write that did not ask for it ([`tidemark_core::Guarantees`]) is exempt; what it wrote counts for later ones.

use super::{Finding, Findings};
use crate::index::{Index, Ref};
use crate::property::Property;
use crate::report::Violation;

/// `seen` is the newest version of the key that the session has read.
#[inline]
pub(super) fn on_write(findings: &mut Findings<'_>, e: u32, wrote: Ref, seen: u32) {
    if findings.index.rank(seen) > findings.index.rank(wrote.version) {
        findings.found(Property::WritesFollowReads, e, wrote, seen);
    }
}

pub(super) fn tell(index: &Index<'_>, f: &Finding) -> Violation {
    let explanation = format!(
        "{} writes {} = {}, which loses to {}, although it had read that",
        index.actor(f.e),
        index.key_words(f.at.key),
        index.version_words(f.at.version),
        index.version_words(f.newer)
    );
    let steps = index.story(index.own_story(index.earlier_read(f.e, f.newer).unwrap_or(f.e), f.e));
    Violation { property: f.property, explanation, steps }
}
