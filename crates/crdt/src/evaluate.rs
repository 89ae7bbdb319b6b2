//! From a command to its answer and its effect.

use crate::draft::{Answer, Draft, Moment};
use crate::effect::Change;
use crate::state::State;
use crate::{
    bcounter, bitmap, content, doc, generic, geo, hash, hll, list, multi, rdb, set, stream, string, together,
    zset,
};
use foldhash::fast::FixedState;
use hashbrown::HashMap;
use tidemark_core::{Command, Condition, Found, Hlc, Key, Reply, Update, Value, Verb, Write};

/// What a command comes to.
#[derive(Clone, Debug, PartialEq)]
pub struct Prepared {
    /// Its answer.
    pub reply: Reply,
    /// What it changes; nothing if it only reads, or failed.
    pub changes: Vec<Change>,
}

/// Evaluates `command` on a key as its session sees it.
pub fn evaluate(command: &Command, state: &State, moment: Moment) -> Prepared {
    let mut draft = Draft::new(state, command, moment);
    match run(command.verb, &mut draft, &command.args) {
        Ok(reply) if draft.noted => {
            Prepared { reply: Reply::Noted(Box::new(reply)), changes: draft.finish() }
        }
        Ok(reply) => Prepared { reply, changes: draft.finish() },
        Err(reply) => Prepared { reply, changes: Vec::new() },
    }
}

/// Evaluates a command on several keys: on each, in the order of `command.keys` with the operation's own first. Of a key that comes
/// twice the changes stand at its first place.
pub fn evaluate_many<'a>(
    command: &Command,
    keys: &[&'a Key],
    states: &[&'a State],
    moment: Moment,
) -> (Reply, Vec<Vec<Change>>) {
    let mut first: HashMap<&Key, usize, FixedState> = HashMap::default();
    let places = (0..).zip(keys).map(|(place, key)| *first.entry(*key).or_insert(place)).collect();
    let drafts = states.iter().map(|state| Draft::new(state, command, moment)).collect();
    let mut keys = Keys { places, names: keys.to_vec(), drafts };
    match multi::run(command.verb, &mut keys, &command.args) {
        Ok(reply) => (reply, keys.drafts.into_iter().map(Draft::finish).collect()),
        Err(reply) => (reply, states.iter().map(|_| Vec::new()).collect()),
    }
}

/// The keys of a command on several.
pub(crate) struct Keys<'a> {
    /// Where the draft of each key stands.
    places: Vec<usize>,
    names: Vec<&'a Key>,
    drafts: Vec<Draft<'a>>,
}

impl<'a> Keys<'a> {
    /// How many keys the command names.
    pub(crate) fn len(&self) -> usize {
        self.places.len()
    }

    /// The draft of a key.
    pub(crate) fn at(&mut self, key: usize) -> &mut Draft<'a> {
        &mut self.drafts[self.places[key]]
    }

    /// A key's name.
    pub(crate) fn name(&self, key: usize) -> &'a [u8] {
        self.names[key]
    }

    /// Whether no key comes twice.
    pub(crate) fn differ(&self) -> bool {
        self.places.iter().enumerate().all(|(key, place)| key == *place)
    }

    /// Whether two keys are the same.
    pub(crate) fn same(&self, one: usize, other: usize) -> bool {
        self.places[one] == self.places[other]
    }
}

/// Carries out an update of a register on a key of a data type, or of what was one: what it finds, and what it changes.
pub fn overwrite(update: &Update, state: &State, moment: Moment) -> (Found, Vec<Change>) {
    let mut draft = Draft::new(state, &Command::new(Verb::Set, Vec::new()), moment);
    let found = match string::value(&draft) {
        Ok(value) => Found::new(None, value),
        Err(reply) if update.returns_previous => {
            return (Found { reply: Some(Box::new(reply)), ..Found::default() }, Vec::new());
        }
        Err(_) => Found::default(),
    };
    let there = draft.kind().is_some();
    let proceeds = match update.condition {
        Condition::Always => true,
        Condition::IfAbsent => !there,
        Condition::IfPresent => there,
    };
    match &update.write {
        Write::Assign(value) if proceeds => string::write(&mut draft, value, generic::Expiry::Unsaid),
        Write::Remove if proceeds && there => draft.clear(),
        _ => {}
    }
    (found, draft.finish())
}

/// What GET finds at `time`.
///
/// # Errors
/// The key is of another type.
pub fn string_of(state: &State, time: Hlc) -> Result<Option<Value>, Reply> {
    if state.is_expired(time) {
        return Ok(None);
    }
    match state.shown() {
        None => Ok(None),
        Some(crate::shape::Plain::String(value)) => Ok(Some(value.clone())),
        Some(_) => Err(Reply::WRONG_TYPE),
    }
}

/// Evaluates a command on one key.
pub(crate) fn run(verb: Verb, draft: &mut Draft<'_>, args: &[bytes::Bytes]) -> Answer {
    let families = [
        together::run,
        generic::run,
        string::run,
        hash::run,
        set::run,
        zset::run,
        list::run,
        stream::run,
        bitmap::run,
        hll::run,
        geo::run,
        rdb::run,
        content::run,
        doc::run,
        bcounter::run,
    ];
    for family in families {
        if let Some(answer) = family(verb, draft, args) {
            return answer;
        }
    }
    Err(Reply::Error(format!("ERR {} is not supported yet", verb.name().to_uppercase()).into()))
}
