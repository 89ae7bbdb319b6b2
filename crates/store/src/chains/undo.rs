//! The base of a key, where its head is further: see [`super::object`].

use foldhash::fast::FixedState;
use hashbrown::HashMap;
use smallvec::SmallVec;
use tidemark_core::Stamp;
use tidemark_crdt::Effect;
use tidemark_crdt::cell::Cell;
use tidemark_crdt::deadline::Deadlines;
use tidemark_crdt::effect::{Change, Kind};
use tidemark_crdt::shape::Plain;
use tidemark_crdt::state::{Element, State, alter, take};

/// The base's side of elements that applied pending versions touch.
#[derive(Default)]
pub(super) struct Undo {
    pub(super) cells: HashMap<Element, Undone, FixedState>,
    /// The plain forms that clearing versions emptied; none if the base is empty, too.
    pub(super) plains: SmallVec<[(Kind, Option<Plain>); 1]>,
    /// How many pending versions clear elements.
    clears: u32,
    pub(super) deadlines: Deadlines,
    /// How many pending versions set or clear the deadline.
    pub(super) deadline_touches: u32,
}

#[derive(Default)]
pub(super) struct Undone {
    pub(super) cell: Cell,
    /// How many pending versions name the element.
    touches: u32,
}

impl Undo {
    fn plain(&self, kind: Kind) -> Option<&Option<Plain>> {
        self.plains.iter().find(|(of, _)| *of == kind).map(|(_, plain)| plain)
    }

    /// An element of the base; the head has it as `head` does.
    fn cell(&self, element: &Element, head: &State) -> Cell {
        match (self.cells.get(element), self.plain(element.kind)) {
            (Some(undone), _) => undone.cell.clone(),
            (None, Some(None)) => Cell::default(),
            (None, Some(Some(plain))) => plain.get(&element.name).map(Cell::settled).unwrap_or_default(),
            (None, None) => head.cell(element.kind, &element.name),
        }
    }

    /// Whether head and base together are of several types: which of them the base shows is told by stamps of both (R16), so that
    /// none settles as long as they differ.
    pub(super) fn is_contested(&self, head: &State) -> bool {
        let plains = self.plains.iter().filter(|(_, plain)| plain.is_some()).map(|(kind, _)| *kind);
        // tidy: allowed, because it is asked whether there are two
        let cells = self.cells.iter().filter(|(element, undone)| undone.cell.show(element.kind).is_some());
        let mut kinds = head.kinds().chain(plains).chain(cells.map(|(element, _)| element.kind));
        kinds.next().is_some_and(|first| kinds.any(|kind| kind != first))
    }

    pub(super) fn is_over(&self) -> bool {
        self.clears == 0 && self.deadline_touches == 0 && self.cells.is_empty()
    }
}

/// Applies a version to the head, and remembers what the base has instead.
pub(super) fn apply(head: &mut State, undo: &mut Undo, stamp: Stamp, effect: &Effect) {
    for change in &effect.changes {
        match change {
            Change::Clear { kind, .. } => {
                remember_all(head, undo, *kind);
                undo.clears += 1;
            }
            Change::Expire { .. } => remember_deadline(head, undo),
            Change::Assign { kind, name, .. }
            | Change::Kill { kind, name, .. }
            | Change::Modify { kind, name, .. }
            | Change::Raise { kind, name, .. }
            | Change::Count { kind, name, .. } => {
                let element = Element { kind: *kind, name: (*name.resolve(stamp)).into() };
                if !undo.cells.contains_key(&element) {
                    let cell = undo.cell(&element, head);
                    undo.cells.insert(element.clone(), Undone { cell, touches: 0 });
                }
                undo.cells.get_mut(&element).expect("it is there now").touches += 1;
            }
        }
        head.change(stamp, effect.floor, change, None);
    }
}

fn remember_deadline(head: &State, undo: &mut Undo) {
    if undo.deadline_touches == 0 {
        undo.deadlines = head.deadlines.clone();
    }
    undo.deadline_touches += 1;
}

fn remember_all(head: &mut State, undo: &mut Undo, kind: Option<Kind>) {
    if kind.is_none() {
        remember_deadline(head, undo);
    }
    for (element, cell) in head.hot_elements().filter(|(one, _)| kind.is_none_or(|kind| kind == one.kind)) {
        if !undo.cells.contains_key(element) && undo.plain(element.kind).is_none() {
            undo.cells.insert(element.clone(), Undone { cell: cell.clone(), touches: 0 });
        }
    }
    for plain in head.detach(kind) {
        if undo.plain(plain.kind()).is_none() {
            undo.plains.push((plain.kind(), Some(plain)));
        }
    }
}

/// Applies a version to the base; it was applied to the head.
pub(super) fn fold(undo: &mut Undo, stamp: Stamp, effect: &Effect) {
    for change in &effect.changes {
        match change {
            Change::Clear { kind, dots, cuts } => {
                let concerned = |of: Kind| kind.is_none_or(|kind| kind == of);
                // tidy: allowed, because each element is treated alone
                for (element, undone) in undo.cells.iter_mut().filter(|(element, _)| concerned(element.kind))
                {
                    take(&mut undone.cell, element, effect.floor, (dots, cuts), None);
                }
                undo.plains.iter_mut().filter(|(of, _)| concerned(*of)).for_each(|(_, plain)| *plain = None);
                undo.clears -= 1;
                if kind.is_none() {
                    undo.deadlines.kill(effect.floor, dots, None);
                    undo.deadline_touches -= 1;
                }
                if undo.clears == 0 {
                    undo.plains.clear();
                    // tidy: allowed, because each element is treated alone
                    undo.cells.retain(|_, undone| undone.touches > 0);
                }
            }
            Change::Expire { deadline, kill } => {
                undo.deadlines.kill(effect.floor, kill, None);
                undo.deadlines.set(stamp, *deadline);
                undo.deadline_touches -= 1;
            }
            Change::Assign { kind, name, .. }
            | Change::Kill { kind, name, .. }
            | Change::Modify { kind, name, .. }
            | Change::Raise { kind, name, .. }
            | Change::Count { kind, name, .. } => {
                let element = Element { kind: *kind, name: (*name.resolve(stamp)).into() };
                let undone = undo.cells.get_mut(&element).expect("I1");
                alter(&mut undone.cell, stamp, effect.floor, change, None);
                undone.touches -= 1;
                if undone.touches == 0 && undo.clears == 0 {
                    undo.cells.remove(&element);
                }
            }
        }
    }
}
