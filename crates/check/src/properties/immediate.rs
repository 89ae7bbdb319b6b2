//! **Immediate local visibility**: once a write was acknowledged in a data centre, every GET that starts
//! there later returns it or a newer version.
//!
//! Source: the dissertation's Definition 15 (causal++), with I = {GET}. Read-only transactions are exempt:
//! they may answer from an older snapshot. So are updates, whose observation Definition 15 does not name.
//!
//! Needs times on one clock. "Later" is strict, since a reading of the clock is a whole microsecond long.

use super::{Finding, Findings};
use crate::hash::Map;
use crate::index::{ABSENT, Index, Ref, UNCHECKED};
use crate::property::Property;
use crate::report::{Link, Violation};
use crate::story::read_words;
use tidemark_core::DcId;
use tidemark_core::history::{Action, Fate, ReadKind};

/// Per data centre and key: what was acknowledged there, in the order of its end times.
pub(super) type Acknowledged = Map<(u8, u32), Vec<(u64, u32)>>;

/// Every write that was acknowledged at a known time.
pub(super) fn acknowledged(index: &Index<'_>) -> Acknowledged {
    let mut writes = Acknowledged::default();
    for (e, event) in index.history.events.iter().enumerate() {
        let version = index.wrote[e];
        if let (true, Fate::Ok, Some(end_us)) = (version != ABSENT, event.fate, event.end_us) {
            let dc = carried_out_in(index, e as u32, version).unwrap_or(event.dc);
            writes.entry((dc.0, index.version(version).key)).or_default().push((end_us, version));
        }
    }
    // tidy: allowed, because each list is put in order on its own.
    writes.values_mut().for_each(|list| list.sort_unstable());
    writes
}

/// Where a transaction was carried out: elsewhere, if its session's data centre does not hold all of its keys. There it is not
/// immediate. (What a session writes of one key that its data centre does not hold is read elsewhere, too.)
fn carried_out_in(index: &Index<'_>, e: u32, version: u32) -> Option<DcId> {
    let stamp = index.version(version).stamp.filter(|_| index.transaction(e).len() > 1);
    stamp.map(|stamp| stamp.origin)
}

/// Tells `owed`, of what every GET with a start time returned, the last entry before it. Returns how many GETs have
/// no start time.
pub(super) fn look(
    index: &Index<'_>,
    acknowledged: &Acknowledged,
    mut owed: impl FnMut(u32, Ref, u32),
) -> u64 {
    let mut untimed = 0;
    for (e, event) in index.history.events.iter().enumerate() {
        if !matches!(event.action, Action::Read { kind: ReadKind::Get, .. }) || event.fate != Fate::Ok {
            continue;
        }
        let Some(start_us) = event.start_us else {
            untimed += 1;
            continue;
        };
        for read in index.reads_of(e as u32).iter().filter(|r| r.version != UNCHECKED) {
            let Some(list) = acknowledged.get(&(event.dc.0, read.key)) else { continue };
            let before = list.partition_point(|(end_us, _)| *end_us < start_us);
            if let Some(last) = before.checked_sub(1) {
                owed(e as u32, *read, list[last].1);
            }
        }
    }
    untimed
}

/// White box: checks every GET that has a start time. Returns how many GETs have none.
pub(crate) fn check(findings: &mut Findings<'_>) -> u64 {
    let index = findings.index;
    let mut acknowledged = acknowledged(index);
    // tidy: allowed, because each list is changed on its own: an entry becomes the newest version so far.
    for list in acknowledged.values_mut() {
        let mut newest = ABSENT;
        for (_, version) in list {
            newest = if index.rank(*version) > index.rank(newest) { *version } else { newest };
            *version = newest;
        }
    }
    look(index, &acknowledged, |e, read, newest| {
        if index.rank(newest) > index.rank(read.version) && !index.excused(read, newest) {
            findings.found(Property::Immediate, e, read, newest);
        }
    })
}

pub(super) fn tell(index: &Index<'_>, f: &Finding) -> Violation {
    let writer = index.version(f.newer).writer;
    let time = |us: Option<u64>| us.unwrap_or_default();
    let explanation = format!(
        "{} reads {} at {} us, although {} was acknowledged there at {} us",
        index.actor(f.e),
        read_words(index, Ref { ..f.at }),
        time(index.event(f.e).start_us),
        index.version_words(f.newer),
        time(index.event(writer).end_us)
    );
    let steps = vec![index.step(writer, Link::Beside), index.step(f.e, Link::Later)];
    Violation { property: f.property, explanation, steps }
}
