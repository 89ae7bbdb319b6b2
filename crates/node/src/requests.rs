//! Operations of sessions: from the first request to the outcome.

use crate::layout::NodeId;
use crate::link::message::Message;
use crate::node::{Output, SessionId};
use crate::observe::{Content, Way, What};
use crate::of::NodeOf;
use crate::sessions::{OpenRequest, Session};
use tidemark_contract::session::Ask;
use tidemark_contract::{AskId, Protocol, SessionCx, Ticket};
use tidemark_core::{Failure, Op, Outcome, ServerId, take_each};
use tidemark_replica::Output as HostOutput;

/// What a server replies to a request, and which server.
pub(crate) type Reply<P> = (Ticket, ServerId, Result<<P as Protocol>::Reply, Failure>);

/// A request to a group that has no leader, as far as this node knows: it waits for one.
pub(crate) struct Unrouted<P: Protocol> {
    pub(crate) ticket: Ticket,
    pub(crate) to: ServerId,
    pub(crate) writes: Option<usize>,
    pub(crate) request: P::Request,
}

/// What a session is given to begin with.
enum Begin<P: Protocol> {
    Operation(Op),
    Adoption(<P::Session as tidemark_contract::Session<P>>::Token),
}

impl<P: Protocol> NodeOf<P> {
    #[inline]
    pub(crate) fn begin_operation(&mut self, id: SessionId, op: Op) -> Option<Outcome> {
        if let Err(why) = self.core.config.limit.get().admits(op.writes().unwrap_or_default()) {
            return Some(Outcome::Failed(why));
        }
        // Taken out of the table while it runs: the host replies within the call.
        let mut session = self.sessions.take(id)?;
        let begin = match &mut session.sharing {
            None => self.operation(&mut session, op),
            Some(sharing) => {
                self.shared.prepare(sharing, op);
                self.next_of(&mut session).unwrap_or_else(|| unreachable!("it was just prepared"))
            }
        };
        let outcome = self.run(&mut session, begin);
        if outcome.is_some() {
            self.core.sees_token(&session);
        }
        self.sessions.put_back(session);
        outcome
    }

    /// Before an operation is begun in its session.
    #[inline]
    fn operation(&mut self, session: &mut Session<P>, op: Op) -> Begin<P> {
        session.writes = op.writes();
        self.choose_group(session, &op);
        // What only reads can be begun again, with the next leader.
        session.again = (self.core.place.is_some() && session.writes.is_none()).then(|| op.clone());
        Begin::Operation(op)
    }

    /// What the session begins with next, if an operation waits until it has taken over the past that it shares.
    fn next_of(&mut self, session: &mut Session<P>) -> Option<Begin<P>> {
        Some(match session.sharing.as_mut()?.next()? {
            Ok(token) => {
                (session.writes, session.again) = (None, None);
                Begin::Adoption(token)
            }
            Err(op) => self.operation(session, op),
        })
    }

    /// The operation that a session began has ended so. If there is more to begin, begins it and returns nothing.
    #[cold]
    fn ended_in_shared(&mut self, session: &mut Session<P>, outcome: Outcome) -> Option<Outcome> {
        let Some(sharing) = &mut session.sharing else { return Some(outcome) };
        match outcome {
            Outcome::Adopted => sharing.taken(),
            _ => sharing.give_up(),
        }
        match self.next_of(session) {
            Some(begin) => {
                self.begin_in_session(session, begin);
                None
            }
            None => {
                if let Some(sharing) = &mut session.sharing {
                    self.shared.note(sharing, session.id);
                }
                Some(outcome)
            }
        }
    }

    /// Takes over the past of a token.
    pub(crate) fn adopt(
        &mut self,
        id: SessionId,
        token: <P::Session as tidemark_contract::Session<P>>::Token,
    ) -> Option<Outcome> {
        let mut session = self.sessions.take(id)?;
        (session.writes, session.again) = (None, None);
        let outcome = self.run(&mut session, Begin::Adoption(token));
        self.sessions.put_back(session);
        outcome
    }

    #[inline]
    fn run(&mut self, session: &mut Session<P>, begin: Begin<P>) -> Option<Outcome> {
        session.operation += 1;
        self.begin_in_session(session, begin);
        self.core.wants_commit = true;
        let outcome = self.pump(session);
        session.pending = outcome.is_none();
        session.knows = self.next_batch();
        if session.pending {
            self.core.suspend(session.id, session.operation);
        }
        outcome
    }

    #[inline]
    fn begin_in_session(&self, session: &mut Session<P>, begin: Begin<P>) {
        session.handed = false;
        let core = &self.core;
        let mut cx = SessionCx::new(core.dc, core.now.wall, &core.topology, &mut session.effects);
        match begin {
            Begin::Operation(op) => {
                cx.guarantees = session.options.guarantees;
                session.following.name(&mut cx);
                session.session.begin(op, &mut cx);
            }
            Begin::Adoption(token) => {
                cx.may_write(false);
                session.session.adopt(token, &mut cx);
            }
        }
    }

    /// Carries out what the session wants until it waits, or until the operation ends.
    #[inline]
    fn pump(&mut self, session: &mut Session<P>) -> Option<Outcome> {
        loop {
            if let Some(outcome) = session.effects.outcome.take() {
                session.waiting.clear();
                session.effects.asks.clear();
                if session.sharing.is_none() {
                    return Some(outcome);
                }
                match self.ended_in_shared(session, outcome) {
                    None => continue,
                    ended => return ended,
                }
            }
            if session.effects.asks.is_empty() {
                return None;
            }
            let mut asks = std::mem::take(&mut session.effects.asks);
            take_each(&mut asks, |ask| self.ask(session, ask));
            session.effects.asks = asks;
            self.collect(Some(session));
        }
    }

    #[inline]
    fn ask(&mut self, session: &mut Session<P>, ask: Ask<P>) {
        let (Ask { id, to, several, request }, writes) = (ask, session.writes);
        let ticket = Ticket { node: self.core.me.0, session: session.id.0, ask: id };
        if !self.core.exists(to) {
            return self.lose(session, id);
        }
        if writes.is_none() {
            self.core.follow.reads(&mut session.following, to, self.core.now.mono);
        }
        let group = self.core.groups.of_server(to);
        if P::EXTENSIONS.follower_read.is_some()
            && writes.is_none()
            && group == self.core.groups.of_node(self.core.me)
            && let Some(reply) = self.hold.read_at_follower(to.partition, &request)
        {
            session.waiting.push(OpenRequest { ask: id, node: Some(self.core.me), several });
            self.core.counters.follower_reads += 1;
            return self.at_hand.push(HostOutput::Reply { ticket, from: to, reply: Ok(reply), cause: 0 });
        }
        let takes = |node: &_| match *node == self.core.me {
            true => self.hold.takes_requests(),
            false => self.core.reaches(*node),
        };
        let node = self.core.home(to).filter(takes);
        session.waiting.push(OpenRequest { ask: id, node, several });
        match node {
            // The usual way: nothing is moved more than once.
            Some(node) if node == self.core.me => {
                session.handed = true;
                let what = What::Request { ticket, to, writes: writes.is_some(), content: &request };
                let cause = self.core.sees(Way::Within, node, 0, what);
                if let Some(host) = self.hold.host_mut() {
                    host.on_behalf_of(cause);
                    host.request(self.core.now, to.partition, ticket, request, writes);
                }
            }
            Some(node) => {
                session.handed = true;
                self.hand(node, Unrouted { ticket, to, writes, request });
            }
            None if self.core.groups.members(group).len() > 1 => {
                self.unrouted.push(Unrouted { ticket, to, writes, request });
            }
            None => self.lose(session, id),
        }
    }

    /// No reply to request `id` will come.
    fn lose(&mut self, session: &mut Session<P>, id: AskId) {
        session.waiting.retain(|request| request.ask != id);
        if session.effects.outcome.is_some() {
            return;
        }
        let core = &self.core;
        let mut cx = SessionCx::new(core.dc, core.now.wall, &core.topology, &mut session.effects);
        session.session.on_lost(id, &mut cx);
        if let Some(Outcome::Failed(failure)) = &mut session.effects.outcome
            && (!session.handed || matches!(failure, Failure::Unavailable(_)))
        {
            *failure = unavailable();
        }
    }

    /// Takes the host's replies: those to `session` at once, the others when the batch ends.
    #[inline]
    pub(crate) fn collect(&mut self, mut session: Option<&mut Session<P>>) {
        let Self { core, hold, at_hand, strays, .. } = self;
        let me = core.me.0;
        let replies = match hold.host_mut() {
            Some(host) if at_hand.is_empty() => host.replies(),
            Some(host) => {
                at_hand.append(host.replies());
                at_hand
            }
            None => at_hand,
        };
        take_each(replies, |output| {
            let HostOutput::Reply { ticket, from, reply, cause } = output else { return };
            let way = if ticket.node == me { Way::Within } else { Way::Out };
            let content = reply.as_ref().ok().map(|reply| reply as &dyn Content);
            core.sees(way, NodeId(ticket.node), cause, What::Reply { ticket, content });
            match &mut session {
                Some(session) if ticket.node == me && ticket.session == session.id.0 => {
                    core.hear(session, ticket.ask, from, reply);
                }
                _ => strays.push_back((ticket, from, reply)),
            }
        });
    }

    /// Brings replies to the sessions that wait for them, and to other nodes.
    pub(crate) fn deliver_replies(&mut self) {
        self.collect(None);
        while let Some((ticket, from, reply)) = self.strays.pop_front() {
            if ticket.node != self.core.me.0 {
                let answer = match reply {
                    Ok(reply) => Message::<P>::Answer { ticket, from, reply },
                    Err(failure) => Message::Refusal { ticket, failure },
                };
                self.core.hold_back(NodeId(ticket.node), &answer);
                continue;
            }
            if let Some(mut session) = self.sessions.take(SessionId(ticket.session)) {
                self.core.hear(&mut session, ticket.ask, from, reply);
                self.go_on(&mut session);
                self.sessions.put_back(session);
            }
            self.collect(None);
        }
    }

    /// Carries on with an operation that waited.
    fn go_on(&mut self, session: &mut Session<P>) {
        let outcome = self.pump(session);
        session.knows = self.next_batch();
        if let Some(outcome) = outcome
            && std::mem::take(&mut session.pending)
        {
            self.core.sees_token(session);
            self.core.outputs.push_back(Output::Done { session: session.id, outcome });
        }
    }

    /// Ends the operations whose deadline has passed.
    pub(crate) fn expire(&mut self) {
        while self.core.deadlines.front().is_some_and(|deadline| deadline.at <= self.core.now.mono) {
            let Some(deadline) = self.core.deadlines.pop_front() else { break };
            let Some(mut session) = self.sessions.take(deadline.session) else { continue };
            if session.operation == deadline.operation && session.pending {
                self.core.wants_commit = true;
                self.unrouted.retain(|waiting| waiting.ticket.session != session.id.0);
                while let Some(OpenRequest { ask, .. }) = session.waiting.first().copied() {
                    self.lose(&mut session, ask);
                }
                self.end_overdue(&mut session);
                self.go_on(&mut session);
            }
            self.sessions.put_back(session);
        }
    }

    /// A session may wait for nothing that could be lost, or may have asked again: its time is over all the same.
    fn end_overdue(&mut self, session: &mut Session<P>) {
        if session.effects.outcome.is_none() {
            session.effects.asks.clear();
            let why = "it did not end in time".to_string();
            let failure = match session.handed && session.writes.is_some() {
                true => Failure::Indefinite(why),
                false => Failure::Unavailable(why),
            };
            session.effects.outcome = Some(Outcome::Failed(failure));
        }
    }

    /// What was asked of `node` and not answered will not be. What only reads is asked again.
    pub(crate) fn lose_node(&mut self, node: NodeId) {
        for slot in 0..self.sessions.slots() {
            let Some(mut session) = self.sessions.take_slot(slot) else { continue };
            let mut lost = false;
            let on_it = |request: &&OpenRequest| request.node == Some(node);
            while let Some(OpenRequest { ask, .. }) = session.waiting.iter().find(on_it).copied() {
                self.lose(&mut session, ask);
                lost = true;
            }
            if lost {
                if matches!(session.effects.outcome, Some(Outcome::Failed(_)))
                    && let Some(op) = session.again.clone()
                {
                    session.effects.outcome = None;
                    session.effects.asks.clear();
                    session.waiting.clear();
                    self.begin_in_session(&mut session, Begin::Operation(op));
                }
                self.go_on(&mut session);
                self.core.wants_commit = true;
            }
            self.sessions.put_back(session);
        }
    }
}

fn unavailable() -> Failure {
    Failure::Unavailable(
        "a server that the operation needs cannot be reached, or did not answer in time".to_string(),
    )
}
