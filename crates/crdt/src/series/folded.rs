//! What the changes of several commands to one key come to, in one version.
//!
//! Of each element the last word counts, and what the first one overwrote is named by what the key itself holds: dots of the key
//! that are gone after the trial were killed by the series. A sum goes on from the key's own segment, or begins one with the version.
//!
//! **Names.** A position of a list, or the base of a consumer group, that the series has made bears a trial stamp. It is named anew:
//! positions by their neighbours that are not new, groups by the stamp of the version.
//!
//! **Deviations.** Where counting, overwriting and modifying one element meet in an order that a single version cannot tell, it
//! assigns what the element comes to: an increment of another region at once then gets lost, as it does with any SET.

use super::{TRIAL, rule};
use crate::account::Entry;
use crate::draft::Moment;
use crate::effect::{Bound, Change, Datum, Kill, Kind, Name, Start, stamp_bytes};
use crate::modifier::Modifier;
use crate::number::Number;
use crate::plain::Sequence;
use crate::position::Run;
use crate::shape::Plain;
use crate::state::State;
use bytes::Bytes;
use std::collections::{BTreeMap, BTreeSet};
use tidemark_core::Stamp;

/// An element by its type and its name in the trial.
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
    /// Totals of the bounded counter that the key holds.
    raised: Vec<(Stamp, Entry)>,
    /// It becomes what it is after the trial.
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
    /// What stands at new positions.
    placed: Vec<Change>,
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
            Change::Raise { kind, name, created, entry } => {
                let fate = self.fate(kind, &name, stamp);
                match &mut fate.assigned {
                    // The series has created it.
                    Some((Datum::Account(account), _)) => account.raise(entry),
                    _ => fate.raised.push((created, entry)),
                }
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

    /// Looks at the key after the trial: at elements that become what they are there, and at new positions.
    pub(super) fn look(mut self, tried: &State, moment: Moment) -> Self {
        for ((kind, known), fate) in self.fates.iter_mut().filter(|(_, fate)| fate.whole) {
            let shown = tried.cell(*kind, known).show(*kind);
            fate.restart(shown.map(|datum| (datum, Bound::None)));
        }
        if let Some(Plain::List(values)) = tried.plain(Kind::List) {
            self.placed = self.place(values, moment);
        }
        self
    }

    /// The changes of the version, `base` being the key as the session sees it. REQUIRES: [`Self::look`].
    pub(super) fn finish(self, base: &State, moment: Moment) -> Vec<Change> {
        let floor = moment.floor;
        let mut changes = Vec::new();
        if self.all_cleared {
            changes.push(base.observed(None, floor));
        } else {
            changes.extend(self.cleared.iter().map(|kind| base.observed(Some(*kind), floor)));
        }
        let mut fates: Vec<(Named, Fate)> = self.fates.into_iter().collect();
        fates.retain(|((kind, known), _)| *kind != Kind::List || !self.positions.contains(known));
        fates.sort_unstable_by_key(|(_, fate)| fate.order);
        for ((kind, known), fate) in fates {
            let gone = self.all_cleared || self.cleared.contains(&kind);
            let hot = base.hot(kind, &known).filter(|_| !gone);
            let kill = hot.filter(|_| rule::SERIES_KILLS.kept()).map(|cell| cell.observed(floor));
            let kill = kill.unwrap_or_default();
            let shown = || base.plain(kind).is_some_and(|plain| plain.get(&known).is_some());
            let there = hot.is_some() || !gone && shown();
            let name = named(kind, &known, moment);
            match fate.assigned {
                Some((datum, bound)) => {
                    changes.push(Change::Assign { kind, name: name.clone(), datum, bound, kill });
                }
                None if fate.kills && there => changes.push(Change::Kill { kind, name: name.clone(), kill }),
                None => {}
            }
            if let Some((start, sum)) = fate.counted {
                changes.push(Change::Count { kind, name: name.clone(), start, sum });
            }
            for (created, entry) in fate.raised {
                changes.push(Change::Raise { kind, name: name.clone(), created, entry });
            }
            if !fate.modified.is_empty() {
                changes.push(Change::Modify { kind, name, modifiers: fate.modified });
            }
        }
        changes.extend(self.placed);
        if let Some(deadline) = self.deadline {
            let kill = base.deadlines.observed(floor).dots;
            changes.push(Change::Expire { deadline, kill });
        }
        changes
    }

    /// The values of new positions where they stand: those beside each other form a run between two that are not new.
    fn place(&self, values: &Sequence, moment: Moment) -> Vec<Change> {
        let mut changes = Vec::new();
        // In the order of the list.
        let live = self.positions.iter().filter(|position| values.get(position).is_some());
        let mut indices = live.map(|position| values.index_of(position)).peekable();
        while let Some(first) = indices.next() {
            let mut behind = first + 1;
            while indices.next_if_eq(&behind).is_some() {
                behind += 1;
            }
            let beside = |index: usize| values.at(index).map(|(position, _)| position.to_vec());
            let (left, right) = (first.checked_sub(1).and_then(beside), beside(behind));
            let run = Run::between(left.as_deref(), right.as_deref(), moment.origin);
            for (name, (_, value)) in run.names(behind - first).zip(values.range(first..behind)) {
                let (datum, bound, kill) = (Datum::bytes(value), Bound::None, Kill::default());
                changes.push(Change::Assign { kind: Kind::List, name, datum, bound, kill });
            }
        }
        changes
    }
}

/// The name of an element: a trial stamp in that of a stream's or a document's becomes the stamp of the version.
fn named(kind: Kind, known: &[u8], moment: Moment) -> Name {
    let known = Bytes::copy_from_slice(known);
    if !matches!(kind, Kind::Stream | Kind::Doc) {
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
