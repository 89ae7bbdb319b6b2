//! Connections whose command waits until a key has something: who they are, in order of arrival, and whose turn it is.
//!
//! **Idea.** For each key and each kind of value that is waited for there is a queue. When something may have become
//! available at a key, the first of each of its queues gets a turn: it tries its command again. If that succeeds it leaves
//! its queues, and those behind it get a turn; if not, there is nothing for them either. Readers of a stream take nothing
//! away, and each wants something else: all of them get a turn.
//!
//! **Invariants**
//! - I1 A waiter that leaves passes its turn on: no key that has something is forgotten.
//! - I2 Nothing is done, and no key is looked up, while nobody waits.

use super::confirming::Confirming;
use crate::redis::{Queue, Wanted};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Bound;
use tidemark_core::{Key, Micros, Op};
use tidemark_node::SessionId;

/// How a command ends that waits in vain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// Its time is up.
    Timeout,
    /// CLIENT UNBLOCK says that it failed.
    Error,
}

/// A connection that waits.
struct Waiter {
    session: SessionId,
    wanted: Wanted,
    deadline: Option<Micros>,
    /// It tries again, and has not heard of the outcome.
    trying: bool,
    /// It is to end if that try finds nothing.
    ending: Option<Ending>,
}

/// All of them. Their numbers rise in order of arrival.
#[derive(Default)]
pub(crate) struct Waiters {
    all: BTreeMap<u64, Waiter>,
    numbers: HashMap<SessionId, u64>,
    queues: BTreeMap<Key, BTreeMap<Queue, BTreeSet<u64>>>,
    deadlines: BTreeSet<(Micros, u64)>,
    /// Those that have a turn.
    ready: BTreeSet<u64>,
    last: u64,
    /// Those that wait for confirmations, and not for a key.
    confirming: BTreeMap<SessionId, Confirming>,
    /// When [`Self::probe`] gives turns again.
    probe_at: Micros,
    /// A task looks after them.
    tended: bool,
    /// The last key that [`Self::probe`] gave a turn.
    probed: Option<Key>,
}

/// Those of a queue that get a turn.
fn first<'a>(queue: &Queue, waiters: &'a BTreeSet<u64>) -> impl Iterator<Item = &'a u64> + use<'a> {
    waiters.iter().take(if *queue == Queue::Stream { usize::MAX } else { 1 })
}

impl Waiters {
    /// Whether nobody waits.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Whether somebody waits for a key.
    #[inline]
    pub(super) fn is_waited_for(&self, key: &[u8]) -> bool {
        !self.is_empty() && self.queues.contains_key(key)
    }

    /// The session waits, or goes on waiting after a try that found nothing; says how it is to end if it is to.
    pub(super) fn wait(&mut self, session: SessionId, wanted: &Wanted, now: Micros) -> Option<Ending> {
        if let Some(waiter) = self.numbers.get(&session).and_then(|number| self.all.get_mut(number)) {
            waiter.trying = false;
            return waiter.ending;
        }
        self.last += 1;
        let number = self.last;
        let deadline = wanted.timeout_us.map(|timeout| now.saturating_add(timeout));
        self.deadlines.extend(deadline.map(|deadline| (deadline, number)));
        self.numbers.insert(session, number);
        for key in &wanted.keys {
            let queues = self.queues.entry(key.clone()).or_default();
            queues.entry(wanted.queue.clone()).or_default().insert(number);
        }
        let wanted = wanted.clone();
        self.all.insert(number, Waiter { session, wanted, deadline, trying: false, ending: None });
        None
    }

    /// The session does not wait any more. Whether it did.
    pub(crate) fn remove(&mut self, session: SessionId) -> bool {
        let Some(number) = self.numbers.remove(&session) else { return false };
        let waiter = self.all.remove(&number).expect("it has a number");
        self.confirming.remove(&session);
        if let Some(deadline) = waiter.deadline {
            self.deadlines.remove(&(deadline, number));
        }
        let had_turn = self.ready.remove(&number) || waiter.trying;
        for key in &waiter.wanted.keys {
            let Some(queues) = self.queues.get_mut(key) else { continue };
            let Some(queue) = queues.get_mut(&waiter.wanted.queue) else { continue };
            queue.remove(&number);
            if had_turn {
                self.ready.extend(first(&waiter.wanted.queue, queue));
            }
            if queue.is_empty() {
                queues.remove(&waiter.wanted.queue);
            }
            if queues.is_empty() {
                self.queues.remove(key);
            }
        }
        true
    }

    /// Keys that an operation may write, and for which somebody waits.
    #[inline]
    pub(super) fn concerned(&self, op: &Op) -> Vec<Key> {
        if self.is_empty() { Vec::new() } else { self.concerned_now(op) }
    }

    #[cold]
    fn concerned_now(&self, op: &Op) -> Vec<Key> {
        let known = |key: &&Key| self.queues.contains_key(*key);
        match op {
            Op::Put { key, update } => {
                let others = update.command.iter().flat_map(|command| &command.keys);
                std::iter::once(key).chain(others).filter(known).cloned().collect()
            }
            Op::PutAll { writes } => writes.iter().map(|(key, _)| key).filter(known).cloned().collect(),
            Op::Transact(step) => step.keys().filter(known).cloned().collect(),
            _ => Vec::new(),
        }
    }

    /// These keys may have something.
    pub(super) fn wake(&mut self, keys: &[Key]) {
        for queues in keys.iter().filter_map(|key| self.queues.get(key)) {
            self.ready.extend(queues.iter().flat_map(|(queue, waiters)| first(queue, waiters)));
        }
    }

    /// The first of the queues of some more keys, at most so many, get a turn.
    pub(super) fn probe(&mut self, keys_max: usize, (now, every_us): (Micros, Micros)) {
        if self.queues.is_empty() || now < self.probe_at {
            return;
        }
        self.probe_at = now + every_us;
        let from = self.probed.take();
        let start = from.as_ref().map_or(Bound::Unbounded, Bound::Excluded);
        let mut left = keys_max;
        for (key, queues) in self.queues.range::<Key, _>((start, Bound::Unbounded)) {
            if left == 0 {
                break;
            }
            left -= 1;
            self.ready.extend(queues.iter().flat_map(|(queue, waiters)| first(queue, waiters)));
            self.probed = Some(key.clone());
        }
        if left > 0 {
            // The end: it begins again.
            self.probed = None;
        }
    }

    /// The first that has a turn and is not trying already; it does not take the turn.
    fn first_ready(&self) -> Option<u64> {
        self.ready.iter().copied().find(|number| !self.all.get(number).is_some_and(|waiter| waiter.trying))
    }

    /// Whether somebody's turn has come.
    #[inline]
    pub(super) fn has_ready(&self) -> bool {
        !self.ready.is_empty() && self.first_ready().is_some()
    }

    /// The session whose turn it is. It is not taken from it.
    pub(super) fn next(&self) -> Option<SessionId> {
        self.first_ready().and_then(|number| self.all.get(&number)).map(|waiter| waiter.session)
    }

    /// The session takes its turn.
    pub(super) fn begin(&mut self, session: SessionId) {
        if let Some(number) = self.numbers.get(&session) {
            self.ready.remove(number);
            if let Some(waiter) = self.all.get_mut(number) {
                waiter.trying = true;
            }
        }
    }

    /// The session is to end its wait so. False if it is trying: then it ends once that has found nothing.
    pub(super) fn end(&mut self, session: SessionId, ending: Ending) -> bool {
        let waiter = self.numbers.get(&session).and_then(|number| self.all.get_mut(number));
        let Some(waiter) = waiter else { return false };
        waiter.ending.get_or_insert(ending);
        !waiter.trying
    }

    /// The sessions whose time is up, in order.
    pub(super) fn expired(&mut self, now: Micros) -> Vec<SessionId> {
        let later = self.deadlines.split_off(&(now.saturating_add(1), 0));
        let expired = std::mem::replace(&mut self.deadlines, later);
        expired.iter().filter_map(|(_, number)| self.all.get(number)).map(|waiter| waiter.session).collect()
    }

    /// The session waits for confirmations.
    pub(super) fn confirm(&mut self, session: SessionId, confirming: Confirming) {
        self.confirming.insert(session, confirming);
    }

    /// Takes those that wait for confirmations; they are given back with [`Self::confirm`].
    pub(super) fn take_confirming(&mut self) -> BTreeMap<SessionId, Confirming> {
        std::mem::take(&mut self.confirming)
    }

    /// Takes one of them.
    pub(super) fn take_confirming_of(&mut self, session: SessionId) -> Option<Confirming> {
        self.confirming.remove(&session)
    }

    /// Whether anybody waits for confirmations.
    pub(super) fn has_confirming(&self) -> bool {
        !self.confirming.is_empty()
    }

    /// The next time at which somebody's time is up.
    pub(super) fn next_deadline(&self) -> Option<Micros> {
        self.deadlines.first().map(|(deadline, _)| *deadline)
    }

    /// Whether a task has to be started that looks after them.
    #[inline]
    pub(super) fn needs_tending(&mut self) -> bool {
        !self.is_empty() && !std::mem::replace(&mut self.tended, true)
    }

    /// That task ends, if nobody waits any more. Whether it does.
    pub(super) fn rest(&mut self) -> bool {
        self.tended = !self.is_empty();
        !self.tended
    }
}
