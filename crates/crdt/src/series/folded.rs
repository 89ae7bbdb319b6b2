//! What the changes of several commands to one key come to, in one version.
//!
//! Of each element the last word counts, and what the first one overwrote is named by what the key itself holds: dots of the key
//! that the copy has lost were killed by the series. A sum goes on from the key's own segment, or begins one with the version.
//!
//! **Names.** A position of a list, or the base of a consumer group, that the series has made bears a trial stamp. It is named anew:
//! positions by their neighbours in the copy that are not new, groups by the stamp of the version.
//!
//! **Deviations.** Where counting, overwriting and modifying one element meet in an order that a single version cannot tell, it
//! assigns what the element comes to: an increment of another region at once then gets lost, as it does with any SET.

use super::TRIAL;
use crate::draft::Moment;
use crate::effect::{Bound, Change, Datum, Kill, Kind, Name, Start, stamp_bytes};
use crate::modifier::Modifier;
use crate::number::Number;
use crate::position::Run;
use crate::rule;
use crate::shape::Plain;
use crate::state::State;
use bytes::Bytes;
use std::collections::{BTreeMap, BTreeSet};
use tidemark_core::Stamp;

/// An element by its type and its name in the copy.
type Named = (Kind, Vec<u8>);

/// What the series does to one element.
#[derive(Default)]
struct Fate {
    /// Where it stands among the others: plain forms show elements in the order in which they came.
    order: usize,
    /// It takes away what the key holds of it.
    kills: bool,
    assigned: Option<(Datum, Bound)>,
    counted: Option<(Start, Number)>,
    modified: Vec<Modifier>,
    /// It becomes what it is in the copy.
    whole: bool,
}

impl Fate {
    /// All that was there goes.
    fn restart(&mut self, assigned: Option<(Datum, Bound)>) {
        *self = Self { order: self.order, kills: true, assigned, ..Self::default() };
    }
}

/// See above.
#[derive(Default)]
pub(super) struct Folded {
    /// Everything of these types that the key holds goes.
    cleared: BTreeSet<Kind>,
    /// Everything goes, deadlines included.
    all_cleared: bool,
    fates: BTreeMap<Named, Fate>,
    /// How many changes there were.
    added: usize,
    /// The series has counted these, and perhaps taken it back.
    counted: BTreeSet<Named>,
    /// Positions that the series has made.
    positions: BTreeSet<Vec<u8>>,
    deadline: Option<Option<u64>>,
}

impl Folded {
    fn fate(&mut self, kind: Kind, name: &Name, stamp: Stamp) -> &mut Fate {
        let known = name.resolve(stamp).into_owned();
        if kind == Kind::List && !matches!(name, Name::Is(_)) {
            self.positions.insert(known.clone());
        }
        let order = self.added;
        self.fates.entry((kind, known)).or_insert_with(|| Fate { order, ..Fate::default() })
    }

    /// One more change, of the command with this trial stamp.
    pub(super) fn add(&mut self, stamp: Stamp, change: Change) {
        self.added += 1;
        match change {
            Change::Assign { kind, name, datum, bound, .. } => {
                let assigned = Some((datum, bound));
                self.fate(kind, &name, stamp).restart(assigned);
            }
            Change::Kill { kind, name, .. } => {
                let order = self.added;
                let fate = self.fate(kind, &name, stamp);
                fate.restart(None);
                fate.order = order;
            }
            Change::Count { kind, name, start, sum } => {
                let begins = start == Start::Own;
                let start = match start {
                    Start::At(at) if at.ts == TRIAL => Start::Own,
                    start => start,
                };
                let again = !self.counted.insert((kind, name.resolve(stamp).into_owned()));
                let fate = self.fate(kind, &name, stamp);
                // A version tells one sum, and none of which the series has taken a part away again.
                let broken = again && (begins || fate.counted.is_none_or(|(other, _)| other != start));
                fate.whole |= broken && rule::TAKEN_SUMS_END.kept() || !fate.modified.is_empty();
                fate.counted = Some((start, sum));
            }
            Change::Modify { kind, name, modifiers } => {
                let fate = self.fate(kind, &name, stamp);
                fate.whole |= fate.assigned.is_some() || fate.counted.is_some();
                fate.modified.extend(modifiers);
            }
            Change::Clear { kind, .. } => self.clear(kind),
            Change::Expire { deadline, .. } => self.deadline = Some(deadline),
        }
    }

    fn clear(&mut self, kind: Option<Kind>) {
        self.fates.retain(|(of, _), _| kind.is_some_and(|kind| kind != *of));
        match kind {
            Some(kind) => {
                self.cleared.insert(kind);
            }
            None => {
                self.all_cleared = true;
                self.deadline = None;
            }
        }
    }

    /// The changes of the version: `base` is the key as the session sees it, `copy` the same with what the series has done.
    pub(super) fn finish(self, base: &State, copy: &State, moment: Moment) -> Vec<Change> {
        let floor = moment.floor;
        let mut changes = Vec::new();
        if self.all_cleared {
            changes.push(base.observed(None, floor));
        } else {
            changes.extend(self.cleared.iter().map(|kind| base.observed(Some(*kind), floor)));
        }
        let mut fates: Vec<_> = self.fates.iter().collect();
        fates.sort_unstable_by_key(|(_, fate)| fate.order);
        for ((kind, known), fate) in fates {
            if *kind == Kind::List && self.positions.contains(known) {
                continue;
            }
            let gone = self.all_cleared || self.cleared.contains(kind);
            let observed = || match base.hot(*kind, known) {
                Some(cell) if !gone && rule::SERIES_KILLS.kept() => cell.observed(floor),
                _ => Kill::default(),
            };
            let there = !gone
                && (base.hot(*kind, known).is_some()
                    || base.plain(*kind).is_some_and(|plain| plain.get(known).is_some()));
            let name = named(*kind, known, moment);
            let assigned = match fate.whole {
                true => copy.cell(*kind, known).show(*kind).map(|datum| (datum, Bound::None)),
                false => fate.assigned.clone(),
            };
            let kills = fate.kills || fate.whole;
            match assigned {
                Some((datum, bound)) => {
                    let (name, kill) = (name.clone(), observed());
                    changes.push(Change::Assign { kind: *kind, name, datum, bound, kill });
                }
                None if kills && there => {
                    changes.push(Change::Kill { kind: *kind, name: name.clone(), kill: observed() });
                }
                None => {}
            }
            if fate.whole {
                continue;
            }
            if let Some((start, sum)) = fate.counted {
                changes.push(Change::Count { kind: *kind, name: name.clone(), start, sum });
            }
            if !fate.modified.is_empty() {
                changes.push(Change::Modify { kind: *kind, name, modifiers: fate.modified.clone() });
            }
        }
        self.place(copy, moment, &mut changes);
        if let Some(deadline) = self.deadline {
            let kill = base.deadlines.observed(floor).dots;
            changes.push(Change::Expire { deadline, kill });
        }
        changes
    }

    /// Puts the values of new positions where they stand in the copy.
    fn place(&self, copy: &State, moment: Moment, changes: &mut Vec<Change>) {
        let Some(Plain::List(values)) = copy.plain(Kind::List).filter(|_| !self.positions.is_empty()) else {
            return;
        };
        let mut left: Option<Vec<u8>> = None;
        let mut new: Vec<&[u8]> = Vec::new();
        let mut put = |left: Option<&[u8]>, new: &mut Vec<&[u8]>, right: Option<&[u8]>| {
            if new.is_empty() {
                return;
            }
            let run = Run::between(left, right, moment.origin);
            changes.extend(run.names(new.len()).zip(new.drain(..)).map(|(name, value)| {
                let datum = Datum::bytes(value);
                Change::Assign { kind: Kind::List, name, datum, bound: Bound::None, kill: Kill::default() }
            }));
        };
        for (position, value) in values.iter() {
            let position = position.to_vec();
            if self.positions.contains(&position) {
                new.push(value);
            } else {
                put(left.as_deref(), &mut new, Some(&position));
                left = Some(position);
            }
        }
        put(left.as_deref(), &mut new, None);
    }
}

/// The name of an element: a trial stamp in that of a stream's becomes the stamp of the version.
fn named(kind: Kind, known: &[u8], moment: Moment) -> Name {
    let known = Bytes::copy_from_slice(known);
    if kind != Kind::Stream {
        return Name::Is(known);
    }
    let begins = &stamp_bytes(Stamp::new(TRIAL, moment.origin))[..9];
    let Some(at) = known.windows(9).position(|window| window == begins) else { return Name::Is(known) };
    let long = known.get(at + 9) == Some(&u8::MAX);
    let end = at + if long { 14 } else { 10 };
    if end > known.len() {
        return Name::Is(known);
    }
    Name::New(known.slice(..at), known.slice(end..))
}
