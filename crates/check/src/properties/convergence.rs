//! **Convergence**: after everything was exchanged, all replicas return the same version of a key, and it is
//! the newest one that is known to have been written.
//!
//! Source: the dissertation's Definition 16, for the last writer wins; seen through what each replica returns
//! in the end (the `final` lines of a history), since "eventually" is not to be seen in a finite one.
//!
//! A write without an answer may or may not be the newest. A tombstone and absence are the same. A black box
//! sees that replicas agree, and absence, but not which version is the newest (the causal promises do: a last
//! word is read with everything in its past).

use super::Findings;
use crate::index::{ABSENT, Index, NONE, Ref, UNCHECKED};
use crate::property::Property;
use crate::report::{Link, Step, Violation};
use crate::story::{found_words, last_word};
use tidemark_core::history::Fate;

pub(crate) fn check(findings: &mut Findings<'_>) {
    let index = findings.index;
    let mut by_key: Vec<u32> = (0..index.finals.len() as u32).collect();
    by_key.sort_by_key(|f| index.finals[*f as usize].key);
    for group in by_key.chunk_by(|a, b| index.finals[*a as usize].key == index.finals[*b as usize].key) {
        let newest = newest_known(index, index.finals[group[0] as usize].key);
        if let Some(other) = group.iter().find(|f| !same(index, group[0], **f)) {
            findings.told(Property::Convergence, |index| disagreement(index, group, group[0], *other));
        } else if index.finals[group[0] as usize].version != UNCHECKED {
            let last = index.finals[group[0] as usize];
            let lost = match index.white_box {
                true => index.rank(newest) > index.rank(last.version),
                false => newest != ABSENT && last.version == ABSENT,
            };
            if lost && !index.excused(last, newest) {
                findings.told(Property::Convergence, |index| lost_write(index, group, last, newest));
            }
        }
    }
}

/// Whether two replicas return the same.
fn same(index: &Index<'_>, a: u32, b: u32) -> bool {
    let (x, y) = (index.finals[a as usize].version, index.finals[b as usize].version);
    let gone = |v: u32| v == ABSENT || index.version(v).delete;
    let value = |f: u32| &index.history.finals[f as usize].found.value;
    if x == UNCHECKED || y == UNCHECKED { value(a) == value(b) } else { x == y || gone(x) && gone(y) }
}

/// The newest version of `key` that is known to have been written: acknowledged, or seen. Removal if none.
fn newest_known(index: &Index<'_>, key: u32) -> u32 {
    let known = |v: &&u32| {
        let version = index.version(**v);
        version.writer != NONE && (index.event(version.writer).fate == Fate::Ok || version.readers > 0)
    };
    index.versions_of(key).iter().rev().find(known).copied().unwrap_or(ABSENT)
}

fn last_words(index: &Index<'_>, group: &[u32]) -> Vec<Step> {
    group.iter().map(|f| last_word(&index.history.finals[*f as usize])).collect()
}

fn writes_of(index: &Index<'_>, versions: &[u32]) -> Vec<Step> {
    let writer = |v: &u32| index.version(*v).writer;
    let known = versions.iter().filter(|v| **v != UNCHECKED && **v != ABSENT && writer(v) != NONE);
    known.map(|v| index.step(writer(v), Link::Beside)).collect()
}

fn disagreement(index: &Index<'_>, group: &[u32], a: u32, b: u32) -> Violation {
    let last = |f: u32| &index.history.finals[f as usize];
    let explanation = format!(
        "in the end {} returns {} = {}, and {} returns {}",
        last(a).dc,
        last(a).key,
        found_words(&last(a).found),
        last(b).dc,
        found_words(&last(b).found)
    );
    let version = |f: u32| index.finals[f as usize].version;
    let mut steps = writes_of(index, &[version(a), version(b)]);
    steps.extend(last_words(index, group));
    Violation { property: Property::Convergence, explanation, steps }
}

fn lost_write(index: &Index<'_>, group: &[u32], last: Ref, newest: u32) -> Violation {
    let key = index.key_words(last.key);
    let explanation = format!(
        "in the end every replica returns {key} = {}, and {} is lost",
        index.version_words(last.version),
        index.version_words(newest)
    );
    let mut steps = writes_of(index, &[last.version, newest]);
    steps.extend(last_words(index, group));
    Violation { property: Property::Convergence, explanation, steps }
}
