//! **Transactions** of several operations: each reads its own writes, and nobody reads what a transaction
//! itself overwrote. Found under the snapshot property.
//!
//! Source: the axioms INT and EXT of Cerone, Bernardi and Gotsman, *A framework for transactional consistency
//! models with atomic visibility* (CONCUR 2015); checked separately by the checkers of histories in the
//! `r(…)`/`w(…)` form.

use super::Findings;
use crate::hash::Map;
use crate::index::{ABSENT, Index, NONE, UNCHECKED};
use crate::property::Property;
use crate::report::{Link, Violation};
use crate::story::read_words;

pub(crate) fn check(findings: &mut Findings<'_>) {
    let index = findings.index;
    // Per overwritten version: its transaction, as session and position.
    let mut overwritten: Map<u32, (u32, u32)> = Map::default();
    for session in 0..index.session_ids.len() as u32 {
        let same = |a: &u32, b: &u32| index.pos[*a as usize] == index.pos[*b as usize];
        for events in index.events_of(session).chunk_by(same).filter(|t| t.len() > 1) {
            let mut own: Map<u32, u32> = Map::default();
            for e in events {
                for read in index.reads_of(*e).iter().filter(|r| r.version != UNCHECKED) {
                    if let Some(written) = own.get(&read.key).filter(|w| **w != read.version) {
                        let written = *written;
                        findings.told(Property::Snapshot, |index| {
                            let explanation = format!(
                                "{} reads {}, not what its transaction had written: {}",
                                index.actor(*e),
                                read_words(index, *read),
                                index.version_words(written)
                            );
                            two_steps(index, written, *e, explanation)
                        });
                    }
                }
                let wrote = index.wrote[*e as usize];
                if wrote != ABSENT
                    && let Some(earlier) = own.insert(index.version(wrote).key, wrote)
                {
                    overwritten.insert(earlier, (session, index.pos[*e as usize]));
                }
            }
        }
    }
    for e in 0..index.history.events.len() as u32 {
        for read in index.reads_of(e) {
            let here = (index.session_of[e as usize], index.pos[e as usize]);
            if overwritten.get(&read.version).is_some_and(|by| *by != here) {
                findings.told(Property::Snapshot, |index| {
                    let explanation = format!(
                        "{} reads {}, which the transaction that wrote it overwrote itself",
                        index.actor(e),
                        read_words(index, *read)
                    );
                    two_steps(index, read.version, e, explanation)
                });
            }
        }
    }
}

fn two_steps(index: &Index<'_>, version: u32, e: u32, explanation: String) -> Violation {
    let writer = index.version(version).writer;
    debug_assert!(writer != NONE, "a transaction wrote it");
    let steps = vec![index.step(writer, Link::Beside), index.step(e, Link::Beside)];
    Violation { property: Property::Snapshot, explanation, steps }
}
