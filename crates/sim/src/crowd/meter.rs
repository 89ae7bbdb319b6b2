//! What is measured of a crowd while that counts.

use super::shares::Line;
use super::weigher::Weight;
use super::{Answered, Crowd, Sample};
use std::collections::{BTreeMap, HashSet, VecDeque};
use std::ops::Range;
use std::time::Duration;
use tidemark_core::{Key, Micros};
use tidemark_workload::{Cdf, Kind};

/// A transaction that has ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Done {
    pub(crate) client: usize,
    pub(crate) kind: Kind,
    pub(crate) began: Micros,
    pub(crate) ended: Micros,
    /// How many objects it has read, and how many of them were kept.
    pub(crate) reads: usize,
    pub(crate) kept: usize,
    pub(crate) updates: bool,
    /// The client's distance from its data centre, there and back.
    pub(crate) rtt_us: Micros,
    pub(crate) dc: usize,
}

/// What a data centre stores.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Stored {
    pub(crate) keys: u64,
    pub(crate) versions: u64,
    /// Of keys and values.
    pub(crate) bytes: u64,
}

/// Frames of one type, in one direction.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Frames {
    pub(crate) count: u64,
    pub(crate) bytes: u64,
}

/// What a real processor has worked.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Used {
    pub(crate) nodes: Duration,
    pub(crate) gateways: Duration,
    /// Reads of sockets, and writes to them.
    pub(crate) reads: u64,
    pub(crate) writes: u64,
}

/// Comparisons of what was read with what the data centre has.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Fresh {
    pub(crate) transactions: u64,
    pub(crate) reads: u64,
    /// A version that fewer than K data centres have was at this one.
    pub(crate) stale_reads: u64,
    pub(crate) stale_transactions: u64,
    /// A version that the client does not have was there, for whatever reason.
    pub(crate) behind_reads: u64,
    /// Reads of what the client itself has written, and is in no base yet.
    pub(crate) own: u64,
    /// Nobody could say.
    pub(crate) failed: u64,
}

/// A timestamp of safe-but-fat metadata: the name of a client. It has as many bytes as a random name needs.
const FAT_NAME_BYTES: f64 = 8.0;
/// Beside the name: how far the client has counted on.
const FAT_COUNT_BYTES: f64 = 1.0;
/// An entry of a counter that protects itself from repetitions: the name of a client (16 bytes), and what it has added.
pub(crate) const BLOATED_ENTRY_BYTES: u64 = 16 + 8;
/// A guard: its key, and the number and the digest of the last transaction.
pub(crate) const GUARD_BYTES: u64 = 15 + 16 + 8 + 32;

/// See above.
pub(crate) struct Meter {
    pub(crate) counted: Range<Micros>,
    told: usize,
    pub(crate) hits: Cdf,
    pub(crate) misses: Cdf,
    /// Misses in thousandths of the client's round trip.
    pub(crate) misses_rtts: Cdf,
    pub(crate) reads: Cdf,
    pub(crate) updates: Cdf,
    pub(crate) reads_rtts: Cdf,
    pub(crate) updates_rtts: Cdf,
    pub(crate) all: Cdf,
    pub(crate) kinds: BTreeMap<&'static str, Cdf>,
    pub(crate) objects: (u64, u64),
    pub(crate) to_base: Cdf,
    pub(crate) frames: BTreeMap<u8, Frames>,
    pub(crate) transfers: Line,
    pub(crate) notifications: Line,
    pub(crate) payload: Line,
    pub(crate) fat: Line,
    pub(crate) fat_entries: Line,
    pub(crate) fresh: Fresh,
    /// Who has added to which counter.
    bloated: HashSet<(Key, usize)>,
    committers: HashSet<usize>,
    /// When which client committed, of the last while.
    commits: VecDeque<(Micros, usize)>,
    /// Bytes of fields and members that the store was filled with.
    pub(crate) filled: u64,
    /// Bytes of members that were added to sets: they stay.
    pub(crate) grown: u64,
    pub(crate) samples: Vec<Sample>,
    pub(crate) answered: Vec<Answered>,
    pub(crate) lost: u64,
    /// Before it counted, and in the end.
    pub(crate) work: [Used; 2],
}

/// So long commits are remembered.
const REMEMBERED_US: Micros = 60_000_000;

impl Meter {
    pub(crate) fn new(what: &Crowd) -> Self {
        Self {
            counted: 0..0,
            told: what.told,
            hits: Cdf::new(),
            misses: Cdf::new(),
            misses_rtts: Cdf::new(),
            reads: Cdf::new(),
            updates: Cdf::new(),
            reads_rtts: Cdf::new(),
            updates_rtts: Cdf::new(),
            all: Cdf::new(),
            kinds: BTreeMap::new(),
            objects: (0, 0),
            to_base: Cdf::new(),
            frames: BTreeMap::new(),
            transfers: Line::default(),
            notifications: Line::default(),
            payload: Line::default(),
            fat: Line::default(),
            fat_entries: Line::default(),
            fresh: Fresh::default(),
            bloated: HashSet::new(),
            committers: HashSet::new(),
            commits: VecDeque::new(),
            filled: 0,
            grown: 0,
            samples: Vec::new(),
            answered: Vec::new(),
            lost: 0,
            work: [Used::default(); 2],
        }
    }

    pub(crate) fn counts(&self, now: Micros) -> bool {
        self.counted.contains(&now)
    }

    pub(crate) fn done(&mut self, done: Done, clients_began: Micros) {
        let Done { client, kind, began, ended, reads, kept, updates, rtt_us, dc } = done;
        let (took, hit) = (ended - began, reads == kept);
        if client < self.told {
            let at_us = ended - clients_began;
            self.answered.push(Answered { client, at_us, took_us: took, kind: kind.name(), hit, dc });
        }
        if !self.counts(ended) {
            return;
        }
        let rtts = (took * 1_000).checked_div(rtt_us).unwrap_or_default();
        self.objects.0 += reads as u64;
        self.objects.1 += kept as u64;
        self.all.record(took);
        self.kinds.entry(kind.name()).or_default().record(took);
        match hit {
            true => self.hits.record(took),
            false => {
                self.misses.record(took);
                self.misses_rtts.record(rtts);
            }
        }
        let (times, in_rtts) = match updates {
            true => (&mut self.updates, &mut self.updates_rtts),
            false => (&mut self.reads, &mut self.reads_rtts),
        };
        times.record(took);
        in_rtts.record(rtts);
    }

    /// A client commits.
    pub(crate) fn commits(&mut self, client: usize, now: Micros) {
        self.committers.insert(client);
        self.commits.push_back((now, client));
        while self.commits.front().is_some_and(|(at, _)| at + REMEMBERED_US < now) {
            self.commits.pop_front();
        }
    }

    /// It adds to a counter.
    pub(crate) fn adds(&mut self, client: usize, key: &Key) {
        self.bloated.insert((key.clone(), client));
    }

    /// How many clients have ever committed.
    pub(crate) fn committers(&self) -> usize {
        self.committers.len()
    }

    /// How many entries counters had that protect themselves.
    pub(crate) fn bloated(&self) -> usize {
        self.bloated.len()
    }

    /// A frame passes.
    pub(crate) fn passes(&mut self, frame: &[u8], now: Micros) {
        if self.counts(now)
            && let Some(kind) = frame.first()
        {
            let frames = self.frames.entry(*kind).or_default();
            frames.count += 1;
            frames.bytes += frame.len() as u64;
        }
    }

    /// A transaction leaves a client.
    pub(crate) fn transfer(&mut self, weight: Weight, now: Micros) {
        if self.counts(now) && weight.updates > 0 {
            self.transfers.add(weight.updates as f64, (weight.bytes - weight.payload) as f64);
        }
    }

    /// A notification arrives.
    pub(crate) fn notification(&mut self, weight: Weight, now: Micros) {
        if !self.counts(now) || weight.updates == 0 {
            return;
        }
        let (updates, metadata) = (weight.updates as f64, (weight.bytes - weight.payload) as f64);
        let entries = self.committed_within(now, weight.since_us) as f64;
        self.notifications.add(updates, metadata);
        self.payload.add(updates, weight.payload as f64);
        self.fat_entries.add(updates, entries);
        let stamps = updates + entries;
        self.fat.add(updates, metadata + stamps * (FAT_NAME_BYTES + FAT_COUNT_BYTES));
    }

    /// How many clients have committed in the last while: so many entries of a vector by clients have changed.
    fn committed_within(&self, now: Micros, since_us: Micros) -> usize {
        let recent = self.commits.iter().rev().take_while(|(at, _)| at + since_us >= now);
        recent.map(|(_, client)| client).collect::<HashSet<_>>().len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reference: the paper's safe-but-fat implementation sends the entries of a vector by clients that have changed.
    #[test]
    fn fat_metadata_has_an_entry_for_each_client_that_committed_since_the_last_base() {
        let mut meter = Meter::new(&super::super::tests::small());
        meter.counted = 0..Micros::MAX;
        for (at, client) in [(10, 1), (20, 2), (30, 2), (40, 3)] {
            meter.commits(client, at);
        }
        let weight = Weight { updates: 2, bytes: 245, payload: 200, since_us: 25 };
        meter.notification(weight, 50);
        assert_eq!(meter.fat_entries.means().1, 2.0, "clients 2 and 3");
        assert_eq!(meter.notifications.means().1, 45.0);
        assert_eq!(meter.fat.means().1, 45.0 + 4.0 * 9.0);
        assert_eq!(meter.committers(), 3);
    }

    #[test]
    fn a_transaction_is_a_hit_if_all_that_it_read_was_kept() {
        let mut meter = Meter::new(&super::super::tests::small());
        meter.counted = 100..200;
        let done = |ended, kept, updates| Done {
            client: 0,
            kind: Kind::Read,
            began: 110,
            ended,
            reads: 2,
            kept,
            updates,
            rtt_us: 40,
            dc: 1,
        };
        for done in [done(110, 2, false), done(150, 1, true), done(200, 1, true)] {
            meter.done(done, 90);
        }
        assert_eq!((meter.hits.count(), meter.misses.count(), meter.objects), (1, 1, (4, 3)));
        assert_eq!(meter.misses_rtts.percentile(50.0), 1_000, "one round trip");
        assert_eq!((meter.reads.count(), meter.updates.count()), (1, 1));
        assert_eq!(meter.answered.len(), 3, "these are told whether it counts or not");
        assert_eq!((meter.answered[1].at_us, meter.answered[1].hit), (60, false));
    }
}
