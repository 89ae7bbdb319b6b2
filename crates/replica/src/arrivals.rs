//! Records and messages that have come for a server, and that it is given once the log is synced: so that nobody sees, and builds on
//! at another node of the region, anything that a loss of power could take back here.
//!
//! That is so in a region of several nodes that tell clients what is merely written. Elsewhere everything is given at once: in a
//! region of one node what rests on it stands behind it in the same log, and under the other policies whoever is told anything
//! has waited for the sync.

use crate::config::Now;
use crate::host::Host;
use crate::rule::{OWN_REPORTS_ARE_SYNCED, TAKEN_IS_SYNCED};
use std::collections::VecDeque;
use tidemark_contract::protocol::{Received, replicate};
use tidemark_contract::{Protocol, Version};
use tidemark_core::{Hlc, Key, PartitionId, ServerId};
use tidemark_store::log::Position;

/// Until the turn is committed in which it came.
const UNCOMMITTED: Position = Position(u64::MAX);

/// Something for a server.
pub(crate) enum Arrival<P: Protocol> {
    /// A version of a peer, and what the peer announces with it.
    Record(Hlc, Key, Version<P::Meta>),
    /// A peer announces a time.
    Time(Hlc),
    /// A floor of a peer.
    Floor(Hlc),
    /// A server of this node says something.
    Message(P::Peer),
}

/// Everything that waits, in the order in which it came.
pub(crate) struct Arrivals<P: Protocol> {
    /// Whether anything ever waits.
    pub(crate) defer: bool,
    waiting: VecDeque<Waiting<P>>,
}

struct Waiting<P: Protocol> {
    /// The end of the log that has to be synced.
    until: Position,
    /// Where the log was to be replayed from for this to come again.
    at: Position,
    from: ServerId,
    to: PartitionId,
    what: Arrival<P>,
}

impl<P: Protocol> Arrivals<P> {
    pub(crate) fn new(defer: bool) -> Self {
        Self { defer, waiting: VecDeque::new() }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// From where the log has to be replayed for all of it to come again; none if nothing waits.
    pub(crate) fn oldest(&self) -> Option<Position> {
        self.waiting.front().map(|first| first.at)
    }

    /// The turn ends at `position`.
    pub(crate) fn committed(&mut self, position: Position) {
        let new = self.waiting.iter_mut().rev().take_while(|waiting| waiting.until == UNCOMMITTED);
        new.for_each(|waiting| waiting.until = position);
    }
}

impl<P: Protocol> Host<P> {
    /// Gives a server what has come for it, now or when the log is synced. A record of the log stands at `at`.
    pub(crate) fn arrive(
        &mut self,
        now: Now,
        (from, to): (ServerId, PartitionId),
        at: Option<Position>,
        what: Arrival<P>,
    ) {
        // What is no record comes behind those that came before.
        let waits = self.arrivals.defer && (at.is_some() || !self.arrivals.is_empty());
        if !waits || !TAKEN_IS_SYNCED.kept() {
            return self.give(now, (from, to), what);
        }
        let at = at.unwrap_or_else(|| self.log.end());
        self.arrivals.waiting.push_back(Waiting { until: UNCOMMITTED, at, from, to, what });
    }

    /// Of what was said to servers of this node, from the message at `first` on, all that no client waits for is given to them as if
    /// it came from another node: a server that counts what it has itself tells itself.
    pub(crate) fn defer_messages(&mut self, first: usize) {
        let at = self.log.end();
        if !self.arrivals.defer || at == self.log.durable() || !OWN_REPORTS_ARE_SYNCED.kept() {
            return;
        }
        for (from, to, message) in self.within.split_off(first) {
            match P::EXTENSIONS.is_for_client(&message) {
                true => self.within.push_back((from, to, message)),
                false => {
                    let (to, what) = (to.partition, Arrival::Message(message));
                    self.arrivals.waiting.push_back(Waiting { until: UNCOMMITTED, at, from, to, what });
                }
            }
        }
    }

    /// Gives what the last sync has covered.
    pub(crate) fn give_synced(&mut self, now: Now) {
        let synced = self.log.durable();
        while self.arrivals.waiting.front().is_some_and(|first| first.until <= synced) {
            let first = self.arrivals.waiting.pop_front().expect("just seen");
            self.give(now, (first.from, first.to), first.what);
        }
    }

    fn give(&mut self, now: Now, (from, to): (ServerId, PartitionId), what: Arrival<P>) {
        let replicated = |host: &mut Self, upto, versions: &[(Key, Version<P::Meta>)]| {
            let item = Received { upto, versions };
            host.event(now, to, |protocol, cx| replicate(protocol, from, item, cx));
        };
        match what {
            Arrival::Record(upto, key, version) => replicated(self, upto, &[(key, version)]),
            Arrival::Time(upto) => replicated(self, upto, &[]),
            Arrival::Floor(floor) => self.place_mut(to).store.hear_floor(from.dc, floor),
            Arrival::Message(message) => self.message(now, from, to, message),
        }
    }
}
