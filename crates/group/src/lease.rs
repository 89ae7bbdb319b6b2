//! Until when a leader may answer without asking: as long as nobody else can have been elected.
//!
//! A leader asks the others, with a number, whether it still leads. Once most of them have answered, none of these takes
//! part in an election before an election timeout has passed since the question was asked. Clocks that do not jump have
//! to agree on how long that is to a quarter, and on nothing else.

use std::collections::VecDeque;
use tidemark_core::Micros;

/// A leader's lease, on its clock that does not jump.
#[derive(Debug, Default)]
pub(crate) struct Lease {
    /// The number of the last question.
    last: u64,
    /// Questions that are not answered, and when they were asked.
    asked: VecDeque<(u64, Micros)>,
    until: Micros,
}

impl Lease {
    /// A question is asked now; its number.
    pub(crate) fn ask(&mut self, now: Micros) -> u64 {
        self.last += 1;
        self.asked.push_back((self.last, now));
        self.last
    }

    /// Most have answered question `number`: nobody else leads for `span` from when it was asked.
    pub(crate) fn answered(&mut self, number: u64, span: Micros) {
        while let Some((asked, at)) = self.asked.front().copied().filter(|(asked, _)| *asked <= number) {
            if asked == number {
                self.until = self.until.max(at + span);
            }
            self.asked.pop_front();
        }
    }

    /// Nobody has to wait for it any more.
    pub(crate) fn end(&mut self) {
        self.asked.clear();
        self.until = 0;
    }

    /// When the last question that is not answered was asked.
    pub(crate) fn last_asked(&self) -> Option<Micros> {
        self.asked.back().map(|(_, at)| *at)
    }

    /// Whether nobody else can lead now.
    pub(crate) fn holds(&self, now: Micros) -> bool {
        now < self.until
    }
}
