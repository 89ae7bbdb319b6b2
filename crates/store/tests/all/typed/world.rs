//! Schedules: two or three regions of two partitions each, their sessions, and everything that can happen between them.
//!
//! Partition 0 holds one key of a data type; partition 1 only makes dependencies. Every answer of every view at every region is
//! compared with the oracle's.

use super::REGIONS;
use super::commands::{Cmd, Family};
use super::own::{Given, Own};
use super::server::{KEY, Message, Meta, Server, Times, absorb, hlc, millis};
use super::spec::{Act, Done, Set, Shown, fold};
use tidemark_core::{DcId, Stamp, Write};
use tidemark_crdt::Kind;
use tidemark_crdt::effect::{Bound, Datum};
use tidemark_crdt::{Effect, Moment, State};
use tidemark_store::{Object, Store, Version};

/// Rules of the protocol, not of the store, for tests to break.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Slip {
    /// Deadlines are judged by the wall clock (R17).
    WallClock,
    /// The floor leaves out the own clock (R6).
    FloorWithoutOwn,
    /// The announced floor is the newest stable time (R6).
    FloorTooHigh,
    /// G is the own floor (R7).
    OwnFloor,
    /// Collection leaves out open snapshots (R2).
    OpenSnapshots,
    /// Collection goes by what is stable at this server (R2).
    OwnStable,
    /// A prefix in the order of stamps is folded, not a set (R2).
    Prefix,
}

/// An operation, and what the protocol knows of it.
pub(crate) struct Op {
    pub(crate) done: Done,
    meta: Meta,
    write: Write,
    partition: usize,
}

impl Op {
    pub(crate) fn version(&self) -> Version<Meta> {
        Version { stamp: self.done.stamp, meta: self.meta, write: self.write.clone() }
    }
}

#[derive(Clone, Copy, Default)]
pub(crate) struct Session {
    ds: Times,
    stable: Times,
}

/// See above.
pub(crate) struct World {
    pub(crate) regions: usize,
    pub(crate) family: Family,
    pub(crate) slip: Option<Slip>,
    pub(crate) random: fastrand::Rng,
    pub(crate) now: u64,
    pub(crate) servers: Vec<[Server; 2]>,
    pub(crate) ops: Vec<Op>,
    pub(crate) skew: Vec<i64>,
    pub(crate) sessions: Vec<[Session; 3]>,
    pub(crate) restarts: bool,
    /// Strings are written as plain registers, too, without being looked at.
    pub(crate) plain: bool,
    /// What readers of the key were given, if it is a document.
    given: Vec<Given>,
    /// Prints what happens.
    pub(crate) tells: bool,
}

pub(crate) fn fresh(dc: usize, stable: &Times, stamp: Stamp, meta: &Meta) -> bool {
    let here = stamp.origin.index() == dc;
    here || (0..REGIONS).all(|i| i == dc || meta.ds.0[i] <= stable.0[i])
}

pub(crate) fn in_snapshot(dc: usize, at: &Times, stamp: Stamp, meta: &Meta) -> bool {
    let covered = (0..REGIONS).all(|i| meta.ds.0[i] <= at.0[i]);
    let here = stamp.origin.index() == dc && millis(stamp) <= at.0[dc];
    covered || here && (0..REGIONS).all(|i| i == dc || meta.need.0[i] <= at.0[i])
}

pub(crate) type Checked = Result<(), String>;

/// A key that has registers only, as what is written to it with a command of a data type has observed it.
pub(crate) fn registers(store: &Store<Meta>, sees: impl Fn(&Version<Meta>) -> bool) -> Option<Object<Meta>> {
    if store.is_typed(KEY) {
        return None;
    }
    let mut object = Object::default();
    store.chain(KEY).for_each(|version| {
        object.insert(version.clone());
    });
    object.refresh(1, absorb, sees);
    Some(object)
}

impl World {
    pub(crate) fn new(seed: u64, slip: Option<Slip>) -> Self {
        let mut random = fastrand::Rng::with_seed(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let regions = random.usize(2..=3);
        let families = [Family::Hash, Family::Hash, Family::String, Family::Set, Family::Zset, Family::Mixed];
        let own = match seed % 12 {
            5 => Some(Family::Doc),
            11 => Some(Family::BCounter),
            _ => None,
        };
        let (family, wide) = (own.unwrap_or(*random.choice(&families).expect("some")), random.bool());
        let skew =
            (0..regions).map(|_| if wide { random.i64(-40..=40) } else { random.i64(-4..=4) }).collect();
        Self {
            regions,
            family,
            slip,
            now: 100,
            servers: (0..regions).map(|dc| [Server::new(dc, regions), Server::new(dc, regions)]).collect(),
            ops: Vec::new(),
            skew,
            sessions: vec![Default::default(); regions],
            restarts: random.bool(),
            plain: seed.is_multiple_of(2),
            given: Vec::new(),
            random,
            tells: false,
        }
    }

    pub(crate) fn percent(&mut self, of: u32) -> bool {
        self.random.u32(0..100) < of
    }

    pub(crate) fn tell(&self, what: impl FnOnce() -> String) {
        if self.tells {
            println!("{:4} {}", self.now, what());
        }
    }

    pub(crate) fn wall(&self, dc: usize) -> u64 {
        self.now.saturating_add_signed(self.skew[dc]).max(1)
    }

    /// Everything at or below is in every view of the region.
    pub(crate) fn floor(&self, dc: usize) -> u64 {
        let safe = self.servers[dc][0].safe.0;
        let counts = |i: &usize| self.slip != Some(Slip::FloorWithoutOwn) || *i != dc;
        let all = (0..self.regions).filter(counts).map(|i| safe[i]);
        let floor = all.min().unwrap_or(0);
        if self.slip == Some(Slip::FloorTooHigh) { safe.into_iter().max().unwrap_or(0) } else { floor }
    }

    pub(crate) fn clock(&mut self, dc: usize, partition: usize, above: u64) -> u64 {
        let wall = self.wall(dc);
        let server = &mut self.servers[dc][partition];
        server.clock = wall.max(server.clock.max(above) + 1);
        server.received.0[dc] = server.clock;
        server.clock
    }

    /// The stamp and metadata of an update that depends on `ds`.
    pub(crate) fn begin(&mut self, dc: usize, partition: usize, ds: Times) -> (Stamp, Meta) {
        let stable = self.servers[dc][partition].stable;
        let above = ds.0.into_iter().max().unwrap_or(0).max(stable.0[dc]);
        let time = self.clock(dc, partition, above);
        let mut need = ds;
        need.meet(&stable);
        need.0[dc] = 0;
        (Stamp::new(hlc(time), DcId(dc as u8)), Meta { ds, need })
    }

    pub(crate) fn ship(&mut self, op: Op) {
        let (id, dc, partition) = (self.ops.len(), op.done.stamp.origin.index(), op.partition);
        let time = millis(op.done.stamp);
        for other in (0..self.regions).filter(|other| *other != dc) {
            self.servers[other][partition].inbox[dc].push_back(Message::Op(id, time));
        }
        self.servers[dc][partition].here.push(id);
        if partition == 0 {
            self.servers[dc][0].insert(op.version());
        }
        self.ops.push(op);
    }

    pub(crate) fn visible(&self, dc: usize, sees: impl Fn(Stamp, &Meta) -> bool) -> Set {
        let mut set = Set::default();
        for id in &self.servers[dc][0].here {
            let op = &self.ops[*id];
            if sees(op.done.stamp, &op.meta) {
                set.add(*id);
            }
        }
        set
    }

    /// The updates of a document that a set puts, with their stamps.
    fn updates(&self, set: &Set) -> impl Iterator<Item = (Stamp, Box<[u8]>)> {
        let ids = (0..self.ops.len()).filter(|id| set.has(*id));
        ids.flat_map(|id| {
            let Done { stamp, acts, .. } = &self.ops[id].done;
            let put = acts.iter().filter_map(|act| match act {
                Act::Assign(Kind::Doc, name, ..) => Some((*stamp, name.clone())),
                _ => None,
            });
            put.collect::<Vec<_>>()
        })
    }

    /// The fold of a set.
    pub(crate) fn oracle(&self, set: &Set) -> Shown {
        let all: Vec<(usize, &Done)> =
            (0..self.ops.len()).filter(|id| set.has(*id)).map(|id| (id, &self.ops[id].done)).collect();
        fold(&all)
    }

    pub(crate) fn update(&mut self, dc: usize, session: usize) -> Checked {
        let known = self.sessions[dc][session];
        let server = &mut self.servers[dc][0];
        server.stable.merge(&known.stable);
        let (stable, epoch) = (server.stable, server.epoch());
        let store = &self.servers[dc][0].store;
        if self.plain && !store.is_typed(KEY) && !store.is_expiring() && self.percent(50) {
            self.put(dc, session);
            return Ok(());
        }
        let observed = self.visible(dc, |stamp, meta| fresh(dc, &stable, stamp, meta));
        let sees = |v: &Version<Meta>| fresh(dc, &stable, v.stamp, &v.meta);
        let register = registers(&self.servers[dc][0].store, sees);
        let object = self.servers[dc][0].store.refreshed(KEY, epoch, sees).or(register.as_ref());
        let mut ds = known.ds;
        for seen in object.into_iter().flat_map(|object| object.seen()) {
            ds.merge(&seen.meta.ds);
            ds.raise(seen.stamp.origin.index(), millis(seen.stamp));
        }
        let (stamp, meta) = self.begin(dc, 0, ds);
        let judged = if self.slip == Some(Slip::WallClock) { self.wall(dc) } else { millis(stamp) };
        let family = self.family;
        let own = matches!(family, Family::Doc | Family::BCounter) && self.percent(85);
        let command = match own {
            true => Cmd::Own(Own::draw(family, &mut self.random, stamp, &self.given)),
            false => Cmd::draw(family, &mut self.random, judged),
        };
        let store = &self.servers[dc][0].store;
        let (origin, floor, expiring) = (stamp.origin, store.floor(), store.is_expiring());
        let moment = Moment {
            time: hlc(judged),
            origin,
            floor,
            expiring,
            alone: false,
            past: None,
            longest: tidemark_core::Limit::VALUE_BYTES,
        };
        let empty = State::default();
        let state = store.object(KEY).or(register.as_ref()).map_or(&empty, |object| object.head());
        let prepared = command.run(state, moment);
        let shown = self.oracle(&observed);
        let (reply, acts) = command.refer(&shown, judged, &prepared.reply);
        self.tell(|| {
            format!("{dc} {stamp} {command:?} -> {:?} {:?} floor {floor}", prepared.reply, prepared.changes)
        });
        if reply != prepared.reply {
            return Err(format!("{command:?} answers {:?}, and should {reply:?}", prepared.reply));
        }
        if acts.is_empty() != prepared.changes.is_empty() {
            return Err(format!("{command:?} writes {:?}, and should {acts:?}", prepared.changes));
        }
        if let Cmd::Own(own) = &command {
            let settled =
                self.updates(&observed).filter(|(stamp, _)| stamp.ts <= floor).map(|(_, name)| name);
            let known = own.learns(&shown.at(judged), &reply, settled.collect());
            self.given.extend(known);
        }
        let session = &mut self.sessions[dc][session];
        session.ds.merge(&ds);
        if acts.is_empty() {
            return Ok(());
        }
        session.ds.raise(dc, millis(stamp));
        session.stable.merge(&meta.need);
        let write = Write::Apply(Effect { floor, changes: prepared.changes }.encode());
        self.ship(Op { done: Done { stamp, acts, observed }, meta, write, partition: 0 });
        Ok(())
    }

    /// A SET or DEL of a plain string, which looks at nothing.
    pub(crate) fn put(&mut self, dc: usize, session: usize) {
        let (stamp, meta) = self.begin(dc, 0, self.sessions[dc][session].ds);
        let value = self.random.i64(0..50).to_string();
        let (write, datum) = match self.percent(70) {
            true => (Write::Assign(value.as_bytes().into()), Datum::bytes(value.as_bytes())),
            false => (Write::Remove, Datum::Gone),
        };
        self.tell(|| format!("{dc} {stamp} writes {write:?}"));
        let acts = vec![Act::Assign(Kind::String, Box::default(), datum, Bound::Plain)];
        self.sessions[dc][session].ds.raise(dc, millis(stamp));
        self.sessions[dc][session].stable.merge(&meta.need);
        let done = Done { stamp, acts, observed: Set::default() };
        self.ship(Op { done, meta, write, partition: 0 });
    }

    pub(crate) fn read(&mut self, dc: usize, session: usize) {
        let known = &mut self.sessions[dc][session];
        let server = &mut self.servers[dc][0];
        server.stable.merge(&known.stable);
        let (stable, epoch) = (server.stable, server.epoch());
        let sees = |v: &Version<Meta>| fresh(dc, &stable, v.stamp, &v.meta);
        let register = registers(&server.store, sees);
        let object = server.store.refreshed(KEY, epoch, sees).or(register.as_ref());
        for seen in object.into_iter().flat_map(|object| object.seen()) {
            known.ds.merge(&seen.meta.ds);
            known.ds.raise(seen.stamp.origin.index(), millis(seen.stamp));
        }
        known.stable.merge(&stable);
    }

    /// Partition 1: a session writes there, or learns of the newest write and of what that depends on.
    pub(crate) fn elsewhere(&mut self, dc: usize, session: usize, writes: bool) {
        let known = self.sessions[dc][session];
        self.servers[dc][1].stable.merge(&known.stable);
        let stable = self.servers[dc][1].stable;
        if writes {
            let (stamp, meta) = self.begin(dc, 1, known.ds);
            let done = Done { stamp, acts: Vec::new(), observed: Set::default() };
            self.ship(Op { done, meta, write: Write::Remove, partition: 1 });
            self.sessions[dc][session].ds.raise(dc, millis(stamp));
            self.sessions[dc][session].stable.merge(&meta.need);
            return;
        }
        let here = self.servers[dc][1].here.iter().map(|id| &self.ops[*id]);
        let newest =
            here.filter(|op| fresh(dc, &stable, op.done.stamp, &op.meta)).max_by_key(|op| op.done.stamp);
        let known = &mut self.sessions[dc][session];
        if let Some(op) = newest {
            known.ds.merge(&op.meta.ds);
            known.ds.raise(op.done.stamp.origin.index(), millis(op.done.stamp));
        }
        known.stable.merge(&stable);
    }
}
