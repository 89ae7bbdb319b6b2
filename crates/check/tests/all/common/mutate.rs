//! Doing something to a history that its store would not do.

use fastrand::Rng;
use std::collections::BTreeMap;
use tidemark_core::history::{Action, Event, Fate, History, ReadKind};
use tidemark_core::{DcId, Found, Guarantees, Hlc, Key, Stamp};

/// What an event returned or observed, if it was answered.
pub(crate) fn reads_of(event: &Event) -> Vec<(Key, Found)> {
    match (&event.action, event.fate) {
        (Action::Read { reads, .. }, Fate::Ok) => {
            reads.iter().map(|r| (r.key.clone(), r.found.clone())).collect()
        }
        (Action::Write { key, observed: Some(found), .. }, Fate::Ok | Fate::Skipped) => {
            vec![(key.clone(), found.clone())]
        }
        _ => Vec::new(),
    }
}

/// In one history of two, some operations ask for fewer guarantees.
pub(crate) fn ask_for_less(history: &mut History, rng: &mut Rng) {
    if rng.bool() {
        return;
    }
    for event in history.events.iter_mut().filter(|event| !matches!(event.action, Action::Adopt { .. })) {
        if rng.u32(..3) == 0 {
            event.asked = Guarantees {
                monotonic_reads: rng.bool(),
                read_your_writes: rng.bool(),
                writes_follow_reads: rng.bool(),
                monotonic_writes: rng.bool(),
            };
        }
    }
}

/// Does one thing.
pub(crate) fn mutate(history: &mut History, rng: &mut Rng) {
    let mut found: BTreeMap<Key, Vec<Found>> = BTreeMap::new();
    for event in &history.events {
        for (key, f) in reads_of(event) {
            found.entry(key).or_default().push(f);
        }
    }
    let e = rng.usize(..history.events.len());
    let stamp = Stamp { ts: Hlc(rng.u64(1..12)), origin: DcId(rng.u8(..2)), seq: 7 + e as u32 };
    let swap = |key: &Key, rng: &mut Rng| match found.get(key) {
        Some(all) if rng.u32(..4) > 0 => all[rng.usize(..all.len())].clone(),
        _ => Found::default(),
    };
    let (dc, reorder) = (rng.u8(..2), rng.usize(..history.events.len()));
    let event = &mut history.events[e];
    let fate = event.fate;
    match &mut event.action {
        Action::Read { reads, kind } if !reads.is_empty() => match rng.u32(..8) {
            0 => *kind = [ReadKind::Get, ReadKind::Rotx, ReadKind::Snapshot][rng.usize(..3)],
            1 => event.dc = DcId(dc),
            _ => {
                let i = rng.usize(..reads.len());
                reads[i].found = swap(&reads[i].key.clone(), rng);
            }
        },
        Action::Write { key, version, observed, .. } => match rng.u32(..4) {
            0 if observed.is_some() => *observed = Some(swap(&key.clone(), rng)),
            1 if fate == Fate::Ok => {
                let (key, old) = (key.clone(), *version);
                *version = Some(stamp);
                restamp(history, &key, old, stamp);
            }
            _ => event.dc = DcId(dc),
        },
        _ => history.events.swap(e, reorder),
    }
}

/// Lets everybody see the version by its new stamp.
fn restamp(history: &mut History, key: &Key, old: Option<Stamp>, new: Stamp) {
    let fix = |k: &Key, found: &mut Found| {
        if k == key && found.stamp == old && old.is_some() {
            found.stamp = Some(new);
        }
    };
    for event in &mut history.events {
        match &mut event.action {
            Action::Read { reads, .. } => reads.iter_mut().for_each(|r| fix(&r.key.clone(), &mut r.found)),
            Action::Write { key, observed: Some(found), .. } => fix(&key.clone(), found),
            _ => {}
        }
    }
    history.finals.iter_mut().for_each(|f| fix(&f.key.clone(), &mut f.found));
}
