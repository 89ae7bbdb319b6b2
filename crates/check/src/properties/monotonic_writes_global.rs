//! **Monotonic writes**, global: who has read a write of any key reads nothing older, later, than what the writer
//! had itself written before that write.
//!
//! Source: Terry et al. (PDIS 1994), whose guarantee spans keys: if a session writes W1 and then W2, then W2 is
//! nowhere visible without W1. Like [`Property::WritesFollowReadsGlobal`] it is one step of causality, which no
//! promise asks for alone.
//!
//! A write without an answer is not owed. A `snapshot` may miss its session's past, and is exempt.

use super::{Finding, Findings};
use crate::index::{Index, Ref};
use crate::property::Property;
use crate::report::{Link, Step, Violation};
use crate::story::read_words;

/// `owed` is the newest version of the key that the writers of what the session has read had written before.
#[inline]
pub(super) fn on_read(findings: &mut Findings<'_>, e: u32, read: Ref, owed: u32) {
    let index = findings.index;
    if index.rank(owed) > index.rank(read.version) && !index.excused(read, owed) {
        findings.found(Property::MonotonicWritesGlobal, e, read, owed);
    }
}

pub(super) fn tell(index: &Index<'_>, f: &Finding) -> Violation {
    let explanation = format!(
        "{} reads {}, although it had read a write whose session had written the newer {} before",
        index.actor(f.e),
        read_words(index, f.at),
        index.version_words(f.newer)
    );
    let steps = witness(index, f.e, f.newer).unwrap_or_else(|| index.chain_or_ends(f.newer, f.e, false));
    Violation { property: f.property, explanation, steps }
}

/// Who wrote `owed` and then what the session of event `e` read.
pub(super) fn witness(index: &Index<'_>, e: u32, owed: u32) -> Option<Vec<Step>> {
    let first = index.version(owed).writer;
    index.earlier(e).find_map(|here| {
        index.written(here).find_map(|wrote| {
            index.earlier(wrote).find(|i| *i == first)?;
            let story = index.own_story(first, wrote).into_iter();
            let story = story.chain([(here, Link::ReadsFrom)]).chain(index.own_story(here, e));
            Some(index.story(story))
        })
    })
}
