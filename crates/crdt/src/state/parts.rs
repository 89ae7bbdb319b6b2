//! A key as a list of its elements, as snapshots write it.

use super::{Element, Lately, State};
use crate::cell::Cell;
use crate::effect::Kind;
use crate::shape::Plain;
use std::borrow::Cow;
use tidemark_core::Hlc;

impl State {
    /// Adds an element, as [`Self::elements`] says it.
    pub fn restore(&mut self, element: Element, mut cell: Cell) {
        cell.queued = Default::default();
        let kind = element.kind;
        self.put(element, cell);
        if self.plains.len() > 1 {
            self.lately.get_or_insert_default().settled_kind = Some(kind);
        }
    }

    /// Bytes allocated.
    pub fn memory(&self) -> usize {
        let names: usize = self.hot_elements().map(|(element, _)| 2 * element.name.len()).sum();
        let lately = self.lately.as_ref().map_or(0, |lately| {
            let cells = lately.cells.capacity() * (size_of::<(Element, Cell)>() + 1);
            size_of::<Lately>() + cells + lately.queue.capacity() * size_of::<(Hlc, Element)>()
        });
        self.plains.iter().map(Plain::memory).sum::<usize>() + lately + names
    }

    /// Calls `each` with every element and what merging knows of it, in an order that its history decides, those of the type that is
    /// shown last.
    pub fn each_element(&self, mut each: impl FnMut(Kind, &[u8], Cow<'_, Cell>)) {
        let shown = self.kind();
        for last in [false, true] {
            let now = |kind: Kind| (Some(kind) == shown) == last;
            self.hot_elements()
                .filter(|(element, _)| now(element.kind))
                .for_each(|(element, cell)| each(element.kind, &element.name, Cow::Borrowed(cell)));
            for plain in self.plains.iter().filter(|plain| now(plain.kind())) {
                let kind = plain.kind();
                plain.each(|name, datum| {
                    if self.hot(kind, name).is_none() {
                        each(kind, name, Cow::Owned(Cell::settled(datum)));
                    }
                });
            }
        }
    }

    /// The same in the order of names: equal states say the same.
    pub fn elements(&self) -> Vec<(Element, Cell)> {
        let mut all = Vec::new();
        self.each_element(|kind, name, cell| {
            all.push((Element { kind, name: name.into() }, cell.into_owned()));
        });
        let shown = self.kind();
        all.sort_unstable_by(|(a, _), (b, _)| (Some(a.kind) == shown, a).cmp(&(Some(b.kind) == shown, b)));
        all
    }

    /// About how many elements there are.
    pub fn count_elements(&self) -> usize {
        self.plains.iter().map(Plain::len).sum::<usize>() + self.hot_elements().count()
    }
}
