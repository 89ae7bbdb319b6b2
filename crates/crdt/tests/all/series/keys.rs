//! A few keys, on which commands are carried out one by one or as a series.

use super::commands::Line;
use std::collections::BTreeMap;
use tidemark_core::{Hlc, Key, Reply, Stamp};
use tidemark_crdt::state::Element;
use tidemark_crdt::{Effect, Kind, Moment, Series, State, evaluate, evaluate_many};

/// The keys by name; all of them are there.
#[derive(Clone)]
pub(crate) struct Keys(BTreeMap<Key, State>);

impl Default for Keys {
    fn default() -> Self {
        Self(["a", "b"].map(|name| (Key::from(name), State::default())).into())
    }
}

impl Keys {
    /// Carries a command out in a version of its own.
    pub(crate) fn run(&mut self, line: &Line, moment: Moment, stamp: Stamp) -> Reply {
        let (key, command) = line.command();
        let (reply, effects) = if command.verb.takes_keys() {
            let names: Vec<&Key> = std::iter::once(&key).chain(&command.keys).collect();
            let states: Vec<&State> = names.iter().map(|name| &self.0[*name]).collect();
            let (reply, changes) = evaluate_many(&command, &names, &states, moment);
            (reply, names.into_iter().cloned().zip(changes).collect())
        } else {
            let prepared = evaluate(&command, &self.0[&key], moment);
            (prepared.reply, vec![(key, prepared.changes)])
        };
        let effect = |(key, changes)| (key, Effect { floor: moment.floor, changes });
        let effects: Vec<(Key, Effect)> = effects.into_iter().map(effect).collect();
        self.apply(stamp, &effects);
        reply
    }

    /// What a series answers and changes.
    pub(crate) fn series(&self, lines: &[Line], moment: Moment) -> (Vec<Reply>, Vec<(Key, Effect)>) {
        let mut series = Series::new(moment);
        self.0.iter().for_each(|(key, state)| series.add(key.clone(), state.clone()));
        let run = |line: &Line| {
            let (key, command) = line.command();
            series.run(&key, &command).expect("its keys are there").0
        };
        let replies = lines.iter().map(run).collect();
        let effect = |(key, changes)| (key, Effect { floor: moment.floor, changes });
        let finished = series.finish();
        for (key, state) in finished.states {
            let was = &self.0[&key];
            assert_eq!(state.elements(), was.elements(), "{lines:?} is not taken back");
            assert_eq!((state.kind(), &state.deadlines), (was.kind(), &was.deadlines), "{lines:?}");
            // What settles later is the same, too.
            let (mut state, mut was) = (state, was.clone());
            state.settle(Hlc(u64::MAX), usize::MAX);
            was.settle(Hlc(u64::MAX), usize::MAX);
            assert_eq!(state.elements(), was.elements(), "{lines:?} leaves something in the queue");
            assert_eq!(state.is_settled(), was.is_settled(), "{lines:?}");
        }
        (replies, finished.changes.into_iter().map(effect).collect())
    }

    pub(crate) fn apply(&mut self, stamp: Stamp, effects: &[(Key, Effect)]) {
        for (key, effect) in effects {
            self.0.get_mut(key).expect("it is there").apply(stamp, effect, None);
        }
    }

    pub(crate) fn settle(&mut self, upto: Hlc) {
        self.0.values_mut().for_each(|state| state.settle(upto, usize::MAX));
    }
}

/// What readers see of each key. The positions of a list are left out; of a group's elements the stamps.
pub(crate) fn shown(keys: &Keys, moment: Moment) -> Vec<String> {
    let one = |(key, state): (&Key, &State)| {
        let element = |(element, cell): (Element, tidemark_crdt::cell::Cell)| {
            let name = match element.kind {
                Kind::List | Kind::Doc => String::new(),
                Kind::Stream => String::from_utf8_lossy(&element.name[..element.name.len().min(20)]).into(),
                _ => String::from_utf8_lossy(&element.name).into_owned(),
            };
            // The version that created a counter is another one.
            let shown = cell.show(element.kind).filter(|_| element.kind != Kind::BCounter);
            shown.map(|datum| format!("{:?} {name:?} {datum:?}", element.kind))
        };
        let mut elements: Vec<String> = state.elements().into_iter().filter_map(element).collect();
        if state.kind_at(moment.time) == Some(Kind::Doc) {
            elements.sort_unstable();
        }
        let deadline = state.deadlines.effective();
        let groups = groups(key, state, moment);
        let rights = evaluate(&Line::of("TIDE.BCOUNTER|RIGHTS k").command().1, state, moment).reply;
        format!("{key} {:?} {deadline:?} {elements:?} {groups:?} {rights:?}", state.kind_at(moment.time))
    };
    keys.0.iter().map(one).collect()
}

fn groups(key: &Key, state: &State, moment: Moment) -> Vec<Reply> {
    if state.kind_at(moment.time) != Some(Kind::Stream) {
        return Vec::new();
    }
    let name = std::str::from_utf8(key).expect("it is a letter");
    let lines = [
        "XINFO|STREAM k FULL".to_string(),
        "XINFO|GROUPS k".into(),
        format!("XPENDING k {name} g"),
        format!("XINFO|CONSUMERS k {name} g"),
    ];
    let ask = |line: &String| evaluate(&Line::of(line).command().1, state, moment).reply;
    lines.iter().map(ask).collect()
}
