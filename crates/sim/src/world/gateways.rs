//! Gateways, in runs whose work takes time and whose clients know no partitions: a node of its data centre takes a client's
//! requests, keeps its session, and asks the other nodes for it.
//!
//! What the gateway holds itself is asked and answered within a turn. Everything else is a message to a sibling and one back.

use super::{Event, World};
use crate::meter::size;
use tidemark_contract::{Protocol, Ticket};
use tidemark_core::Micros;

/// Where a session is, seen from a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Seat {
    /// Its client keeps it, and asks each server itself.
    Outside,
    /// At the node.
    Here,
    /// At another node, which is this process.
    At(usize),
}

impl<P: Protocol> World<'_, P> {
    /// The node that a client's session keeps busy, if any.
    pub(super) fn busy_gateway(&self, client: usize) -> Option<usize> {
        self.has_gateways().then(|| self.gateway(client))
    }

    fn has_gateways(&self) -> bool {
        self.cpus.as_ref().is_some_and(|cpus| cpus.gateways)
    }

    /// Where the session that asked is, seen from `node`.
    pub(super) fn seat(&self, ticket: Ticket, node: usize) -> Seat {
        match self.busy_gateway(Self::number_of(ticket)) {
            None => Seat::Outside,
            Some(gateway) if gateway == node => Seat::Here,
            Some(gateway) => Seat::At(gateway),
        }
    }

    /// How long what a client says now is under way to its session, or an answer back; 0 if it keeps that itself.
    pub(super) fn client_delay(&self, number: usize) -> Micros {
        let near = if self.has_gateways() { self.links.client_delay(self.now, number as u64) } else { 0 };
        near + self.distance(number)
    }

    /// A session asks a server something, or tells its client how an operation ended; then it is under way for `delay`. At a
    /// gateway that costs something, and waits for the turn to end.
    pub(super) fn say(&mut self, client: usize, delay: Micros, event: Event<P>) {
        let turning = self
            .busy_gateway(client)
            .filter(|node| self.cpus.as_ref().is_some_and(|cpus| cpus.all[*node].busy));
        let Some(node) = turning else { return self.queue.push(self.now + delay, event) };
        if let Event::Request { at, .. } = &event
            && *at == node
        {
            self.charge(node, &event);
            return self.handle(event);
        }
        let Some(cpus) = &mut self.cpus else { return };
        let (cpu, costs) = (&mut cpus.all[node], &cpus.costs);
        cpu.cost_ns += match &event {
            Event::Request { at, request, .. } => {
                cpu.told.push(*at);
                costs.send_ns + costs.bytes(size(request))
            }
            Event::Answered(_, outcome) => costs.reply_ns + size(outcome).payload as f64 * costs.byte_ns,
            _ => 0.0,
        };
        cpu.said.push((delay, event));
    }
}
