//! Keys of data types: a command is evaluated on what its session sees, and becomes the effect of a version.

use super::{Before, Cx, found_of};
use crate::Protocol;
use crate::several::Several;
use bytes::Bytes;
use smallvec::SmallVec;
use std::borrow::Cow;
use std::sync::Arc;
use tidemark_core::{Command, Failure, Found, Hlc, Key, Reply, Stamp, Update, Verb, Write};
use tidemark_crdt::effect::Change;
use tidemark_crdt::{
    Effect, Moment, Prepared, State, deadline_time, evaluate, evaluate_many, overwrite, string_of,
};
use tidemark_store::{Object, Version};

impl<P: Protocol> Cx<'_, P> {
    fn moment(&self, time: Hlc) -> Moment {
        Moment {
            time,
            origin: self.me.dc,
            floor: self.store.floor(),
            expiring: self.store.is_expiring(),
            alone: self.topology.dcs == 1,
            past: None,
            longest: self.limit.value(),
        }
    }

    /// The first deadline of the keys of an update that lies ahead of physical time, but perhaps not of the update's stamp, by
    /// which it is judged (R17). REQUIRES: it was evaluated, so that what has become visible of the keys is known.
    pub(super) fn deadline_ahead(&mut self, key: &Key, update: &Update, view: &P::View) -> Option<Hlc> {
        if !self.store.is_expiring() {
            return None;
        }
        let more = update.command.iter().flat_map(|command| &command.keys);
        let ahead = Hlc::at(self.now)..Hlc::at(self.now + self.max_skew_us + 1);
        let mut first: Option<Hlc> = None;
        for key in std::iter::once(key).chain(more) {
            let deadline = self.refresh(key, view).and_then(|object| object.head().deadlines.effective());
            let deadline = deadline.map(deadline_time).filter(|deadline| ahead.contains(deadline));
            first = first.into_iter().chain(deadline).min();
        }
        first
    }

    /// Evaluates a command of a data type, or an update of a register on a key that is of one, at `time`.
    pub(super) fn evaluate(
        &mut self,
        key: &Key,
        update: &Update,
        view: &P::View,
        time: Hlc,
        saw: &mut dyn FnMut(&Version<P::Meta>),
    ) -> Before {
        self.refresh(key, view);
        let moment = self.moment(time);
        let looked = match &update.command {
            Some(command) if command.verb == Verb::Watch => {
                answered(Reply::Bulk(self.mark(key, view, time, saw)))
            }
            Some(command) if command.verb.is_program() => self.interpret(key, command, view, moment, saw),
            Some(command) if command.verb.takes_keys() => {
                self.evaluate_group(key, command, view, moment, saw)
            }
            Some(command) => {
                let state = self.state(key, view, command.verb.writes(), saw);
                let Prepared { reply, changes } = evaluate(command, &state, moment);
                written_alone(answered(reply), changes, moment)
            }
            None => {
                let (found, changes) = overwrite(update, &self.state(key, view, true, saw), moment);
                let previous = (update.observes() || found.reply.is_some()).then_some(found);
                written_alone(Before { previous, ..Before::default() }, changes, moment)
            }
        };
        // Commands that only read know registers, too.
        if looked.write.is_some() && !self.store.has_types() { answered(unsupported::<P>()) } else { looked }
    }

    /// What unconditional writes of keys of this partition come to, as a reader with `view` sees the keys: effects, if they are of
    /// data types or may have expired. `saw` is called with each version that was looked at, which the writes depend on.
    ///
    /// # Errors
    /// All of it together is too large for a version.
    pub fn overwritten(
        &mut self,
        writes: Vec<(Key, Write)>,
        view: &P::View,
        mut saw: impl FnMut(&Version<P::Meta>),
    ) -> Result<Vec<(Key, Write)>, Failure> {
        let overwritten = |(key, write): (Key, Write)| {
            if matches!(write, Write::Apply(_)) {
                return (key, write); // evaluated before
            }
            let looked = self.look(&key, Update::put(write), view, &mut saw);
            (key, looked.write.unwrap_or(Write::Remove))
        };
        let writes = writes.into_iter().map(overwritten).collect();
        self.admits_all(&writes)?;
        Ok(writes)
    }

    /// The floor does not rise as long as this holds: what was evaluated by it has not been written yet.
    pub fn hold_floor(&mut self, holds: bool) {
        self.store.hold_floor(holds);
    }

    /// Evaluates a command on several keys of this partition: one version changes them all.
    fn evaluate_group(
        &mut self,
        key: &Key,
        command: &Command,
        view: &P::View,
        moment: Moment,
        saw: &mut dyn FnMut(&Version<P::Meta>),
    ) -> Before {
        let keys = match self.together(key, command, view) {
            Ok(keys) => keys,
            Err(why) => return answered(why),
        };
        let writes = command.verb.writes();
        let states: Vec<Cow<'_, State>> = keys.iter().map(|key| self.state(key, view, writes, saw)).collect();
        let states: Vec<&State> = states.iter().map(|state| &**state).collect();
        let (reply, changes) = evaluate_many(command, &keys, &states, moment);
        let changes = keys.into_iter().cloned().zip(changes);
        written_together(answered(reply), key, changes, moment)
    }

    /// The keys of a command, with what has become visible of them.
    ///
    /// # Errors
    /// They cannot be changed at once: the answer.
    pub(super) fn together<'k>(
        &mut self,
        key: &'k Key,
        command: &'k Command,
        view: &P::View,
    ) -> Result<Vec<&'k Key>, Reply> {
        let keys: Vec<&Key> = std::iter::once(key).chain(&command.keys).collect();
        if let Some(why) = self.apart(&keys) {
            return Err(why);
        }
        for key in &keys {
            self.refresh(key, view);
        }
        Ok(keys)
    }

    /// What tells whether a key has changed, for who watches it: another one after each change, and the same as long as there is
    /// none. Empty if there is nothing. REQUIRES: [`Self::refresh`].
    pub(super) fn mark(
        &self,
        key: &Key,
        view: &P::View,
        time: Hlc,
        saw: &mut dyn FnMut(&Version<P::Meta>),
    ) -> Bytes {
        let mut seen: Vec<Stamp> = Vec::new();
        let state = self.state(key, view, false, &mut |version| {
            seen.push(version.stamp);
            saw(version);
        });
        if state.kind_at(time).is_none() {
            return Bytes::new();
        }
        if let Some(object) = self.store.object(key)
            && P::EXTENSIONS.types.is_some_and(|types| (types.fresh)(view).is_some())
        {
            seen = vec![object.last()];
        }
        mark_of(&seen)
    }

    /// Why these keys cannot be changed at once, if they cannot.
    pub(super) fn apart(&self, keys: &[&Key]) -> Option<Reply> {
        let here = |key: &&&Key| self.topology.partition_of(key) == self.me.partition;
        if !keys.iter().all(|key| here(&key)) {
            return Some(Reply::error(
                "CROSSSLOT Keys in request don't hash to the same partition: give them the same {tag}",
            ));
        }
        let held = |key: &Key| self.topology.holders(key);
        let together = keys.iter().all(|key| held(key) == held(keys[0]));
        (!together).then_some(Reply::error("CROSSSLOT Keys in request are placed in different regions"))
    }

    /// The key's object, if it is of a data type. If `view` is fresh, what has become visible is applied first.
    pub(super) fn refresh(&mut self, key: &Key, view: &P::View) -> Option<&Object<P::Meta>> {
        self.choose_copies(view);
        match (P::EXTENSIONS.types?.fresh)(view) {
            Some(epoch) => self.store.refreshed(key, epoch, |version| seen_together::<P>(view, version)),
            None => self.store.object(key),
        }
    }

    /// A key as a reader with `view` sees it, whatever it is: for a command that `writes`, or only reads. `saw` is called with
    /// what the reader comes to depend on. REQUIRES: [`Self::refresh`].
    pub(super) fn state(
        &self,
        key: &Key,
        view: &P::View,
        writes: bool,
        saw: &mut dyn FnMut(&Version<P::Meta>),
    ) -> Cow<'_, State> {
        let visible = |version: &Version<P::Meta>| seen_together::<P>(view, version);
        if let Some(object) = self.store.object(key) {
            if P::EXTENSIONS.types.is_some_and(|types| (types.fresh)(view).is_some()) {
                object.seen().iter().for_each(saw);
                return Cow::Borrowed(object.head());
            }
            return object.view(visible, saw);
        }
        let mut chain = self.store.chain(key).filter(|version| visible(version));
        let latest = match P::EXTENSIONS.resolve {
            Some(resolve) => resolve(self.params, &mut chain),
            None => chain.next(),
        };
        let Some(latest) = latest else { return Cow::Owned(State::default()) };
        saw(latest);
        if !writes {
            let value = latest.write.value().cloned();
            return Cow::Owned(value.map_or_else(State::default, State::string));
        }
        // What is written names the versions that it has observed.
        let mut object = Object::default();
        self.store.chain(key).for_each(|version| {
            object.insert(version.clone());
        });
        Cow::Owned(object.view(visible, |_| ()).into_owned())
    }

    /// As [`Self::read`], of what is asked of each key.
    pub fn read_slice(
        &mut self,
        slice: &Several<(u32, Key)>,
        view: &P::View,
        mut saw: impl FnMut(&Version<P::Meta>),
    ) -> Vec<(u32, Found)> {
        match &slice.command {
            None => self.read(&slice.keys, view, saw),
            Some(command) => {
                let query = |(place, key): &(u32, Key)| (*place, self.query(key, command, view, &mut saw));
                slice.keys.iter().map(query).collect()
            }
        }
    }

    /// What a command that only reads answers of a key. What it would change is left out.
    pub(super) fn query(
        &mut self,
        key: &Key,
        command: &Command,
        view: &P::View,
        saw: &mut dyn FnMut(&Version<P::Meta>),
    ) -> Found {
        self.refresh(key, view);
        let moment = self.moment(Hlc::at(self.now));
        let Prepared { reply, .. } = evaluate(command, &self.state(key, view, false, saw), moment);
        Found { reply: Some(Box::new(reply)), ..Found::default() }
    }

    /// What GET tells of a key of a data type.
    pub(super) fn value(
        &mut self,
        key: &Key,
        view: &P::View,
        saw: &mut dyn FnMut(&Version<P::Meta>),
    ) -> Found {
        let time = Hlc::at(self.now);
        let mut newest = None;
        let mut see = |version: &Version<P::Meta>| {
            newest = newest.max(Some(version.stamp));
            saw(version);
        };
        self.refresh(key, view);
        match string_of(&self.state(key, view, false, &mut see), time) {
            Ok(value) => Found::new(newest, value),
            Err(reply) => Found { reply: Some(Box::new(reply)), ..Found::new(newest, None) },
        }
    }
}

/// The mark of a key that comes of these versions, and of one that holds something.
pub(crate) fn mark_of(seen: &[Stamp]) -> Bytes {
    let words = seen.iter().flat_map(|Stamp { ts, origin, seq }| [ts.0, origin.0.into(), (*seq).into()]);
    words.flat_map(u64::to_le_bytes).collect()
}

/// Whether a reader with `view` who sees several versions at once sees this one.
pub(super) fn seen_together<P: Protocol>(view: &P::View, version: &Version<P::Meta>) -> bool {
    let sees = P::EXTENSIONS.types.and_then(|types| types.together).unwrap_or(P::visible);
    sees(view, version.stamp, &version.meta)
}

/// The answer to a command that would need a data type.
fn unsupported<P: Protocol>() -> Reply {
    Reply::Error(format!("ERR data types are not supported under the protocol {}", P::INFO.name).into())
}

/// Before an update that writes nothing.
pub(super) fn answered(reply: Reply) -> Before {
    let found = Found { reply: Some(Box::new(reply)), ..found_of::<()>(None) };
    Before { previous: Some(found), ..Before::default() }
}

/// The same, where a command on one key makes these changes.
fn written_alone(before: Before, changes: Vec<Change>, moment: Moment) -> Before {
    let Some((write, effect)) = written(changes, moment) else { return before };
    Before { write: Some(write), effects: SmallVec::from_buf([effect]), ..before }
}

/// The same, where keys have to change, in the version of `key`.
pub(super) fn written_together(
    before: Before,
    key: &Key,
    changes: impl IntoIterator<Item = (Key, Vec<Change>)>,
    moment: Moment,
) -> Before {
    let written = |(key, changes)| {
        let (write, effect) = written(changes, moment)?;
        Some(((key, write), effect))
    };
    let (mut writes, effects): (Vec<(Key, Write)>, SmallVec<[Effect; 1]>) =
        changes.into_iter().filter_map(written).unzip();
    let write = match &writes[..] {
        [] => None,
        [(only, _)] if only == key => writes.pop().map(|(_, write)| write),
        _ => Some(Write::Group(Arc::new(writes))),
    };
    Before { write, effects, ..before }
}

fn written(changes: Vec<Change>, moment: Moment) -> Option<(Write, Effect)> {
    let effect = (!changes.is_empty()).then_some(Effect { floor: moment.floor, changes })?;
    Some((Write::Apply(effect.encode()), effect))
}
