//! One partition of a host: its protocol, its chains, its timers, and where its streams stand.

use crate::changes::Hidden;
use crate::stream::{Beat, OutgoingStream, Relay};
use crate::timers::Timers;
use std::collections::{BTreeMap, VecDeque};
use tidemark_contract::protocol::newest_only;
use tidemark_contract::{Protocol, Recovered, Store, Version};
use tidemark_core::{DcId, Hlc, Key, PartitionId, Vector};
use tidemark_store::Mark;
use tidemark_store::log::Position;

/// What has been received from one peer.
#[derive(Clone, Debug, Default)]
pub(crate) struct Received {
    /// The incarnation of the peer's log; 0 before its first stream.
    pub(crate) incarnation: u64,
    /// The last record, appended to the log here.
    pub(crate) seq: u64,
    /// The last record that may be confirmed.
    pub(crate) durable: u64,
    /// Records that will be durable with the log up to a position.
    pub(crate) written: VecDeque<(Position, u64)>,
    /// Where some of them stand in the log: every [`INDEX_EVERY`]th.
    pub(crate) index: BTreeMap<u64, Position>,
    /// The last heartbeat.
    pub(crate) beat: Beat,
    /// No third data centre will ask for records up to this one: all have them, as the peer has told since the start, or they
    /// were given up.
    pub(crate) passed: u64,
}

impl Received {
    /// Remembers where record `seq` stands.
    #[inline]
    pub(crate) fn note(&mut self, seq: u64, position: Position) {
        if seq % INDEX_EVERY == 1 {
            self.index.insert(seq, position);
        }
    }
}

/// A heartbeat on its way to the streams.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Heartbeat {
    /// The last record before it.
    pub(crate) after: u64,
    pub(crate) ts: Hlc,
}

/// A floor on its way to the streams: what was written up to a record may lie below it, later records do not.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Floor {
    /// The last record before it.
    pub(crate) after: u64,
    pub(crate) floor: Hlc,
}

/// One partition.
pub(crate) struct Place<P: Protocol> {
    pub(crate) id: PartitionId,
    newest_only: bool,
    /// Absent only until it has started.
    pub(crate) protocol: Option<P>,
    pub(crate) store: Store<P::Meta>,
    /// On the driver's monotonic clock.
    pub(crate) timers: Timers<P::Timer>,
    /// The last hard state that was appended to the log.
    pub(crate) hard: Option<P::Hard>,
    /// The number of the last record written here.
    pub(crate) written: u64,
    /// The last of them that was not written in this turn.
    pub(crate) before_turn: u64,
    /// Where some of them stand: every [`INDEX_EVERY`]th.
    pub(crate) index: BTreeMap<u64, Position>,
    /// One a data centre.
    pub(crate) received: Vec<Received>,
    /// One a data centre: the time of its last record.
    pub(crate) last: Vector,
    /// One a data centre: the stream to it, while there is one.
    pub(crate) streams: Vec<Option<OutgoingStream>>,
    /// What is handed on of other data centres.
    pub(crate) relays: Vec<Relay>,
    /// One a data centre: the last record that its peer has confirmed, as far as is known.
    pub(crate) confirmed: Vec<u64>,
    /// One a data centre: the same, as far as all of the group know.
    pub(crate) told: Vec<u64>,
    /// One a data centre: the log it needs was dropped, because it was away too long.
    pub(crate) needs_seeding: Vec<bool>,
    /// Announced in this turn.
    pub(crate) announced: Option<Heartbeat>,
    /// Announced before; each may leave once the log is durable up to its position.
    pub(crate) heartbeats: VecDeque<(Position, Heartbeat)>,
    /// Reached; each may leave once the log is durable up to its position: who starts again there is above it.
    pub(crate) floors: VecDeque<(Position, Floor)>,
    /// What is kept for who listens.
    pub(crate) hidden: Hidden,
}

/// How far apart the records of the index are.
pub(crate) const INDEX_EVERY: u64 = 256;

impl<P: Protocol> Place<P> {
    /// One of `dcs` in region `here`.
    pub(crate) fn new(id: PartitionId, (here, dcs): (DcId, usize), seed: u64, params: &P::Params) -> Self {
        Self {
            id,
            newest_only: newest_only::<P>(params),
            protocol: None,
            store: P::EXTENSIONS.store(seed, (here, dcs)),
            timers: Timers::default(),
            hard: None,
            written: 0,
            before_turn: 0,
            index: BTreeMap::new(),
            received: vec![Received::default(); dcs],
            last: Vector::zero(dcs),
            streams: (0..dcs).map(|_| None).collect(),
            relays: Vec::new(),
            confirmed: vec![0; dcs],
            told: vec![0; dcs],
            needs_seeding: vec![false; dcs],
            announced: None,
            heartbeats: VecDeque::new(),
            floors: VecDeque::new(),
            hidden: Hidden::default(),
        }
    }

    /// It is all that there is: no other server, of a region, a partition or a Raft group, holds any key.
    pub(crate) fn alone(mut self, params: &P::Params) -> Self {
        if P::EXTENSIONS.types.is_some_and(|types| (types.whole)(params)) {
            self.store = self.store.folding_at_once();
        }
        self
    }

    /// What its chains contain. With `deferred`, records are given to it once they are durable.
    pub(crate) fn mark(&self, deferred: bool) -> Mark {
        let given = |received: &Received| if deferred { received.durable } else { received.seq };
        Mark { written: self.written, received: self.received.iter().map(given).collect() }
    }

    /// As [`Self::insert`], of a record of the log: of a region, or written here.
    pub(crate) fn replay(&mut self, key: &Key, version: Version<P::Meta>, of: Option<DcId>, seq: u64) {
        let write = self.newest_only.then(|| version.write.clone());
        self.store.replay(key, version, of, seq);
        write.into_iter().for_each(|write| self.store.keep_newest_of(key, &write));
    }

    /// Adds a version to its chain, and drops what nobody asks for any more if the protocol says what that is.
    pub(crate) fn insert(&mut self, key: &Key, version: Version<P::Meta>) {
        self.store.insert(key, version);
        if self.newest_only {
            self.store.keep_newest(key);
        }
    }

    /// What its protocol starts from in data centre `here`.
    pub(crate) fn recovered(&self, here: DcId, life: u64) -> Recovered<P::Hard> {
        let hard = self.hard.clone().unwrap_or_default();
        Recovered { hard, life, received: self.last.clone(), records: self.applied(here) }
    }

    /// The last record of each data centre that is here; `here` is its own.
    pub(crate) fn applied(&self, here: DcId) -> Vec<u64> {
        let mut records: Vec<u64> = self.received.iter().map(|received| received.seq).collect();
        records[here.index()] = self.written;
        records
    }

    /// Remembers where record `seq` stands.
    #[inline]
    pub(crate) fn note(&mut self, seq: u64, position: Position) {
        if seq % INDEX_EVERY == 1 {
            self.index.insert(seq, position);
        }
    }

    /// The turn ends at `position`: its heartbeat may leave once what was written before it is durable.
    pub(crate) fn announce(&mut self, position: Position) {
        let (after, floor) = (self.written, self.store.floor());
        match self.floors.back_mut() {
            Some((_, last)) if last.floor >= floor => {}
            Some((at, last)) if *at == position => *last = Floor { after, floor },
            _ if self.store.needs_floors() => self.floors.push_back((position, Floor { after, floor })),
            _ => {}
        }
        let Some(heartbeat) = self.announced.take() else { return };
        match self.heartbeats.back_mut() {
            // What it says includes what that one said.
            Some((at, earlier)) if *at == position => *earlier = heartbeat,
            _ => self.heartbeats.push_back((position, heartbeat)),
        }
    }

    /// The turn's records were written; they end at `position`.
    pub(crate) fn committed(&mut self, position: Position) {
        self.before_turn = self.written;
        for received in &mut self.received {
            let last = received.written.back().map_or(received.durable, |(_, seq)| *seq);
            if received.seq > last {
                received.written.push_back((position, received.seq));
            }
        }
    }

    /// The log is durable up to `position`; what was received up to `confirmed` is.
    pub(crate) fn durable(&mut self, position: Position, confirmed: Position) {
        for received in &mut self.received {
            while received.written.front().is_some_and(|(at, _)| *at <= confirmed) {
                received.durable = received.written.pop_front().expect("just seen").1;
            }
        }
        // Only the last one matters: what it says includes what earlier ones said.
        while self.heartbeats.get(1).is_some_and(|(at, _)| *at <= position) {
            self.heartbeats.pop_front();
        }
        while self.floors.get(1).is_some_and(|(at, _)| *at <= position) {
            self.floors.pop_front();
        }
    }

    /// The last heartbeat that may leave, if the log is durable up to `position`.
    pub(crate) fn beat(&self, position: Position) -> Option<Heartbeat> {
        self.heartbeats.iter().rev().find(|(at, _)| *at <= position).map(|(_, beat)| *beat)
    }

    /// The last floor that may leave, if the log is durable up to `position`.
    pub(crate) fn floor(&self, position: Position) -> Option<Floor> {
        self.floors.iter().rev().find(|(at, _)| *at <= position).map(|(_, floor)| *floor)
    }
}
