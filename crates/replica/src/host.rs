//! Events in, effects out, one commit a turn.

use crate::arrivals::Arrivals;
use crate::config::{HostConfig, Now};
use crate::group::Membership;
use crate::lineage::Lineage;
use crate::output::Output;
use crate::place::{Heartbeat, Place};
use crate::record::{self, HARD, REVISED, WRITTEN};
use crate::recover::{Known, Recovery};
use crate::refusal::reserve;
use crate::snapshot::Upkeep;
use crate::staged::Staged;
use std::collections::VecDeque;
use std::sync::Arc;
use tidemark_contract::cx::{Effect, Moment};
use tidemark_contract::{Clock, Cx, Protocol, Store, Ticket};
use tidemark_core::{Failure, Micros, PartitionId, ServerId};
use tidemark_store::disk::Disk;
use tidemark_store::log::manifest::DataDir;
use tidemark_store::log::{Cut, Fsync, Log, LogError, Position};

/// The host cannot go on; its process stops and says this.
#[derive(Debug, Clone, thiserror::Error)]
#[error("this server stops: {0}")]
pub struct Fatal(#[from] pub LogError);

/// The partitions of one server thread, and their log.
pub struct Host<P: Protocol> {
    pub(crate) config: HostConfig<P>,
    pub(crate) disk: Arc<dyn Disk>,
    pub(crate) directory: DataDir,
    pub(crate) log: Log,
    pub(crate) known: Known,
    /// As one of a group: what it has agreed on, and what not yet.
    pub(crate) group: Option<Membership>,
    pub(crate) places: Vec<Place<P>>,
    /// Position of each partition in `places`; `usize::MAX` if another host holds it.
    pub(crate) place_of: Vec<usize>,
    pub(crate) upkeep: Upkeep,
    /// As one of a group: a copy on its way in.
    pub(crate) staged: Option<Staged>,
    /// The tail of the log that opening cut.
    pub(crate) cut: Option<Cut>,
    /// The first failure; everything after it fails alike.
    pub(crate) fatal: Option<Fatal>,
    /// See [`Host::disowned`].
    pub(crate) disowned: Option<String>,
    /// What came last could not be logged for lack of room.
    pub(crate) lacked_room: bool,
    effects: Vec<Effect<P>>,
    /// Messages between partitions of this host, delivered within the event.
    pub(crate) within: VecDeque<(ServerId, ServerId, P::Peer)>,
    /// Of this turn, not committed.
    replies: Vec<Output<P>>,
    pub(crate) sends: Vec<Output<P>>,
    /// Messages of this turn that concern an operation of a client, to nodes of its region.
    near: Vec<Output<P>>,
    /// Committed; each batch may leave once the log is durable up to its position.
    pub(crate) held: VecDeque<(Position, Vec<Output<P>>)>,
    /// Committed; each batch may leave once clients may be told of it.
    pub(crate) held_near: VecDeque<(Position, Vec<Output<P>>)>,
    pub(crate) arrivals: Arrivals<P>,
    pub(crate) lineage: Lineage,
    /// Requests that wait for a ceiling to be synced.
    pub(crate) delayed: Vec<(PartitionId, Ticket, P::Request, usize)>,
    /// Up to where the partitions know the log to be durable.
    pub(crate) settled: Position,
    /// See [`Host::on_behalf_of`].
    pub(crate) cause: u64,
}

impl<P: Protocol> Host<P> {
    pub(crate) fn assemble(config: HostConfig<P>, disk: Arc<dyn Disk>, recovery: Recovery<P>) -> Self {
        let Recovery { directory, log, known, places, upkeep, group, cut, .. } = recovery;
        let mut place_of = vec![usize::MAX; config.topology.partitions];
        let defer = config.several && config.fsync == Fsync::EverySec && group.is_none();
        let lineage = Lineage::new(known.past.clone(), config.fsync, group.is_some());
        places.iter().enumerate().for_each(|(at, place)| place_of[place.id.index()] = at);
        Self {
            config,
            disk,
            directory,
            log,
            known,
            group,
            places,
            place_of,
            upkeep,
            staged: None,
            cut,
            fatal: None,
            disowned: None,
            lacked_room: false,
            effects: Vec::new(),
            within: VecDeque::new(),
            replies: Vec::new(),
            sends: Vec::new(),
            near: Vec::new(),
            held: VecDeque::new(),
            held_near: VecDeque::new(),
            arrivals: Arrivals::new(defer),
            lineage,
            delayed: Vec::new(),
            settled: Position::START,
            cause: 0,
        }
    }

    /// The name of what is written here: another directory has another, and so has another group.
    pub fn incarnation(&self) -> u64 {
        match self.group {
            Some(_) => self.known.name,
            None => self.directory.manifest().incarnation,
        }
    }

    /// The number of this start: 1 at the first.
    pub fn life(&self) -> u64 {
        self.known.life
    }

    /// Whether `partition` is here.
    pub fn holds(&self, partition: PartitionId) -> bool {
        self.place_of.get(partition.index()).is_some_and(|at| *at != usize::MAX)
    }

    /// The protocol of a partition that is here.
    pub fn partition(&self, partition: PartitionId) -> &P {
        self.place(partition).protocol.as_ref().expect("no handler is running")
    }

    /// The version chains of a partition that is here.
    pub fn store(&self, partition: PartitionId) -> &Store<P::Meta> {
        &self.place(partition).store
    }

    /// The number of the last record that a partition that is here has written.
    pub fn written(&self, partition: PartitionId) -> u64 {
        self.place(partition).written
    }

    pub(crate) fn place(&self, partition: PartitionId) -> &Place<P> {
        &self.places[self.place_of[partition.index()]]
    }

    pub(crate) fn place_mut(&mut self, partition: PartitionId) -> &mut Place<P> {
        &mut self.places[self.place_of[partition.index()]]
    }

    pub(crate) fn server(&self, partition: PartitionId) -> ServerId {
        ServerId::new(self.config.dc, partition)
    }

    /// A session asks `to`. `writes` says that the question may change something, and about how many bytes of keys
    /// and values it brings: it is refused while they cannot be logged.
    pub fn request(
        &mut self,
        now: Now,
        to: PartitionId,
        ticket: Ticket,
        request: P::Request,
        writes: Option<usize>,
    ) {
        if let Some(bytes) = writes
            && let Err(failure) = self
                .config
                .limit
                .get()
                .admits(bytes)
                .and_then(|()| self.may_write(bytes).map_err(Failure::from))
        {
            let (from, cause) = (self.server(to), 0);
            return self.replies.push(Output::Reply { ticket, from, reply: Err(failure), cause });
        }
        self.wall(now);
        if let Some(bytes) = writes
            && self.is_over_ceiling()
        {
            return self.delayed.push((to, ticket, request, bytes));
        }
        self.event(now, to, |protocol, cx| protocol.on_request(ticket, request, cx));
    }

    /// `from` says something to `to`, which is here.
    pub fn message(&mut self, now: Now, from: ServerId, to: PartitionId, message: P::Peer) {
        self.event(now, to, |protocol, cx| protocol.on_peer(from, message, cx));
    }

    /// `peer`, a server elsewhere, has restarted: what was asked of it will not be answered.
    pub fn peer_reset(&mut self, now: Now, peer: ServerId) {
        for at in 0..self.places.len() {
            let partition = self.places[at].id;
            self.event(now, partition, |protocol, cx| protocol.on_peer_reset(peer, cx));
        }
    }

    /// Runs one event at `to`, and what it causes at other partitions that are here.
    pub(crate) fn event(&mut self, now: Now, to: PartitionId, event: impl FnOnce(&mut P, &mut Cx<'_, P>)) {
        if self.fatal.is_some() {
            return;
        }
        self.handle(now, to, event);
        while let Some((from, to, message)) = self.within.pop_front() {
            self.handle(now, to.partition, |protocol, cx| protocol.on_peer(from, message, cx));
        }
        self.cause = 0;
    }

    #[inline]
    fn handle(&mut self, now: Now, to: PartitionId, event: impl FnOnce(&mut P, &mut Cx<'_, P>)) {
        let wall = self.wall(now);
        let mut effects = std::mem::take(&mut self.effects);
        let within = self.within.len();
        let me = self.server(to);
        let place = &mut self.places[self.place_of[to.index()]];
        let protocol = place.protocol.as_mut().expect("every partition has started");
        let HostConfig { topology, params, max_skew_us, limit, .. } = &self.config;
        let moment = Moment { now: wall, mono: now.mono, max_skew_us: *max_skew_us, limit: limit.get() };
        let turn = self.group.as_ref().map_or(0, |group| group.turn.len());
        let (log, lacked_room) = (&mut self.log, &mut self.lacked_room);
        let segment_bytes = self.config.log_segment_bytes;
        let room = &mut |bytes| {
            let room = reserve(log, (turn, segment_bytes), bytes);
            *lacked_room = room.is_err();
            room.map_err(Failure::from)
        };
        let mut cx = Cx::new(me, topology, params, moment, &mut place.store, &mut effects).with_room(room);
        event(protocol, &mut cx);
        for effect in effects.drain(..) {
            self.carry_out(now, me, effect);
        }
        self.effects = effects;
        if self.within.len() > within {
            self.defer_messages(within);
        }
    }

    /// Physical time as the protocol bears it.
    pub(crate) fn wall(&mut self, now: Now) -> Micros {
        let wall = self.lineage.clock(now.wall);
        match P::INFO.clock {
            Clock::Any => wall,
            Clock::Monotone => self.lineage.highest_clock(),
        }
    }

    /// Starts the protocol of a partition from what was recovered.
    pub(crate) fn start(&mut self, now: Now, at: usize) {
        let wall = self.wall(now);
        let me = self.server(self.places[at].id);
        let mut effects = Vec::new();
        let place = &mut self.places[at];
        place.before_turn = place.written;
        let recovered = place.recovered(me.dc, self.known.life);
        let HostConfig { topology, params, max_skew_us, limit, .. } = &self.config;
        let moment = Moment { now: wall, mono: now.mono, max_skew_us: *max_skew_us, limit: limit.get() };
        let mut cx = Cx::new(me, topology, params, moment, &mut place.store, &mut effects);
        place.protocol = Some(P::start(recovered, &mut cx));
        effects.into_iter().for_each(|effect| self.carry_out(now, me, effect));
    }

    fn carry_out(&mut self, now: Now, me: ServerId, effect: Effect<P>) {
        let (from, cause) = (me, self.cause);
        match effect {
            Effect::Reply(ticket, reply) => {
                self.replies.push(Output::Reply { ticket, from, reply: Ok(reply), cause });
            }
            Effect::Send(to, message) if to.dc == self.config.dc && self.holds(to.partition) => {
                self.within.push_back((me, to, message));
            }
            Effect::Send(to, message) => {
                let near = to.dc == self.config.dc && P::EXTENSIONS.is_for_client(&message);
                let sends = if near { &mut self.near } else { &mut self.sends };
                sends.push(Output::Send { from, to, message, cause });
            }
            Effect::Write { key, version, regions } => {
                let place = self.place_mut(me.partition);
                place.written += 1;
                place.last.include(P::EXTENSIONS.written_at(&version));
                let seq = place.written;
                self.lineage.stamp(version.stamp.ts);
                let payload = (regions, record::parts(&key, &version));
                let encode = |buffer: &mut Vec<u8>| record::encode(&payload, buffer);
                if let Some(position) = self.append(WRITTEN, me.partition, seq, encode) {
                    self.place_mut(me.partition).note(seq, position);
                }
            }
            Effect::Revise { key, stamp, meta } => {
                let payload = (key, stamp, meta);
                let revised =
                    self.append(REVISED, me.partition, 0, |buffer| record::encode(&payload, buffer));
                revised.into_iter().for_each(|position| self.lineage.show(position));
            }
            Effect::Heartbeat(ts) => {
                let place = self.place_mut(me.partition);
                place.announced = Some(Heartbeat { after: place.written, ts });
                self.lineage.reach(ts);
            }
            Effect::Arm(timer, delay) => {
                self.place_mut(me.partition).timers.arm(timer, now.mono + delay);
            }
            Effect::Reach(ceiling) => self.lineage.reach(ceiling),
            Effect::Persist(hard) => {
                self.append(HARD, me.partition, 0, |buffer| record::encode(&hard, buffer));
                self.place_mut(me.partition).hard = Some(hard);
            }
        }
    }

    /// Appends a record. A failure is kept: memory has changed already, so nothing of this turn may leave.
    pub(crate) fn append(
        &mut self,
        kind: u8,
        partition: PartitionId,
        seq: u64,
        encode: impl FnOnce(&mut Vec<u8>),
    ) -> Option<Position> {
        let appended = match &mut self.group {
            Some(group) => group.append(&mut self.log, (kind, partition.0, seq), encode),
            None => self.log.append(kind, partition.0, seq, encode),
        };
        match appended {
            Ok(position) => Some(position),
            Err(error) => {
                self.fatal.get_or_insert(Fatal(error));
                None
            }
        }
    }

    /// Answers of this turn, before they are durable. REQUIRES: the caller holds back everything that leaves its
    /// process until [`Self::durable`] has reached what the next [`Self::commit`] returns.
    #[inline]
    pub fn replies(&mut self) -> &mut Vec<Output<P>> {
        &mut self.replies
    }

    /// Ends the turn: writes its records with one write. REQUIRES, in a group: they are closed as an entry
    /// ([`Self::log_entry`]). What the turn caused may leave once
    /// [`Self::durable`] has reached the position that this returns.
    ///
    /// # Errors
    /// The log failed: nothing of this turn may leave, and the process must stop.
    pub fn commit(&mut self) -> Result<Position, Fatal> {
        self.raise_ceiling(self.config.ceiling_us / 3);
        if let Some(fatal) = &self.fatal {
            return Err(fatal.clone());
        }
        let before = self.log.flushed();
        let position = match self.log.flush() {
            Ok(position) => position,
            Err(error) => return Err(self.fatal.insert(Fatal(error)).clone()),
        };
        if let Some(group) = &mut self.group {
            group.flushed(position);
        }
        self.places.iter_mut().for_each(|place| place.announce(position));
        if position > before {
            self.places.iter_mut().for_each(|place| place.committed(position));
        }
        self.arrivals.committed(position);
        self.near.append(&mut self.replies);
        for (held, sends) in [(&mut self.held, &mut self.sends), (&mut self.held_near, &mut self.near)] {
            if !sends.is_empty() {
                held.push_back((position, std::mem::take(sends)));
            }
        }
        self.settle();
        Ok(position)
    }
}
