//! What has been added to an element.

use crate::number::Number;
use crate::rule;
use serde::{Deserialize, Serialize};
use std::ops::Deref;
use tidemark_core::Stamp;

/// What one region has added in one go.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Segment {
    pub(super) start: Stamp,
    /// The last increment that is here; none if only a kill has named it yet.
    pub(super) last: Option<Stamp>,
    pub(super) sum: Number,
    /// What of it was taken away: the last increment, and the sum up to it.
    pub(super) cut: Option<(Stamp, Number)>,
}

impl Segment {
    pub(super) fn is_live(&self) -> bool {
        self.last.is_some_and(|last| self.cut.is_none_or(|(upto, _)| last > upto))
    }

    /// Which increment has to be at or below the floor of a kill that does not list the segment, for it to die.
    pub(super) fn decides(&self) -> Option<Stamp> {
        if rule::UNLISTED_BY_END.kept() { self.last } else { Some(self.start) }
    }

    pub(super) fn counts(&self) -> Number {
        self.cut.map_or(self.sum, |(_, sum)| self.sum.minus(sum))
    }
}

/// The segments of an element, in the order of their starts: fractions add up in the same order everywhere.
///
/// A counter that many clients add to at the edge has one for each addition that a late copy of may still come, and it is shown after each.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct Segments {
    all: Vec<Segment>,
    /// Where there are more than a few: what the live ones among the first come to, and how many these are.
    #[serde(skip)]
    first: Option<Box<(usize, Option<Number>)>>,
}

/// So many are added up each time.
const FEW: usize = 8;

impl PartialEq for Segments {
    fn eq(&self, other: &Self) -> bool {
        self.all == other.all
    }
}

impl Deref for Segments {
    type Target = [Segment];

    fn deref(&self) -> &[Segment] {
        &self.all
    }
}

impl Segments {
    /// To change any of them.
    pub(super) fn change(&mut self) -> &mut Vec<Segment> {
        self.first = None;
        &mut self.all
    }

    /// The one that began at `start` had added up to `sum` at `stamp`.
    pub(super) fn count(&mut self, stamp: Stamp, start: Stamp, sum: Number) {
        match self.all.binary_search_by_key(&start, |segment| segment.start) {
            Ok(at) if self.all[at].last.is_none_or(|last| last <= stamp) => {
                self.keeps(at);
                (self.all[at].last, self.all[at].sum) = (Some(stamp), sum);
            }
            Ok(_) => {}
            Err(_) => self.begin(Segment { start, last: Some(stamp), sum, cut: None }),
        }
    }

    /// Adds one.
    pub(super) fn begin(&mut self, segment: Segment) {
        let at = self.all.partition_point(|one| one.start < segment.start);
        self.keeps(at);
        self.all.insert(at, segment);
        if self.all.len() <= FEW {
            return;
        }
        // The last one may go on.
        let (count, upto) = self.first.as_deref().copied().unwrap_or_default();
        let end = self.all.len() - 1;
        self.first = Some(Box::new((end, sum(upto, &self.all[count..end]))));
    }

    /// What the live ones come to, if there are any.
    pub(super) fn total(&self) -> Option<Number> {
        let (count, upto) = self.first.as_deref().copied().unwrap_or_default();
        sum(upto, &self.all[count..])
    }

    /// From `at` on they are others than they were.
    fn keeps(&mut self, at: usize) {
        if self.first.as_deref().is_some_and(|(count, _)| at < *count) {
            self.first = None;
        }
    }
}

fn sum(upto: Option<Number>, more: &[Segment]) -> Option<Number> {
    let more = more.iter().filter(|segment| segment.is_live()).map(Segment::counts);
    upto.into_iter().chain(more).reduce(Number::plus)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::number::Dd;
    use tidemark_core::{DcId, Hlc};

    /// However segments come, go on, and are cut, what is known of the first ones is what they come to.
    #[test]
    fn the_total_is_that_of_all_live_segments() {
        let mut rng = fastrand::Rng::with_seed(7);
        let stamp = |ts: u64| Stamp { ts: Hlc(ts), origin: DcId(0), seq: 0 };
        for _ in 0..200 {
            let mut segments = Segments::default();
            for step in 1..100 {
                let start = if rng.bool() { step } else { rng.u64(1..100) };
                let number = Number { int: rng.i128(-5..6), float: Dd { high: rng.f64(), low: 0.0 } };
                match rng.u8(..20) {
                    0 => segments.change().retain(|segment| segment.start.ts.0 % 3 > 0),
                    1 => segments
                        .change()
                        .iter_mut()
                        .for_each(|one| one.cut = one.last.map(|last| (last, one.sum))),
                    _ => segments.count(stamp(start.max(step)), stamp(start), number),
                }
                let slow =
                    segments.iter().filter(|one| one.is_live()).map(Segment::counts).reduce(Number::plus);
                assert_eq!(segments.total(), slow);
                assert!(segments.is_sorted_by_key(|segment| segment.start));
            }
        }
    }
}
