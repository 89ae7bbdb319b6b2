//! Users: one step at a time, each over a session of a node of its region. Connections to nodes that end are made again,
//! elsewhere if need be, with a session that knows nothing.

use super::interactive::{Interactive, Next};
use super::process::User;
use super::returning::Returning;
use super::{Cluster, Event};
use crate::plan::{Act, Step};
use crate::rng::mix;
use std::borrow::Cow;
use tidemark_core::history;
use tidemark_core::{DcId, Failure, Micros, Op, Outcome};
use tidemark_edge::gateway::AskId;
use tidemark_node::rule::{EDGE_IS_TOLD_SYNCED, TOKENS_ARE_SYNCED};
use tidemark_node::{Options, SessionId, TokenError};

/// A user of the store: a script, and the session that plays it.
pub(super) struct Client<'a> {
    pub(super) dc: DcId,
    pub(super) script: Cow<'a, [Step]>,
    pub(super) role: Role,
    pub(super) step: usize,
    /// Attempts at the current step.
    pub(super) tries: u32,
    /// What the history calls its session.
    pub(super) id: history::SessionId,
    /// How many events of this session the history has.
    pub(super) recorded: u64,
    pub(super) running: Option<Running>,
    /// How many steps it has begun.
    pub(super) operations: u64,
    pub(super) connection: Option<Connection>,
    /// The node of its region that it prefers, counted from its own.
    pub(super) first: usize,
    pub(super) returning: Returning,
    pub(super) interactive: Option<Interactive>,
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

/// A client's connection to a node.
#[derive(Clone, Debug)]
pub(super) struct Connection {
    pub(super) process: usize,
    pub(super) boots: u64,
    pub(super) session: SessionId,
    options: Options,
}

/// The step that a client waits for.
pub(super) struct Running {
    pub(super) start: Micros,
    /// Of an adoption: from whom, and how many events that one had.
    pub(super) adopts: Option<(history::SessionId, u64)>,
    pub(super) operation: u64,
    /// It is no step: a client that has come back takes over its past.
    pub(super) returns: bool,
    /// It is no step: the snapshot of a transaction that has ended is given back.
    pub(super) ends: bool,
}

/// What a node says to a client or to its gateway, once it may leave.
pub(super) enum Reply {
    /// How its operation ended.
    Outcome { client: usize, session: SessionId, outcome: Outcome },
    /// The token of a session, for the step of another client, with how much of the history it stands for.
    Token { session: SessionId, to: usize, operation: u64, text: String, past: (history::SessionId, u64) },
    /// How the question of a gateway ended.
    Answer { session: SessionId, ask: AskId, outcome: Outcome },
    /// The token of a session, for its client to come back with.
    Kept { session: SessionId, client: usize, text: String, past: (history::SessionId, u64) },
}

impl Reply {
    pub(super) fn to(user: User, session: SessionId, outcome: Outcome) -> Self {
        match user {
            User::Client(client) => Self::Outcome { client, session, outcome },
            User::Gateway(ask) => Self::Answer { session, ask, outcome },
        }
    }

    /// Whether whoever hears it keeps it.
    pub(super) fn is_kept(&self) -> bool {
        match self {
            Self::Outcome { .. } => false,
            Self::Answer { .. } => EDGE_IS_TOLD_SYNCED.kept(),
            Self::Token { .. } | Self::Kept { .. } => TOKENS_ARE_SYNCED.kept(),
        }
    }

    /// The session whose connection it leaves on.
    pub(super) fn session(&self) -> SessionId {
        match self {
            Self::Outcome { session, .. }
            | Self::Token { session, .. }
            | Self::Kept { session, .. }
            | Self::Answer { session, .. } => *session,
        }
    }
}

/// Sessions that are opened again get numbers that tell which they were: 3, 1000003, 2000003 …
const AGAIN: u64 = 1_000_000;

impl<'a> Cluster<'a> {
    pub(super) fn add_client(&mut self, dc: usize, script: Cow<'a, [Step]>, role: Role) {
        let number = self.clients.len();
        let client = Client {
            dc: DcId(dc as u8),
            script,
            role,
            step: 0,
            tries: 0,
            id: history::SessionId(number as u64),
            recorded: 0,
            running: None,
            operations: 0,
            connection: None,
            first: 0,
            returning: Returning::default(),
            interactive: None,
        };
        if let Some(step) = client.script.first() {
            self.busy += 1;
            self.queue.push(step.at.max(self.now), Event::Wake(number));
        }
        self.clients.push(client);
    }
}

impl Cluster<'_> {
    /// A client takes its next step.
    pub(super) fn wake(&mut self, number: usize) {
        let client = &mut self.clients[number];
        let Step { act, asks, at } = client.script[client.step].clone();
        client.operations += 1;
        let operation = client.operations;
        if self.takes_over(number) {
            return;
        }
        let running = Running { start: self.now, adopts: None, operation, returns: false, ends: false };
        self.clients[number].running = Some(running);
        if self.load.is_none() {
            self.queue.push(self.now + self.patience_us(), Event::Impatient(number, operation));
        }
        let Some(Connection { process, session, .. }) = self.connect(number) else {
            return self.end_step(number, &unreachable());
        };
        match act {
            Act::Op(_) | Act::Begin { .. } | Act::Commit { .. } => {
                let op = match self.next_of(number, act) {
                    Next::Ask(op) => op,
                    Next::Ended(outcome) => return self.end_step(number, &outcome),
                };
                let checking = self.groups_for(number, process, at);
                self.configure(number, Options { guarantees: asks, checking });
                self.learns_of_pool(number);
                self.meter_begin(number, process, session, &op);
                let outcome = self.input(process, |node, now| node.begin(now, session, op)).flatten();
                self.answered(number, process, session, outcome);
            }
            Act::Adopt(from) => {
                self.leave_transaction(number);
                self.ask_for_token(from, number, operation);
            }
            Act::Move(from) => {
                self.leave_transaction(number);
                let other = &self.clients[from];
                let adopts = Some((other.id, other.recorded));
                if let Some(running) = &mut self.clients[number].running {
                    running.adopts = adopts;
                }
                self.end_step(number, &Outcome::Adopted);
            }
        }
    }

    /// How long a user waits: longer than any node does.
    pub(super) fn patience_us(&self) -> Micros {
        4 * (self.deadline_us() + self.election_us() + self.plan.config.farthest_us())
    }

    /// A call of the node has ended an operation, or not.
    pub(super) fn answered(
        &mut self,
        number: usize,
        at: usize,
        session: SessionId,
        outcome: Option<Outcome>,
    ) {
        self.processes[at]
            .said
            .extend(outcome.map(|outcome| Reply::to(User::Client(number), session, outcome)));
        self.turn(at);
    }

    /// The client's connection to a node; another one if its node is there no more.
    pub(super) fn connect(&mut self, number: usize) -> Option<Connection> {
        if self.clients[number].connection.is_none() {
            let process = self.process_for(number)?;
            let session = self.input(process, |node, _| node.open())?;
            self.processes[process].users.set(session, Some(User::Client(number)));
            let boots = self.processes[process].boots;
            self.joins_pool(number, process, session);
            self.clients[number].connection =
                Some(Connection { process, boots, session, options: Options::default() });
        }
        self.clients[number].connection.clone()
    }

    /// Whether a client of a process waits for an operation that asks several servers.
    pub(super) fn asks_several(&self, process: usize) -> bool {
        let here = |client: &&Client<'_>| {
            client.running.is_some()
                && client.connection.as_ref().is_some_and(|connection| connection.process == process)
        };
        let several = |client: &Client<'_>| match client.script.get(client.step).map(|step| &step.act) {
            Some(Act::Op(Op::Rotx { keys } | Op::Snapshot { keys } | Op::At { keys, .. })) => keys.len() > 1,
            Some(Act::Op(Op::PutAll { writes })) => writes.len() > 1,
            Some(Act::Commit { .. }) => true,
            _ => false,
        };
        self.clients.iter().filter(here).any(several)
    }

    /// A process of its region that runs: always the same one, if that does.
    fn process_for(&self, number: usize) -> Option<usize> {
        if self.load.is_some() && self.seats == 0 {
            return Some(self.gateway(number));
        }
        let (dc, dcs) = (self.clients[number].dc, self.layout.topology.dcs);
        let all = if self.seats > 0 { self.servers..self.processes.len() } else { 0..self.servers };
        let here: Vec<usize> = all.filter(|process| self.processes[*process].dc == dc).collect();
        let first = match self.seats {
            0 => mix(self.plan.seed, number as u64 | 24 << 32) as usize,
            _ => number / dcs,
        };
        let first = first % here.len().max(1) + self.clients[number].first;
        (0..here.len()).map(|n| here[(first + n) % here.len()]).find(|at| self.processes[*at].node.is_some())
    }

    fn configure(&mut self, number: usize, options: Options) {
        let Some(connection) = &mut self.clients[number].connection else { return };
        if connection.options != options {
            connection.options = options.clone();
            let (process, session) = (connection.process, connection.session);
            self.input(process, |node, _| node.configure(session, options));
        }
    }

    /// A client wants the token of another one's session.
    fn ask_for_token(&mut self, from: usize, to: usize, operation: u64) {
        let Some(Connection { process, session, .. }) = self.connect(from) else {
            return self.end_step(to, &unreachable());
        };
        let past = (self.clients[from].id, self.clients[from].recorded);
        let text = self.input(process, |node, now| node.export(now, session));
        if let (Some(_), Some(text)) = (&self.load, &text) {
            // It asked for that when it left.
            return self.take_token(to, operation, text, past);
        }
        let reply = text.map(|text| Reply::Token { session, to, operation, text, past });
        self.processes[process].said.extend(reply);
        self.turn(process);
    }

    /// Something that a node said may leave, and is heard.
    pub(super) fn take_reply(&mut self, at: usize, reply: Reply) {
        match reply {
            Reply::Outcome { client, session, outcome } => {
                if self.is_at(client, at, session) {
                    self.tells_client(client, outcome);
                }
            }
            Reply::Answer { session, ask, outcome } if self.crowd.is_some() => {
                self.crowd_hears(at, session, ask, outcome);
            }
            Reply::Answer { session, ask, outcome } => self.edge_hears(at, session, ask, outcome),
            Reply::Token { to, operation, text, past, .. } => self.take_token(to, operation, &text, past),
            Reply::Kept { session, client, text, past } if self.is_at(client, at, session) => {
                self.keep_token(client, text, past);
            }
            Reply::Kept { .. } => {}
        }
    }

    /// Whether a client's connection is that of a session of a process. Sessions of several nodes may have the same name.
    fn is_at(&self, client: usize, at: usize, session: SessionId) -> bool {
        let connection = self.clients[client].connection.as_ref();
        connection.is_some_and(|connection| connection.process == at && connection.session == session)
    }

    fn take_token(&mut self, to: usize, operation: u64, text: &str, past: (history::SessionId, u64)) {
        let client = &mut self.clients[to];
        let Some(running) = client.running.as_mut().filter(|running| running.operation == operation) else {
            return;
        };
        running.adopts = Some(past);
        let Some(Connection { process, session, .. }) = client.connection else { return };
        match self.input(process, |node, now| node.import(now, session, text.as_bytes())) {
            Some(Ok(outcome)) => self.answered(to, process, session, outcome),
            Some(Err(TokenError::Ahead(failure))) => self.end_step(to, &Outcome::Failed(failure)),
            Some(Err(error)) => {
                let kind = crate::outcome::ProblemKind::Recovery;
                self.problem(kind, format!("the token of {} is refused: {error}", past.0));
                self.end_step(to, &Outcome::Failed(Failure::Unavailable(error.to_string())));
            }
            None => {}
        }
    }

    /// A user has waited for too long.
    pub(super) fn impatient(&mut self, number: usize, operation: u64) {
        let running = &self.clients[number].running;
        if running.as_ref().is_some_and(|running| running.operation == operation) {
            self.give_up(number, "the operation did not end in time");
        }
    }

    /// The connection of a client to its node is closed.
    pub(super) fn disconnect_client(&mut self, number: usize) {
        if self.clients[number].connection.is_some() {
            self.give_up(number, "the connection broke");
        }
    }

    /// A process is there no more, and with it the connections to it.
    pub(super) fn disconnect_clients_of(&mut self, at: usize) {
        for number in 0..self.clients.len() {
            if self.clients[number].connection.as_ref().is_some_and(|connection| connection.process == at) {
                self.give_up(number, "the connection broke");
            }
        }
    }

    /// The client's session is at its end, and what it waited for may have happened or not.
    fn give_up(&mut self, number: usize, why: &str) {
        match self.clients[number].running {
            Some(_) => self.end_step(number, &Outcome::Failed(Failure::Indefinite(why.into()))),
            None => self.reopen(number),
        }
    }

    /// The client begins anew, with a session that knows nothing.
    pub(super) fn reopen(&mut self, number: usize) {
        let client = &mut self.clients[number];
        client.id.0 += AGAIN;
        client.recorded = 0;
        client.interactive = None;
        self.close_client(number);
    }

    /// The client's session is closed.
    pub(super) fn close_client(&mut self, number: usize) {
        let client = &mut self.clients[number];
        let Some(Connection { process, boots, session, .. }) = client.connection.take() else { return };
        if self.processes[process].boots == boots && self.processes[process].node.is_some() {
            self.processes[process].users.set(session, None);
            self.input(process, |node, _| node.close(session));
        }
    }
}

pub(super) fn unreachable() -> Outcome {
    Outcome::Failed(Failure::Unavailable("no node of the region can be reached".into()))
}
