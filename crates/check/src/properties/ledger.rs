//! What each session has come to know of each of many subjects, event by event, so that what it knew at an earlier
//! event can be looked up. Knowledge only grows: an entry stands for all that came before it.
//!
//! For keys, an entry is a version (the newest, where that is known) or a node of a graph that stands for several;
//! for other sessions, how many of their events are known of.

use crate::hash::Map;

/// What one session knows of one subject: entries with the seats of the events that made them.
pub(super) struct Chain {
    pub(super) session: u32,
    entries: Vec<(u32, u32)>,
}

impl Chain {
    /// What was known before the event at `seat`.
    #[inline]
    pub(super) fn before(&self, seat: u32) -> Option<u32> {
        match self.entries.last() {
            Some((at, entry)) if *at < seat => Some(*entry),
            _ => {
                let known = self.entries.partition_point(|(at, _)| *at < seat);
                known.checked_sub(1).map(|last| self.entries[last].1)
            }
        }
    }
}

#[derive(Default)]
pub(super) struct Ledger {
    /// Per subject: what those who know of it know.
    chains: Vec<Vec<Chain>>,
    /// Per session and subject: the place of its chain.
    places: Map<(u32, u32), u32>,
    /// Per session: its subjects in the order in which they came up.
    subjects: Vec<Vec<u32>>,
}

impl Ledger {
    pub(super) fn new(sessions: usize) -> Self {
        Self { chains: Vec::new(), places: Map::default(), subjects: vec![Vec::new(); sessions] }
    }

    /// What everybody knows of `subject`, session by session.
    #[inline]
    pub(super) fn of(&self, subject: u32) -> &[Chain] {
        self.chains.get(subject as usize).map_or(&[], Vec::as_slice)
    }

    #[inline]
    fn chain(&self, session: u32, subject: u32) -> Option<&Chain> {
        let place = *self.places.get(&(session, subject))?;
        Some(&self.chains[subject as usize][place as usize])
    }

    /// What `session` knows of `subject`.
    #[inline]
    pub(super) fn latest(&self, session: u32, subject: u32) -> Option<u32> {
        self.chain(session, subject)?.entries.last().map(|(_, entry)| *entry)
    }

    /// What `session` knew of `subject` before its event at `seat`.
    #[inline]
    pub(super) fn before(&self, session: u32, subject: u32, seat: u32) -> Option<u32> {
        self.chain(session, subject)?.before(seat)
    }

    /// What the first `events` events of `session` know, subject by subject.
    pub(super) fn known(&self, session: u32, events: u32) -> Vec<(u32, u32)> {
        let subjects = self.subjects[session as usize].iter();
        subjects.filter_map(|subject| Some((*subject, self.before(session, *subject, events)?))).collect()
    }

    /// From its event at `seat` on, what `session` knows of `subject` is `entry`.
    #[inline]
    pub(super) fn push(&mut self, session: u32, subject: u32, seat: u32, entry: u32) {
        if self.chains.len() <= subject as usize {
            self.chains.resize_with(subject as usize + 1, Vec::new);
        }
        let chains = &mut self.chains[subject as usize];
        let place = *self.places.entry((session, subject)).or_insert_with(|| {
            self.subjects[session as usize].push(subject);
            chains.push(Chain { session, entries: Vec::new() });
            chains.len() as u32 - 1
        });
        let entries = &mut chains[place as usize].entries;
        match entries.last_mut() {
            Some((at, last)) if *at == seat => *last = entry,
            _ => entries.push((seat, entry)),
        }
    }

    /// As [`Self::push`], if `entry` is greater than what is known.
    #[inline]
    pub(super) fn raise(&mut self, session: u32, subject: u32, seat: u32, entry: u32) {
        if self.latest(session, subject).is_none_or(|known| known < entry) {
            self.push(session, subject, seat, entry);
        }
    }
}
