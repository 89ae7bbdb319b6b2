//! An update: what it sees, and the version that it becomes.

use super::{Cx, Effect, found_of};
use crate::Protocol;
use smallvec::SmallVec;
use tidemark_core::{Condition, Failure, Found, Hlc, Key, Outcome, Stamp, Update, Write};
use tidemark_store::Version;

/// What an update saw where it is about to be inserted.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Before {
    /// The visible version before the update, if the update asked for it; or what a command of a data type answers.
    pub previous: Option<Found>,
    /// What the new version does; none if the condition does not hold, or the command changes nothing.
    pub write: Option<Write>,
    /// What [`Write::Apply`] says, of each key that a command changes, if that is known.
    pub effects: SmallVec<[tidemark_crdt::Effect; 1]>,
}

/// The version that an update asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Draft<M> {
    stamp: Stamp,
    meta: M,
    in_memory: Option<M>,
}

impl<M> Draft<M> {
    /// A version with this stamp, and `meta` beside it.
    pub fn new(stamp: Stamp, meta: M) -> Self {
        Self { stamp, meta, in_memory: None }
    }

    /// Memory holds `meta` instead of what is logged and replicated. REQUIRES: no rule reads the difference, for after a
    /// restart memory holds what was logged.
    #[must_use]
    pub fn in_memory(self, meta: M) -> Self {
        Self { in_memory: Some(meta), ..self }
    }
}

impl<P: Protocol> Cx<'_, P> {
    /// Carries out an update, and returns how it ended and what its session comes to depend on.
    ///
    /// If the update observes, `see` adds to `seen` the version that a reader with `view` gets, or the versions of a key of a data
    /// type: they decide the condition. If the condition holds, `draft` says which version to write. It is given what was seen, and adds to it what
    /// the session depends on for having written. The version is stored, logged and replicated. If `draft` fails, as it
    /// does where [`Cx::stamp_above`] fails, nothing is written, and the session comes to depend on nothing.
    #[inline]
    pub fn update<S: Default>(
        &mut self,
        key: &Key,
        update: Update,
        view: &P::View,
        mut seen: S,
        mut see: impl FnMut(&mut S, &Version<P::Meta>),
        draft: impl FnOnce(&mut S, &mut Self) -> Result<Draft<P::Meta>, Failure>,
    ) -> (Outcome, S) {
        let saw = &mut |version: &Version<P::Meta>| see(&mut seen, version);
        let (looked, evaluated) = match self.is_evaluated(key, &update) {
            true => (self.evaluate(key, &update, view, Hlc::at(self.now), saw), Some(update)),
            false => (self.look_at_register(key, update, view, saw), None),
        };
        let mut looked = self.admitted(key, looked);
        if looked.write.is_none() {
            return (Outcome::Written { stamp: None, previous: looked.previous }, seen);
        }
        let due = evaluated.and_then(|update| Some((self.deadline_ahead(key, &update, view)?, update)));
        match draft(&mut seen, self) {
            Ok(Draft { stamp, meta, in_memory }) => {
                if let Some((deadline, update)) = due
                    && deadline <= stamp.ts
                {
                    looked = self.evaluate(key, &update, view, stamp.ts, &mut |_| ()); // R17
                    looked = self.admitted(key, looked);
                }
                let Before { previous, write: Some(write), effects } = looked else {
                    return (Outcome::Written { stamp: None, previous: looked.previous }, seen);
                };
                let version = Version { stamp, meta, write };
                let stored = match in_memory {
                    Some(meta) => Version { stamp, meta, write: version.write.clone() },
                    None => version.clone(),
                };
                self.insert_evaluated(key, stored, &effects);
                let (key, regions) = (key.clone(), self.topology.holders(key).without(self.me.dc));
                self.effects.push(Effect::Write { key, version, regions });
                (Outcome::Written { stamp: Some(stamp), previous }, seen)
            }
            Err(failure) => (Outcome::Failed(failure), S::default()),
        }
    }

    /// Looks before an update: what it writes under `view`, if anything, and what it is to report. `saw` is
    /// called with each version that decided, which the new version and the session depend on from then on.
    #[inline]
    pub fn look(
        &mut self,
        key: &Key,
        update: Update,
        view: &P::View,
        mut saw: impl FnMut(&Version<P::Meta>),
    ) -> Before {
        let looked = match self.is_evaluated(key, &update) {
            true => self.evaluate(key, &update, view, Hlc::at(self.now), &mut saw),
            false => self.look_at_register(key, update, view, &mut saw),
        };
        self.admitted(key, looked)
    }

    /// Whether an update is one of a data type, or of a key that is of one.
    #[inline]
    fn is_evaluated(&self, key: &Key, update: &Update) -> bool {
        update.command.is_some() || self.store.needs_evaluation(key)
    }

    #[inline]
    fn look_at_register(
        &mut self,
        key: &Key,
        update: Update,
        view: &P::View,
        saw: &mut dyn FnMut(&Version<P::Meta>),
    ) -> Before {
        if !update.observes() {
            return Before { write: Some(update.write), ..Before::default() };
        }
        self.choose_copies(view);
        let found = self.latest(key, view);
        if let Some(version) = found {
            saw(version);
        }
        let found = found_of(found);
        let proceeds = match update.condition {
            Condition::Always => true,
            Condition::IfAbsent => found.value.is_none(),
            Condition::IfPresent => found.value.is_some(),
        };
        Before { previous: Some(found), write: proceeds.then_some(update.write), ..Before::default() }
    }
}
