//! What a protocol sees and does while it handles an event: [`Cx`], and the [`Effect`]s it leaves behind.

use crate::{Protocol, Ticket, Topology};
use derive_where::derive_where;
use serde::{Deserialize, Serialize};
use tidemark_core::{Failure, Found, Hlc, Key, Limit, Micros, Op, Outcome, Regions, ServerId, Stamp};
use tidemark_store::{Store, Version, Versions};

pub mod apart;
pub mod edge;
pub(crate) mod series;
mod size;
mod stored;
pub(crate) mod typed;
mod update;

pub use update::{Before, Draft};

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
    /// Times up to this one may be given out from now on.
    Reach(Hlc),
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
    /// The largest version that may be written.
    pub limit: Limit,
    /// Makes room in the log for so many bytes.
    room: Option<Room<'a>>,
    /// The version chains of this partition: only what is named below changes them.
    pub(crate) store: &'a mut Store<P::Meta>,
    /// Where effects go.
    pub effects: &'a mut Vec<Effect<P>>,
}

/// When an event happens, by the clocks of its server, and what its server allows: see [`Cx`].
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub struct Moment {
    pub now: Micros,
    pub mono: Micros,
    pub max_skew_us: Micros,
    pub limit: Limit,
}

/// Makes room in a log for so many bytes, or says why there is none.
pub type Room<'a> = &'a mut dyn FnMut(usize) -> Result<(), Failure>;

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

impl<'a, P: Protocol> Cx<'a, P> {
    /// For drivers: of an event at server `me`, which holds what is in `store`.
    #[inline]
    pub fn new(
        me: ServerId,
        topology: &'a Topology,
        params: &'a P::Params,
        Moment { now, mono, max_skew_us, limit }: Moment,
        store: &'a mut Store<P::Meta>,
        effects: &'a mut Vec<Effect<P>>,
    ) -> Self {
        Self { me, topology, params, now, mono, max_skew_us, limit, room: None, store, effects }
    }

    /// For drivers: room for what an event turns out to write is made by `room`, before anything changes. Who calls [`Cx::new`] alone
    /// has it already.
    #[must_use]
    #[inline]
    pub fn with_room(self, room: Room<'a>) -> Self {
        Self { room: Some(room), ..self }
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

    /// Times up to `ceiling` may be given out from now on: stamped, announced, proposed, or promised to a reader.
    pub fn reach(&mut self, ceiling: Hlc) {
        self.effects.push(Effect::Reach(ceiling));
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

    /// What a reader with `view` gets of `key`: what the papers call "obtain latest version d".
    #[inline]
    pub fn latest(&self, key: &Key, view: &P::View) -> Option<&Version<P::Meta>> {
        pick::<P>(self.params, view, self.store.chain(key))
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
