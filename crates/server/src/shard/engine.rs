//! The host and what surrounds it: who is where, what is said to other nodes, questions out and answers in.

use super::client::{Client, Clients, Question, Resumption};
use super::dialect::Dialect;
use super::questions::{Parked, hear};
use super::seat::Seat;
use super::serving::Serving;
use crate::NodeConfig;
use crate::clock::Clock;
use crate::gateway::info::About;
use crate::link::outbox::Outbox;
use crate::redis;
use crate::stats::Stats;
use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;
use tidemark_adapt::Watch;
use tidemark_contract::{AskId, Order, Protocol, Session, SessionCx, Standing, Ticket, Topology};
use tidemark_core::{DcId, Failure, Micros, Op, Outcome, PartitionId, ServerId};
use tidemark_node::faults::Faults;
use tidemark_node::founding::Place;
use tidemark_node::link::frame::FrameBuffer;
use tidemark_node::link::hello::Epoch;
use tidemark_node::link::message::Message;
use tidemark_node::{GroupId, Groups, NodeId};
use tidemark_replica::{Now, Output};
use tokio::sync::oneshot;

/// What is on its way to another node.
#[derive(Default)]
pub(crate) struct Outgoing {
    /// Of the turn that is being gathered: it depends on what is not durable yet.
    pub(crate) held: FrameBuffer,
    /// May leave at any time.
    pub(crate) free: FrameBuffer,
    /// The connection for messages, while there is one.
    pub(crate) outbox: Option<Rc<Outbox>>,
    /// On how many connections the other node is heard, so that its answers arrive: a new one may be there before the old
    /// one has ended.
    pub(crate) heard_on: u32,
}

/// What a server answers to a question, and which server.
type Answer<P> = (Ticket, ServerId, Result<<P as Protocol>::Reply, Failure>);

/// An operation that waits, in the order of their deadlines.
struct Deadline {
    at: Micros,
    client: u64,
    operation: u64,
}

/// The host and what surrounds it.
pub(crate) struct Engine<P: Protocol> {
    pub(crate) seat: Seat<P>,
    /// Its place in its group; none if it holds its partitions alone.
    pub(crate) place: Option<Place>,
    /// This start of the process: a random number.
    pub(crate) start: u64,
    /// In which life it leads its group, if it does; what it told everybody last.
    pub(super) leads: Option<Epoch>,
    /// How often that has changed.
    pub(crate) era: u64,
    pub(crate) clock: Clock,
    /// The time of what is being done.
    pub(crate) now: Now,
    pub(crate) config: Arc<NodeConfig>,
    pub(crate) me: NodeId,
    pub(crate) dc: DcId,
    pub(crate) topology: Topology,
    pub(crate) dialect: Dialect,
    pub(crate) groups: Groups,
    /// By group.
    pub(crate) servers: Vec<Serving>,
    pub(super) parked: Vec<Parked<P>>,
    /// What was read here though another node leads.
    pub(super) at_hand: Vec<(Ticket, ServerId, P::Reply)>,
    pub(crate) outgoing: Vec<Outgoing>,
    pub(crate) faults: Faults,
    pub(crate) stats: Stats,
    /// Which servers sessions read at together, if checking groups follow that.
    pub(crate) watch: Option<Watch>,
    pub(crate) about: About,
    pub(crate) redis: redis::Config,
    pub(crate) registry: redis::ClientRegistry,
    /// Clients with replies for the turn that is being gathered.
    pub(crate) dirty: Vec<u64>,
    /// Answers to sessions other than the one that was being served.
    pub(super) strays: VecDeque<Answer<P>>,
    deadlines: VecDeque<Deadline>,
    /// An operator's orders that are not durable yet, by their numbers.
    pub(super) orders: Vec<(u64, oneshot::Sender<Result<Standing, String>>)>,
    ordered: u64,
}

impl<P: Protocol> Engine<P> {
    pub(crate) fn new(
        (seat, dialect): (Seat<P>, Dialect),
        place: Option<Place>,
        clock: Clock,
        config: Arc<NodeConfig>,
        about: About,
        redis: redis::Config,
    ) -> Self {
        let cluster = &config.cluster;
        let groups = cluster.groups();
        let alone = |group: GroupId| match groups.members(group) {
            [one] => Some(*one),
            _ => None,
        };
        let serving = |at| Serving { node: alone(GroupId(at as u16)), life: None };
        Self {
            now: clock.now(),
            servers: (0..groups.len()).map(serving).collect(),
            parked: Vec::new(),
            at_hand: Vec::new(),
            start: fastrand::u64(1..),
            leads: None,
            era: 0,
            place,
            me: config.me,
            dc: config.dc(),
            topology: cluster.topology.clone(),
            dialect,
            groups,
            outgoing: cluster.nodes.iter().map(|_| Outgoing::default()).collect(),
            faults: Faults::default(),
            stats: Stats::default(),
            watch: cluster.adapts.then(Watch::default),
            about,
            redis,
            registry: redis::ClientRegistry::default(),
            dirty: Vec::new(),
            strays: VecDeque::new(),
            deadlines: VecDeque::new(),
            orders: Vec::new(),
            ordered: 0,
            seat,
            clock,
            config,
        }
    }

    /// Begins an operation; its outcome, if it ends within this call.
    #[inline]
    pub(crate) fn begin(&mut self, client: &mut Client<P>, op: Op) -> Option<Outcome> {
        client.writes = op.writes();
        client.operation += 1;
        if client.follows {
            self.fit(client, &op);
        }
        // What only reads can be asked again, of the next leader.
        client.again = (self.place.is_some() && client.writes.is_none()).then(|| op.clone());
        self.begin_in_session(client, op);
        self.pump(client)
    }

    #[inline]
    fn begin_in_session(&self, client: &mut Client<P>, op: Op) {
        client.handed = false;
        let mut cx = SessionCx::new(self.dc, self.now.wall, &self.topology, &mut client.effects);
        (cx.guarantees, cx.checking) = (client.asks, client.checking.clone());
        client.session.begin(op, &mut cx);
    }

    /// Begins taking over a token; its outcome, if it ends within this call.
    pub(crate) fn adopt(
        &mut self,
        client: &mut Client<P>,
        token: <P::Session as Session<P>>::Token,
    ) -> Option<Outcome> {
        client.writes = None;
        client.again = None;
        client.operation += 1;
        client.handed = false;
        let mut cx = SessionCx::new(self.dc, self.now.wall, &self.topology, &mut client.effects);
        client.session.adopt(token, &mut cx);
        self.pump(client)
    }

    /// Carries out what the session wants until it waits, or until the operation ends.
    #[inline]
    fn pump(&mut self, client: &mut Client<P>) -> Option<Outcome> {
        loop {
            if let Some(outcome) = client.effects.outcome.take() {
                client.waiting.clear();
                client.effects.asks.clear();
                return Some(outcome);
            }
            if client.effects.asks.is_empty() {
                return None;
            }
            let mut asks = std::mem::take(&mut client.effects.asks);
            asks.drain(..).for_each(|ask| self.ask(client, ask));
            client.effects.asks = asks;
            self.collect(Some(client));
        }
    }

    /// No answer to question `id` will come.
    pub(super) fn lose(&mut self, client: &mut Client<P>, id: AskId) {
        client.waiting.retain(|question| question.ask != id);
        if client.effects.outcome.is_some() {
            return;
        }
        let mut cx = SessionCx::new(self.dc, self.now.wall, &self.topology, &mut client.effects);
        client.session.on_lost(id, &mut cx);
        if let Some(Outcome::Failed(failure)) = &mut client.effects.outcome
            && (!client.handed || matches!(failure, Failure::Unavailable(_)))
        {
            let why = "a server that the operation needs cannot be reached, or did not answer in time";
            *failure = Failure::Unavailable(why.to_string());
        }
    }

    /// Takes the host's answers: those to `client` at once, the others when the turn ends.
    #[inline]
    pub(crate) fn collect(&mut self, mut client: Option<&mut Client<P>>) {
        let about = (self.dc, self.now.wall, &self.topology);
        let watch = &mut self.watch;
        let mut bring = |(ticket, from, answer): Answer<P>| match &mut client {
            Some(client) if ticket.node == self.me.0 && ticket.session == client.key => {
                hear(client, about, watch, (ticket.ask, from, answer));
            }
            _ => self.strays.push_back((ticket, from, answer)),
        };
        for (ticket, from, reply) in self.at_hand.drain(..) {
            bring((ticket, from, Ok(reply)));
        }
        let Some(host) = self.seat.host_mut() else { return };
        for output in host.take_replies() {
            match output {
                Output::Reply { ticket, from, reply } => bring((ticket, from, Ok(reply))),
                Output::Refused { ticket, from, failure } => bring((ticket, from, Err(failure))),
                Output::Send { .. } | Output::Ordered { .. } => {}
            }
        }
    }

    /// An answer came from another node.
    pub(crate) fn answered(&mut self, ticket: Ticket, from: ServerId, answer: Result<P::Reply, Failure>) {
        self.strays.push_back((ticket, from, answer));
    }

    /// Brings answers to the sessions that wait for them, and to other nodes.
    pub(crate) fn settle(&mut self, clients: &mut Clients<P>) {
        self.collect(None);
        while let Some((ticket, from, answer)) = self.strays.pop_front() {
            if ticket.node != self.me.0 {
                if let Some(outgoing) = self.outgoing.get_mut(ticket.node as usize) {
                    outgoing.held.push(&match answer {
                        Ok(reply) => Message::<P>::Answer { ticket, from, reply },
                        Err(failure) => Message::Refusal { ticket, failure },
                    });
                }
                continue;
            }
            if let Some(client) = clients.get(ticket.session) {
                let about = (self.dc, self.now.wall, &self.topology);
                hear(client, about, &mut self.watch, (ticket.ask, from, answer));
                self.go_on(client);
            }
            self.collect(None);
        }
    }

    /// Carries on with an operation that waited; wakes the client's task if it has ended.
    fn go_on(&mut self, client: &mut Client<P>) {
        if let Some(outcome) = self.pump(client)
            && let Some(running) = &mut client.running
        {
            running.next = Resumption::Outcome(outcome);
            client.wake.notify_one();
        }
    }

    /// From now on the client's operation waits.
    pub(crate) fn suspend(&mut self, client: &Client<P>) {
        let at = self.now.mono + self.config.op_deadline_us;
        self.deadlines.push_back(Deadline { at, client: client.key, operation: client.operation });
        self.stats.suspended += 1;
    }

    /// Ends the operations whose deadline has passed; returns whether there were any.
    pub(crate) fn expire(&mut self, clients: &mut Clients<P>) -> bool {
        let mut expired = false;
        while self.deadlines.front().is_some_and(|deadline| deadline.at <= self.now.mono) {
            let Some(Deadline { client, operation, .. }) = self.deadlines.pop_front() else { break };
            let Some(client) = clients.get(client) else { continue };
            if client.operation == operation && client.running.is_some() {
                expired = true;
                self.parked.retain(|parked| parked.ticket.session != client.key);
                while let Some(Question { ask, .. }) = client.waiting.first().copied() {
                    self.lose(client, ask);
                }
                self.go_on(client);
            }
        }
        expired
    }

    /// What was asked of `node` and not answered will not be. What only reads is asked again.
    pub(crate) fn lose_node(&mut self, node: NodeId, clients: &mut Clients<P>) {
        for client in clients.iter() {
            let mut lost = false;
            while let Some(Question { ask, .. }) =
                client.waiting.iter().find(|question| question.node == Some(node)).copied()
            {
                self.lose(client, ask);
                lost = true;
            }
            if !lost {
                continue;
            }
            if matches!(client.effects.outcome, Some(Outcome::Failed(_)))
                && let Some(op) = client.again.clone()
            {
                client.effects.outcome = None;
                client.effects.asks.clear();
                client.waiting.clear();
                self.begin_in_session(client, op);
            }
            self.go_on(client);
        }
    }

    /// Gives an operator's order to a partition of this node.
    pub(crate) fn order(
        &mut self,
        to: PartitionId,
        order: &Order,
    ) -> oneshot::Receiver<Result<Standing, String>> {
        let (answer, answered) = oneshot::channel();
        match self.seat.host_mut() {
            Some(host) => {
                self.orders.push((self.ordered, answer));
                host.order(self.clock.now(), to, self.ordered, order);
                self.ordered += 1;
            }
            None => {
                drop(answer.send(Err("this node does not lead its group: order the one that does".into())))
            }
        }
        answered
    }

    /// Something that a server says to another, or to the operator, durable: it may leave.
    pub(crate) fn send(&mut self, output: Output<P>) {
        let (from, to, message) = match output {
            Output::Send { from, to, message } => (from, to, message),
            Output::Ordered { number, answer, .. } => {
                if let Some(place) = self.orders.iter().position(|(of, _)| *of == number) {
                    let _ = self.orders.swap_remove(place).1.send(answer);
                }
                return;
            }
            Output::Reply { .. } | Output::Refused { .. } => return,
        };
        if self.faults.is_cut(from, to) {
            return;
        }
        if let Some(home) = self.home(to) {
            let message = Message::<P>::Peer { from, to: to.partition, message };
            let outgoing = &mut self.outgoing[home.index()];
            if outgoing.outbox.is_some() {
                outgoing.free.push(&message);
            }
        }
    }

    /// Notes that `client` has replies in this turn.
    #[inline]
    pub(crate) fn touch(&mut self, client: &mut Client<P>) {
        if !client.out.dirty {
            client.out.dirty = true;
            self.dirty.push(client.key);
        }
    }
}
