//! **Atomic writes**: a write transaction is seen whole. Who has seen one of its writes (a read-only transaction by
//! what it returns, a single read by what is in its session's causal past) reads of none of its keys a version older
//! than the transaction's.
//!
//! Source: atomic visibility of Cerone, Bernardi and Gotsman, *A framework for transactional consistency models with
//! atomic visibility* (CONCUR 2015); for causally consistent stores the convergent snapshots with atomic updates of
//! Akkoorath et al., *Cure* (ICDCS 2016).
//!
//! It is what causal consistency and snapshots say of histories in which a transaction counts whole, asked for alone:
//! for stores that promise no more, and to tell a torn transaction from a stale read. A transaction of which nobody
//! knows whether it happened counts whole as soon as somebody has read one of its writes; those of its writes that
//! nobody ever read have no place in the order, and are not asked about.

use super::{Finding, Findings};
use crate::index::{Index, NONE, Ref};
use crate::property::Property;
use crate::report::Violation;
use crate::story::read_words;
use crate::walk::Past;

#[inline]
pub(super) fn on_read(findings: &mut Findings<'_>, e: u32, read: Ref, seen: &Past<'_>) {
    let index = findings.index;
    let rank = index.rank(read.version);
    if seen.newest_above(read.key, rank).is_none() {
        return;
    }
    let torn = |v: &u32| seen.includes(*v) && of_several(index, *v) && !index.excused(read, *v);
    if let Some(newer) = index.newer(read.key, rank).find(torn) {
        findings.found(Property::AtomicWrites, e, read, newer);
    }
}

/// Whether a transaction of several operations wrote `version`.
fn of_several(index: &Index<'_>, version: u32) -> bool {
    let writer = index.version(version).writer;
    writer != NONE && index.transaction(writer).len() > 1
}

pub(super) fn tell(index: &Index<'_>, f: &Finding) -> Violation {
    let writer = index.version(f.newer).writer;
    let others = index.transaction(writer).iter().filter(|e| **e != writer);
    let others: Vec<String> = others.map(|e| index.event_words(*e)).collect();
    let explanation = format!(
        "{} reads {}, although it has seen a transaction that writes {} there (the transaction also {})",
        index.actor(f.e),
        read_words(index, f.at),
        index.version_words(f.newer),
        others.join(" and ")
    );
    Violation { property: f.property, explanation, steps: index.chain_or_ends(f.newer, f.e, true) }
}
