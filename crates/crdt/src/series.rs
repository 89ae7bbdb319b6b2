//! Several commands in a row, which become one effect of each key: scripts, and transactions.
//!
//! **Idea.** Each command is evaluated on the key as the session sees it, with what the earlier ones have written on top. For that
//! the changes are tried on the key, under *trial stamps* that lie behind everything, and taken back in the end. What is written
//! names nothing of the trial: [`folded`] says for each element what all of the changes come to, and what of the key itself they
//! have observed. So a series looks to other regions like one command.
//!
//! **Costs.** What was changed is remembered until the end; what a series leaves alone costs nothing, however large the key is. All that
//! its commands write, overwritten by later ones or not, and all by which they make strings longer has the limit of a version.

mod folded;
pub mod rule;

use crate::draft::Moment;
use crate::effect::Change;
use crate::evaluate::{Prepared, evaluate, evaluate_many, overwrite, string_of};
use crate::shape::Plain;
use crate::state::{State, Trial};
use folded::Folded;
use foldhash::fast::FixedState;
use hashbrown::HashMap;
use tidemark_core::{Command, Found, Hlc, Key, Limit, Reply, Stamp, Update, Value};

/// When the changes of a series are tried: behind everything that has a stamp. The commands are told apart by their numbers.
pub(crate) const TRIAL: Hlc = Hlc(!((1 << Hlc::COUNTER_BITS) - 1));

/// Commands in a row on keys of one partition.
pub struct Series {
    keys: Vec<Tried>,
    places: HashMap<Key, usize, FixedState>,
    moment: Moment,
    /// How many commands have written.
    written: u32,
    /// About how many bytes they have written, and made strings longer.
    bytes: usize,
}

/// A key of a series.
struct Tried {
    key: Key,
    /// With the changes of the series, as far as somebody has looked at them.
    state: State,
    trial: Trial,
    /// What each command that wrote has changed, under its trial stamp. The first `applied` are in the state.
    changes: Vec<(Stamp, Vec<Change>)>,
    applied: usize,
}

/// What a series comes to.
pub struct Finished {
    /// What each key has to change, in the order in which they were added; nothing for those that were only read.
    pub changes: Vec<(Key, Vec<Change>)>,
    /// Every key as it was given.
    pub states: Vec<(Key, State)>,
}

impl Tried {
    fn catch_up(&mut self, floor: Hlc) {
        for (stamp, changes) in &self.changes[self.applied..] {
            for change in changes {
                self.state.try_change(&mut self.trial, *stamp, floor, change);
            }
        }
        self.applied = self.changes.len();
    }

    /// The changes, and the key as it was.
    fn finish(mut self, moment: Moment) -> (Key, Vec<Change>, State) {
        let mut folded = None;
        if self.changes.len() > 1 {
            self.catch_up(moment.floor);
            let mut all = Folded::default();
            for (stamp, changes) in std::mem::take(&mut self.changes) {
                changes.into_iter().for_each(|change| all.add(stamp, change));
            }
            folded = Some(all.look(&self.state, moment));
        }
        self.state.take_back(self.trial);
        let changes = match folded {
            Some(folded) => folded.finish(&self.state, moment),
            None => self.changes.pop().map(|(_, changes)| changes).unwrap_or_default(),
        };
        (self.key, changes, self.state)
    }
}

/// The changes of a command: of the key at each place.
trait Changes: AsRef<[(usize, Vec<Change>)]> + IntoIterator<Item = (usize, Vec<Change>)> {}

impl<C: AsRef<[(usize, Vec<Change>)]> + IntoIterator<Item = (usize, Vec<Change>)>> Changes for C {}

impl Series {
    /// On no key yet.
    pub fn new(moment: Moment) -> Self {
        Self { keys: Vec::new(), places: HashMap::default(), moment, written: 0, bytes: 0 }
    }

    /// One more key, as its session sees it. REQUIRES: it is not of the series yet.
    pub fn add(&mut self, key: Key, state: State) {
        self.places.insert(key.clone(), self.keys.len());
        let (trial, changes) = (Trial::default(), Vec::new());
        self.keys.push(Tried { key, state, trial, changes, applied: 0 });
    }

    /// Whether it has the key.
    pub fn has(&self, key: &Key) -> bool {
        self.places.contains_key(key)
    }

    /// The keys that something has written to.
    pub fn written(&self) -> Vec<Key> {
        let written = self.keys.iter().filter(|tried| !tried.changes.is_empty());
        written.map(|tried| tried.key.clone()).collect()
    }

    /// Where and when.
    pub fn moment(&self) -> Moment {
        self.moment
    }

    /// The place of a key, which then has what was written to it; none if it is not of the series.
    fn place(&mut self, key: &Key) -> Option<usize> {
        let place = *self.places.get(key)?;
        self.keys[place].catch_up(self.moment.floor);
        Some(place)
    }

    /// Notes what a command has changed; whether that is anything.
    ///
    /// # Errors
    /// It is too much for one version: nothing is noted.
    fn note(&mut self, changes: impl Changes) -> Result<bool, Reply> {
        let limit = Limit::of_values(self.moment.longest);
        let more =
            changes.as_ref().iter().flat_map(|(place, changes)| changes.iter().map(|one| (*place, one)));
        let bytes = self.bytes + more.map(|(place, change)| self.grows(place, change)).sum::<usize>();
        limit.admits(bytes).map_err(|_| Reply::Error(format!("ERR {}", limit.refusal(bytes)).into()))?;
        self.bytes = bytes;
        let stamp = Stamp { ts: TRIAL, origin: self.moment.origin, seq: self.written + 1 };
        let mut wrote = false;
        for (place, changes) in changes.into_iter().filter(|(_, changes)| !changes.is_empty()) {
            self.keys[place].changes.push((stamp, changes));
            wrote = true;
        }
        self.written += u32::from(wrote);
        Ok(wrote)
    }

    /// About how many bytes a change of a key takes, and makes it longer.
    fn grows(&self, place: usize, change: &Change) -> usize {
        let (bytes, end) = change.bytes();
        let longer = match (end, self.keys[place].state.shown()) {
            (0, _) => 0,
            (_, Some(Plain::String(value))) => end.saturating_sub(value.len()),
            (_, _) => end,
        };
        bytes + longer
    }

    /// Evaluates a command: its answer, and whether it has written. None if it names a key that is not of the series.
    pub fn run(&mut self, key: &Key, command: &Command) -> Option<(Reply, bool)> {
        if !command.verb.takes_keys() {
            let place = self.place(key)?;
            let Prepared { reply, changes } = evaluate(command, &self.keys[place].state, self.moment);
            return Some(self.told(reply, [(place, changes)]));
        }
        let stand: Option<Vec<usize>> =
            std::iter::once(key).chain(&command.keys).map(|key| self.place(key)).collect();
        let stand = stand?;
        let names: Vec<&Key> = stand.iter().map(|place| &self.keys[*place].key).collect();
        let states: Vec<&State> = stand.iter().map(|place| &self.keys[*place].state).collect();
        let (reply, changes) = evaluate_many(command, &names, &states, self.moment);
        Some(self.told(reply, stand.into_iter().zip(changes).collect::<Vec<_>>()))
    }

    fn told(&mut self, reply: Reply, changes: impl Changes) -> (Reply, bool) {
        self.note(changes).map_or_else(|why| (why, false), |wrote| (reply, wrote))
    }

    /// Carries out an update of a register: what it finds, and whether it has written. None if its key is not of the series.
    pub fn overwrite(&mut self, key: &Key, update: &Update) -> Option<(Found, bool)> {
        let place = self.place(key)?;
        let (found, changes) = overwrite(update, &self.keys[place].state, self.moment);
        Some(match self.note([(place, changes)]) {
            Ok(wrote) => (found, wrote),
            Err(why) => (Found { reply: Some(Box::new(why)), ..Found::default() }, false),
        })
    }

    /// What GET finds. None if the key is not of the series.
    pub fn get(&mut self, key: &Key) -> Option<Result<Option<Value>, Reply>> {
        let place = self.place(key)?;
        Some(string_of(&self.keys[place].state, self.moment.time))
    }

    /// Takes back what was tried, and says what it comes to.
    pub fn finish(self) -> Finished {
        let mut finished = Finished { changes: Vec::new(), states: Vec::new() };
        for tried in self.keys {
            let (key, changes, state) = tried.finish(self.moment);
            if !changes.is_empty() {
                finished.changes.push((key.clone(), changes));
            }
            finished.states.push((key, state));
        }
        finished
    }
}
