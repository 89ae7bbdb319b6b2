//! Checking groups: those that a node knows of, and which of them answer a session that leaves the choice to it.

use super::client::Client;
use super::engine::Engine;
use tidemark_adapt::Choices;
use tidemark_contract::Protocol;
use tidemark_core::{Micros, Op};

/// How long a node goes by the checking groups that it knew of.
const KNOWN_FOR_US: Micros = 10_000;

impl<P: Protocol> Engine<P> {
    /// The checking groups that there are, or were a moment ago: each command may name some.
    pub(crate) fn known_groups(&mut self) -> &Choices {
        let (known, until) = &mut self.dialect.checking_groups;
        if self.now.mono >= *until {
            known.update(self.seat.checking_groups());
            *until = self.now.mono + KNOWN_FOR_US;
        }
        known
    }

    /// Chooses the group that fits where `client`, who names none, reads.
    pub(super) fn fit(&mut self, client: &mut Client<P>, op: &Op) {
        if let Some(watch) = &mut self.watch {
            client.footprint.begins(op, (self.dc, &self.topology), self.now.mono, watch);
            client.checking = client.footprint.fitting(self.known_groups());
        }
    }
}
