//! Where requests and messages go: to which node, now or when a leader is known.

use crate::core::{Core, Deadline, OpenOrder, Outgoing, Serving};
use crate::layout::{GroupId, NodeId};
use crate::link::frame::{FrameBuffer, FrameError, values};
use crate::link::hello::Epoch;
use crate::link::message::Message;
use crate::link::table::Role;
use crate::node::{Batch, Output, Reach, SessionId};
use crate::observe::{TokenOf, Way, What};
use crate::of::NodeOf;
use crate::requests::Unrouted;
use crate::sessions::{OpenRequest, Session};
use tidemark_contract::{AskId, Protocol, SessionCx};
use tidemark_core::{Failure, Outcome, ServerId};
use tidemark_replica::Output as HostOutput;

/// With more than that waiting for a node, broadcasts to it are dropped: requests and replies come first.
const BROADCAST_BYTES_MAX: usize = 1 << 20;

impl Core {
    /// Gives a reply to the session, if its operation still waits for it.
    #[inline]
    pub(crate) fn hear<P: Protocol>(
        &mut self,
        session: &mut Session<P>,
        ask: AskId,
        from: ServerId,
        reply: Result<P::Reply, Failure>,
    ) {
        let Some(place) = session.waiting.iter().position(|request| request.ask == ask) else { return };
        if !session.waiting[place].several {
            session.waiting.swap_remove(place);
        }
        if session.effects.outcome.is_some() {
            return;
        }
        let mut cx = SessionCx::new(self.dc, self.now.wall, &self.topology, &mut session.effects);
        match reply {
            Ok(reply) => {
                self.follow.hears::<P>(&mut session.following, &reply);
                session.session.on_reply(ask, from, reply, &mut cx)
            }
            // The session forgets its operation; what the server said is what the client hears.
            Err(failure) => {
                session.session.on_lost(ask, &mut cx);
                session.effects.outcome = Some(Outcome::Failed(failure));
            }
        }
    }

    /// An operation of a session ends: the observer looks at what the session has seen.
    #[inline]
    pub(crate) fn sees_token<P: Protocol>(&self, session: &Session<P>) {
        let (session, content) = (session.id, &TokenOf(&session.session));
        self.sees(Way::Within, self.me, 0, What::Token { session, content });
    }

    /// From now on the operation of a session waits.
    pub(crate) fn suspend(&mut self, session: SessionId, operation: u64) {
        let at = self.now.mono + self.config.op_deadline_us;
        self.deadlines.push_back(Deadline { at, session, operation });
        self.counters.suspended += 1;
    }
}

impl<P: Protocol> NodeOf<P> {
    /// The batch that the next commit ends.
    #[inline]
    pub(crate) fn next_batch(&self) -> Batch {
        Batch(self.core.batch.0 + 1)
    }

    /// In which epoch this node serves its partitions, if it does.
    pub(crate) fn epoch(&self) -> Option<Epoch> {
        self.hold.host().map(|host| Epoch { incarnation: host.incarnation(), number: host.life() })
    }

    /// Hands a request to `node`, which serves who is asked and can be reached.
    #[inline]
    pub(crate) fn hand(&mut self, node: NodeId, request: Unrouted<P>) {
        let Unrouted { ticket, to, writes, request } = request;
        let here = node == self.core.me;
        let (way, what) = (
            if here { Way::Within } else { Way::Out },
            What::Request { ticket, to, writes: writes.is_some(), content: &request },
        );
        let cause = self.core.sees(way, node, 0, what);
        if !here {
            let ask = Message::<P>::Ask { ticket, to: to.partition, writes, request };
            return self.core.hold_back(node, &ask);
        }
        if let Some(host) = self.hold.host_mut() {
            host.on_behalf_of(cause);
            host.request(self.core.now, to.partition, ticket, request, writes);
        }
    }

    /// `by` has not taken a request: it does not lead its group, or not for long. The request waits for the next leader.
    pub(crate) fn returned(&mut self, by: NodeId, request: Unrouted<P>) {
        let group = self.core.groups.of_server(request.to);
        if self.core.serving[group.index()].node == Some(by) {
            self.core.serving[group.index()].node = None;
            self.doubt(by);
        }
        self.unroute(by, request);
        self.route(group);
    }

    /// A request that `by` was asked waits for the next leader, if its session still waits for it.
    fn unroute(&mut self, by: NodeId, request: Unrouted<P>) {
        let session = self.sessions.get(SessionId(request.ticket.session));
        let waits = session.and_then(|session| {
            let asked = |open: &&mut OpenRequest| open.ask == request.ticket.ask && open.node == Some(by);
            session.waiting.iter_mut().find(asked)
        });
        if let Some(open) = waits {
            open.node = None;
            self.unrouted.push(request);
        }
    }

    /// Takes back the requests that have not left for `node`, one of a Raft group: they wait for this node's log, which may take
    /// longer than a leader takes to go.
    fn take_back(&mut self, node: NodeId) {
        if self.core.groups.members(self.core.groups.of_node(node)).len() == 1 {
            return;
        }
        let dc = self.core.dc_of(node);
        let Core { near, far, outgoing, .. } = &mut self.core;
        let Outgoing { held, free, .. } = &mut outgoing[node.index()];
        let gated = near.iter_mut().chain(far.iter_mut());
        let gated = gated.filter(|(to, _)| *to == node).map(|(_, buffer)| buffer);
        let mut requests = Vec::new();
        for buffer in gated.chain([held, free]) {
            let mut others = FrameBuffer::default();
            let each = |message| match message {
                Message::<P>::Ask { ticket, to, writes, request } => {
                    requests.push(Unrouted { ticket, to: ServerId::new(dc, to), writes, request });
                }
                other => others.push(&other),
            };
            values(buffer.payload(), each).expect("it was encoded here");
            *buffer = others;
        }
        requests.into_iter().for_each(|request| self.unroute(node, request));
    }

    /// `by` may lead all the same: it could not hand over, or was elected meanwhile and had said so before its refusal came. If nobody else
    /// has turned up after a while, it has to say anew how it stands.
    fn doubt(&mut self, by: NodeId) {
        let at = self.core.now.mono + self.core.config.pace.dial_us.1;
        self.core.doubts.push((at, by));
        self.core.links.look_at(at);
    }

    /// Calls those again that were in doubt for long enough.
    pub(crate) fn settle_doubts(&mut self) {
        let now = self.core.now.mono;
        let doubts = std::mem::take(&mut self.core.doubts);
        let (due, rest): (Vec<_>, Vec<_>) = doubts.into_iter().partition(|(at, _)| *at <= now);
        rest.iter().for_each(|(at, _)| self.core.links.look_at(*at));
        self.core.doubts = rest;
        for (_, node) in due {
            let group = self.core.groups.of_node(node);
            if self.core.serving[group.index()].node.is_none() {
                self.call_again(node, |role| matches!(role, Role::MessagesOut));
            }
        }
    }

    /// Hands on the requests that waited for a leader of `group`, if there is one now and it can be reached.
    pub(crate) fn route(&mut self, group: GroupId) {
        let Some(node) = self.core.serving[group.index()].node else { return };
        if node != self.core.me && !self.core.reaches(node) {
            return;
        }
        for request in std::mem::take(&mut self.unrouted) {
            if self.core.groups.of_server(request.to) != group {
                self.unrouted.push(request);
            } else if let Some(session) = self.sessions.get(SessionId(request.ticket.session))
                && let Some(open) = session.waiting.iter_mut().find(|open| open.ask == request.ticket.ask)
            {
                open.node = Some(node);
                session.handed = true;
                self.hand(node, request);
                self.core.wants_commit = true;
            }
        }
    }

    /// Something that a server says to another, or to the operator, durable: it may leave.
    pub(crate) fn send(&mut self, output: HostOutput<P>) {
        let (from, to, message, cause) = match output {
            HostOutput::Send { from, to, message, cause } => (from, to, message, cause),
            HostOutput::Ordered { number, answer, .. } => return self.core.order_answered(number, answer),
            HostOutput::Reply { .. } => return,
        };
        if self.core.cuts.is_cut(from, to) {
            return;
        }
        if let Some(home) = self.core.home(to)
            && self.core.outgoing[home.index()].link.is_some()
        {
            self.core.sees(Way::Out, home, cause, What::Message { from, to, content: &message });
            let outgoing = &mut self.core.outgoing[home.index()];
            outgoing.free.push(&Message::<P>::Peer { from, to: to.partition, message });
            self.core.speaks = true;
        }
    }

    /// Says something to the drivers of other nodes that can be reached.
    pub(crate) fn say_to_all(&mut self, reach: Reach, content: &[u8]) {
        let message = Message::<P>::Broadcast { content: content.to_vec() };
        for at in 0..self.core.outgoing.len() {
            let outgoing = &self.core.outgoing[at];
            if reach == Reach::Region && self.core.config.cluster.nodes[at].dc != self.core.dc {
                continue;
            }
            let waits = outgoing.free.len() + outgoing.held.len();
            if outgoing.link.is_none() || (waits > 0 && waits + content.len() > BROADCAST_BYTES_MAX) {
                self.core.counters.broadcasts_dropped += u64::from(at != self.core.me.index());
                continue;
            }
            self.core.hold_back(NodeId(at as u16), &message);
        }
        self.core.wants_commit = true;
    }

    /// A frame of messages of `node`.
    pub(crate) fn hear_messages(&mut self, node: NodeId, payload: &[u8]) -> Result<(), FrameError> {
        let takes_requests = self.hold.takes_requests();
        values::<Message<P>>(payload, |message| {
            self.core.counters.messages_in += 1;
            self.hear_message(node, takes_requests, message);
        })
    }

    fn hear_message(&mut self, node: NodeId, takes_requests: bool, message: Message<P>) {
        match message {
            Message::Ask { ticket, to, writes, request } => match self.hold.host_mut() {
                Some(host) if takes_requests && host.holds(to) => {
                    let server = ServerId::new(self.core.dc, to);
                    let what =
                        What::Request { ticket, to: server, writes: writes.is_some(), content: &request };
                    host.on_behalf_of(self.core.sees(Way::In, node, 0, what));
                    host.request(self.core.now, to, ticket, request, writes);
                }
                Some(host) if !host.holds(to) => {
                    let why = format!("partition {to} is not on this node");
                    let from = ServerId::new(self.core.dc, to);
                    self.strays.push_back((ticket, from, Err(Failure::Unavailable(why))));
                }
                // The other side asks the next leader.
                _ => {
                    let back = Message::<P>::Returned { ticket, to, writes, request };
                    self.core.hold_back(node, &back);
                }
            },
            Message::Returned { ticket, to, writes, request } => {
                let to = ServerId::new(self.core.dc_of(node), to);
                if self.core.exists(to) {
                    self.returned(node, Unrouted { ticket, to, writes, request });
                }
            }
            Message::Answer { ticket, from, reply } => {
                self.core.sees(Way::In, node, 0, What::Reply { ticket, content: Some(&reply) });
                self.strays.push_back((ticket, from, Ok(reply)));
            }
            Message::Refusal { ticket, failure } => {
                self.core.sees(Way::In, node, 0, What::Reply { ticket, content: None });
                self.strays.push_back((ticket, ServerId::default(), Err(failure)));
            }
            Message::Broadcast { content } => {
                self.core.outputs.push_back(Output::Broadcast { node, content });
            }
            Message::Peer { from, to, message } => {
                let me = ServerId::new(self.core.dc, to);
                let what = What::Message { from, to: me, content: &message };
                let cause = self.core.sees(Way::In, node, 0, what);
                let theirs = self.core.home(from) == Some(node) && !self.core.cuts.is_cut(from, me);
                if let Some(host) = self.hold.host_mut().filter(|host| theirs && host.holds(to)) {
                    host.on_behalf_of(cause);
                    host.message(self.core.now, from, to, message);
                }
            }
        }
    }

    /// No message link to or from `node` stands as it did: what was asked on it is lost.
    pub(crate) fn messages_changed(&mut self, node: NodeId) {
        self.take_back(node);
        self.lose_node(node);
        let outgoing = &mut self.core.outgoing[node.index()];
        if outgoing.link.is_none() {
            (outgoing.held, outgoing.free) = Default::default();
        }
        self.route(self.core.groups.of_node(node));
        self.core.wants_commit = true;
    }

    /// The node that serves a group is known.
    pub(crate) fn serves(&mut self, group: GroupId, node: NodeId, epoch: Epoch) {
        self.core.serving[group.index()] = Serving { node: Some(node), epoch: Some(epoch) };
    }
}

impl Core {
    fn order_answered(&mut self, number: u64, answer: Result<tidemark_contract::removal::Standing, String>) {
        let waits = |order: &OpenOrder| order.waits.iter().position(|(_, waits)| *waits == number);
        let Some((at, place)) =
            self.orders.iter().enumerate().find_map(|(at, order)| Some((at, waits(order)?)))
        else {
            return;
        };
        let order = &mut self.orders[at];
        let (partition, _) = order.waits.remove(place);
        match answer {
            Ok(standing) => {
                order.answered.push((partition, standing));
                if order.waits.is_empty() {
                    let OpenOrder { id, mut answered, .. } = self.orders.remove(at);
                    answered.sort_by_key(|(partition, _)| *partition);
                    self.end_order(id, Ok(answered));
                }
            }
            Err(why) => {
                let id = self.orders.remove(at).id;
                self.end_order(id, Err(why));
            }
        }
    }
}
