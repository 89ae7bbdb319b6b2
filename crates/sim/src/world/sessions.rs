//! Sessions in their gateways: one step at a time, questions with a deadline, everything written down.

use super::{Event, Stage, World};
use crate::plan::{Act, Step};
use crate::rng::mix;
use std::borrow::Cow;
use tidemark_contract::{Ask, AskId, Protocol, SessionCx, SessionEffects, Ticket, Traveller};
use tidemark_core::history::SessionId;
use tidemark_core::{DcId, Failure, Found, Micros, Op, Outcome, ServerId};

/// A user of the store: a script, and the session that plays it.
pub(super) struct Client<'a, P: Protocol> {
    pub(super) dc: DcId,
    pub(super) script: Cow<'a, [Step]>,
    pub(super) role: Role,
    pub(super) step: usize,
    pub(super) session: Traveller<P>,
    pub(super) id: SessionId,
    /// How many events of this session the history has.
    pub(super) recorded: u64,
    effects: SessionEffects<P>,
    running: Option<Running>,
    /// When the running step is given up.
    deadline: Micros,
    /// A look at the deadline is scheduled.
    watched: bool,
    /// Attempts at the current step.
    pub(super) tries: u32,
}

/// What a client is there for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// It does what the schedule says.
    Worker,
    /// It reads what is there in the end; that goes to the end of the history.
    LastWords,
    /// It looks whether a version can be seen; that goes to the meter.
    Looker,
    /// It writes what is to be there before a run under load begins.
    Loader,
    /// It is one of the clients of a run under load.
    Driver,
    /// It writes a key that others look for, in a run under load.
    Prober,
    /// It looks for such a key.
    Seeker,
}

/// The operation that a session waits for.
pub(super) struct Running {
    pub(super) start: Micros,
    asked: Vec<Question>,
    /// Of an adoption: from whom, and how many events that one had.
    pub(super) adopts: Option<(SessionId, u64)>,
}

/// A question that is open.
struct Question {
    ask: AskId,
    to: ServerId,
    /// It stays open when it is answered.
    several: bool,
}

impl<'a, P: Protocol> Client<'a, P> {
    pub(super) fn new(number: usize, dc: usize, script: Cow<'a, [Step]>, role: Role) -> Self {
        let dc = DcId(dc as u8);
        Self {
            session: Traveller::open(dc),
            id: SessionId(number as u64),
            effects: SessionEffects::default(),
            running: None,
            step: 0,
            deadline: 0,
            watched: false,
            recorded: 0,
            tries: 0,
            dc,
            script,
            role,
        }
    }
}

impl<'a, P: Protocol> Client<'a, P> {
    /// A new session takes the place of this one.
    pub(super) fn reopen(&mut self) {
        self.session = Traveller::open(self.dc);
        self.effects = SessionEffects::default();
        self.id.0 += AGAIN;
        self.recorded = 0;
    }

    /// From now on it does this.
    pub(super) fn begins(&mut self, script: Cow<'a, [Step]>) {
        (self.script, self.step) = (script, 0);
    }

    /// Whether its script goes on after this step.
    fn has_more(&self) -> bool {
        self.step + 1 < self.script.len()
    }

    /// Goes to the next step of its script; false if there is none.
    pub(super) fn next_step(&mut self) -> bool {
        self.step += 1;
        self.step < self.script.len()
    }

    /// The operation that its script stands at, if it is one.
    pub(super) fn op(&self) -> Option<&Op> {
        match &self.script.get(self.step)?.act {
            Act::Op(op) => Some(op),
            Act::Adopt(_) | Act::Move(_) => None,
        }
    }

    /// About how many bytes what it asks now can write, if it can write.
    fn writes(&self) -> Option<usize> {
        self.op()?.writes()
    }
}

/// Sessions that are opened again get numbers that tell which they were: 3, 1000003, 2000003 …
const AGAIN: u64 = 1_000_000;

impl<P: Protocol> World<'_, P> {
    pub(super) fn number_of(ticket: Ticket) -> usize {
        (ticket.session % AGAIN) as usize
    }

    /// The node at which a session is: one of its data centre.
    pub(super) fn gateway(&self, number: usize) -> usize {
        let nodes = self.groups() / self.layout.topology.dcs;
        let node = self.clients[number].dc.index() * nodes + number / self.layout.topology.dcs % nodes;
        self.leader[node]
    }

    /// What the clock shows there.
    fn gateway_clock(&self, number: usize) -> Micros {
        self.nodes[self.gateway(number)].clocks.read(self.now).wall
    }

    fn client_of(&self, session: SessionId) -> Option<usize> {
        let number = (session.0 % AGAIN) as usize;
        (self.clients[number].id == session).then_some(number)
    }

    /// A session takes its next step.
    pub(super) fn wake(&mut self, number: usize) {
        let client = &self.clients[number];
        let Step { act, asks, at } = client.script[client.step].clone();
        let checking = self.named_groups(number, at);
        // There and back, for the session and for its question, and what it has seen has to arrive there too; and so for each
        // part of a read that is divided.
        let far = match &act {
            _ if self.layout.topology.placement.rules.is_empty() => 0,
            Act::Op(op) => self.layout.topology.parts_of(op).len().max(1) as u64,
            Act::Adopt(_) | Act::Move(_) => 1,
        };
        let far = far * 8 * self.plan.config.slowest_us();
        let client = &mut self.clients[number];
        client.deadline = self.now + self.plan.config.deadline_us + far;
        if !std::mem::replace(&mut client.watched, true) {
            self.queue.push(client.deadline, Event::Deadline(number));
        }
        match act {
            Act::Op(op) => {
                client.running = Some(Running { start: self.now, asked: Vec::new(), adopts: None });
                self.meter_begin(number, &op);
                self.with_session(number, false, |session, cx| {
                    (cx.guarantees, cx.checking) = (asks, checking);
                    session.begin(op, cx);
                });
            }
            Act::Adopt(from) => {
                let other = &self.clients[from];
                let (token, adopts) = (other.session.token(), Some((other.id, other.recorded)));
                self.clients[number].running = Some(Running { start: self.now, asked: Vec::new(), adopts });
                self.with_session(number, false, |session, cx| session.adopt(token, cx));
            }
            Act::Move(from) => {
                let adopts = Some((self.clients[from].id, self.clients[from].recorded));
                self.clients[number].running = Some(Running { start: self.now, asked: Vec::new(), adopts });
                self.end_step(number, &Outcome::Adopted);
            }
        }
    }

    /// Lets a session handle an event, sends what it asks, and ends its step if it has an outcome. `goes_on` if the event
    /// is an answer: what is asked then is a later round.
    fn with_session(
        &mut self,
        number: usize,
        goes_on: bool,
        event: impl FnOnce(&mut Traveller<P>, &mut SessionCx<'_, P>),
    ) {
        let now = self.gateway_clock(number);
        let client = &mut self.clients[number];
        let mut cx = SessionCx::new(client.dc, now, &self.layout.topology, &mut client.effects);
        event(&mut client.session, &mut cx);
        let (dc, session) = (client.dc, client.id.0);
        let one_of_many = goes_on || client.effects.asks.len() > 1;
        while let Some(Ask { id, to, several, request }) = self.clients[number].effects.asks.pop() {
            if let Some(running) = &mut self.clients[number].running {
                running.asked.push(Question { ask: id, to, several });
            }
            self.meter_ask(number, id, &request);
            self.watch_question(number, to);
            let ticket = Ticket { node: u16::from(dc.0), session, ask: id };
            let writes = self.clients[number].writes();
            let node = self.process_to_ask(to, session, writes.is_some());
            let Some(delay) = self.links.question_delay(self.now, (dc, session), to, one_of_many) else {
                continue;
            };
            let (delay, life) = (delay + self.nodes[node].slow_us, self.nodes[node].life);
            if to.dc != dc {
                self.asked_until = self.asked_until.max(self.now + delay);
            }
            self.say(number, delay, Event::Request { ticket, to, at: node, life, writes, request });
        }
        let Some(outcome) = self.clients[number].effects.outcome.take() else { return };
        // What a client says at once is done without asking it in between.
        let at_once = self.clients[number].has_more() && self.clients[number].role == Role::Driver;
        match if at_once { 0 } else { self.client_delay(number) } {
            0 => self.end_step(number, &outcome),
            delay => self.say(number, delay, Event::Answered(number, Box::new(outcome))),
        }
    }

    pub(super) fn request(
        &mut self,
        ticket: Ticket,
        (to, node): (ServerId, usize),
        life: u64,
        writes: Option<usize>,
        request: P::Request,
    ) {
        let Some(request) = self.ask_follower(ticket, (to, node), writes, request) else { return };
        if self.nodes[node].host().is_none() || self.nodes[node].life != life {
            self.stats.lost += 1;
            let at = self.now + self.plan.config.lan_us;
            return self.queue.push(at, Event::Lost { session: SessionId(ticket.session), ask: ticket.ask });
        }
        self.meter_question(ticket);
        self.turn(node, true, |host, now| host.request(now, to.partition, ticket, request, writes));
        self.meter_turn_ends();
    }

    pub(super) fn reply(&mut self, ticket: Ticket, from: ServerId, reply: Result<P::Reply, Failure>) {
        let Some(number) = self.waiting_for(SessionId(ticket.session), ticket.ask, true) else { return };
        match reply {
            Ok(reply) => {
                self.meter_reply(number, ticket.ask, &reply);
                self.watch_answer(number, &reply);
                self.with_session(number, true, |session, cx| session.on_reply(ticket.ask, from, reply, cx));
            }
            Err(failure) => self.end_step(number, &Outcome::Failed(failure)),
        }
    }

    /// The client whose running operation waits for this answer. It does not any more, unless this is one of several.
    fn waiting_for(&mut self, session: SessionId, ask: AskId, answered: bool) -> Option<usize> {
        let number = self.client_of(session)?;
        let asked = &mut self.clients[number].running.as_mut()?.asked;
        let place = asked.iter().position(|question| question.ask == ask)?;
        if !(answered && asked[place].several) {
            asked.swap_remove(place);
        }
        Some(number)
    }

    pub(super) fn lost(&mut self, session: SessionId, ask: AskId) {
        if let Some(number) = self.waiting_for(session, ask, false) {
            self.with_session(number, false, |session, cx| session.on_lost(ask, cx));
        }
    }

    /// A node died: half of the sessions that wait for it notice it soon, the others by their deadline.
    pub(super) fn break_questions_to(&mut self, node: usize) {
        let at = self.now + self.plan.config.lan_us;
        for number in 0..self.clients.len() {
            let client = &self.clients[number];
            let Some(running) = &client.running else { continue };
            if mix(client.id.0, self.now).is_multiple_of(2) {
                continue;
            }
            for Question { ask, to, .. } in &running.asked {
                if self.node_of(*to) == node {
                    self.queue.push(at, Event::Lost { session: client.id, ask: *ask });
                }
            }
        }
    }

    pub(super) fn deadline(&mut self, client: usize) {
        let waiting = &mut self.clients[client];
        waiting.watched = false;
        if waiting.running.is_none() {
            return;
        }
        if waiting.deadline > self.now {
            waiting.watched = true;
            return self.queue.push(waiting.deadline, Event::Deadline(client));
        }
        loop {
            let Some(running) = &mut self.clients[client].running else { return };
            let Some(Question { ask, .. }) = running.asked.pop() else { break };
            self.with_session(client, false, |session, cx| session.on_lost(ask, cx));
        }
        // It waits for nothing that could still come.
        if self.clients[client].running.is_some() {
            let failure = Failure::Indefinite("the operation did not end by its deadline".into());
            self.end_step(client, &Outcome::Failed(failure));
        }
    }

    /// A step has ended: it is written down, and the next one planned.
    pub(super) fn end_step(&mut self, number: usize, outcome: &Outcome) {
        let Some(running) = self.clients[number].running.take() else { return };
        self.note_outcome(number, outcome);
        self.meter_end(number, outcome);
        match self.clients[number].role {
            Role::Worker => self.record(number, &running, outcome),
            Role::LastWords => return self.end_last_word(number, outcome),
            Role::Looker => return self.looked(number, outcome, running.start),
            Role::Loader | Role::Driver | Role::Prober | Role::Seeker => {
                return self.driven(number, outcome, running.start);
            }
        }
        if matches!(outcome, Outcome::Failed(Failure::Indefinite(_))) {
            // Nobody knows what became of it: the connection is given up, and with it its session.
            self.clients[number].reopen();
        }
        self.advance(number);
    }

    /// A client goes on to its next step, if it has one.
    pub(super) fn advance(&mut self, number: usize) {
        let client = &mut self.clients[number];
        client.step += 1;
        match client.script.get(client.step) {
            Some(step) => self.queue.push(step.at.max(self.now), Event::Wake(number)),
            None => {
                self.busy -= 1;
                if self.busy == 0 {
                    if self.stage == Stage::Work { self.heal() } else { self.stage = Stage::Over }
                }
            }
        }
    }

    fn note_outcome(&mut self, number: usize, outcome: &Outcome) {
        let stamp =
            |found: &Found| found.stamp.map_or(1, |stamp| stamp.ts.0 << 3 ^ u64::from(stamp.origin.0));
        let told = match outcome {
            Outcome::Found(found) => stamp(found),
            Outcome::Written { stamp, .. } => stamp.map_or(2, |stamp| stamp.ts.0),
            Outcome::FoundAll(all) => all.iter().fold(3, |so_far, found| mix(so_far, stamp(found))),
            Outcome::Keys { keys, cursor } => mix(keys.len() as u64, *cursor),
            Outcome::Count(count) => *count,
            Outcome::Adopted => 4,
            Outcome::Failed(failure) => 5 + u64::from(failure.is_definite()),
        };
        self.digest = mix(self.digest ^ self.now, mix(self.clients[number].id.0, told));
    }
}
