//! What a leader tells those that follow, beside what it writes: what its stores have dropped, for only its protocols know
//! what nobody will ask for any more; and how far other data centres have received, for only it hears them.

use crate::host::Host;
use crate::place::Place;
use crate::record::{self, COLLECTED, CONFIRMED, FOLDED};
use tidemark_contract::Protocol;
use tidemark_core::{DcId, PartitionId};
use tidemark_store::Folded;

impl<P: Protocol> Host<P> {
    /// Says what its stores have dropped in this turn, after all that was written in it. REQUIRES: it leads, and
    /// [`Self::take_turn`] next.
    pub fn tell_dropped(&mut self) {
        for at in 0..self.places.len() {
            let place = &mut self.places[at];
            let (partition, folded) = (place.id, place.store.take_folded());
            // A key may have gone and be a register again, of which something was dropped: so this is said first.
            self.tell_folded(partition, &folded);
            let dropped = self.places[at].store.take_journal();
            if !dropped.is_empty() {
                self.append(COLLECTED, partition, 0, |buffer| record::encode(&dropped, buffer));
            }
        }
    }

    /// In as many records as it takes.
    fn tell_folded(&mut self, partition: PartitionId, mut folded: &[Folded]) {
        let most = self.config.log_segment_bytes as usize / 8;
        while !folded.is_empty() {
            let mut bytes = 0;
            let fits = |one: &&Folded| {
                bytes += one.bytes();
                bytes <= most
            };
            let count = folded.iter().take_while(fits).count().max(1);
            let (now, later) = folded.split_at(count);
            self.append(FOLDED, partition, 0, |buffer| record::encode(&now, buffer));
            folded = later;
        }
    }

    /// Where it leads: says how far a data centre has confirmed once that would let those who follow drop a quarter of a
    /// segment more of their logs, as far as it depends on that data centre.
    pub(crate) fn tell_confirmed(&mut self) {
        if self.group.is_none() || self.places.iter().any(|place| place.protocol.is_none()) {
            return;
        }
        for at in 0..self.places.len() {
            for dc in 0..self.config.topology.dcs as u8 {
                let dc = DcId(dc);
                if dc != self.config.dc && self.frees_enough(at, dc) {
                    let place = &mut self.places[at];
                    let (partition, seq) = (place.id, place.confirmed[dc.index()]);
                    place.told[dc.index()] = seq;
                    self.append(CONFIRMED, partition, seq, |buffer| record::encode(&dc, buffer));
                }
            }
        }
    }

    /// Whether what `dc` has confirmed lies a quarter of a segment, or more, beyond what all know.
    fn frees_enough(&self, at: usize, dc: DcId) -> bool {
        let place = &self.places[at];
        let (told, confirmed) = (place.told[dc.index()], place.confirmed[dc.index()]);
        let from = |confirmed| self.needed_after(at, confirmed).unwrap_or(self.log.flushed());
        confirmed > told && from(confirmed).0 >= from(told).0 + self.config.log_segment_bytes / 4
    }
}

impl<P: Protocol> Place<P> {
    /// All of the group know that `dc` has confirmed the records up to `seq`.
    pub(crate) fn confirmed_by(&mut self, dc: DcId, seq: u64) {
        let at = dc.index();
        if seq > self.told[at] {
            self.told[at] = seq;
            self.confirmed[at] = seq.max(self.confirmed[at]);
            self.needs_seeding[at] = false; // whoever was given up confirms nothing
        }
    }
}
