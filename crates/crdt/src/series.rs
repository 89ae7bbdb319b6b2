//! Several commands in a row, which become one effect of each key: scripts, and transactions.
//!
//! **Idea.** Each command is evaluated on the key as the session sees it, with what the earlier ones have written on top. For that
//! the changes are applied to a copy of the key, under *trial stamps* that lie behind everything. What is written in the end names
//! nothing of the copy: [`folded`] says for each element what all of the changes come to, and what of the key itself they have
//! observed. So a series looks to other regions like one command.
//!
//! **Costs.** A key is copied once a second command of the series looks at what an earlier one has changed.

mod folded;

use crate::draft::Moment;
use crate::effect::{Change, Effect};
use crate::evaluate::{Prepared, evaluate, evaluate_many, overwrite, string_of};
use crate::state::State;
use folded::Folded;
use std::borrow::Cow;
use tidemark_core::{Command, Found, Hlc, Key, Reply, Stamp, Update, Value};

/// When the changes of a series are tried: behind everything that has a stamp. The commands are told apart by their numbers.
const TRIAL: Hlc = Hlc(u64::MAX & !((1 << Hlc::COUNTER_BITS) - 1));

/// Commands in a row on keys of one partition.
pub struct Series<'a> {
    keys: Vec<Tried<'a>>,
    moment: Moment,
    /// How many commands have written.
    written: u32,
}

/// A key of a series.
struct Tried<'a> {
    key: Key,
    base: Cow<'a, State>,
    /// The key with the changes of the series, as far as somebody has looked at it.
    copy: Option<State>,
    /// What each command that wrote has changed, under its trial stamp. The first `applied` are in the copy.
    changes: Vec<(Stamp, Vec<Change>)>,
    applied: usize,
}

impl Tried<'_> {
    fn catch_up(&mut self, floor: Hlc) {
        for (stamp, changes) in &mut self.changes[self.applied..] {
            let effect = Effect { floor, changes: std::mem::take(changes) };
            self.copy.get_or_insert_with(|| State::clone(&self.base)).apply(*stamp, &effect, None);
            *changes = effect.changes;
        }
        self.applied = self.changes.len();
    }

    /// REQUIRES: [`Self::catch_up`].
    fn state(&self) -> &State {
        self.copy.as_ref().unwrap_or(&self.base)
    }

    fn finish(mut self, moment: Moment) -> (Key, Vec<Change>) {
        if self.changes.len() < 2 {
            let changes = self.changes.pop().map(|(_, changes)| changes);
            return (self.key, changes.unwrap_or_default());
        }
        self.catch_up(moment.floor);
        let mut folded = Folded::default();
        for (stamp, changes) in std::mem::take(&mut self.changes) {
            changes.into_iter().for_each(|change| folded.add(stamp, change));
        }
        let changes = folded.finish(&self.base, self.state(), moment);
        (self.key, changes)
    }
}

impl<'a> Series<'a> {
    /// On these keys as their session sees them; each comes once.
    pub fn new(keys: Vec<(Key, Cow<'a, State>)>, moment: Moment) -> Self {
        let tried = |(key, base)| Tried { key, base, copy: None, changes: Vec::new(), applied: 0 };
        Self { keys: keys.into_iter().map(tried).collect(), moment, written: 0 }
    }

    /// Where and when.
    pub fn moment(&self) -> Moment {
        self.moment
    }

    /// The place of a key, which then has what was written to it; none if it is not of the series.
    fn place(&mut self, key: &Key) -> Option<usize> {
        let place = self.keys.iter().position(|tried| tried.key == *key)?;
        self.keys[place].catch_up(self.moment.floor);
        Some(place)
    }

    /// Notes what a command has changed; whether that is anything.
    fn note(&mut self, changes: impl IntoIterator<Item = (usize, Vec<Change>)>) -> bool {
        let stamp = Stamp { ts: TRIAL, origin: self.moment.origin, seq: self.written + 1 };
        let mut wrote = false;
        for (place, changes) in changes.into_iter().filter(|(_, changes)| !changes.is_empty()) {
            self.keys[place].changes.push((stamp, changes));
            wrote = true;
        }
        self.written += u32::from(wrote);
        wrote
    }

    /// Evaluates a command: its answer, and whether it has written. None if it names a key that is not of the series.
    pub fn run(&mut self, key: &Key, command: &Command) -> Option<(Reply, bool)> {
        if !command.verb.takes_keys() {
            let place = self.place(key)?;
            let Prepared { reply, changes } = evaluate(command, self.keys[place].state(), self.moment);
            return Some((reply, self.note([(place, changes)])));
        }
        let places: Option<Vec<usize>> =
            std::iter::once(key).chain(&command.keys).map(|key| self.place(key)).collect();
        let places = places?;
        let names: Vec<&Key> = places.iter().map(|place| &self.keys[*place].key).collect();
        let states: Vec<&State> = places.iter().map(|place| self.keys[*place].state()).collect();
        let (reply, changes) = evaluate_many(command, &names, &states, self.moment);
        Some((reply, self.note(places.into_iter().zip(changes))))
    }

    /// Carries out an update of a register: what it finds, and whether it has written. None if its key is not of the series.
    pub fn overwrite(&mut self, key: &Key, update: &Update) -> Option<(Found, bool)> {
        let place = self.place(key)?;
        let (found, changes) = overwrite(update, self.keys[place].state(), self.moment);
        Some((found, self.note([(place, changes)])))
    }

    /// What GET finds. None if the key is not of the series.
    pub fn get(&mut self, key: &Key) -> Option<Result<Option<Value>, Reply>> {
        let place = self.place(key)?;
        Some(string_of(self.keys[place].state(), self.moment.time))
    }

    /// What each key has to change, in the order in which they were given; nothing for those that were only read.
    pub fn finish(self) -> Vec<(Key, Vec<Change>)> {
        let moment = self.moment;
        let finished = self.keys.into_iter().map(|tried| tried.finish(moment));
        finished.filter(|(_, changes)| !changes.is_empty()).collect()
    }
}
