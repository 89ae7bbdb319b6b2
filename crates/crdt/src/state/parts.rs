//! A key as a list of its elements, as snapshots write it.

use super::{Element, Lately, State};
use crate::cell::Cell;
use crate::shape::Plain;
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

    /// Every element, with what merging knows of it, in the order of names, those of the type that is shown last: equal states say
    /// the same.
    pub fn elements(&self) -> Vec<(Element, Cell)> {
        let mut all: Vec<(Element, Cell)> =
            self.hot_elements().map(|(e, cell)| (e.clone(), cell.clone())).collect();
        for plain in &self.plains {
            let kind = plain.kind();
            plain.each(|name, datum| {
                if self.hot(kind, name).is_none() {
                    all.push((Element { kind, name: name.into() }, Cell::settled(datum)));
                }
            });
        }
        let shown = self.kind();
        all.sort_unstable_by(|(a, _), (b, _)| (Some(a.kind) == shown, a).cmp(&(Some(b.kind) == shown, b)));
        all
    }
}
