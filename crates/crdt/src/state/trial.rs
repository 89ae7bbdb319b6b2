//! Changes that are tried on a key, and taken back: what comes next is evaluated on them, but they are no version.

use super::{Cells, Element, State};
use crate::cell::Cell;
use crate::deadline::Deadlines;
use crate::effect::{Change, Datum, Kind};
use crate::shape::Plain;
use smallvec::SmallVec;
use tidemark_core::{Hlc, Stamp};

/// What a key was before changes were tried on it. It costs as much as what they touch.
#[derive(Default)]
pub(crate) struct Trial {
    /// The latest comes last.
    steps: Vec<Step>,
    /// How long the queue was.
    queued: Option<usize>,
}

#[expect(clippy::large_enum_variant, reason = "nearly all steps are of elements")]
enum Step {
    Element {
        element: Element,
        cell: Option<Cell>,
        shown: Option<Datum>,
    },
    Cleared {
        kind: Option<Kind>,
        plains: SmallVec<[Plain; 1]>,
        cells: Vec<(Element, Cell)>,
        deadlines: Deadlines,
    },
    Deadlines(Deadlines),
}

impl State {
    /// As [`Self::change`], until [`Self::take_back`]. Meanwhile nothing settles.
    pub(crate) fn try_change(&mut self, trial: &mut Trial, stamp: Stamp, floor: Hlc, change: &Change) {
        trial.queued.get_or_insert(self.lately.as_ref().map_or(0, |lately| lately.queue.len()));
        trial.steps.push(match change {
            Change::Expire { .. } => Step::Deadlines(self.deadlines.clone()),
            Change::Clear { kind, .. } => {
                let concerned =
                    |(element, _): &(&Element, &Cell)| kind.is_none_or(|kind| kind == element.kind);
                let cells = self.hot_elements().filter(concerned);
                let cells = cells.map(|(element, cell)| (element.clone(), cell.clone())).collect();
                let deadlines = self.deadlines.clone();
                Step::Cleared { kind: *kind, plains: self.detach(*kind), cells, deadlines }
            }
            Change::Assign { kind, name, .. }
            | Change::Kill { kind, name, .. }
            | Change::Count { kind, name, .. }
            | Change::Raise { kind, name, .. }
            | Change::Modify { kind, name, .. } => {
                let name = name.resolve(stamp);
                let cell = self.hot(*kind, &name).cloned();
                let shown = self.plain(*kind).and_then(|plain| plain.get(&name));
                Step::Element { element: Element { kind: *kind, name: (*name).into() }, cell, shown }
            }
        });
        self.change(stamp, floor, change, None);
    }

    /// Takes back everything that was tried. The key shows what it showed; the order of a set or a hash may be another.
    pub(crate) fn take_back(&mut self, trial: Trial) {
        for step in trial.steps.into_iter().rev() {
            match step {
                Step::Deadlines(deadlines) => self.deadlines = deadlines,
                Step::Element { element, cell, shown } => {
                    self.show(element.kind, &element.name, shown.as_ref());
                    if self.lately.is_some() || cell.is_some() {
                        restore(&mut self.lately.get_or_insert_default().cells, element, cell);
                    }
                }
                Step::Cleared { kind, plains, cells, deadlines } => {
                    let concerned = |of: Kind| kind.is_none_or(|kind| kind == of);
                    self.plains.retain(|plain| !concerned(plain.kind()));
                    plains.into_iter().for_each(|plain| self.plains.push(plain));
                    let lately = self.lately.get_or_insert_default();
                    lately.cells.retain(|element, _| !concerned(element.kind));
                    lately.cells.extend(cells);
                    self.deadlines = deadlines;
                }
            }
        }
        if let (Some(queued), Some(lately)) = (trial.queued, &mut self.lately) {
            lately.queue.truncate(queued);
        }
    }
}

fn restore(cells: &mut Cells, element: Element, cell: Option<Cell>) {
    match cell {
        Some(cell) => cells.insert(element, cell),
        None => cells.remove(&element),
    };
}
