//! How a key comes to rest: dots, segments and deadlines go when every operation that can still arrive has observed them.

use super::{Element, State, deadline_time};
use crate::cell::Cell;
use crate::deadline::Deadlines;
use crate::rule;
use tidemark_core::Hlc;

impl State {
    /// Drops what every operation that can still arrive has observed, `upto` being the time that says so. Looks at no more than
    /// `budget` elements.
    pub fn settle(&mut self, upto: Hlc, budget: usize) {
        self.deadlines.settle(upto);
        if self.plains.len() > 1 && rule::TYPES_WAIT.kept() {
            self.agree(upto);
            return;
        }
        for _ in 0..budget {
            if self.queue.front().is_none_or(|(oldest, _)| *oldest > upto) {
                break;
            }
            let Some((_, element)) = self.queue.pop_front() else { break };
            let Some(mut cell) = self.cells.get_mut(&element).map(std::mem::take) else { continue };
            cell.queued.0 = false;
            let counts = cell.increments().is_some();
            cell.settle(upto);
            if cell.is_settled() && !counts {
                // It shows what it showed; sums of fractions alone depend on how they are added up.
                self.cells.remove(&element);
            } else if cell.is_settled() {
                self.put(element, cell);
            } else {
                let oldest = cell.oldest().map_or(Hlc::ZERO, |stamp| stamp.ts);
                // Its oldest part may stand at or below: a segment that goes on. It is looked at again next time.
                self.queue.push_back((oldest.max(upto.next()), element.clone()));
                cell.queued.0 = true;
                self.cells.insert(element, cell);
            }
        }
    }

    /// Drops what had expired before every operation that can still arrive (R19): not what is newer, and not the deadline while
    /// anything is left.
    pub fn expire(&mut self, upto: Hlc) {
        let expired = self.deadlines.effective().is_some_and(|deadline| deadline_time(deadline) <= upto);
        if !expired || self.plains.is_empty() {
            return;
        }
        self.plains.clear();
        let mut hot: Vec<Element> = self.cells.keys().cloned().collect();
        hot.sort_unstable();
        for element in hot {
            let mut cell = self.cells.get_mut(&element).map(std::mem::take).expect("it was just there");
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
        self.settled_kind = self.kind();
        let mut hot: Vec<Element> = self.cells.keys().cloned().collect();
        hot.sort_unstable();
        for element in hot {
            let mut cell = self.cells.get_mut(&element).map(std::mem::take).expect("it was just there");
            cell.settle(upto);
            self.put(element, cell);
        }
    }
}
