//! How a key comes to rest: dots, segments and deadlines go when every operation that can still arrive has observed them.

use super::plains::Plains;
use super::{Element, Lately, State, deadline_time};
use crate::cell::Cell;
use crate::deadline::Deadlines;
use crate::rule;
use tidemark_core::Hlc;

impl State {
    /// Drops what every operation that can still arrive has observed, `upto` being the time that says so. Looks at no more than
    /// `budget` elements.
    pub fn settle(&mut self, upto: Hlc, budget: usize) {
        self.deadlines.settle(upto);
        if self.lately.is_none() {
            return;
        }
        if self.plains.len() > 1 && rule::TYPES_WAIT.kept() {
            self.agree(upto);
            return;
        }
        for _ in 0..budget {
            let Some(Lately { queue, cells, .. }) = self.lately.as_deref_mut() else { break };
            if queue.front().is_none_or(|(oldest, _)| *oldest > upto) {
                break;
            }
            let Some((_, element)) = queue.pop_front() else { break };
            let Some(mut cell) = cells.get_mut(&element).map(std::mem::take) else { continue };
            cell.queued.0 = false;
            let counts = cell.increments().is_some();
            cell.settle(upto);
            if cell.is_settled() && !counts {
                // It shows what it showed; sums of fractions alone depend on how they are added up.
                cells.remove(&element);
            } else if cell.is_settled() {
                self.put(element, cell);
            } else {
                let oldest = cell.oldest().map_or(Hlc::ZERO, |stamp| stamp.ts);
                // Its oldest part may stand at or below: a segment that goes on. It is looked at again next time.
                queue.push_back((oldest.max(upto.next()), element.clone()));
                cell.queued.0 = true;
                cells.insert(element, cell);
            }
        }
        let rests = |lately: &mut Box<Lately>| {
            lately.cells.is_empty() && lately.queue.is_empty() && lately.early.is_empty()
        };
        if self.plains.len() < 2 {
            self.lately.take_if(rests);
        }
    }

    /// Every element that is not settled, in the order of names.
    fn hot_names(&self) -> Vec<Element> {
        let mut hot: Vec<Element> = self.hot_elements().map(|(element, _)| element.clone()).collect();
        hot.sort_unstable();
        hot
    }

    /// Drops what had expired before every operation that can still arrive (R19): not what is newer, and not the deadline while
    /// anything is left.
    pub fn expire(&mut self, upto: Hlc) {
        let expired = self.deadlines.effective().is_some_and(|deadline| deadline_time(deadline) <= upto);
        if !expired || self.plains.is_empty() {
            return;
        }
        self.plains = Plains::None;
        for element in self.hot_names() {
            let mut cell = self.take_cell(element.kind, &element.name).expect("it was just there");
            cell.take(Hlc::ZERO, &[], &[], None);
            self.put(element, if rule::NEWER_OUTLIVES.kept() { cell } else { Cell::default() });
        }
        if !rule::DEADLINE_STAYS.kept() {
            self.deadlines = Deadlines::default();
        }
    }

    /// Several types settle together, once every later operation has seen them all; until then their dots are kept. The older ones
    /// stay until an update kills them: elsewhere they may not have settled, and would come back if nobody did (R16).
    fn agree(&mut self, upto: Hlc) {
        let old = |kind| self.newest(kind).is_none_or(|newest| newest.ts <= upto) || !rule::TYPES_WAIT.kept();
        if !self.kinds().all(old) {
            return;
        }
        self.lately.get_or_insert_default().settled_kind = self.kind();
        for element in self.hot_names() {
            let mut cell = self.take_cell(element.kind, &element.name).expect("it was just there");
            cell.settle(upto);
            self.put(element, cell);
        }
    }
}
