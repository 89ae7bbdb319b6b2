//! **Read your writes**: once a session's write of a key was acknowledged, every later read of that key by
//! the session returns it or a newer version.
//!
//! Source: Terry et al., *Session guarantees for weakly consistent replicated data* (PDIS 1994), per key as in
//! the dissertation's Definition 5: what the session wrote is among the writes committed where it reads, and
//! of those the last writer wins.
//!
//! Reads that may miss the session's own past (`snapshot`) are exempt. Removal is fine where a delete at or
//! above the write may have been collected.
//!
//! A read that did not ask for it ([`tidemark_core::Guarantees`]) is exempt; what it returned counts for later ones.

use super::{Finding, Findings};
use crate::index::{Index, Ref};
use crate::property::Property;
use crate::report::Violation;
use crate::story::read_words;

/// `own` is the newest version of the key that the session wrote.
#[inline]
pub(super) fn on_read(findings: &mut Findings<'_>, e: u32, read: Ref, own: u32) {
    let index = findings.index;
    if index.rank(own) > index.rank(read.version) && !index.excused(read, own) {
        findings.found(Property::ReadYourWrites, e, read, own);
    }
}

pub(super) fn tell(index: &Index<'_>, f: &Finding) -> Violation {
    let explanation = format!(
        "{} reads {}, older than its own write {}",
        index.actor(f.e),
        read_words(index, f.at),
        index.version_words(f.newer)
    );
    let steps = index.story(index.own_story(index.version(f.newer).writer, f.e));
    Violation { property: f.property, explanation, steps }
}
