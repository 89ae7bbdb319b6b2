//! A command while it is evaluated: what it reads, and the changes that it makes of what its session sees.

mod written;

use crate::account::Entry;
use crate::effect::{Bound, Change, Datum, Kill, Kind, Name, Start};
use crate::modifier::Modifier;
use crate::number::{Dd, Number};
use crate::rule;
use crate::series::TRIAL;
use crate::shape::Plain;
use crate::state::State;
use bytes::Bytes;
use tidemark_core::{Command, DcId, Hlc, Reply, Stamp};
use written::Written;

/// Where and when a command is evaluated.
#[derive(Clone, Copy, Debug)]
pub struct Moment {
    /// By which deadlines are judged: the stamp of what is written (R17), or physical time, where no deadline lies between.
    pub time: Hlc,
    /// The region.
    pub origin: DcId,
    /// Every view here contains what is at or below.
    pub floor: Hlc,
    /// Whether keys of this partition have ever had deadlines: then a key that is created may have expired before (R18).
    pub expiring: bool,
    /// Whether this is the only region: then ids of streams are given as Redis gives them.
    pub alone: bool,
    /// Whether the key is seen in a snapshot, from which others of the region may have gone on. Then no segment of a counter does, and ids
    /// that are given depend on this number, which nobody else has.
    pub past: Option<u64>,
    /// As long as a string may become, in bytes.
    pub longest: usize,
}

/// What a command answers, or the error that it answers.
pub type Answer = Result<Reply, Reply>;

/// See above.
pub struct Draft<'a> {
    /// The key as the session sees it, expired or not.
    state: &'a State,
    /// Randomness.
    pub seed: u64,
    /// Where and when.
    pub moment: Moment,
    expired: bool,
    changes: Vec<Change>,
    written: Written,
    /// How many elements it added less those that it removed.
    growth: isize,
    began: bool,
    cleared: bool,
    /// The command has done what its reply does not say: see [`tidemark_core::Reply::Noted`].
    pub noted: bool,
}

impl<'a> Draft<'a> {
    /// Of a command on `state`.
    #[inline]
    pub fn new(state: &'a State, command: &Command, moment: Moment) -> Self {
        let expired = state.is_expired(moment.time);
        Self {
            state,
            seed: command.seed,
            moment,
            expired,
            changes: Vec::new(),
            written: Written::default(),
            growth: 0,
            began: false,
            cleared: false,
            noted: false,
        }
    }

    /// The changes.
    pub fn finish(self) -> Vec<Change> {
        self.changes
    }

    /// Physical time, in milliseconds since 1970.
    pub fn now_ms(&self) -> u64 {
        self.moment.time.micros() / 1000
    }

    /// What the session sees, if the key is there. Changes of this command are not in it.
    #[inline]
    pub fn plain(&self) -> Option<&'a Plain> {
        if self.expired { None } else { self.state.shown() }
    }

    /// The type that the session sees.
    #[inline]
    pub fn kind(&self) -> Option<Kind> {
        self.plain().map(Plain::kind)
    }

    /// The key's deadline, in milliseconds since 1970. None if it has none, or is not there.
    pub fn deadline(&self) -> Option<u64> {
        self.plain().and_then(|_| self.state.deadlines.effective())
    }

    /// The key if it is of `kind`; none if it is not there.
    ///
    /// # Errors
    /// It is of another type.
    #[inline]
    pub fn of(&self, kind: Kind) -> Result<Option<&'a Plain>, Reply> {
        match self.plain() {
            Some(plain) if plain.kind() != kind => Err(Reply::WRONG_TYPE),
            plain => Ok(plain),
        }
    }

    /// An element, with the changes of this command.
    pub fn get(&self, name: &[u8]) -> Option<Datum> {
        match self.written.get(name, &self.changes) {
            Some(datum) => datum.clone(),
            None if self.cleared => None,
            None => self.plain()?.get(name),
        }
    }

    /// Whether there is an element, with the changes of this command.
    #[inline]
    pub fn contains(&self, name: &[u8]) -> bool {
        match self.written.get(name, &self.changes) {
            Some(datum) => datum.is_some(),
            None if self.cleared => false,
            None => self.plain().is_some_and(|plain| plain.contains(name)),
        }
    }

    /// Whether it would change nothing to give an element the value that the session sees: no other region can remove it, and
    /// nothing is known of it but that value.
    pub fn is_certain(&self, kind: Kind, name: &[u8]) -> bool {
        self.moment.alone && !self.cleared && self.state.hot(kind, name).is_none()
    }

    /// Whether this command has changed an element.
    pub fn has_written(&self, name: &[u8]) -> bool {
        self.written.get(name, &self.changes).is_some()
    }

    /// How many elements the key has, with the changes of this command.
    pub fn len(&self) -> usize {
        let before = if self.cleared { 0 } else { self.plain().map_or(0, Plain::len) };
        before.saturating_add_signed(self.growth)
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Before the first change: what had expired goes, a key that is created starts anew, and so do types that are not shown.
    #[inline]
    fn begin(&mut self) {
        if std::mem::replace(&mut self.began, true) {
            return;
        }
        if self.expired || self.plain().is_none() {
            let left = self.moment.expiring || self.state.has_assignments();
            if self.expired || left && rule::CREATION_KILLS.kept() {
                self.changes.push(self.state.observed(None, self.moment.floor));
            }
            if rule::CREATION_LIFTS.kept() {
                let kill = self.state.deadlines.observed(self.moment.floor).dots;
                self.changes.push(Change::Expire { deadline: None, kill });
            }
            return;
        }
        let shadowed: Vec<Kind> = self.state.shadowed().filter(|_| rule::SHADOWED_DIE.kept()).collect();
        shadowed
            .into_iter()
            .for_each(|kind| self.changes.push(self.state.observed(Some(kind), self.moment.floor)));
    }

    /// What of an element the session sees that this command overwrites or removes.
    #[inline]
    fn observed(&self, kind: Kind, name: &[u8]) -> Kill {
        match self.state.hot(kind, name) {
            Some(cell) if !self.expired && !self.cleared => cell.observed(self.moment.floor),
            _ => Default::default(),
        }
    }

    /// Gives an element a value.
    pub fn assign(&mut self, kind: Kind, name: &[u8], datum: Datum) {
        self.assign_shared(kind, Bytes::copy_from_slice(name), datum, Bound::None);
    }

    /// Gives an element a value that merges with concurrent ones as `bound` says, without a copy of the name. True if it is new.
    pub fn assign_shared(&mut self, kind: Kind, name: Bytes, datum: Datum, bound: Bound) -> bool {
        self.begin();
        let kill = self.observed(kind, &name);
        let new = !self.note(&name, Some(datum.clone()));
        self.changes.push(Change::Assign { kind, name: Name::Is(name), datum, bound, kill });
        new
    }

    /// Gives a value to an element whose name the version's stamp completes. This command does not see it.
    pub fn assign_new(&mut self, kind: Kind, name: Name, datum: Datum) {
        self.begin();
        self.growth += 1;
        self.changes.push(Change::Assign { kind, name, datum, bound: Bound::None, kill: Default::default() });
    }

    /// Removes an element. True if it was there.
    pub fn remove(&mut self, kind: Kind, name: &[u8]) -> bool {
        if !self.contains(name) {
            return false;
        }
        self.begin();
        let kill = self.observed(kind, name);
        self.growth -= 1;
        self.written.insert(name, None, &self.changes);
        self.changes.push(Change::Kill { kind, name: Name::of(name), kill });
        true
    }

    /// Removes an element that is there. REQUIRES: this command neither has changed it nor asks for it again.
    pub fn take(&mut self, kind: Kind, name: Bytes) {
        self.begin();
        let kill = self.observed(kind, &name);
        self.growth -= 1;
        self.changes.push(Change::Kill { kind, name: Name::Is(name), kill });
    }

    /// Notes what an element comes to, and says whether it was there. REQUIRES: the next change is of this element.
    #[inline]
    fn note(&mut self, name: &[u8], datum: Option<Datum>) -> bool {
        let (was, is) = (self.contains(name), datum.is_some());
        self.growth += isize::from(is) - isize::from(was);
        self.written.insert(name, datum, &self.changes);
        was
    }

    /// Adds to an element. REQUIRES: this command neither has changed it nor asks for it again.
    #[inline]
    pub fn count(&mut self, kind: Kind, name: &[u8], by: Number) {
        self.growth += isize::from(!self.contains(name));
        self.begin();
        // What the series itself has counted goes on.
        let upto = if self.moment.past.is_some() { TRIAL.prev() } else { self.moment.floor };
        let own = match self.state.hot(kind, name) {
            Some(cell) if !self.expired => cell.segment(self.moment.origin, upto),
            _ => None,
        };
        // Nothing can be told from the sum of a segment that has become infinite: another one begins.
        let own = own.filter(|(_, sum)| sum.as_float().is_finite());
        let (start, sum) = own.map_or((Start::Own, by), |(start, sum)| (Start::At(start), sum.plus(by)));
        self.changes.push(Change::Count { kind, name: Name::of(name), start, sum });
    }

    /// Changes parts of a string. REQUIRES: the command does nothing else to the key, and does not read it any more.
    pub fn modify(&mut self, modifiers: Vec<Modifier>) {
        self.begin();
        self.changes.push(Change::Modify { kind: Kind::String, name: Name::of(b""), modifiers });
    }

    /// Raises a total of the bounded counter that the session sees. REQUIRES: `created` is its creation.
    pub fn raise(&mut self, created: Stamp, entry: Entry) {
        self.begin();
        self.changes.push(Change::Raise { kind: Kind::BCounter, name: Name::of(b""), created, entry });
    }

    /// Adds to a number in a string or a field so that it comes to what Redis shows: the increment is what lies between.
    ///
    /// # Errors
    /// The sum is too large.
    pub fn count_float(&mut self, kind: Kind, name: &[u8], from: Dd, by: Dd) -> Answer {
        let sum = from.plus_extended(by);
        if !sum.is_finite() {
            return Err(Reply::error("ERR increment would produce NaN or Infinity"));
        }
        let shown = sum.show();
        let exact = Dd::parse(shown.as_bytes()).unwrap_or(sum);
        let by = Number::float(exact.plus(from.negated()));
        self.count(kind, name, by);
        Ok(Reply::bulk(shown.as_bytes()))
    }

    /// Adds to a score so that it comes to `from + by`, rounded as the sum of two doubles is.
    pub fn count_score(&mut self, name: &[u8], from: f64, by: f64) {
        let double = |high| Dd { high, low: 0.0 };
        let sum = from + by;
        let rounded = double(sum).plus(double(from).negated());
        // An increment of an infinite score does not show there, but it counts in a region that has another score.
        let by = if sum.is_finite() { rounded } else { double(by) };
        self.count(Kind::Zset, name, Number::float(by));
    }

    /// Removes everything that the session sees, the deadline included. A string is one value: nothing takes its place, so that of SET
    /// and DEL the later one counts (R28).
    pub fn clear(&mut self) {
        let string = self.kind() == Some(Kind::String) && rule::DELETIONS_COUNT.kept();
        self.began = true;
        self.cleared = true;
        self.growth = 0;
        self.written = Written::default();
        self.changes.push(self.state.observed(None, self.moment.floor));
        if string {
            let (name, bound, kill) = (Name::Is(Bytes::new()), Bound::None, Kill::default());
            self.changes.push(Change::Assign { kind: Kind::String, name, datum: Datum::Gone, bound, kill });
        }
    }

    /// Removes all elements that the session sees, of all types, if the key has expired; with `early` also if it only has a deadline.
    /// The deadline stays, so that what another region adds meanwhile expires with the key (R29). Returns how many bytes went.
    pub fn purge(&mut self, early: bool) -> usize {
        if self.state.deadlines.effective().is_none() || !(self.expired || early) {
            return 0;
        }
        self.began = true;
        self.cleared = true;
        let kinds: Vec<Kind> = self.state.kinds().collect();
        for kind in &kinds {
            self.changes.push(self.state.observed(Some(*kind), self.moment.floor));
        }
        if !rule::PURGE_LEAVES_DEADLINE.kept() {
            self.changes = vec![self.state.observed(None, self.moment.floor)];
        }
        kinds.into_iter().filter_map(|kind| self.state.plain(kind)).map(Plain::memory).sum()
    }

    /// Removes all elements that the session sees; the deadline stays. REQUIRES: the key is of `kind`, and this command has not
    /// changed it.
    pub fn empty(&mut self, kind: Kind) {
        self.begin();
        self.cleared = true;
        self.growth = 0;
        self.changes.push(self.state.observed(Some(kind), self.moment.floor));
    }

    /// Removes everything of the types other than `kind` that the session sees; the deadline stays.
    pub fn clear_others(&mut self, kind: Kind) {
        self.begin();
        if let Some(shown) = self.kind().filter(|shown| *shown != kind) {
            self.changes.push(self.state.observed(Some(shown), self.moment.floor));
        }
    }

    /// Sets the deadline, in milliseconds since 1970, or none.
    pub fn expire(&mut self, deadline: Option<u64>) {
        self.begin();
        let kill = self.state.deadlines.observed(self.moment.floor).dots;
        match self.changes.iter_mut().find(|change| matches!(change, Change::Expire { .. })) {
            Some(Change::Expire { deadline: earlier, .. }) => *earlier = deadline,
            _ => self.changes.push(Change::Expire { deadline, kill }),
        }
    }
}
