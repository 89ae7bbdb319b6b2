//! Interactive transactions (PROTOCOLS §19.1: T13).
//!
//! **Idea.** One begins where ROTX would read now, and its slices are read at that `sv` whenever they come. The fence that a slice lifts
//! keeps out what is written later here with a time below, and what depends on something that comes later is not covered by `sv`.
//! Then it commits as MSET does, with all that it has read in the past of its session.
//!
//! - D12 The server that it began at holds `sv` for a while, and asks for the slices. What it writes to keys of data types was evaluated
//!   in the snapshot: the floor of its effects is that of the snapshot, and below it no floor was told since, as long as `sv` is held.
//! - D13 ROTX reads the keys of a partition in one step, and so sees what was written to them at once (D8) whole. Here the first slice
//!   of a partition *pins* it: later ones see nothing that had not come to it by then. For as long as a transaction may be open, a
//!   server that is pinned collects only what is superseded below all snapshots by its own time, too. It refuses pins of an earlier
//!   life, and those from before it was last without any: a slice may come late.

use super::transactions::Message;
use super::*;
use std::collections::BTreeMap;
use tidemark_contract::gather::{Gather, GatherId};
use tidemark_contract::slices::{by_partition, put_in_place};
use tidemark_contract::stabilised::leases::{self, Start};
use tidemark_contract::two_phase::Adds;

/// What had come to a server, in one of its lives, while it was pinned.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Pin {
    life: u64,
    /// How often the server had been without pins before.
    period: u64,
    /// Up to when of each data centre.
    up_to: Vector,
}

/// Keys of one partition that are read at a snapshot vector, which its pin limits if there is one yet.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Slice {
    sv: Vector,
    limit: Limit,
    keys: Several<(u32, Key)>,
}

/// What a slice shows of its snapshot.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[allow(missing_docs)]
pub enum Limit {
    /// What had come by then; if it has no pin yet, by now.
    Pinned(Option<Pin>),
    /// It is a base (D16) that its holder keeps.
    Base,
    /// It is a base that nobody keeps for its reader: it may be collected.
    Given,
}

/// What is found in a slice, what its reader comes to depend on, and what limits those that follow.
pub type Sliced = (Vec<(u32, Found)>, Past, Limit);

/// What is read in: what a holder has under this number, or a base that nobody holds.
struct Of {
    number: Option<u64>,
    base: bool,
}

/// A read that is being put together at the holder of its snapshot.
struct Reading {
    ticket: Ticket,
    snapshot: Option<u64>,
    found: Vec<Found>,
    seen: Past,
    failed: bool,
}

/// What one server knows of interactive transactions.
pub(super) struct Interactive {
    /// Of the snapshots that it holds, by their numbers.
    pins: BTreeMap<u64, BTreeMap<PartitionId, Pin>>,
    reads: Gather<Reading>,
    /// The time of the last version that has come of each other data centre: it may lie above what its server has announced.
    received: Vector,
    /// This life, and until when it may be asked for what its pins show.
    life: u64,
    period: u64,
    pinned_until: Option<Micros>,
}

impl Interactive {
    pub(super) fn start(was: &Recovered<Lasting>, cx: &Cx<'_, Tidemark>) -> Self {
        let mut received = was.received.clone();
        cx.store().versions().for_each(|d| received.include(d.meta.at(d.stamp)));
        let (pins, reads) = (BTreeMap::new(), Gather::new(was.life));
        Self { pins, reads, received, life: was.life, period: 0, pinned_until: None }
    }

    /// Whether a transaction may read here that has read here before.
    pub(super) fn is_pinned(&self) -> bool {
        self.pinned_until.is_some() && PINNED_STAY.kept()
    }

    /// Forgets pins that nobody asks for any more.
    pub(super) fn unpin(&mut self, now: Micros) {
        let ended = self.pinned_until.take_if(|until| *until <= now);
        self.period += u64::from(ended.is_some());
    }

    /// A version has come.
    pub(super) fn received(&mut self, stamp: Stamp) {
        self.received.raise(stamp.origin, stamp.ts);
    }
}

impl Tidemark {
    /// A step of an interactive transaction, whose session remembers `past`.
    pub(super) fn step(&mut self, ticket: Ticket, step: Transact, past: Past, cx: &mut Cx<'_, Self>) {
        match step {
            Transact::Begin { regions: 0, .. } => {
                let at = self.snapshot(&past.fenced(cx.me.dc), cx);
                let seen = self.read_in(&at);
                let start = Start { floor: self.lagged(at.min()), at, base: false };
                leases::begin(self, ticket, start, cx.params.transaction_limit_us, seen, cx);
            }
            Transact::Begin { regions, .. } => match self.base(regions) {
                Ok(at) => {
                    let start = Start { floor: self.lagged(at.min()), at, base: true };
                    leases::begin(self, ticket, start, cx.params.transaction_limit_us, Past::default(), cx);
                }
                Err(why) => cx.fail(ticket, why),
            },
            Transact::Read { snapshot, keys, command } => match leases::snapshot(self, snapshot) {
                Ok(sv) => {
                    let of = Of { number: Some(snapshot.number), base: snapshot.base };
                    self.read_slices(ticket, of, sv, Several { keys, command }, cx);
                }
                Err(why) => cx.fail(ticket, why),
            },
            Transact::ReadBase { base, keys, command } => {
                let sv = self.snapshot_of(&base);
                self.read_slices(ticket, Of { number: None, base: true }, sv, Several { keys, command }, cx);
            }
            Transact::Bases => {
                let (bases, told) = self.bases();
                cx.answer(ticket, Outcome::Bases(bases.to_vec(), told.to_vec()), Past::default());
            }
            Transact::Changed { from, to } => self.ask_for_changes(ticket, from, to, cx), // D20
            Transact::Accept(all) => self.accept(ticket, *all, cx),                       // D17
            Transact::Commit { writes, watched } => {
                self.put_all(ticket, Part { writes, watched, ..Part::default() }, past, cx);
            }
            Transact::End { snapshot } => {
                leases::end(self, snapshot, cx);
                cx.answer(ticket, Outcome::Written { stamp: None, previous: None }, Past::default());
            }
        }
    }

    /// Asks each partition for its keys, at the holder of the snapshot.
    fn read_slices(
        &mut self,
        ticket: Ticket,
        Of { number, base }: Of,
        sv: Vector,
        all: Several,
        cx: &mut Cx<'_, Self>,
    ) {
        let m = cx.me.dc;
        let Self { interactive: Interactive { pins, reads, .. }, st, .. } = self;
        pins.retain(|number, _| leases::holds(st, *number));
        let pins = number.map(|number| &*pins.entry(number).or_default());
        let Several { keys, command } = all;
        let found = vec![Found::default(); keys.len()];
        let parts = by_partition(keys, cx.topology);
        let servers = parts.keys().map(|partition| ServerId::new(m, *partition)).collect();
        let nothing = Reading { ticket, snapshot: number, found, seen: Past::default(), failed: false };
        let id = reads.open(servers, cx.mono + cx.params.wait_limit_us, nothing);
        for (partition, keys) in parts {
            let keys = Several { keys, command: command.clone() };
            let limit = match number {
                _ if !base => Limit::Pinned(pins.and_then(|pins| pins.get(&partition)).cloned()),
                Some(_) => Limit::Base,
                None => Limit::Given,
            };
            let slice = Slice { sv: sv.clone(), limit, keys };
            cx.send(ServerId::new(m, partition), Peer::Own(Message::Read(id, slice)));
        }
    }

    /// Reads a slice, and says what limits those that follow (D13).
    pub(super) fn read_slice_at(
        &mut self,
        from: ServerId,
        id: GatherId,
        slice: Slice,
        cx: &mut Cx<'_, Self>,
    ) {
        let Slice { sv, limit, keys } = slice;
        let at = self.seen_at(sv.clone());
        if matches!(limit, Limit::Given) && !self.has_base(&at, cx) {
            return cx.send(from, Peer::Own(Message::Found(id, None)));
        }
        let (view, limit) = match limit {
            base @ (Limit::Base | Limit::Given) if BASES_ARE_CLOSED.kept() => (View::Base(at), base),
            base @ (Limit::Base | Limit::Given) => (View::Snapshot(at), base),
            Limit::Pinned(pin) => match self.pin(pin, cx) {
                Some(pin) if SNAPSHOTS_ARE_PINNED.kept() => {
                    (View::Pinned(at, pin.up_to.clone()), Limit::Pinned(Some(pin)))
                }
                Some(pin) => (View::Snapshot(at), Limit::Pinned(Some(pin))),
                None => return cx.send(from, Peer::Own(Message::Found(id, None))),
            },
        };
        let (found, seen) = self.slice_as(&view, &sv, &keys, cx);
        cx.send(from, Peer::Own(Message::Found(id, Some((found, seen, limit)))));
    }

    /// What limits a slice whose transaction has this pin here (D13). None if what it shows may have been collected.
    fn pin(&mut self, pin: Option<Pin>, cx: &Cx<'_, Self>) -> Option<Pin> {
        let (m, Interactive { received, life, period, pinned_until, .. }) = (cx.me.dc, &mut self.interactive);
        match pin {
            Some(pin) if (pin.life, pin.period) == (*life, *period) || !PINNED_STAY.kept() => Some(pin),
            Some(_) => None,
            None => {
                let (mut up_to, until) = (received.clone(), cx.mono + cx.params.transaction_limit_us * 9 / 8);
                up_to[m] = self.st.vv[m];
                *pinned_until = (*pinned_until).max(Some(until));
                Some(Pin { life: *life, period: *period, up_to })
            }
        }
    }

    /// A slice is here: if it is the last one, its reader is answered. None if it could not be read.
    pub(super) fn slice_found(
        &mut self,
        from: ServerId,
        id: GatherId,
        slice: Option<Sliced>,
        cx: &mut Cx<'_, Self>,
    ) {
        let Interactive { pins, reads, .. } = &mut self.interactive;
        let whole = reads.answer(id, from, |reading| match slice {
            Some((found, seen, limit)) => {
                put_in_place(&mut reading.found, found);
                reading.seen.add(seen);
                let pins = reading.snapshot.and_then(|number| pins.get_mut(&number));
                if let (Some(pins), Limit::Pinned(Some(pin))) = (pins, limit) {
                    pins.entry(from.partition).or_insert(pin);
                }
            }
            None => reading.failed = true,
        });
        match whole {
            // Nothing is kept for who has been reading for too long.
            Some(Reading { ticket, snapshot, failed, .. })
                if failed || snapshot.is_some_and(|number| !leases::holds(&self.st, number)) =>
            {
                cx.fail(ticket, leases::ended());
            }
            Some(Reading { ticket, found, seen, .. }) => cx.answer(ticket, Outcome::FoundAll(found), seen),
            None => {}
        }
    }

    /// θ, or a server has restarted: whom nobody answers any more.
    pub(super) fn unread(&mut self, peer: Option<ServerId>, now: Micros) -> Vec<Ticket> {
        let reads = &mut self.interactive.reads;
        let lost = match peer {
            Some(peer) => reads.reset(peer),
            None => reads.expire(now),
        };
        lost.into_iter().map(|reading| reading.ticket).collect()
    }
}
