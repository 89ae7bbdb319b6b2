//! No update of a region is lost: an update that looks before it writes has seen whatever its region had written below it.
//!
//! Definition 15 of the dissertation (causal++) says when a GET sees a write of its own region, and leaves updates out. Commands of
//! data types rely on more: `SETNX`, COMMIT CHECK and their kin are of use only if nothing that the region writes comes between what
//! they have seen and what they write. Other regions may: there is no order of all regions to wait for. A protocol without data types need
//! not promise it: under `eiger` an update overlooks a write transaction that it meets half done.

use std::collections::BTreeMap;
use tidemark_core::history::{Action, Event, Fate, History};
use tidemark_core::{DcId, Key, Stamp};

/// An update that has overlooked a write of its region, in words.
pub(crate) fn lost_update(history: &History) -> Option<String> {
    let mut written: BTreeMap<(&Key, DcId), Vec<Stamp>> = BTreeMap::new();
    // The newest deletion of each key; the least time of one without a version.
    let mut deleted: BTreeMap<&Key, Stamp> = BTreeMap::new();
    for event in &history.events {
        let Action::Write { key, value, version, .. } = &event.action else { continue };
        if value.is_none() {
            let newest = deleted.entry(key).or_default();
            *newest = version.unwrap_or_default().max(*newest);
        }
        // What may have been lost with the power of its node has no answer.
        if let Some(stamp) = version.filter(|_| event.fate == Fate::Ok) {
            written.entry((key, stamp.origin)).or_default().push(stamp);
        }
    }
    written.values_mut().for_each(|stamps| stamps.sort_unstable());
    let overlooked = |event: &Event| {
        let Action::Write { key, version: Some(own), observed: Some(seen), .. } = &event.action else {
            return None;
        };
        // A deletion that was collected has no stamp any more.
        if event.fate != Fate::Ok || seen.stamp.is_none() && deleted.contains_key(key) {
            return None;
        }
        let stamps = written.get(&(key, own.origin))?;
        let before = stamps[..stamps.partition_point(|stamp| stamp < own)].last()?;
        // Who has seen nothing may overlook that it came and went, whoever has deleted it.
        let still_nothing = seen.value.is_none() && deleted.get(key) >= Some(before);
        (Some(*before) > seen.stamp && !still_nothing).then(|| {
            let seen = seen.stamp.map_or("nothing".to_string(), |stamp| stamp.to_string());
            format!("{} of {key} has seen {seen}, and not {before} of the same region", own)
        })
    };
    history.events.iter().find_map(overlooked)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidemark_core::history::SessionId;
    use tidemark_core::{Found, Hlc, Value};

    fn stamp(ts: u64, origin: u8) -> Stamp {
        Stamp::new(Hlc(ts), DcId(origin))
    }

    fn wrote(ts: u64, origin: u8, seen: Option<Option<u64>>) -> Event {
        let (key, value) = (Key::from("x"), Value::from(ts.to_string().as_bytes()));
        let mut event = Event::put(SessionId(0), DcId(origin), key, Some(value), Some(stamp(ts, origin)));
        if let Action::Write { observed, .. } = &mut event.action {
            let value = Some(Value::from(&b"v"[..]));
            *observed = seen.map(|ts| Found::new(ts.map(|ts| stamp(ts, 0)), value.filter(|_| ts.is_some())));
        }
        event
    }

    fn lost(events: &[Event]) -> bool {
        lost_update(&History { events: events.to_vec(), ..History::default() }).is_some()
    }

    #[test]
    fn an_update_has_seen_what_its_region_has_written_below_it() {
        assert!(!lost(&[wrote(1, 0, None), wrote(3, 0, Some(Some(1)))]));
        assert!(lost(&[wrote(1, 0, None), wrote(2, 0, None), wrote(3, 0, Some(Some(1)))]));
        assert!(lost(&[wrote(1, 0, None), wrote(3, 0, Some(None))]), "and not nothing");
        assert!(
            !lost(&[wrote(1, 0, None), wrote(2, 1, None), wrote(3, 0, Some(Some(1)))]),
            "of another region"
        );
        assert!(!lost(&[wrote(1, 0, None), wrote(4, 0, None), wrote(3, 0, Some(Some(1)))]), "later");
        let gone = Event::put(SessionId(0), DcId(0), Key::from("x"), None, Some(stamp(2, 0)));
        assert!(!lost(&[wrote(1, 0, None), gone, wrote(3, 0, Some(None))]), "it came and went");
    }
}
