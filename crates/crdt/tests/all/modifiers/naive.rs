//! The meaning of a string as a function of operations and of what each had truly observed.

use std::collections::{BTreeMap, BTreeSet};
use tidemark_core::Stamp;
use tidemark_crdt::effect::{Change, Datum};
use tidemark_crdt::modifier::Modifier;
use tidemark_crdt::number::{Dd, Number, parse_int};

/// One operation: its stamp, everything that was at its region, and what it does.
#[derive(Clone, Debug)]
pub(crate) struct Operation {
    pub(crate) stamp: Stamp,
    pub(crate) observed: BTreeSet<Stamp>,
    /// A deletion assigns nothing.
    pub(crate) assigns: Option<Option<Vec<u8>>>,
    pub(crate) clears: bool,
    pub(crate) adds: Option<(Stamp, i64)>,
    pub(crate) modifies: Vec<Modifier>,
}

impl Operation {
    /// An operation with these changes, that adds `by` if it counts.
    pub(crate) fn of(stamp: Stamp, observed: BTreeSet<Stamp>, changes: &[Change], by: i64) -> Self {
        let mut this =
            Self { stamp, observed, assigns: None, clears: false, adds: None, modifies: Vec::new() };
        for change in changes {
            match change {
                Change::Assign { datum: Datum::Bytes(value), .. } => {
                    this.assigns = Some(Some(value.to_vec()))
                }
                Change::Assign { datum: Datum::Gone, .. } => this.assigns = Some(None),
                Change::Clear { .. } => this.clears = true,
                Change::Count { start, .. } => this.adds = Some((start.resolve(stamp), by)),
                Change::Modify { modifiers, .. } => this.modifies = modifiers.clone(),
                _ => {}
            }
        }
        this
    }

    fn kills(&self) -> bool {
        self.clears || self.assigns.is_some()
    }
}

/// The string that is shown of a set of operations.
pub(crate) fn value(operations: &[Operation]) -> Option<Vec<u8>> {
    let dead: BTreeSet<Stamp> =
        operations.iter().filter(|one| one.kills()).flat_map(|one| one.observed.iter().copied()).collect();
    let live: Vec<&Operation> = operations.iter().filter(|one| !dead.contains(&one.stamp)).collect();
    let winner = live.iter().filter(|one| one.assigns.is_some()).max_by_key(|one| one.stamp);
    let mut segments: BTreeMap<Stamp, (Stamp, i64)> = BTreeMap::new();
    for (one, (start, by)) in live.iter().filter_map(|one| Some((one, one.adds?))) {
        let segment = segments.entry(start).or_insert((one.stamp, 0));
        *segment = (segment.0.max(one.stamp), segment.1 + by);
    }
    let mut steps: BTreeMap<Stamp, Step<'_>> =
        segments.into_values().map(|(last, sum)| (last, Step::Add(sum))).collect();
    let modify = |one: &&Operation| !one.modifies.is_empty();
    let modified = live.iter().copied().filter(modify).map(|one| (one.stamp, Step::Modify(&one.modifies)));
    steps.extend(modified);
    let mut value = winner.and_then(|one| one.assigns.clone()).flatten();
    let mut sum = None;
    for step in steps.into_values() {
        match step {
            Step::Add(by) => sum = Some(sum.unwrap_or(0) + by),
            Step::Modify(modifiers) => {
                add(&mut value, sum.take());
                modifiers.iter().for_each(|modifier| modifier.apply(&mut value));
            }
        }
    }
    add(&mut value, sum);
    value
}

enum Step<'a> {
    Add(i64),
    Modify(&'a [Modifier]),
}

fn add(value: &mut Option<Vec<u8>>, sum: Option<i64>) {
    let Some(sum) = sum else { return };
    let text = value.clone().unwrap_or(b"0".to_vec());
    if let Some(int) = parse_int(&text) {
        *value = Some((int + sum).to_string().into_bytes());
    } else if let Some(number) = Dd::parse(&text) {
        *value = Some(number.plus(Number::int(sum).as_float()).show().into_bytes());
    }
}
