//! What each session has come to know of each of many subjects, event by event, so that what it knew at an earlier
//! event can be looked up. Knowledge only grows: an entry stands for all that came before it.
//!
//! For keys, an entry is a version (the newest, where that is known) or a node of a graph that stands for several;
//! for other sessions, how many of their events are known of.

use crate::hash::Map;

#[derive(Default)]
pub(super) struct Ledger {
    /// Per session: the entries of each subject, with the seats of the events that made them.
    of: Vec<Map<u32, Vec<(u32, u32)>>>,
    /// Per session: its subjects in the order in which they came up.
    subjects: Vec<Vec<u32>>,
    /// Per subject: the sessions that know of it.
    sessions: Map<u32, Vec<u32>>,
}

impl Ledger {
    pub(super) fn new(sessions: usize) -> Self {
        Self {
            of: vec![Map::default(); sessions],
            subjects: vec![Vec::new(); sessions],
            sessions: Map::default(),
        }
    }

    /// What `session` knows of `subject`.
    #[inline]
    pub(super) fn latest(&self, session: u32, subject: u32) -> Option<u32> {
        self.of[session as usize].get(&subject).and_then(|entries| entries.last()).map(|(_, entry)| *entry)
    }

    /// What `session` knew of `subject` before its event at `seat`.
    #[inline]
    pub(super) fn before(&self, session: u32, subject: u32, seat: u32) -> Option<u32> {
        let entries = self.of[session as usize].get(&subject)?;
        let known = entries.partition_point(|(at, _)| *at < seat);
        known.checked_sub(1).map(|last| entries[last].1)
    }

    /// The sessions that know anything of `subject`.
    pub(super) fn sessions_of(&self, subject: u32) -> &[u32] {
        self.sessions.get(&subject).map_or(&[], Vec::as_slice)
    }

    /// What the first `events` events of `session` know, subject by subject.
    pub(super) fn known(&self, session: u32, events: u32) -> Vec<(u32, u32)> {
        let subjects = self.subjects[session as usize].iter();
        subjects.filter_map(|subject| Some((*subject, self.before(session, *subject, events)?))).collect()
    }

    /// From its event at `seat` on, what `session` knows of `subject` is `entry`.
    #[inline]
    pub(super) fn push(&mut self, session: u32, subject: u32, seat: u32, entry: u32) {
        let entries = self.of[session as usize].entry(subject).or_default();
        if entries.is_empty() {
            self.subjects[session as usize].push(subject);
            self.sessions.entry(subject).or_default().push(session);
        }
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
