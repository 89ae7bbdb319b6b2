//! A key of a data type: what every fresh reader sees, and what is needed to see less.
//!
//! **Idea.** The value of a key is a function of the set of versions that a reader can see. Fresh readers of one server see ever
//! more; what they see is the *head*, and a version that becomes visible is applied to it once. The *base* is what every
//! snapshot contains that will ever be read: it is the head with the elements of [`Undo`] put back. A version between the two is
//! *pending*. When the safe point passes it, it is applied to the base and forgotten; all that a session depends on for having
//! seen it stays in a *witness*, one for each region.
//!
//! **Invariants**
//! - I1 An element that no applied pending version touches is the same in head and base.
//! - I2 Witnesses cover, region by region, every version that was applied to the head (to the base).
//!
//! **Source.** Rules are numbered as in docs/types.md.

use super::Version;
use super::copies::below_copies;
use super::frozen::{Mark, Part};
use super::understood::effect_of;
use super::undo::{Undo, apply, fold};
use smallvec::SmallVec;
use std::borrow::Cow;
use std::collections::VecDeque;
use tidemark_core::{DcId, Hlc, Stamp, Write};
use tidemark_crdt::cell::Cell;
use tidemark_crdt::effect::Effect;
use tidemark_crdt::rule;
use tidemark_crdt::state::{Element, State};

/// Makes `meta` cover what a session depends on that saw another version of the same region.
pub type Absorb<M> = fn(&mut M, &Version<M>);

/// One version a region: whoever saw them all depends on no more than who saw these.
type Witnesses<M> = SmallVec<[Version<M>; 1]>;

struct Pending<M> {
    version: Version<M>,
    effect: Effect,
    applied: bool,
}

/// See above.
pub struct Object<M> {
    head: State,
    /// What a key does not have that was not written lately.
    lately: Option<Box<Lately<M>>>,
    /// The newest version that was ever here.
    newest: Hlc,
    /// The version that was applied to the head last.
    last: Stamp,
    /// What most keys do not have.
    rare: Option<Box<Rare>>,
}

#[derive(Default)]
struct Rare {
    /// The deadline under which the key is indexed: see [`super::deadlines`].
    due: Option<u64>,
    /// After a restart: what a snapshot's part of the base contains.
    mark: Option<Mark>,
}

/// What is between the head and the base, and what readers of both depend on.
struct Lately<M> {
    /// In the order of stamps.
    pending: VecDeque<Pending<M>>,
    undo: Option<Box<Undo>>,
    /// Of the head, and of the base (I2).
    seen: Witnesses<M>,
    folded: Witnesses<M>,
    /// The view under which what is hidden was last looked at.
    epoch: u64,
    /// Pending versions that are not in the head, oldest first.
    hidden: VecDeque<Stamp>,
    /// Bytes of what the pending versions do.
    bytes: u64,
}

/// Where a pending version stands, or would: behind all others, as a rule, and the next to be folded is the first.
fn place<M>(pending: &VecDeque<Pending<M>>, stamp: Stamp) -> Result<usize, usize> {
    match (pending.front(), pending.back()) {
        (_, Some(last)) if last.version.stamp < stamp => Err(pending.len()),
        (Some(first), _) if first.version.stamp == stamp => Ok(0),
        _ => pending.binary_search_by_key(&stamp, |one| one.version.stamp),
    }
}

fn witness<M: Clone>(witnesses: &mut Witnesses<M>, version: &Version<M>, absorb: Absorb<M>) {
    if !rule::READERS_DEPEND.kept() {
        return;
    }
    let Version { stamp, meta, .. } = version;
    match witnesses.iter_mut().find(|one| one.stamp.origin == stamp.origin) {
        Some(one) => {
            absorb(&mut one.meta, version);
            one.stamp = one.stamp.max(*stamp);
        }
        None => witnesses.push(Version { stamp: *stamp, meta: meta.clone(), write: Write::Remove }),
    }
}

impl<M> Default for Object<M> {
    fn default() -> Self {
        let (head, newest, last) = Default::default();
        Self { head, lately: None, newest, last, rare: None }
    }
}

impl<M> Default for Lately<M> {
    fn default() -> Self {
        let (pending, undo, epoch, hidden, bytes) = Default::default();
        Self { pending, undo, seen: SmallVec::new(), folded: SmallVec::new(), epoch, hidden, bytes }
    }
}

impl<M> Lately<M> {
    fn is_over(&self) -> bool {
        self.pending.is_empty() && self.undo.is_none() && self.seen.is_empty() && self.folded.is_empty()
    }
}

impl<M: Clone> Object<M> {
    /// Adds a version, hidden until [`Self::refresh`] finds it visible. False if it is there already.
    pub fn insert(&mut self, version: Version<M>) -> bool {
        let lately = self.lately.get_or_insert_default();
        let Err(place) = place(&lately.pending, version.stamp) else { return false };
        self.newest = self.newest.max(version.stamp.ts);
        lately.bytes += version.write.len() as u64;
        lately.epoch = 0;
        let at = lately.hidden.partition_point(|hidden| *hidden < version.stamp);
        lately.hidden.insert(at, version.stamp);
        let effect = effect_of(&version.write);
        lately.pending.insert(place, Pending { version, effect, applied: false });
        true
    }

    /// Folds a version that is newer than all that was ever here. False if something is pending. REQUIRES: as [`State::fold`]; every view sees it.
    pub(super) fn fold_new(&mut self, stamp: Stamp, effect: &Effect) -> bool {
        let lately = self.lately.as_ref();
        let is_new = lately.is_none_or(|lately| lately.pending.is_empty() && lately.undo.is_none())
            && stamp.ts > self.newest;
        if is_new {
            self.head.fold(stamp, effect);
            (self.newest, self.last) = (stamp.ts, stamp);
        }
        is_new
    }

    /// Applies what is visible to the head. `epoch` names the view, of which `visible` is the rule: REQUIRES that it sees all that
    /// the views before it saw. Whether it has looked at all: if not, the head is as it was.
    pub fn refresh(&mut self, epoch: u64, absorb: Absorb<M>, visible: impl Fn(&Version<M>) -> bool) -> bool {
        let Self { head, lately: Some(lately), last, .. } = self else { return false };
        if lately.hidden.is_empty() || lately.epoch == epoch {
            return false;
        }
        lately.epoch = epoch;
        let Lately { pending, undo, seen, hidden, .. } = &mut **lately;
        hidden.retain(|stamp| {
            let at = place(pending, *stamp).expect("what is hidden is pending");
            let one = &mut pending[at];
            one.applied = visible(&one.version);
            if one.applied {
                apply(head, undo.get_or_insert_default(), *stamp, &one.effect);
                witness(seen, &one.version, absorb);
                *last = *stamp;
            }
            !one.applied
        });
        true
    }

    /// Versions that are not in the head, oldest first. REQUIRES: [`Self::refresh`].
    pub fn hidden(&self) -> impl Iterator<Item = &Version<M>> {
        let pending = self.lately.iter().flat_map(|lately| &lately.pending);
        pending.filter(|one| !one.applied).map(|one| &one.version)
    }

    /// What fresh readers see. REQUIRES: [`Self::refresh`].
    pub fn head(&self) -> &State {
        &self.head
    }

    /// The version that was applied to the head last: as long as it is the same, the head is.
    pub fn last(&self) -> Stamp {
        self.last
    }

    /// The deadline under which the key is indexed.
    pub(super) fn due(&self) -> Option<u64> {
        self.rare.as_ref()?.due
    }

    pub(super) fn set_due(&mut self, due: Option<u64>) {
        self.rare.get_or_insert_default().due = due;
        self.rare.take_if(|rare| rare.due.is_none() && rare.mark.is_none());
    }

    /// What fresh readers see, for trials that are taken back.
    pub(super) fn head_mut(&mut self) -> &mut State {
        &mut self.head
    }

    /// What a session depends on that saw the head.
    pub fn seen(&self) -> &[Version<M>] {
        self.lately.as_ref().map_or(&[], |lately| &lately.seen)
    }

    fn all_pending(&self) -> impl DoubleEndedIterator<Item = &Pending<M>> {
        self.lately.iter().flat_map(|lately| &lately.pending)
    }

    /// Whether a reader to whom these versions are visible sees what fresh readers see.
    pub fn is_fresh_to(&self, visible: impl Fn(&Version<M>) -> bool) -> bool {
        self.all_pending().all(|one| visible(&one.version) == one.applied)
    }

    /// The key as a reader sees it to whom exactly the versions are visible that satisfy `visible`, and all of the base. `saw` is
    /// called with what the reader depends on.
    pub fn view(
        &self,
        visible: impl Fn(&Version<M>) -> bool,
        mut saw: impl FnMut(&Version<M>),
    ) -> Cow<'_, State> {
        if self.is_fresh_to(&visible) {
            self.seen().iter().for_each(saw);
            return Cow::Borrowed(&self.head);
        }
        self.folded().iter().for_each(&mut saw);
        let mut state = self.base();
        for Pending { version, effect, .. } in self.all_pending().filter(|one| visible(&one.version)) {
            state.apply(version.stamp, effect, None);
            saw(version);
        }
        Cow::Owned(state)
    }

    /// What every snapshot contains.
    pub fn base(&self) -> State {
        let mut state = self.head.clone();
        let Some(undo) = self.lately.as_ref().and_then(|lately| lately.undo.as_ref()) else { return state };
        for (kind, plain) in &undo.plains {
            state.detach(Some(*kind));
            let gone: Vec<Element> = state
                .hot_elements()
                .map(|(element, _)| element.clone())
                .filter(|e| e.kind == *kind)
                .collect();
            gone.into_iter().for_each(|element| state.put(element, Cell::default()));
            if let Some(plain) = plain {
                state.attach(plain.clone());
            }
        }
        let mut cells: Vec<_> = undo.cells.iter().collect();
        cells.sort_unstable_by_key(|(element, _)| *element);
        cells.into_iter().for_each(|(element, undone)| state.put(element.clone(), undone.cell.clone()));
        if undo.deadline_touches > 0 {
            state.deadlines = undo.deadlines.clone();
        }
        state
    }

    /// Folds the pending versions that are `safe`: every snapshot that will ever be read contains them. Returns their stamps.
    pub fn fold(&mut self, absorb: Absorb<M>, safe: impl FnMut(&Version<M>) -> bool) -> Vec<Stamp> {
        let stamps = below_copies(self.all_pending().map(|one| &one.version), safe);
        stamps.iter().for_each(|stamp| self.fold_one(*stamp, absorb));
        stamps
    }

    /// Folds one pending version; nothing if it is not pending.
    pub fn fold_one(&mut self, stamp: Stamp, absorb: Absorb<M>) {
        let Self { head, lately: Some(lately), last, .. } = self else { return };
        let Lately { pending, undo, seen, folded, hidden, bytes, .. } = &mut **lately;
        let found = place(pending, stamp).ok().and_then(|at| pending.remove(at));
        let Some(Pending { version, effect, applied }) = found else { return };
        *bytes -= version.write.len() as u64;
        let undone = undo.get_or_insert_default();
        if !applied {
            if let Ok(at) = hidden.binary_search(&stamp) {
                hidden.remove(at);
            }
            apply(head, undone, stamp, &effect);
            witness(seen, &version, absorb);
            *last = stamp;
        }
        fold(undone, stamp, &effect);
        if undone.is_over() {
            *undo = None;
        }
        witness(folded, &version, absorb);
    }

    /// Up to where all is settled, if every later operation of this partition has observed what is at or below `upto` (R8).
    fn settled(&self, upto: Hlc) -> Hlc {
        let floors = self.all_pending().map(|one| one.effect.floor);
        if rule::PENDING_HOLD_SETTLING.kept() { floors.fold(upto, Hlc::min) } else { upto }
    }

    /// Drops dots and segments that every later operation has observed, of about `budget` elements, and what had expired before.
    pub fn settle(&mut self, upto: Hlc, budget: usize) {
        let upto = self.settled(upto);
        let Self { head, lately, newest, .. } = self;
        let mut undo = lately.as_mut().and_then(|lately| lately.undo.as_mut());
        if undo.as_ref().is_some_and(|undo| undo.is_contested(head)) {
            return;
        }
        head.settle(upto, budget);
        if let Some(undo) = &mut undo {
            undo.cells.values_mut().for_each(|undone| undone.cell.settle(upto));
            undo.deadlines.settle(upto);
        } else {
            let early = if rule::EXPIRED_AT_SETTLED.kept() { Hlc::ZERO } else { *newest };
            head.expire(upto.max(early));
        }
        if let Some(lately) = lately
            && lately.pending.is_empty()
        {
            lately.seen.retain(|one| one.stamp.ts > upto);
            lately.folded.clone_from(&lately.seen);
        }
        self.lately.take_if(|lately| lately.is_over());
    }

    /// How many elements of the head are not settled, whether its deadline is not, and how many witnesses there are.
    pub fn unsettled(&self) -> (usize, bool, usize) {
        let State { deadlines, .. } = &self.head;
        (self.head.hot_len(), !deadlines.is_settled(), self.seen().len())
    }

    /// Whether collection has nothing to do here. A deadline is looked after by the index.
    pub fn is_at_rest(&self) -> bool {
        !self.is_pending() && self.seen().is_empty() && self.head.is_settled() && !self.is_empty()
    }

    /// Whether nothing is here.
    pub fn is_empty(&self) -> bool {
        !self.is_pending() && self.head.kind().is_none() && self.head.hot_elements().next().is_none()
    }

    fn is_pending(&self) -> bool {
        self.lately.as_ref().is_some_and(|lately| !lately.pending.is_empty())
    }

    /// Whether nothing is here, and everybody who will ever write has seen that (R20).
    pub fn is_gone(&self, upto: Hlc) -> bool {
        self.is_empty() && (self.newest <= upto || !rule::EMPTY_WAITS.kept())
    }

    /// Versions that are not in the base, newest first.
    pub fn pending(&self) -> impl Iterator<Item = &Version<M>> {
        self.all_pending().rev().map(|one| &one.version)
    }

    /// The pending version with this stamp.
    pub fn pending_at(&self, stamp: Stamp) -> Option<&Version<M>> {
        let pending = &self.lately.as_ref()?.pending;
        place(pending, stamp).ok().map(|at| &pending[at].version)
    }

    /// What the protocol stores beside a pending version.
    pub fn meta_mut(&mut self, stamp: Stamp) -> Option<&mut M> {
        let Lately { pending, epoch, .. } = &mut **self.lately.as_mut()?;
        *epoch = 0;
        place(pending, stamp).ok().map(|at| &mut pending[at].version.meta)
    }

    /// What a session depends on that saw the base.
    pub fn folded(&self) -> &[Version<M>] {
        self.lately.as_ref().map_or(&[], |lately| &lately.folded)
    }

    /// Adds a part of the base, as a snapshot holds it.
    pub fn restore(&mut self, part: Part<M>, mark: &Mark) {
        for (kind, name, cell) in part.elements {
            self.head.restore(Element { kind, name: name.into() }, cell);
        }
        self.head.deadlines = part.deadlines;
        let witness = |(stamp, meta)| Version { stamp, meta, write: Write::Remove };
        let seen: Witnesses<M> = part.seen.into_iter().map(witness).collect();
        if !seen.is_empty() {
            let lately = self.lately.get_or_insert_default();
            (lately.folded, lately.seen) = (seen.clone(), seen);
        }
        self.newest = self.newest.max(part.newest);
        self.rare.get_or_insert_default().mark.get_or_insert_with(|| mark.clone());
    }

    /// Whether what a snapshot said of it contains a record of a log.
    pub fn contains(&self, of: Option<DcId>, seq: u64) -> bool {
        self.rare.as_ref().and_then(|rare| rare.mark.as_ref()).is_some_and(|mark| mark.contains(of, seq))
    }

    /// Bytes of what the pending versions do.
    pub fn bytes(&self) -> u64 {
        self.lately.as_ref().map_or(0, |lately| lately.bytes)
    }

    /// The newest version that was ever here.
    pub fn newest(&self) -> Hlc {
        self.newest
    }
}
