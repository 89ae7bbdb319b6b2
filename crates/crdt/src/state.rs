//! A key as merging sees it: the plain form that readers look at, and a [`Cell`] for each element that was written lately.
//!
//! **Idea.** An element that every later operation is known to have observed needs nothing beside its value: it stands in the plain
//! form alone. The others, written within the last moments or during a cut, have a cell as well, and their plain form shows what
//! the cell shows. Reading never looks at cells.
//!
//! **Invariants**
//! - I1 For each cell the plain form of its type holds what [`Cell::show`] says; an element without a cell is settled.
//! - I2 A plain form is never empty.
//! - I3 Each cell that is not settled is queued; one that is kept only for what it rounds is not.

mod folding;
mod parts;
mod plains;
mod settling;
mod trial;

use crate::cell::Cell;
use crate::deadline::Deadlines;
use crate::effect::{Change, Cut, Datum, Effect, Kind};
use crate::modifier::changed;
use crate::shape::Plain;
use foldhash::fast::FixedState;
use hashbrown::{Equivalent, HashMap};
use plains::Plains;
use smallvec::SmallVec;
use std::collections::VecDeque;
use tidemark_core::{Hlc, Stamp, Value, Vector};
pub(crate) use trial::Trial;

/// An element by its type and name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Element {
    /// Its type.
    pub kind: Kind,
    /// Its name.
    pub name: Box<[u8]>,
}

/// The same, borrowed.
#[derive(Hash)]
struct ElementRef<'a> {
    kind: Kind,
    name: &'a [u8],
}

impl Equivalent<Element> for ElementRef<'_> {
    fn equivalent(&self, element: &Element) -> bool {
        self.kind == element.kind && *self.name == *element.name
    }
}

/// Elements with their cells. Nothing depends on their order.
type Cells = HashMap<Element, Cell, FixedState>;

/// A key of a data type.
#[derive(Clone, Default)]
pub struct State {
    plains: Plains,
    /// The deadline's parts.
    pub deadlines: Deadlines,
    /// What a key that has come to rest does not have.
    lately: Option<Box<Lately>>,
}

/// What is known beside the plain forms.
#[derive(Clone, Default)]
struct Lately {
    cells: Cells,
    /// Elements that are not settled, about in the order of their stamps.
    queue: VecDeque<(Hlc, Element)>,
    /// Versions that a clearing change killed before they arrived (R14).
    early: Vec<Stamp>,
    /// Of several types that have settled, the one that is shown.
    settled_kind: Option<Kind>,
}

impl std::fmt::Debug for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("State")
            .field("elements", &self.elements())
            .field("deadlines", &self.deadlines)
            .finish()
    }
}

impl State {
    /// A string that has been what it is for long.
    pub fn string(value: Value) -> Self {
        Self::settled(Plain::String(value))
    }

    /// A key that has been what it is for long.
    pub fn settled(plain: Plain) -> Self {
        Self { plains: Plains::One(plain), ..Self::default() }
    }

    /// Whether the key has expired at `time`, by what is left of its deadlines.
    pub fn is_expired(&self, time: Hlc) -> bool {
        self.deadlines.effective().is_some_and(|deadline| deadline_time(deadline) <= time)
    }

    /// Reads where its elements begin, which brings them near. The result says nothing, but has to be used.
    #[inline]
    pub fn touch(&self) -> u64 {
        self.plains.iter().map(Plain::touch).sum()
    }

    /// The type that the key shows: of several that were written at once, the newest (R16).
    #[inline]
    pub fn kind(&self) -> Option<Kind> {
        match &self.plains[..] {
            [] => None,
            [one] => Some(one.kind()),
            several => {
                let settled = self.lately.as_ref().and_then(|lately| lately.settled_kind);
                let order = |kind: &Kind| (self.newest(*kind), settled == Some(*kind), *kind);
                several.iter().map(Plain::kind).max_by_key(order)
            }
        }
    }

    /// The type that the key shows at `time`; none if it has expired.
    pub fn kind_at(&self, time: Hlc) -> Option<Kind> {
        self.kind().filter(|_| !self.is_expired(time))
    }

    /// The newest stamp of what lives in a type; none if all of it is settled.
    fn newest(&self, kind: Kind) -> Option<Stamp> {
        let cells = self.hot_elements().filter(|(element, _)| element.kind == kind);
        cells.filter(|(_, cell)| cell.show(kind).is_some()).filter_map(|(_, cell)| cell.newest()).max()
    }

    /// The plain form, if there is one and no other.
    #[inline]
    pub(crate) fn only(&self) -> Option<&Plain> {
        if let [one] = &self.plains[..] { Some(one) } else { None }
    }

    /// The plain form that the key shows.
    #[inline]
    pub fn shown(&self) -> Option<&Plain> {
        match &self.plains[..] {
            [one] => Some(one),
            _ => self.plain(self.kind()?),
        }
    }

    /// The types that are there and that the key does not show (R16).
    pub fn shadowed(&self) -> impl Iterator<Item = Kind> {
        let shown = if self.plains.len() > 1 { self.kind() } else { None };
        self.plains.iter().map(Plain::kind).filter(move |kind| shown.is_some_and(|shown| shown != *kind))
    }

    /// The types that are there.
    pub fn kinds(&self) -> impl Iterator<Item = Kind> {
        self.plains.iter().map(Plain::kind)
    }

    /// The plain form of a type.
    pub fn plain(&self, kind: Kind) -> Option<&Plain> {
        self.plains.iter().find(|plain| plain.kind() == kind)
    }

    /// What merging knows of an element.
    pub fn cell(&self, kind: Kind, name: &[u8]) -> Cell {
        match self.hot(kind, name) {
            Some(cell) => cell.clone(),
            None => self.plain(kind).and_then(|plain| plain.get(name)).map(Cell::settled).unwrap_or_default(),
        }
    }

    /// The cell of an element, if it is not settled.
    #[inline]
    pub fn hot(&self, kind: Kind, name: &[u8]) -> Option<&Cell> {
        self.lately.as_ref()?.cells.get(&ElementRef { kind, name })
    }

    /// Every element that is not settled. REQUIRES: nothing depends on the order.
    pub fn hot_elements(&self) -> impl Iterator<Item = (&Element, &Cell)> {
        self.lately.iter().flat_map(|lately| &lately.cells)
    }

    /// How many elements are not settled.
    pub fn hot_len(&self) -> usize {
        self.lately.as_ref().map_or(0, |lately| lately.cells.len())
    }

    /// Takes the cell of an element out, if it is not settled; the element keeps its place.
    fn take_cell(&mut self, kind: Kind, name: &[u8]) -> Option<Cell> {
        self.lately.as_mut()?.cells.get_mut(&ElementRef { kind, name }).map(std::mem::take)
    }

    /// Whether an assignment lives that is not settled, shown or not: below a deletion of a plain string older ones may live on.
    pub fn has_assignments(&self) -> bool {
        self.hot_elements().any(|(_, cell)| cell.is_assigned())
    }

    /// Replaces an element.
    pub fn put(&mut self, element: Element, cell: Cell) {
        self.show(element.kind, &element.name, cell.show(element.kind).as_ref());
        self.keep(element, cell);
    }

    /// Replaces what merging knows of an element. REQUIRES: the plain form shows it.
    fn keep(&mut self, element: Element, mut cell: Cell) {
        if cell.is_settled() && !cell.rounds(element.kind) {
            if let Some(lately) = &mut self.lately {
                lately.cells.remove(&element);
            }
            return;
        }
        let Lately { cells, queue, .. } = &mut **self.lately.get_or_insert_default();
        if !cell.queued.0 && !cell.is_settled() {
            cell.queued.0 = true;
            let oldest = cell.oldest().map_or(Hlc::ZERO, |stamp| stamp.ts);
            queue.push_back((oldest, element.clone()));
        }
        match cells.get_mut(&element) {
            Some(there) => *there = cell,
            None => {
                cells.insert(element, cell);
            }
        }
    }

    /// Makes the plain form show this.
    fn show(&mut self, kind: Kind, name: &[u8], datum: Option<&Datum>) {
        let at = self.plains.iter().position(|plain| plain.kind() == kind);
        match (datum, at) {
            (Some(datum), Some(at)) => self.plains[at].set(name, datum),
            (Some(datum), None) => {
                let mut plain = Plain::new(kind);
                plain.set(name, datum);
                self.plains.push(plain);
            }
            (None, Some(at)) => {
                self.plains[at].remove(name);
                if matches!(kind, Kind::String | Kind::BCounter) || self.plains[at].is_empty() {
                    self.plains.remove(at);
                }
            }
            (None, None) => {}
        }
    }

    /// Applies what a version does. `received` as for [`Cell::kill`].
    pub fn apply(&mut self, stamp: Stamp, effect: &Effect, received: Option<&Vector>) {
        effect.changes.iter().for_each(|change| self.change(stamp, effect.floor, change, received));
    }

    /// Applies one change of a version.
    pub fn change(&mut self, stamp: Stamp, floor: Hlc, change: &Change, received: Option<&Vector>) {
        match change {
            Change::Expire { deadline, kill } => {
                self.deadlines.kill(floor, kill, received);
                self.deadlines.set(stamp, *deadline);
            }
            Change::Clear { kind, dots, cuts } => self.clear(*kind, floor, (dots, cuts), received),
            Change::Assign { kind, name, .. }
            | Change::Kill { kind, name, .. }
            | Change::Count { kind, name, .. }
            | Change::Raise { kind, name, .. }
            | Change::Modify { kind, name, .. } => {
                let name = name.resolve(stamp);
                let mut cell = self.take_cell(*kind, &name).unwrap_or_else(|| self.cell(*kind, &name));
                let early = self.lately.as_ref().is_some_and(|lately| lately.early.contains(&stamp));
                match change {
                    Change::Assign { kill, .. } if early => cell.kill(floor, kill, received),
                    Change::Modify { .. } if early => {}
                    Change::Modify { modifiers, .. } => {
                        let last = cell.modify(stamp, modifiers);
                        let plain = self.plains.iter_mut().find(|plain| plain.kind() == *kind);
                        let shown = if last { changed(plain, modifiers) } else { cell.show(*kind) };
                        let element = Element { kind: *kind, name: name.into() };
                        if shown.is_some() {
                            self.show(*kind, &element.name, shown.as_ref());
                        }
                        return self.keep(element, cell);
                    }
                    _ => alter(&mut cell, stamp, floor, change, received),
                }
                self.put(Element { kind: *kind, name: name.into() }, cell);
            }
        }
    }

    fn clear(
        &mut self,
        kind: Option<Kind>,
        floor: Hlc,
        (dots, cuts): (&[Stamp], &[(Kind, bytes::Bytes, Cut)]),
        received: Option<&Vector>,
    ) {
        if kind.is_none() {
            self.deadlines.kill(floor, dots, received);
        }
        if let Some(received) = received {
            let early = dots.iter().filter(|dot| !received.covers(**dot)).copied();
            self.lately.get_or_insert_default().early.extend(early);
        }
        let concerned = |of: Kind| kind.is_none_or(|kind| kind == of);
        self.plains.retain(|plain| !concerned(plain.kind()));
        let hot = self.hot_elements().map(|(element, _)| element);
        let mut hot: Vec<Element> = hot.filter(|one| concerned(one.kind)).cloned().collect();
        if received.is_some() {
            // Counters that are not here yet, too: what is cut of them is dead when it comes (R14).
            hot.extend(cuts.iter().map(|(kind, name, _)| Element { kind: *kind, name: name[..].into() }));
        }
        hot.sort_unstable();
        hot.dedup();
        for element in hot {
            let mut cell = self.take_cell(element.kind, &element.name).unwrap_or_default();
            take(&mut cell, &element, floor, (dots, cuts), received);
            self.put(element, cell);
        }
    }

    /// Takes the plain forms that a clearing change of `kind` will empty: the state without it needs them.
    pub fn detach(&mut self, kind: Option<Kind>) -> SmallVec<[Plain; 1]> {
        let (taken, left): (SmallVec<[Plain; 1]>, SmallVec<[Plain; 1]>) =
            self.plains.take().into_iter().partition(|plain| kind.is_none_or(|kind| kind == plain.kind()));
        self.plains = left.into_iter().collect();
        taken
    }

    /// Gives back what [`Self::detach`] took. REQUIRES: nothing of its type is here.
    pub fn attach(&mut self, plain: Plain) {
        if !plain.is_empty() {
            self.plains.push(plain);
        }
    }

    /// Whether nothing is left but what readers see.
    pub fn is_settled(&self) -> bool {
        self.hot_len() == 0 && self.deadlines.is_settled()
    }

    /// Whether there is nothing at all.
    pub fn is_empty(&self) -> bool {
        self.plains.is_empty() && self.hot_len() == 0 && self.deadlines.is_empty()
    }

    /// The dots of everything that lives, and the cuts of its counters: what a change that clears all of `kind` has observed above
    /// `floor`.
    pub fn observed(&self, kind: Option<Kind>, floor: Hlc) -> Change {
        let mut dots: Vec<Stamp> = Vec::new();
        let mut cuts = Vec::new();
        let mut hot: Vec<_> =
            self.hot_elements().filter(|(element, _)| kind.is_none_or(|kind| kind == element.kind)).collect();
        hot.sort_unstable_by_key(|(element, _)| *element);
        for (element, cell) in hot {
            let kill = cell.observed(floor);
            dots.extend(kill.dots);
            let name = || bytes::Bytes::copy_from_slice(&element.name);
            cuts.extend(kill.cuts.into_iter().map(|cut| (element.kind, name(), cut)));
        }
        if kind.is_none() {
            dots.extend(self.deadlines.observed(floor).dots);
        }
        dots.sort_unstable();
        dots.dedup();
        Change::Clear { kind, dots, cuts }
    }
}

/// The first time at which a key with this deadline, in milliseconds since 1970, is expired (R17).
pub fn deadline_time(deadline_ms: u64) -> Hlc {
    Hlc::at(deadline_ms.saturating_mul(1000))
}

/// What a change does to the one element that it names.
pub fn alter(cell: &mut Cell, stamp: Stamp, floor: Hlc, change: &Change, received: Option<&Vector>) {
    match change {
        Change::Assign { datum, bound, kill, .. } => {
            cell.kill(floor, kill, received);
            cell.assign(stamp, datum.clone(), *bound);
        }
        Change::Kill { kill, .. } => cell.kill(floor, kill, received),
        Change::Count { start, sum, .. } => cell.count(stamp, start.resolve(stamp), *sum),
        Change::Modify { modifiers, .. } => {
            cell.modify(stamp, modifiers);
        }
        Change::Raise { created, entry, .. } => cell.raise(*created, *entry),
        Change::Clear { .. } | Change::Expire { .. } => {}
    }
}

/// What a change that clears does to one element.
pub fn take(
    cell: &mut Cell,
    element: &Element,
    floor: Hlc,
    (dots, cuts): (&[Stamp], &[(Kind, bytes::Bytes, Cut)]),
    received: Option<&Vector>,
) {
    let mine = cuts.iter().filter(|(kind, name, _)| *kind == element.kind && name[..] == element.name[..]);
    let cuts: SmallVec<[Cut; 2]> = mine.map(|(.., cut)| *cut).collect();
    cell.take(floor, dots, &cuts, received);
}
