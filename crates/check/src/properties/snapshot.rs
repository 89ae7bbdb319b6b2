//! **Snapshot**: what one read-only transaction returns is a causally consistent set: for no X and Y in it is
//! there a version of X's key, newer than X, in the past of Y. A `rotx` includes its session's past as well;
//! a `snapshot` may miss it. Removal is a version like any other: the oldest.
//!
//! Source: the dissertation's Definitions 17 and 18 (causal consistency for a set of versions); the
//! `snapshot` kind is GET-SNAPSHOT of Du et al., *GentleRain* (SoCC 2014).
//!
//! Checking every pair is checking each X against the join of all pasts, so it costs no more than as many
//! single reads. A write transaction counts whole: who sees one of its writes has all of them in the past.

use super::{Finding, Findings};
use crate::index::{ABSENT, Index, NONE, Ref, UNCHECKED};
use crate::property::Property;
use crate::report::{Link, Step, Violation};
use crate::story::read_words;
use crate::walk::Past;

#[inline]
pub(super) fn on_read(findings: &mut Findings<'_>, e: u32, read: Ref, joint: &Past<'_>) {
    let index = findings.index;
    if let Some(newer) = joint.newest_above(read.key, index.rank(read.version))
        && !index.excused(read, newer)
    {
        findings.found(Property::Snapshot, e, read, newer);
    }
}

pub(super) fn tell(index: &Index<'_>, f: &Finding) -> Violation {
    let newer = index.version_words(f.newer);
    let (because, steps) = match through_returned(index, f) {
        Some((via, steps)) if via.version == f.newer => ("which it returns as well".to_string(), steps),
        Some((via, steps)) => {
            (format!("which is in the past of {}, which it returns as well", read_words(index, via)), steps)
        }
        None => ("which is in the session's past".to_string(), index.chain_or_ends(f.newer, f.e, true)),
    };
    let explanation = format!(
        "{} returns {} in one snapshot, older than {newer}, {because}",
        index.actor(f.e),
        read_words(index, f.at)
    );
    Violation { property: f.property, explanation, steps }
}

/// The version among those returned that has the newer one in its past, with the shortest story.
fn through_returned(index: &Index<'_>, f: &Finding) -> Option<(Ref, Vec<Step>)> {
    let known =
        |r: &&Ref| r.version != UNCHECKED && r.version != ABSENT && index.version(r.version).writer != NONE;
    let stories = index.reads_of(f.e).iter().filter(known).filter_map(|via| {
        let mut steps = index.chain(f.newer, index.version(via.version).writer, true)?;
        steps.push(index.step(f.e, Link::ReadsFrom));
        Some((*via, steps))
    });
    stories.min_by_key(|(_, steps)| steps.len())
}
