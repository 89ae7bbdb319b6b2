//! **Monotonic writes**: of two writes of a key by one session, the later one wins everywhere.
//!
//! Source: Terry et al. (PDIS 1994), per key as in the dissertation's Definition 6: where the later write is
//! committed nobody reads the earlier one. Under last-writer-wins that is a statement about their stamps.
//! The global form, across keys, is part of causal consistency.
//!
//! A write that did not ask for it ([`tidemark_core::Guarantees`]) is exempt; what it wrote counts for later ones.

use super::{Finding, Findings};
use crate::index::{Index, Ref};
use crate::property::Property;
use crate::report::Violation;

/// `own` is the newest version of the key that the session wrote before.
#[inline]
pub(super) fn on_write(findings: &mut Findings<'_>, e: u32, wrote: Ref, own: u32) {
    if findings.index.rank(own) > findings.index.rank(wrote.version) {
        findings.found(Property::MonotonicWrites, e, wrote, own);
    }
}

pub(super) fn tell(index: &Index<'_>, f: &Finding) -> Violation {
    let explanation = format!(
        "{} writes {} = {}, which loses to its own earlier write {}",
        index.actor(f.e),
        index.key_words(f.at.key),
        index.version_words(f.at.version),
        index.version_words(f.newer)
    );
    let steps = index.story(index.own_story(index.version(f.newer).writer, f.e));
    Violation { property: f.property, explanation, steps }
}
