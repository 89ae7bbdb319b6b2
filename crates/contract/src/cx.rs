//! What a protocol sees and does while it handles an event: [`Cx`], and the [`Effect`]s it leaves behind.

use crate::{Protocol, Ticket, Topology};
use derive_where::derive_where;
use serde::{Deserialize, Serialize};
use tidemark_core::{
    Condition, Failure, Found, Hlc, Key, Micros, Op, Outcome, Regions, ServerId, Stamp, Update, Write,
};
use tidemark_store::{Store, Version, Versions};

pub mod apart;
pub mod edge;
pub(crate) mod series;
mod stored;
pub(crate) mod typed;

/// Something that a protocol wants done. Effects are values, so that they can be traced, tested, and held
/// back until what they depend on is durable.
#[derive_where(Clone, Debug)]
pub enum Effect<P: Protocol> {
    /// Answer a session.
    Reply(Ticket, P::Reply),
    /// Say something to another server: at most once, in any order.
    Send(ServerId, P::Peer),
    /// Log a version written here, and feed it to the peers in `regions`, in order. It is in the store.
    Write {
        /// Its key.
        key: Key,
        /// The version, as stored.
        version: Version<P::Meta>,
        /// Where it goes.
        regions: Regions,
    },
    /// Log that what is stored beside a version has changed. It is in the store.
    Revise {
        /// Its key.
        key: Key,
        /// Which of its versions.
        stamp: Stamp,
        /// What is stored beside it now.
        meta: P::Meta,
    },
    /// Tell every peer, after all that was written before, that later versions have times above this.
    Heartbeat(Hlc),
    /// Fire a timer after this many microseconds, on a clock that does not jump.
    Arm(P::Timer, Micros),
    /// Make this state durable together with the versions of this batch.
    Persist(P::Hard),
}

/// The context of one event at one server.
pub struct Cx<'a, P: Protocol> {
    /// This server: the papers' `p_n^m`.
    pub me: ServerId,
    /// How many data centres and partitions there are.
    pub topology: &'a Topology,
    /// The protocol's numbers.
    pub params: &'a P::Params,
    /// Physical time here: the papers' `Clock` or `PC`.
    pub now: Micros,
    /// A clock that does not jump and means nothing elsewhere: for deadlines.
    pub mono: Micros,
    /// How far ahead of physical time a stamp may lie before a write is refused.
    pub max_skew_us: Micros,
    /// The version chains of this partition: only what is named below changes them.
    pub(crate) store: &'a mut Store<P::Meta>,
    /// Where effects go.
    pub effects: &'a mut Vec<Effect<P>>,
}

/// When an event happens, by the clocks of its server: see [`Cx`].
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub struct Moment {
    pub now: Micros,
    pub mono: Micros,
    pub max_skew_us: Micros,
}

/// A question about many keys of one partition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Walk {
    /// See [`tidemark_core::Op::Scan`].
    Scan {
        /// Where to go on.
        cursor: u64,
        /// How many keys to look at, about.
        limit: u32,
    },
    /// See [`tidemark_core::Op::Count`].
    Count,
}

impl Walk {
    /// What a SCAN or COUNT asks. REQUIRES: `op` is one of them, as is everything that [`crate::SessionCx::begin`] lets
    /// through beside reads and PUTs, and beside write transactions where the protocol has them.
    pub fn of(op: &Op) -> Self {
        match op {
            Op::Scan { cursor, limit, .. } => Self::Scan { cursor: *cursor, limit: *limit },
            Op::Count { .. } => Self::Count,
            other => unreachable!("{other:?} walks over no keys"),
        }
    }
}

/// What is asked of one server and changes nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Read {
    /// See [`tidemark_core::Op::Get`].
    Get(Key),
    /// Many keys.
    Walk(Walk),
}

impl Read {
    /// What a GET, a SCAN or a COUNT asks. REQUIRES: as [`Walk::of`].
    pub fn of(op: Op) -> Self {
        match op {
            Op::Get { key } => Self::Get(key),
            walk => Self::Walk(Walk::of(&walk)),
        }
    }
}

/// What an update saw where it is about to be inserted.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Before {
    /// The visible version before the update, if the update asked for it; or what a command of a data type answers.
    pub previous: Option<Found>,
    /// What the new version does; none if the condition does not hold, or the command changes nothing.
    pub write: Option<Write>,
    /// What [`Write::Apply`] says, of each key that a command changes, if that is known.
    pub effects: smallvec::SmallVec<[tidemark_crdt::Effect; 1]>,
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

impl<'a, P: Protocol> Cx<'a, P> {
    /// For drivers: of an event at server `me`, which holds what is in `store`.
    #[inline]
    pub fn new(
        me: ServerId,
        topology: &'a Topology,
        params: &'a P::Params,
        Moment { now, mono, max_skew_us }: Moment,
        store: &'a mut Store<P::Meta>,
        effects: &'a mut Vec<Effect<P>>,
    ) -> Self {
        Self { me, topology, params, now, mono, max_skew_us, store, effects }
    }
}

impl<P: Protocol> Cx<'_, P> {
    /// Answers `ticket`.
    #[inline]
    pub fn reply(&mut self, ticket: Ticket, reply: P::Reply) {
        self.effects.push(Effect::Reply(ticket, reply));
    }

    /// Says something to another server.
    pub fn send(&mut self, to: ServerId, message: P::Peer) {
        self.effects.push(Effect::Send(to, message));
    }

    /// Tells every peer that later versions have times above `ts`.
    pub fn heartbeat(&mut self, ts: Hlc) {
        self.effects.push(Effect::Heartbeat(ts));
    }

    /// Fires `timer` after `delay` microseconds.
    pub fn arm(&mut self, timer: P::Timer, delay: Micros) {
        self.effects.push(Effect::Arm(timer, delay));
    }

    /// Makes `hard` durable with this batch.
    pub fn persist(&mut self, hard: P::Hard) {
        self.effects.push(Effect::Persist(hard));
    }

    /// Stores a version written here, logs it and feeds it to the other regions that hold `key`.
    #[inline]
    pub fn write(&mut self, key: Key, version: Version<P::Meta>) {
        let regions = self.topology.holders(&key).without(self.me.dc);
        self.write_to(regions, key, version);
    }

    /// Stores a version and logs it, and feeds it to nobody.
    pub fn write_here(&mut self, key: Key, version: Version<P::Meta>) {
        self.write_to(Regions::NONE, key, version);
    }

    #[inline]
    fn write_to(&mut self, regions: Regions, key: Key, version: Version<P::Meta>) {
        self.insert(&key, version.clone());
        self.effects.push(Effect::Write { key, version, regions });
    }

    /// By how much `stamp` lies too far ahead of physical time to be given to a client's write.
    #[inline]
    pub fn too_far_ahead(&self, stamp: Hlc) -> Option<Micros> {
        let ahead = stamp.micros().saturating_sub(self.now);
        (ahead > self.max_skew_us).then_some(ahead)
    }

    /// The stamp of a write here, by a hybrid clock at `last`: above `last` and `above`, at or above physical time.
    ///
    /// # Errors
    /// `ClockSkew` if it is too far ahead of physical time to be given to a client's write.
    #[inline]
    pub fn stamp_above(&self, last: Hlc, above: Hlc) -> Result<Stamp, Failure> {
        let ut = last.observe(self.now, above);
        match self.too_far_ahead(ut) {
            Some(ahead_us) => Err(Failure::ClockSkew { ahead_us }),
            None => Ok(Stamp::new(ut, self.me.dc)),
        }
    }

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
        let (mut looked, evaluated) = match self.is_evaluated(key, &update) {
            true => (self.evaluate(key, &update, view, Hlc::at(self.now), saw), Some(update)),
            false => (self.look_at_register(key, update, view, saw), None),
        };
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

    /// What a reader with `view` gets of `key`: what the papers call "obtain latest version d".
    #[inline]
    pub fn latest(&self, key: &Key, view: &P::View) -> Option<&Version<P::Meta>> {
        pick::<P>(self.params, view, self.store.chain(key))
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
        match self.is_evaluated(key, &update) {
            true => self.evaluate(key, &update, view, Hlc::at(self.now), &mut saw),
            false => self.look_at_register(key, update, view, &mut saw),
        }
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

    /// Carries out a read under `view`. `saw` is called with each version that the reader comes to depend on: see
    /// [`Cx::latest`] and [`Cx::walk`].
    #[inline]
    pub fn find(&mut self, read: &Read, view: &P::View, saw: impl FnMut(&Version<P::Meta>)) -> Outcome {
        match read {
            Read::Get(key) => Outcome::Found(self.get(key, view, saw)),
            Read::Walk(walk) => {
                self.choose_copies(view);
                self.walk(walk, view, saw)
            }
        }
    }

    /// What a reader with `view` is told of `key`. `saw` is called with each version that the reader comes to depend on.
    #[inline]
    pub fn get(&mut self, key: &Key, view: &P::View, mut saw: impl FnMut(&Version<P::Meta>)) -> Found {
        self.choose_copies(view);
        if self.store.is_typed(key) {
            return self.value(key, view, &mut saw);
        }
        found_of(self.latest(key, view).inspect(|version| saw(version)))
    }

    /// Walks this partition under `view`. `saw` is called with each version that decided about a key of a
    /// scan; a count is a number that nothing comes to depend on.
    pub fn walk(&self, walk: &Walk, view: &P::View, saw: impl FnMut(&Version<P::Meta>)) -> Outcome {
        let visible = |version: &Version<P::Meta>| typed::seen_together::<P>(view, version);
        let time = Hlc::at(self.now);
        match walk {
            Walk::Scan { cursor, limit } => {
                let limit = *limit as usize;
                let (keys, cursor) = self.store.scan(
                    (*cursor, limit),
                    time,
                    |all| pick::<P>(self.params, view, all),
                    visible,
                    saw,
                );
                Outcome::Keys { keys, cursor }
            }
            Walk::Count => {
                Outcome::Count(self.store.count(time, |all| pick::<P>(self.params, view, all), visible))
            }
        }
    }
}

/// Of the versions of a key the one that a reader with `view` gets.
#[inline]
fn pick<'v, P: Protocol>(
    params: &P::Params,
    view: &P::View,
    versions: Versions<'v, P::Meta>,
) -> Option<&'v Version<P::Meta>> {
    let mut seen = versions.filter(|version| P::visible(view, version.stamp, &version.meta));
    match P::EXTENSIONS.resolve {
        Some(resolve) => resolve(params, &mut seen),
        None => seen.next(),
    }
}

/// What a reader is told of a version, or of none.
#[inline]
pub fn found_of<M>(version: Option<&Version<M>>) -> Found {
    version.map_or_else(Found::default, |one| Found::new(Some(one.stamp), one.write.value().cloned()))
}
