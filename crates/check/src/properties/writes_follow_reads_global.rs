//! **Writes follow reads**, global: who has read a write of any key reads nothing older, later, than what the
//! writer had itself read before that write.
//!
//! Source: Terry et al. (PDIS 1994), whose guarantee spans keys: if a session reads W1 and then writes W2,
//! then W2 is nowhere visible without W1. It is one step of causality, without transitivity. No promise
//! asks for it alone; [`Property::Causal`] implies it.
//!
//! What a write observed counts as read before it. A `snapshot` may miss its session's past, and is exempt.

use super::{Finding, Findings};
use crate::index::{Index, Ref};
use crate::property::Property;
use crate::report::{Link, Step, Violation};
use crate::story::read_words;

/// `owed` is the newest version of the key that the writers of what the session has read had read before.
#[inline]
pub(super) fn on_read(findings: &mut Findings<'_>, e: u32, read: Ref, owed: u32) {
    let index = findings.index;
    if index.rank(owed) > index.rank(read.version) && !index.excused(read, owed) {
        findings.found(Property::WritesFollowReadsGlobal, e, read, owed);
    }
}

pub(super) fn tell(index: &Index<'_>, f: &Finding) -> Violation {
    let explanation = format!(
        "{} reads {}, although it had read a write whose session had read the newer {}",
        index.actor(f.e),
        read_words(index, f.at),
        index.version_words(f.newer)
    );
    let steps = witness(index, f.e, f.newer).unwrap_or_else(|| index.chain_or_ends(f.newer, f.e, false));
    Violation { property: f.property, explanation, steps }
}

/// Who had read `owed` and then wrote what the session of event `e` read.
pub(super) fn witness(index: &Index<'_>, e: u32, owed: u32) -> Option<Vec<Step>> {
    index.earlier(e).find_map(|here| {
        index.written(here).find_map(|wrote| {
            let sees = |i: &u32| index.reads_of(*i).iter().any(|r| r.version == owed);
            let saw = index.earlier(wrote).chain([wrote]).find(sees)?;
            let story = [(index.version(owed).writer, Link::Beside), (saw, Link::ReadsFrom)].into_iter();
            let story = story.chain(index.own_story(saw, wrote));
            let story = story.chain([(here, Link::ReadsFrom)]).chain(index.own_story(here, e));
            Some(index.story(story))
        })
    })
}
