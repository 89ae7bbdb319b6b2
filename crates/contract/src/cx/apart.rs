//! Commands on keys of several partitions: each key is looked at where it lives, all are evaluated at one place, and what they write is
//! one transaction, which commits if nobody has changed meanwhile what was looked at.

use super::Cx;
use super::series::carry_out;
use super::size::refusal;
use super::typed::seen_together;
use crate::Protocol;
use crate::programs::{self, Interpreted, Program};
use crate::two_phase::Writes;
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use tidemark_core::limit::bytes_of;
use tidemark_core::{Command, Found, Hlc, Key, Op, Outcome, Reply, Update, Write};
use tidemark_crdt::cell::Cell;
use tidemark_crdt::deadline::Deadlines;
use tidemark_crdt::series::Finished;
use tidemark_crdt::{Effect, Kind, Moment, Series, State, evaluate_many, state::Element};
use tidemark_store::Version;

/// A key as a reader sees it, all that merging knows of it included.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Looked {
    elements: Vec<(Kind, Vec<u8>, Cell)>,
    deadlines: Deadlines,
    /// Another one after each change; see WATCH.
    pub mark: Bytes,
}

/// The mark of a key that has changed: none that is made later is the same.
const CHANGED: Bytes = Bytes::from_static(b"changed");

impl Looked {
    fn of(state: &State, mark: Bytes) -> Self {
        let elements = state.elements().into_iter();
        let elements = elements.map(|(element, cell)| (element.kind, element.name.into(), cell)).collect();
        Self { elements, deadlines: state.deadlines.clone(), mark }
    }

    fn encode(&self) -> Vec<u8> {
        postcard::to_stdvec(self).unwrap_or_else(|_| unreachable!("its types can be encoded"))
    }

    /// What [`Cx::look_in`] has found; none if it is something else.
    pub(crate) fn decode(found: &Found) -> Option<Self> {
        postcard::from_bytes(found.value.as_ref()?).ok()
    }

    pub(crate) fn state(self) -> State {
        let mut state = State::default();
        state.deadlines = self.deadlines;
        for (kind, name, cell) in self.elements {
            state.restore(Element { kind, name: name.into() }, cell);
        }
        state
    }
}

/// What was looked at in one partition, as far as all its keys are concerned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ground {
    /// Every view there contains what is at or below.
    pub floor: Hlc,
    /// Keys there have had deadlines.
    pub expiring: bool,
}

impl Ground {
    /// What holds in several partitions. Floors are one for all of a region, of which each partition may know less.
    pub fn add(&mut self, other: Self) {
        self.floor = self.floor.max(other.floor);
        self.expiring |= other.expiring;
    }
}

/// What a command on keys of several partitions comes to.
#[derive(Debug)]
pub struct Evaluated {
    /// Its answer.
    pub reply: Reply,
    /// What it writes, in its own way: effects.
    pub writes: Writes,
}

impl<P: Protocol> Cx<'_, P> {
    /// Looks at keys of this partition for a command that is evaluated elsewhere. `saw` is called with what it comes to depend on.
    pub fn look_at(
        &mut self,
        keys: &[Key],
        view: &P::View,
        mut saw: impl FnMut(&Version<P::Meta>),
    ) -> (Vec<Looked>, Ground) {
        let look = |key: &Key| {
            self.refresh(key, view);
            let mark = self.mark(key, view, Hlc::at(self.now), &mut |_| ());
            Looked::of(&self.state(key, view, true, &mut saw), mark)
        };
        let looked = keys.iter().map(look).collect();
        (looked, Ground { floor: self.store.floor(), expiring: self.store.is_expiring() })
    }

    /// Looks at keys of this partition for an interactive transaction whose snapshot is `view`, and whose region shows `now`: what each
    /// holds, as [`Looked::decode`] takes it.
    pub fn look_in(
        &mut self,
        keys: &[(u32, Key)],
        view: &P::View,
        now: &P::View,
        mut saw: impl FnMut(&Version<P::Meta>),
    ) -> Vec<(u32, Found)> {
        let look = |(place, key): &(u32, Key)| {
            self.refresh(key, now);
            let state = self.state(key, view, true, &mut saw);
            let mark = match self.is_the_same(key, view, now) {
                true => self.mark(key, now, Hlc::at(self.now), &mut |_| ()),
                false => CHANGED,
            };
            (*place, Found::new(None, Some(Looked::of(&state, mark).encode().into())))
        };
        keys.iter().map(look).collect()
    }

    /// Whether readers with these views see the same of a key.
    fn is_the_same(&self, key: &Key, view: &P::View, now: &P::View) -> bool {
        match self.store.object(key) {
            Some(object) => object.is_fresh_to(|version| seen_together::<P>(view, version)),
            None => {
                let newest = |view| {
                    let mut seen = self.store.chain(key).filter(|version| seen_together::<P>(view, version));
                    seen.next().map(|version| version.stamp)
                };
                newest(view) == newest(now)
            }
        }
    }

    /// Whether a key is what it was when this mark was made.
    pub fn is_as_it_was(&mut self, key: &Key, mark: &Bytes, view: &P::View) -> bool {
        self.refresh(key, view);
        self.mark(key, view, Hlc::at(self.now), &mut |_| ()) == *mark
    }

    /// Whether a version of this region is stored that a reader with `view` cannot see. REQUIRES: for a key of a data type, it was looked
    /// at.
    pub fn hides(&self, key: &Key, view: &P::View) -> bool {
        let hidden = |version: &Version<P::Meta>| {
            P::EXTENSIONS.written_at(version).origin == self.me.dc && !seen_together::<P>(view, version)
        };
        match self.store.object(key) {
            Some(object) => object.hidden().any(hidden),
            None => self.store.chain(key).any(hidden),
        }
    }

    /// Whether what was evaluated on other ground may be written here: nobody was told of a floor above.
    pub fn bears(&self, writes: &Writes) -> bool {
        writes.iter().all(|(_, write)| match write {
            Write::Apply(effect) => {
                Effect::decode(effect).is_ok_and(|effect| effect.floor >= self.store.floor())
            }
            _ => true,
        })
    }

    /// Evaluates an update that has a command, on keys of which this was seen: its own first, and those of the command in their order.
    pub fn evaluate_apart(
        &self,
        key: &Key,
        update: &Update,
        looked: Vec<Looked>,
        ground: Ground,
    ) -> Evaluated {
        let Some(command) = &update.command else {
            return Evaluated { reply: Reply::error("ERR there is no command"), writes: Vec::new() };
        };
        let keys: Vec<&Key> = std::iter::once(key).chain(&command.keys).collect();
        let moment = Moment {
            time: Hlc::at(self.now),
            origin: self.me.dc,
            floor: ground.floor,
            expiring: ground.expiring,
            alone: self.topology.dcs == 1,
            past: None,
            longest: self.limit.value(),
        };
        if command.verb.is_program() {
            return self.bounded(interpret(command, &keys, looked, moment));
        }
        let states: Vec<State> = looked.into_iter().map(Looked::state).collect();
        let (reply, changes) = evaluate_many(command, &keys, &states.iter().collect::<Vec<_>>(), moment);
        self.bounded(Evaluated { reply, writes: written(keys.into_iter().cloned().zip(changes), moment) })
    }

    /// The effect of a command, unless it writes too much: each partition keeps its part until all have, and there is one limit for all.
    fn bounded(&self, evaluated: Evaluated) -> Evaluated {
        let bytes = evaluated.writes.iter().map(|(key, write)| bytes_of(key, write)).sum();
        match self.limit.admits(bytes) {
            Ok(()) => evaluated,
            Err(why) => Evaluated { reply: refusal(&why), writes: Vec::new() },
        }
    }
}

fn written(
    changes: impl Iterator<Item = (Key, Vec<tidemark_crdt::effect::Change>)>,
    moment: Moment,
) -> Writes {
    let changed = changes.filter(|(_, changes)| !changes.is_empty());
    changed
        .map(|(key, changes)| (key, Write::Apply(Effect { floor: moment.floor, changes }.encode())))
        .collect()
}

fn interpret(command: &Command, keys: &[&Key], looked: Vec<Looked>, moment: Moment) -> Evaluated {
    let marks = programs::watched(command).iter().zip(&looked);
    if marks.into_iter().any(|(mark, looked)| looked.mark != *mark) {
        return Evaluated { reply: Reply::NullArray, writes: Vec::new() };
    }
    let mut series = Series::new(moment);
    for (key, looked) in keys.iter().zip(looked) {
        if !series.has(key) {
            series.add((*key).clone(), looked.state());
        }
    }
    let program = Program { command, keys, now: moment.time.micros() };
    let carry: &mut dyn FnMut(Op) -> Outcome = &mut |op| carry_out(&mut series, op);
    let Interpreted { reply, void } = programs::interpret(program, carry);
    let Finished { changes, .. } = series.finish();
    let writes = if void { Vec::new() } else { written(changes.into_iter(), moment) };
    Evaluated { reply, writes }
}
