//! Questions of sessions: to whom they go, and what becomes of those that nobody can be asked now.

use super::client::{Client, Clients, Question};
use super::engine::Engine;
use tidemark_adapt::Watch;
use tidemark_contract::{Ask, AskId, Protocol, SessionCx, Ticket, Topology};
use tidemark_core::{DcId, Failure, Micros, Outcome, ServerId};
use tidemark_node::link::message::Message;
use tidemark_node::{GroupId, NodeId};

/// A question to a group that has no leader, as far as this node knows: it waits for one.
pub(crate) struct Parked<P: Protocol> {
    pub(crate) ticket: Ticket,
    pub(crate) to: ServerId,
    pub(crate) writes: Option<usize>,
    pub(crate) request: P::Request,
}

impl<P: Protocol> Engine<P> {
    #[inline]
    pub(super) fn ask(&mut self, client: &mut Client<P>, ask: Ask<P>) {
        let (Ask { id, to, several, request }, writes) = (ask, client.writes);
        let ticket = Ticket { node: self.me.0, session: client.key, ask: id };
        if !self.exists(to) {
            return self.lose(client, id);
        }
        if let (true, None, Some(watch)) = (client.follows, writes, &mut self.watch) {
            client.footprint.asks(to, self.now.mono, watch);
        }
        let group = self.groups.of_server(to);
        if P::EXTENSIONS.follower_read.is_some()
            && writes.is_none()
            && group == self.groups.of_node(self.me)
            && let Some(reply) = self.seat.read_at_follower(to.partition, &request)
        {
            client.waiting.push(Question { ask: id, node: Some(self.me), several });
            return self.at_hand.push((ticket, to, reply));
        }
        let asked = |node: &NodeId| match *node == self.me {
            true => self.seat.takes_requests(),
            false => self.reaches(*node),
        };
        let node = self.home(to).filter(asked);
        client.waiting.push(Question { ask: id, node, several });
        match node {
            // The usual way: nothing is moved more than once.
            Some(node) if node == self.me => {
                client.handed = true;
                if let Some(host) = self.seat.host_mut() {
                    host.request(self.now, to.partition, ticket, request, writes);
                }
            }
            Some(node) => {
                client.handed = true;
                self.hand(node, Parked { ticket, to, writes, request });
            }
            None if self.groups.members(group).len() > 1 => {
                self.parked.push(Parked { ticket, to, writes, request });
            }
            None => self.lose(client, id),
        }
    }

    /// Whether messages to `node` leave this one, and answers come back.
    #[inline]
    fn reaches(&self, node: NodeId) -> bool {
        let outgoing = &self.outgoing[node.index()];
        outgoing.outbox.is_some() && outgoing.heard_on > 0
    }

    /// Asks `node`, which serves who is asked and can be reached.
    #[inline]
    fn hand(&mut self, node: NodeId, question: Parked<P>) {
        let Parked { ticket, to, writes, request } = question;
        if node != self.me {
            let ask = Message::<P>::Ask { ticket, to: to.partition, writes, request };
            return self.outgoing[node.index()].held.push(&ask);
        }
        if let Some(host) = self.seat.host_mut() {
            host.request(self.now, to.partition, ticket, request, writes);
        }
    }

    /// `by` has not taken a question: it does not lead its group, or not for long. The question waits for who leads next.
    pub(crate) fn returned(&mut self, by: NodeId, question: Parked<P>, clients: &mut Clients<P>) {
        let group = self.groups.of_server(question.to);
        let serving = &mut self.servers[group.index()].node;
        if *serving == Some(by) {
            *serving = None;
        }
        let client = clients.get(question.ticket.session);
        let waits = client.and_then(|client| {
            let asked = |open: &&mut Question| open.ask == question.ticket.ask && open.node == Some(by);
            client.waiting.iter_mut().find(asked)
        });
        if let Some(open) = waits {
            open.node = None;
            self.parked.push(question);
            self.deliver(group, clients);
        }
    }

    /// Asks what waited for a leader of `group`, if there is one now and it can be reached.
    pub(crate) fn deliver(&mut self, group: GroupId, clients: &mut Clients<P>) {
        let Some(node) = self.servers[group.index()].node else { return };
        if node != self.me && !self.reaches(node) {
            return;
        }
        let parked = std::mem::take(&mut self.parked);
        for question in parked {
            if self.groups.of_server(question.to) != group {
                self.parked.push(question);
            } else if let Some(client) = clients.get(question.ticket.session)
                && let Some(open) = client.waiting.iter_mut().find(|open| open.ask == question.ticket.ask)
            {
                open.node = Some(node);
                client.handed = true;
                self.hand(node, question);
            }
        }
    }
}

/// Gives an answer to the session, if its operation still waits for it.
#[inline]
pub(super) fn hear<P: Protocol>(
    client: &mut Client<P>,
    (dc, now, topology): (DcId, Micros, &Topology),
    watch: &mut Option<Watch>,
    (ask, from, answer): (AskId, ServerId, Result<P::Reply, Failure>),
) {
    let Some(place) = client.waiting.iter().position(|question| question.ask == ask) else { return };
    if !client.waiting[place].several {
        client.waiting.swap_remove(place);
    }
    if client.effects.outcome.is_some() {
        return;
    }
    let mut cx = SessionCx::new(dc, now, topology, &mut client.effects);
    match answer {
        Ok(reply) => {
            if let (true, Some(watch)) = (client.follows, watch) {
                client.footprint.waited(P::EXTENSIONS.waited(&reply), watch);
            }
            client.session.on_reply(ask, from, reply, &mut cx)
        }
        // The session forgets its operation; what the server said is what the client hears.
        Err(failure) => {
            client.session.on_lost(ask, &mut cx);
            client.effects.outcome = Some(Outcome::Failed(failure));
        }
    }
}
