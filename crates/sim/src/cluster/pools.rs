//! Sessions that share one past: the connections of one client's pool. The history says of each operation which others its
//! session then depends on, as if it had taken over their tokens.

use super::Cluster;
use super::clients::{Connection, Role};
use tidemark_core::history::Event;
use tidemark_node::{PastName, SessionId};

impl Cluster<'_> {
    /// A client has a new session at a process, which is one of a pool.
    pub(super) fn joins_pool(&mut self, number: usize, process: usize, session: SessionId) {
        if self.plan.pools && self.clients[number].role == Role::Worker {
            self.input(process, |node, _| node.share(session, Some(PastName::of(b"pool"))));
        }
    }

    /// An operation of a client is about to begin: it depends on everything that was answered to the others of its pool.
    pub(super) fn learns_of_pool(&mut self, number: usize) {
        if !self.plan.pools || self.clients[number].role != Role::Worker {
            return;
        }
        let at = |connection: &Connection| (connection.process, connection.boots);
        let here = self.clients[number].connection.as_ref().map(at);
        for other in 0..self.clients.len() {
            let client = &self.clients[other];
            let is_here = client.connection.as_ref().map(at) == here && client.role == Role::Worker;
            let (from, events) = (client.id, client.recorded);
            let me = &mut self.clients[number];
            let known = self.pooled.entry((me.id, from)).or_default();
            if other == number || !is_here || *known == events {
                continue;
            }
            *known = events;
            me.recorded += 1;
            self.history.events.push(Event::adopt(me.id, me.dc, from, events).at(self.now, self.now));
        }
    }
}
