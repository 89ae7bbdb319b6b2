//! Checking groups that follow what sessions read: the groups that the node knows of, and which of them answer a session that
//! leaves the choice to it.

use crate::of::NodeOf;
use crate::sessions::Session;
use tidemark_adapt::Choices;
use tidemark_contract::Protocol;
use tidemark_core::{Micros, Op};

/// How long a node goes by the checking groups that it knew of.
const KNOWN_FOR_US: Micros = 10_000;

impl<P: Protocol> NodeOf<P> {
    /// The checking groups that there are, or were a moment ago: each operation may name some.
    pub(crate) fn known_groups(&mut self) -> &Choices {
        let (known, until) = &mut self.core.known;
        if self.core.now.mono >= *until {
            known.update(self.hold.checking_groups());
            *until = self.core.now.mono + KNOWN_FOR_US;
        }
        &self.core.known.0
    }

    /// Chooses the group that fits where `session`, which names none, reads.
    pub(crate) fn choose_group(&mut self, session: &mut Session<P>, op: &Op) {
        let core = &mut self.core;
        if let Some(watch) = &mut core.watch {
            session.footprint.begins(op, (core.dc, &core.topology), core.now.mono, watch);
            session.checking = session.footprint.fitting(self.known_groups());
        }
    }
}
