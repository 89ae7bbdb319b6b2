//! **Reads at a time**: a read as of a time returns of each key the newest version up to then, whoever asks, wherever and
//! whenever. Found under well-formedness, which every promise includes: such reads are of no use unless they repeat.
//!
//! Source: NuKV (ICDCN 2019), §2.2, which wants "the version of a data object at a given physical time". A black box sees that
//! reads of one key at one time agree. A white box sees as well which versions have times up to then: those that were acknowledged, or
//! that somebody read. A tombstone and absence are the same.

use super::Findings;
use crate::hash::Map;
use crate::index::{ABSENT, Index, NONE, Ref, UNCHECKED};
use crate::property::Property;
use crate::report::{Link, Violation};
use crate::story::read_words;
use tidemark_core::history::Fate;
use tidemark_core::{Hlc, Micros};

pub(crate) fn check(findings: &mut Findings<'_>) {
    let index = findings.index;
    // Per time and key: the first read.
    let mut first: Map<(Micros, u32), (u32, Ref)> = Map::default();
    for e in 0..index.history.events.len() as u32 {
        let Some(time) = index.event(e).as_of_us else { continue };
        for read in index.reads_of(e).iter().filter(|read| read.version != UNCHECKED) {
            let (other, before) = *first.entry((time, read.key)).or_insert((e, *read));
            if !same(index, before.version, read.version) {
                findings.told(Property::WellFormed, |index| {
                    disagreement(index, time, (other, before), (e, *read))
                });
            } else if let Some(missed) = missed(index, time, *read) {
                findings.told(Property::WellFormed, |index| other_version(index, time, (e, *read), missed));
            }
        }
    }
}

fn gone(index: &Index<'_>, version: u32) -> bool {
    version == ABSENT || index.version(version).delete
}

fn same(index: &Index<'_>, a: u32, b: u32) -> bool {
    a == b || gone(index, a) && gone(index, b)
}

/// The version that a read of a key at `time` should have returned, in a white box, if it returned another.
fn missed(index: &Index<'_>, time: Micros, read: Ref) -> Option<u32> {
    if !index.white_box {
        return None;
    }
    let there = |v: &&u32| index.version(**v).stamp.is_some_and(|stamp| stamp.ts <= Hlc::at(time));
    let known = |v: &&u32| {
        let version = index.version(**v);
        version.writer != NONE && (index.event(version.writer).fate == Fate::Ok || version.readers > 0)
    };
    let versions = index.versions_of(read.key).iter().rev();
    let newest = versions.filter(there).find(known).copied().unwrap_or(ABSENT);
    // What a session of an unanswered write alone has read is newer than all that is known.
    let newer = index.rank(read.version) > index.rank(newest) && there(&&read.version);
    (!same(index, newest, read.version) && !newer).then_some(newest)
}

fn disagreement(index: &Index<'_>, time: Micros, a: (u32, Ref), b: (u32, Ref)) -> Violation {
    let explanation = format!(
        "as of {time}, {} reads {}, and {} reads {}",
        index.actor(a.0),
        read_words(index, a.1),
        index.actor(b.0),
        read_words(index, b.1)
    );
    tell(index, explanation, &[a.1.version, b.1.version], &[a.0, b.0])
}

fn other_version(index: &Index<'_>, time: Micros, (e, read): (u32, Ref), newest: u32) -> Violation {
    let was = match newest {
        ABSENT => "nothing had been written".to_string(),
        newest => format!("the newest version was {}", index.version_words(newest)),
    };
    let explanation =
        format!("as of {time}, {} reads {}, although {was} by then", index.actor(e), read_words(index, read));
    tell(index, explanation, &[read.version, newest], &[e])
}

/// Who wrote these versions, and who read.
fn tell(index: &Index<'_>, explanation: String, versions: &[u32], readers: &[u32]) -> Violation {
    let writers = versions.iter().filter(|v| **v != ABSENT).map(|v| index.version(*v).writer);
    let mut steps: Vec<_> =
        writers.filter(|writer| *writer != NONE).map(|writer| index.step(writer, Link::Beside)).collect();
    steps.extend(readers.iter().map(|e| index.step(*e, Link::Beside)));
    Violation { property: Property::WellFormed, explanation, steps }
}
