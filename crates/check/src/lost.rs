//! Writes that a loss of power may have taken, before any property is looked at.
//!
//! A node that loses its power keeps a prefix of its log. What clients of its region were told since its last sync may be gone, and
//! what those had built on it stays without it. A [`Lost`] mark says of which node and which time. A write that
//! was acknowledged then is nearly one without an answer, but that it may have been seen in its region before it was lost.
//! So [`without_lost`] makes it one, and has those forget it who have read it.
//!
//! A write stays what it is if it is known that it was not lost:
//!
//! - I1: Somebody of another region, or an edge client, has read it: what leaves a region is synced before.
//! - I2: Somebody has read it after the loss, or a replica returns it in the end.
//! - I3: Somebody has read it before the time of the mark.
//! - I4: A later write of the same node is not lost: of a log a prefix is lost by nobody. Asked of single writes, where the
//!   keys of the node are known.
//!
//! The writes of a transaction are lost together or not at all. Of a write of an edge client its region may lose what it had taken of it;
//! the client has it still, and gives it again. Until then those of the region who have read it forget that.

use crate::hash::Map;
use std::borrow::Cow;
use tidemark_core::history::{Action, Event, Fate, History, Lost, SessionId};
use tidemark_core::{DcId, Found, Key, Stamp, Value};

/// The history in which nothing is asked for that a loss of power may have taken.
pub fn without_lost(history: &History) -> Cow<'_, History> {
    if history.lost.is_empty() {
        return Cow::Borrowed(history);
    }
    let writes = Writes::new(history);
    let mut taken = Taken::default();
    for lost in &history.lost {
        writes.judge(lost, &mut taken);
    }
    let mut left = history.clone();
    for e in taken.unknown {
        (left.events[e].fate, left.events[e].end_us) = (Fate::Unknown, None);
    }
    for (e, write) in taken.unread {
        let found = |key: &Key, found: &Found| writes.found(key, found) == Some(write);
        forget(&mut left.events[e], found);
    }
    Cow::Owned(left)
}

/// Event `e` has not read what `is_it` tells.
fn forget(event: &mut Event, is_it: impl Fn(&Key, &Found) -> bool) {
    match &mut event.action {
        Action::Read { reads, .. } => {
            let before = reads.len();
            reads.retain(|read| !is_it(&read.key, &read.found));
            if reads.is_empty() && before > 0 {
                event.fate = Fate::Failed;
            }
        }
        Action::Write { key, observed, .. } => {
            if observed.as_ref().is_some_and(|found| is_it(key, found)) {
                *observed = None;
            }
        }
        Action::Adopt { .. } => {}
    }
}

/// The writes that losses have taken.
#[derive(Default)]
struct Taken {
    /// Writes of which nobody knows any more whether they happened, by event.
    unknown: Vec<usize>,
    /// Events that have not read the write of another one.
    unread: Vec<(usize, usize)>,
}

/// A write, by its event.
struct Written<'h> {
    e: usize,
    key: &'h Key,
    /// Those that have read it.
    readers: Vec<usize>,
    /// A replica returns it in the end.
    is_last: bool,
}

struct Writes<'h> {
    history: &'h History,
    all: Vec<Written<'h>>,
    /// By version: the write.
    by_version: Map<(&'h Key, Stamp), usize>,
    /// By value: the write, if it is the only one of this value.
    by_value: Map<(&'h Key, &'h Value), Option<usize>>,
}

impl<'h> Writes<'h> {
    fn new(history: &'h History) -> Self {
        let mut writes =
            Self { history, all: Vec::new(), by_version: Map::default(), by_value: Map::default() };
        for (e, event) in history.events.iter().enumerate() {
            let Action::Write { key, value, version, .. } = &event.action else { continue };
            if !matches!(event.fate, Fate::Ok | Fate::Unknown) {
                continue;
            }
            let at = writes.all.len();
            writes.all.push(Written { e, key, readers: Vec::new(), is_last: false });
            if let Some(version) = version {
                writes.by_version.entry((key, *version)).or_insert(at);
            }
            if let Some(value) = value {
                writes.by_value.entry((key, value)).and_modify(|other| *other = None).or_insert(Some(at));
            }
        }
        for (e, event) in history.events.iter().enumerate() {
            let (one, several) = match &event.action {
                Action::Read { reads, .. } => (None, &reads[..]),
                Action::Write { key, observed: Some(found), .. } => (Some((key, found)), &[][..]),
                _ => continue,
            };
            let several = several.iter().map(|read| (&read.key, &read.found));
            for (key, found) in one.into_iter().chain(several) {
                if let Some(at) = writes.find(key, found) {
                    writes.all[at].readers.push(e);
                }
            }
        }
        for last in &history.finals {
            if let Some(at) = writes.find(&last.key, &last.found) {
                writes.all[at].is_last = true;
            }
        }
        writes
    }

    /// The write that was found: by its version, or by a value that nobody else has written.
    fn find(&self, key: &Key, found: &Found) -> Option<usize> {
        if let Some(at) = found.stamp.and_then(|stamp| self.by_version.get(&(key, stamp))) {
            return Some(*at);
        }
        let at = (*self.by_value.get(&(key, found.value.as_ref()?))?)?;
        let Event { dc, action: Action::Write { version, .. }, .. } = self.event(at) else { return None };
        // What an edge client gives again may get another version.
        (found.stamp.is_none() || version.is_none() || *dc == DcId::EDGE).then_some(at)
    }

    /// The event of the write that was found.
    fn found(&self, key: &Key, found: &Found) -> Option<usize> {
        self.find(key, found).map(|at| self.all[at].e)
    }

    fn event(&self, at: usize) -> &'h Event {
        &self.history.events[self.all[at].e]
    }

    /// The transaction of a write, if it is one of several operations.
    fn transaction(&self, at: usize) -> Option<(SessionId, u64)> {
        let event = self.event(at);
        event.txn.map(|number| (event.session, number))
    }

    /// The writes that one loss may have taken.
    fn judge(&self, lost: &Lost, taken: &mut Taken) {
        let keys: Map<&Key, ()> = lost.keys.iter().map(|key| (key, ())).collect();
        let is_there = |at: &usize| keys.is_empty() || keys.contains_key(self.all[*at].key);
        let of_node: Vec<usize> =
            (0..self.all.len()).filter(is_there).filter(|at| self.may_be_lost(*at, lost)).collect();
        // I4: when the last of the single writes began that is known to be there.
        let is_single = |at: &usize| self.transaction(*at).is_none() && self.event(*at).dc == lost.dc;
        let ended = |at: &&usize| self.event(**at).end_us.is_some_and(|end| end <= lost.to_us);
        let kept = of_node.iter().filter(|at| is_single(at) && !keys.is_empty() && self.is_kept(**at, lost));
        let upto = kept.filter(ended).filter_map(|at| self.event(*at).start_us).max().unwrap_or(0);
        let in_prefix = |at: usize| is_single(&at) && self.event(at).end_us.is_some_and(|end| end < upto);
        // A transaction is kept if one of its writes is.
        let mut whole: Map<(SessionId, u64), bool> = Map::default();
        for at in &of_node {
            if let Some(transaction) = self.transaction(*at) {
                whole.insert(transaction, false);
            }
        }
        for at in 0..self.all.len() {
            if let Some(kept) = self.transaction(at).and_then(|transaction| whole.get_mut(&transaction)) {
                *kept |= self.is_kept(at, lost);
            }
        }
        for at in 0..self.all.len() {
            let transaction = self.transaction(at).and_then(|transaction| whole.get(&transaction));
            let is_lost = match transaction {
                Some(kept) => !kept,
                None => of_node.binary_search(&at).is_ok() && !self.is_kept(at, lost) && !in_prefix(at),
            };
            if !is_lost {
                continue;
            }
            let write = &self.all[at];
            let before = |e: &&usize| {
                let Event { dc, start_us, .. } = self.history.events[**e];
                dc == lost.dc && start_us.is_none_or(|start| start <= lost.to_us)
            };
            taken.unread.extend(write.readers.iter().filter(before).map(|e| (*e, write.e)));
            if self.event(at).dc != DcId::EDGE {
                taken.unknown.push(write.e);
            }
        }
    }

    /// Whether a write was acknowledged, or may have happened, while what the node wrote was not synced.
    fn may_be_lost(&self, at: usize, lost: &Lost) -> bool {
        let Event { dc, fate, start_us, end_us, .. } = *self.event(at);
        let told = dc == lost.dc && end_us.is_some_and(|end| end >= lost.from_us);
        (fate == Fate::Unknown || dc == DcId::EDGE || told)
            && start_us.is_some_and(|start| start <= lost.to_us)
    }

    /// Whether it is known that a write was not lost (I1 to I3).
    fn is_kept(&self, at: usize, lost: &Lost) -> bool {
        // What an edge client has written others may have of it, or of another region.
        let of_edge = self.event(at).dc == DcId::EDGE;
        let knows = |e: &usize| {
            let Event { dc, start_us, end_us, .. } = self.history.events[*e];
            let after = start_us.is_some_and(|start| start > lost.to_us);
            let before = dc == lost.dc && end_us.is_some_and(|end| end < lost.from_us);
            before || !of_edge && (dc != lost.dc || after)
        };
        self.all[at].is_last && !of_edge || self.all[at].readers.iter().any(knows)
    }
}
