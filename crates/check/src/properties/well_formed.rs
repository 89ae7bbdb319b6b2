//! **Well formed**: every version read was written by somebody, with that value; no write became two
//! versions and no two writes one; nobody reads what is written only because of that read.
//!
//! Source: ThinAirRead and CyclicCO of Bouajjani et al., *On verifying causal consistency* (POPL 2017); at
//! most once, as Zawirski et al.'s SwiftCloud (Middleware 2015) guards it. Every promise includes it.

use super::Findings;
use crate::index::{Index, NONE, Oddity, Ref};
use crate::property::Property;
use crate::report::{Link, Step, Violation};
use crate::story::found_words;
use crate::walk::Cycle;
use tidemark_core::Found;
use tidemark_core::history::{Action, Fate};

pub(crate) fn check(findings: &mut Findings<'_>, cycles: &[Cycle]) {
    let index = findings.index;
    for oddity in &index.oddities {
        findings.told(Property::WellFormed, |index| tell(index, oddity));
    }
    for cycle in cycles {
        findings.told(Property::WellFormed, |index| tell_cycle(index, cycle));
    }
}

fn violation(explanation: String, steps: Vec<Step>) -> Violation {
    Violation { property: Property::WellFormed, explanation, steps }
}

fn reader(index: &Index<'_>, event: u32) -> String {
    if event == NONE { "a replica in the end".to_string() } else { index.actor(event) }
}

fn steps(index: &Index<'_>, writer: u32, event: u32, link: Link) -> Vec<Step> {
    let known = |(e, link): (u32, Link)| (e != NONE).then(|| index.step(e, link));
    [(writer, Link::Beside), (event, link)].into_iter().filter_map(known).collect()
}

/// The write that failed, or came to nothing, although `found` is what it would have written.
fn failed_writer(index: &Index<'_>, read: Ref, found: &Found) -> Option<u32> {
    let wanted = index.keys[read.key as usize];
    let wrote = |e: &u32| match &index.event(*e).action {
        Action::Write { key, value, .. } => {
            key == wanted
                && *value == found.value
                && matches!(index.event(*e).fate, Fate::Failed | Fate::Skipped)
        }
        _ => false,
    };
    (0..index.history.events.len() as u32).find(wrote)
}

fn tell(index: &Index<'_>, oddity: &Oddity) -> Violation {
    match oddity {
        Oddity::SameVersion { first, second } => violation(
            format!(
                "{} and {} wrote the same version of one key: {}",
                index.actor(*first),
                index.actor(*second),
                index.version_words(index.wrote[*first as usize])
            ),
            steps(index, *first, *second, Link::Beside),
        ),
        Oddity::ThinAir { event, read, found } => {
            let failed = failed_writer(index, *read, found);
            let why = if failed.is_some() { "whose write did not happen" } else { "which nobody wrote" };
            let key = index.key_words(read.key);
            let explanation =
                format!("{} reads {key} = {}, {why}", reader(index, *event), found_words(found));
            violation(explanation, steps(index, failed.unwrap_or(NONE), *event, Link::Beside))
        }
        Oddity::OtherValue { event, read, found } => violation(
            format!(
                "{} reads {} = {}, but that version was written as {}",
                reader(index, *event),
                index.key_words(read.key),
                found_words(found),
                index.version_words(read.version)
            ),
            steps(index, index.version(read.version).writer, *event, Link::ReadsFrom),
        ),
        Oddity::WrittenTwice { writer, event, first, second } => violation(
            format!(
                "one write became two versions: {} and {second}",
                first.map_or_else(|| "one".to_string(), |s| s.to_string())
            ),
            steps(index, *writer, *event, Link::Beside),
        ),
    }
}

fn tell_cycle(index: &Index<'_>, cycle: &Cycle) -> Violation {
    let mut steps = Vec::new();
    // Each event waits for a write of the next session; told from the last one on, causes come first.
    for (e, cause) in cycle.waits.iter().rev() {
        if steps.last().is_none_or(|s: &Step| s.event != Some(u64::from(*cause))) {
            let link = if steps.is_empty() { Link::Beside } else { Link::SessionOrder };
            steps.push(index.step(*cause, link));
        }
        let adopts = index.adopts(*e).is_some();
        steps.push(index.step(*e, if adopts { Link::Adopts } else { Link::ReadsFrom }));
    }
    let last = cycle.waits.last().map_or(NONE, |(_, cause)| *cause);
    steps.push(index.step(last, Link::SessionOrder));
    violation("a cycle of happens-before: events are in their own past".to_string(), steps)
}
