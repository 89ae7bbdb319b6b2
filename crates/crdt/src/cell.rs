//! One element as merging sees it: what is assigned to it, what it has been incremented by, and what of both was taken away.
//!
//! **Idea.** An assignment is known by its *dot*, the stamp of its version. A counter is the sum of *segments*; a region goes on
//! with its own, telling what it has added up to since the segment began, so a hot counter costs as many bytes as there are
//! regions. A kill takes what its writer had observed: dots by name, and of a segment what it had added up to. What every later
//! operation is known to have observed needs neither dots nor segments any more: it is *settled*, and any kill takes it.
//!
//! **Source.** Observed-reset counters: Weidner and Almeida, "An Oblivious Observed-Reset Embeddable Replicated Counter", PaPoC
//! 2022. Rules are numbered as in docs/types.md.

mod queued;
mod segments;
mod values;

use crate::effect::{Bound, Cut, Datum, Kill, Kind};
use crate::modifier::{Modified, Modifier};
use crate::number::{Dd, Number, parse_int};
use crate::rule;
pub(crate) use queued::Queued;
use segments::{Segment, Segments};
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;
use tidemark_core::{Hlc, Stamp, Value, Vector};

/// An assignment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Assigned {
    dot: Stamp,
    datum: Datum,
    bound: Bound,
}

/// One element of a key.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    settled: Option<Datum>,
    least: Option<f64>,
    most: Option<f64>,
    counted: Option<Box<Number>>,
    /// Oldest first.
    assigned: SmallVec<[Assigned; 1]>,
    segments: Segments,
    modified: Modified,
    /// Assignments and modifiers that were killed before they arrived.
    early: Vec<Stamp>,
    /// The newest plain write that was ever here, killed or not, until it settles (R13).
    plain: Option<Stamp>,
    /// Whether a [`crate::State`] will look at it again.
    #[serde(skip)]
    pub(crate) queued: Queued,
}

impl Cell {
    /// An element that has been what it is for long.
    pub fn settled(datum: Datum) -> Self {
        Self { settled: Some(datum), ..Self::default() }
    }

    /// Takes away what a change had observed: everything settled, everything at or below its `floor`, and what it names (R5,
    /// R10). Where versions are folded as they arrive, `received` says what has: what a kill names and is not here yet is dead
    /// when it comes (R14).
    pub fn kill(&mut self, floor: Hlc, kill: &Kill, received: Option<&Vector>) {
        self.take(floor, &kill.dots, &kill.cuts, received);
        if let Some(received) = received {
            let early = kill.dots.iter().filter(|dot| !received.covers(**dot));
            self.early.extend(early.copied());
        }
    }

    /// As [`Self::kill`], of a change that names the dots of all elements together.
    pub(crate) fn take(&mut self, floor: Hlc, dots: &[Stamp], cuts: &[Cut], received: Option<&Vector>) {
        if rule::SETTLED_DIES.kept() {
            (self.settled, self.least, self.most, self.counted) = (None, None, None, None);
        }
        let named = |dot: &Stamp| dots.contains(dot) || !rule::ONLY_OBSERVED_DIES.kept();
        self.assigned.retain(|one| one.dot.ts > floor && !named(&one.dot));
        self.modified.take(floor, dots);
        for segment in self.segments.change().iter_mut().filter(|_| rule::INCREMENTS_DIE.kept()) {
            match cuts.iter().find(|cut| cut.start == segment.start) {
                Some(_) if !rule::CUTS_END.kept() => {
                    let end = Stamp { ts: Hlc(u64::MAX), ..segment.start };
                    segment.cut = Some((end, segment.sum));
                }
                Some(cut)
                    if !rule::CUTS_RISE.kept() || segment.cut.is_none_or(|(upto, _)| upto < cut.last) =>
                {
                    segment.cut = Some((cut.last, cut.sum));
                }
                Some(_) => {}
                None if segment.is_live() && segment.decides().is_some_and(|last| last.ts <= floor) => {
                    segment.cut = segment.last.map(|last| (last, segment.sum));
                }
                None => {}
            }
        }
        if received.is_some() {
            for cut in cuts {
                if self.segments.iter().all(|segment| segment.start != cut.start) {
                    let (start, cut) = (cut.start, Some((cut.last, cut.sum)));
                    self.segments.begin(Segment { start, last: None, sum: Number::default(), cut });
                }
            }
        }
    }

    /// The version `dot` assigns `datum`. REQUIRES: what it had observed was killed.
    pub fn assign(&mut self, dot: Stamp, mut datum: Datum, bound: Bound) {
        if self.was_killed(dot) {
            return;
        }
        if let Datum::Account(account) = &mut datum {
            account.create(dot);
        }
        if bound == Bound::Plain && rule::PLAIN_WRITES_END.kept() && !self.is_newest_plain(dot) {
            return;
        }
        match self.assigned.binary_search_by_key(&dot, |one| one.dot) {
            // A version may say something of an element twice: the later word counts.
            Ok(at) => (self.assigned[at].datum, self.assigned[at].bound) = (datum, bound),
            Err(at) => self.assigned.insert(at, Assigned { dot, datum, bound }),
        }
    }

    /// Whether an assignment or a modifier was killed before it arrived, as it does now.
    fn was_killed(&mut self, dot: Stamp) -> bool {
        let at = self.early.iter().position(|early| *early == dot);
        at.is_some_and(|at| self.early.remove(at) == dot)
    }

    /// The version `dot` changes parts. True if it counts, and nothing that is here comes after it. REQUIRES: once for each dot.
    pub fn modify(&mut self, dot: Stamp, modifiers: &[Modifier]) -> bool {
        if self.was_killed(dot) {
            return false;
        }
        let last = self.newest().is_none_or(|newest| newest < dot);
        self.modified.insert(dot, modifiers);
        last
    }

    /// Notes a plain write: the earlier ones are over. False if it is over itself.
    fn is_newest_plain(&mut self, dot: Stamp) -> bool {
        if self.plain.is_some_and(|newest| newest > dot) {
            return false;
        }
        self.assigned.retain(|one| one.bound != Bound::Plain);
        self.plain = Some(dot);
        true
    }

    /// The segment that began at `start` had added up to `sum` at `stamp`.
    pub fn count(&mut self, stamp: Stamp, start: Stamp, sum: Number) {
        self.segments.count(stamp, start, sum);
    }

    /// What a change that is executed now has observed of it, above `floor` (R4: also what lost).
    pub fn observed(&self, floor: Hlc) -> Kill {
        let losers = if rule::LOSERS_ARE_NAMED.kept() { 0 } else { self.assigned.len().saturating_sub(1) };
        let dots = self.assigned[losers..].iter().map(|one| one.dot).chain(self.modified.dots());
        let dots = dots.filter(|dot| dot.ts > floor).collect();
        let live = self.segments.iter().filter(|segment| segment.is_live());
        let cut = |segment: &Segment| Cut {
            start: segment.start,
            last: segment.last.unwrap_or(segment.start),
            sum: segment.sum,
        };
        Kill { dots, cuts: live.map(cut).collect() }
    }

    /// The segment of `origin` that its next increment goes on with, and its sum: one that began above `floor` (R11), of which no
    /// increment is missing here, and that is newer than every modifier. None if a new one begins.
    pub fn segment(&self, origin: tidemark_core::DcId, floor: Hlc) -> Option<(Stamp, Number)> {
        let own = self.segments.iter().filter(|segment| segment.start.origin == origin);
        let newest = own.max_by_key(|segment| segment.start)?;
        let modified = self.modified.dots().next_back().is_some_and(|modified| modified > newest.start);
        let goes_on = (newest.start.ts > floor || !rule::SEGMENTS_ROTATE.kept()) && !modified;
        (newest.last.is_some() && goes_on).then_some((newest.start, newest.sum))
    }

    /// Drops dots and segments that every operation which can still arrive has observed (R9, R11).
    pub fn settle(&mut self, upto: Hlc) {
        let old = self.assigned.iter().take_while(|one| one.dot.ts <= upto).count();
        if !rule::LOSERS_WAIT.kept() && old < self.assigned.len() {
            self.assigned.drain(old..self.assigned.len() - 1);
        }
        for Assigned { datum, bound, .. } in self.assigned.drain(..old) {
            if let Datum::Score(score) = datum
                && rule::BOUNDS_STAY.kept()
            {
                match bound {
                    Bound::None | Bound::Plain => {}
                    Bound::Least => self.least = Some(self.least.map_or(score, |least| least.max(score))),
                    Bound::Most => self.most = Some(self.most.map_or(score, |most| most.min(score))),
                }
            }
            self.settled = Some(datum);
        }
        self.plain = self.plain.filter(|plain| plain.ts > upto);
        if self.modified.is_empty() {
            let segments = self.settle_segments(upto);
            let counted = self.counted.take().map(|counted| *counted);
            let counts = segments.into_iter().map(|segment| segment.counts());
            self.counted = counts.chain(counted).reduce(Number::plus).map(Box::new);
        } else if self.assigned.is_empty() {
            self.settle_modified(upto);
        }
    }

    /// Takes the segments out that end at or below `upto`, the live ones in the order of their last stamps.
    fn settle_segments(&mut self, upto: Hlc) -> Vec<Segment> {
        let ends = |segment: &Segment| {
            let ended = segment.last.is_some_and(|last| last.ts <= upto) || !rule::SEGMENTS_END.kept();
            let forgets = !rule::CUTS_STAY.kept() && !segment.is_live();
            ended && segment.start.ts <= upto || forgets
        };
        let live =
            self.segments.iter().filter(|segment| ends(segment) && segment.is_live()).copied().collect();
        self.segments.change().retain(|segment| !ends(segment));
        live
    }

    /// Applies modifiers and increments at or below `upto` to what is settled, which is what they are shown on.
    fn settle_modified(&mut self, upto: Hlc) {
        let segments = self.settle_segments(upto);
        let modified = self.modified.drain(upto);
        let live = segments.iter().collect();
        let counted = self.counted.take().map(|counted| *counted);
        self.settled = fold(self.settled.as_ref(), counted, live, &modified);
    }

    /// Whether nothing is left but what a reader sees.
    pub fn is_settled(&self) -> bool {
        let lives = !self.assigned.is_empty() || !self.segments.is_empty() || !self.modified.is_empty();
        !lives && self.early.is_empty() && self.plain.is_none()
    }

    /// Whether what its increments come to is not what a reader sees, but rounded: then a region that has settled it and one that has
    /// not would go on from two numbers.
    pub fn rounds(&self, kind: Kind) -> bool {
        let Some(increments) = self.increments().filter(|_| kind == Kind::Zset) else { return false };
        let base = if let Some(Datum::Score(score)) = self.settled { score } else { 0.0 };
        let exact = Dd { high: base, low: 0.0 }.plus(increments.as_float());
        exact.is_finite() && exact.low != 0.0
    }

    /// Whether an assignment lives in it that is not settled.
    pub fn is_assigned(&self) -> bool {
        !self.assigned.is_empty()
    }

    /// The newest stamp of what lives in it.
    pub fn newest(&self) -> Option<Stamp> {
        let live =
            self.segments.iter().filter(|segment| segment.is_live()).filter_map(|segment| segment.last);
        live.chain(self.assigned.last().map(|one| one.dot)).chain(self.modified.dots().next_back()).max()
    }

    /// The oldest stamp that keeps it from being settled.
    pub fn oldest(&self) -> Option<Stamp> {
        let ends = self.segments.iter().map(|segment| segment.last.unwrap_or(segment.start));
        let dots = self.assigned.iter().map(|one| one.dot).chain(self.modified.dots());
        ends.chain(dots).chain(self.plain).min()
    }

    /// What its increments come to, if there are any.
    pub fn increments(&self) -> Option<Number> {
        self.segments.total().into_iter().chain(self.counted.as_deref().copied()).reduce(Number::plus)
    }

    /// What a reader sees of it.
    pub fn show(&self, kind: Kind) -> Option<Datum> {
        let winner = self.assigned.last().map(|one| &one.datum).or(self.settled.as_ref());
        let winner = winner.filter(|datum| **datum != Datum::Gone);
        if !self.modified.is_empty() {
            let live = self.segments.iter().filter(|segment| segment.is_live()).collect();
            return fold(winner, self.counted.as_deref().copied(), live, &self.modified);
        }
        let increments = self.increments();
        match (kind, winner, increments) {
            (_, None, None) => None,
            (Kind::Zset, winner, increments) => Some(Datum::Score(self.score(winner, increments))),
            (_, Some(datum), None) => Some(datum.clone()),
            (_, winner, Some(increments)) => Some(counted(winner, increments)),
        }
    }

    fn score(&self, winner: Option<&Datum>, increments: Option<Number>) -> f64 {
        let Some(Datum::Score(score)) = winner else {
            return real(increments.unwrap_or_default().as_float());
        };
        let bounds = |bound| self.assigned.iter().filter(move |one| one.bound == bound);
        let scores = |one: &Assigned| if let Datum::Score(score) = one.datum { Some(score) } else { None };
        let least = bounds(Bound::Least).filter_map(scores).chain(self.least);
        let most = bounds(Bound::Most).filter_map(scores).chain(self.most);
        let score = most.fold(least.fold(*score, f64::max), f64::min);
        match increments {
            Some(increments) => real(Dd { high: score, low: 0.0 }.plus(increments.as_float())),
            None => score,
        }
    }
}

/// Applies increments and modifiers in the order of their stamps; a segment stands where it ends. `counted` comes before them.
fn fold(
    winner: Option<&Datum>,
    counted: Option<Number>,
    mut segments: Vec<&Segment>,
    modified: &Modified,
) -> Option<Datum> {
    segments.sort_unstable_by_key(|segment| segment.last);
    let mut segments = segments.into_iter().peekable();
    let mut value = match winner {
        Some(Datum::Bytes(bytes)) => Some(bytes.to_vec()),
        _ => None,
    };
    let mut sum = counted;
    for (dot, modifiers) in modified.iter() {
        while let Some(segment) = segments.next_if(|segment| segment.last < Some(dot)) {
            sum = Some(sum.unwrap_or_default().plus(segment.counts()));
        }
        add(&mut value, sum.take());
        modifiers.iter().for_each(|modifier| modifier.apply(&mut value));
    }
    add(&mut value, segments.map(Segment::counts).chain(sum).reduce(Number::plus));
    value.map(|bytes| Datum::bytes(&bytes))
}

fn add(value: &mut Option<Vec<u8>>, sum: Option<Number>) {
    let Some(sum) = sum else { return };
    let base = value.as_ref().map(|bytes| Datum::bytes(bytes));
    if let Datum::Bytes(bytes) = counted(base.as_ref(), sum) {
        *value = Some(bytes.to_vec());
    }
}

/// Opposite infinities that regions have added meet at zero.
fn real(sum: Dd) -> f64 {
    let sum = sum.to_double();
    if sum.is_nan() { 0.0 } else { sum }
}

/// An integer that was incremented by integers.
pub(crate) fn counted_whole(text: &[u8], increments: Number) -> Option<i64> {
    let sum = i128::from(parse_int(text).filter(|_| increments.is_whole())?) + increments.int;
    Some(sum.clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64)
}

/// A value that was incremented; as it is, if it is no number.
pub(crate) fn counted(base: Option<&Datum>, increments: Number) -> Datum {
    let text = match base {
        None => &b"0"[..],
        Some(Datum::Bytes(text)) => text,
        Some(other) => return other.clone(),
    };
    if let Some(sum) = counted_whole(text, increments) {
        return Datum::Bytes(Value::from(itoa::Buffer::new().format(sum).as_bytes()));
    }
    match Dd::parse(text) {
        Some(number) => Datum::Bytes(Value::from(number.plus(increments.as_float()).show().as_bytes())),
        None => Datum::Bytes(Value::from(text)),
    }
}
