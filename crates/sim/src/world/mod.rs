//! One run of one schedule: hosts, links, clocks and sessions in virtual time, on one thread.

use crate::meter::{Cause, Meter};
use crate::outcome::{Problem, ProblemKind, RunOutcome, Stats};
use crate::plan::{Layout, Plan, Step};
use crate::queue::Queue;
use crate::rng::{Rng, Stream, mix, stream};
use crate::trace::Trace;
use links::{Links, StreamId};
use process::Node;
use sessions::{Client, Role};
use std::borrow::Cow;
use tidemark_contract::absence::Standing;
use tidemark_contract::order::Order;
use tidemark_contract::{AskId, Protocol, Ticket};
use tidemark_core::history::{Header, History, SessionId};
use tidemark_core::{Failure, Micros, Outcome, ServerId, Vector};
use tidemark_replica::{FeedItem, Resume};
use tidemark_store::log::SyncJob;

mod adapting;
mod checking;
mod copies;
mod cpu;
mod driving;
mod faults;
mod feeds;
mod followers;
mod gateways;
mod generator;
mod groups;
mod handover;
mod hearing;
pub(crate) mod links;
mod metering;
mod nodes;
mod operator;
mod process;
mod recording;
mod regrouping;
mod sessions;
mod settle;
mod travelling;

pub(crate) use checking::groups_of;
pub(crate) use groups::ELECTION_TICKS;

/// Something that happens at a moment of virtual time.
enum Event<P: Protocol> {
    /// A node starts, for the first time or again.
    Boot(usize),
    /// A node's timer may be due.
    Timer(usize),
    /// A node tidies up and confirms what it has received.
    Upkeep(usize),
    /// Something happens within a group.
    Group(groups::Within),
    /// A sync that a node began in one of its lives ends.
    Synced(usize, u64, SyncJob),
    /// A node notices that another is in a new life.
    Notice { at: usize, of: usize, life: u64 },
    /// A session's question arrives at a process.
    Request { ticket: Ticket, to: ServerId, at: usize, life: u64, writes: Option<usize>, request: P::Request },
    /// An answer arrives.
    Reply { ticket: Ticket, from: ServerId, reply: Result<P::Reply, Failure> },
    /// A session learns that a question will not be answered.
    Lost { session: SessionId, ask: AskId },
    /// A session gives up waiting.
    Deadline(usize),
    /// A session takes its next step.
    Wake(usize),
    /// A client hears from its gateway how its operation ended, in runs whose work takes time.
    Answered(usize, Box<Outcome>),
    /// A client of a load generator has read that.
    Read(usize, Box<Outcome>),
    /// A client of a load generator begins its next operation.
    Asks(usize),
    /// One server's word to another, with the lives of the two nodes when it was sent, and on whose behalf it was.
    Message { from: ServerId, to: ServerId, lives: (u64, u64), cause: Cause, message: P::Peer },
    /// A receiver tries to open a feed.
    Connect(StreamId, u32),
    /// The question for a feed arrives at the sender.
    Open(StreamId, u32, Resume),
    /// The sender's consent arrives at the receiver.
    Opened(StreamId, u32, u64),
    /// Items of a feed arrive.
    Feed(StreamId, u32, Vec<FeedItem<P>>),
    /// Items that a receiver could not take are offered again.
    Again(StreamId, u32),
    /// A confirmation arrives at the sender.
    Confirm(StreamId, u64),
    /// A fault begins or ends.
    Fault { number: usize, begins: bool },
    /// An operator's order arrives.
    Order { to: ServerId, number: u64, order: Order },
    /// The operator hears an answer.
    Ordered { number: u64, from: ServerId, answer: Result<Standing, String> },
    /// The operator sends an order again to those who have not answered.
    Remind(u64),
    /// Everything has healed: is all exchanged yet?
    Settle,
    /// A node's turn ends, in runs whose work takes time.
    TurnEnds(usize),
    /// What a run under load goes on to.
    Phase(driving::Phase),
    /// A key that nobody knows is written in a data centre.
    Probe(usize),
}

/// Where the run stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Sessions work, things fail.
    Work,
    /// Everything has healed; the replicas exchange what they have, until the time given.
    Settle(Micros),
    /// What every replica returns is read.
    Finals,
    /// Nothing is left to do.
    Over,
}

/// A run.
pub(crate) struct World<'a, P: Protocol> {
    plan: &'a Plan,
    layout: &'a Layout,
    params: Vec<P::Params>,
    queue: Queue<Event<P>>,
    now: Micros,
    stage: Stage,
    nodes: Vec<Node<P>>,
    links: Links,
    /// The checking groups that operations can ask for.
    checking_groups: regrouping::CheckingGroups,
    /// The node of each server, by `dc * partitions + partition`.
    node_of: Vec<usize>,
    /// The process that each node is; the one that leads, or led last, where it is several.
    leader: Vec<usize>,
    /// How many entries members of each node had applied when everything healed.
    agreed: Vec<u64>,
    /// What of each process was not as at its leader when they were last compared, since then.
    differs: Vec<Option<String>>,
    /// Items that have arrived and were not taken yet, for each feed.
    waiting: Vec<Vec<FeedItem<P>>>,
    /// Emptied lists of items, to be filled again.
    spare: Vec<Vec<FeedItem<P>>>,
    clients: Vec<Client<'a, P>>,
    /// Clients that have steps left.
    busy: usize,
    active_faults: Vec<bool>,
    history: History,
    /// The time of the last version of each data centre that anybody was told of.
    written: Vector,
    /// What was believed to be stable counts among it.
    beliefs_counted: bool,
    /// When the last question that was asked across data centres will have arrived.
    asked_until: Micros,
    operator: operator::Operator,
    problems: Vec<Problem>,
    digest: u64,
    stats: Stats,
    disk_rng: Rng,
    pub(crate) trace: Option<Trace>,
    pub(crate) meter: Option<Box<Meter>>,
    cause: Cause,
    /// What events cost, in runs whose work takes time.
    cpus: Option<cpu::Cpus<P>>,
    /// What drives a run under load.
    load: Option<Box<driving::Driving<'a>>>,
}

/// More events than any schedule of this size needs: something feeds itself.
fn limit(plan: &Plan) -> u64 {
    (2_000_000 + 20_000 * plan.steps() as u64) * plan.replicas as u64
}

impl<'a, P: Protocol> World<'a, P> {
    pub(crate) fn new(plan: &'a Plan, layout: &'a Layout, params: Vec<P::Params>) -> Self {
        let header = Header {
            protocol: Some(P::INFO.name.into()),
            promise: Some(P::INFO.promise),
            dcs: Some(layout.topology.dcs as u32),
            seed: Some(plan.seed),
            about: None,
        };
        let mut world = Self {
            queue: Queue::new(8 * plan.config.farthest_us()),
            now: 0,
            stage: Stage::Work,
            nodes: Node::all(plan, layout),
            links: Links::new(plan, layout),
            checking_groups: regrouping::CheckingGroups::default(),
            node_of: Vec::new(),
            leader: (0..plan.nodes(&layout.topology)).map(|node| node * plan.replicas).collect(),
            agreed: Vec::new(),
            differs: Vec::new(),
            waiting: Vec::new(),
            spare: Vec::new(),
            clients: Vec::new(),
            busy: 0,
            active_faults: vec![false; plan.faults.len()],
            history: History { header, ..History::default() },
            written: Vector::zero(layout.topology.dcs),
            beliefs_counted: false,
            asked_until: 0,
            operator: operator::Operator::default(),
            problems: Vec::new(),
            digest: 0,
            stats: Stats::default(),
            disk_rng: stream(plan.seed, Stream::Disks),
            trace: None,
            meter: None,
            cause: Cause::Nobody,
            cpus: None,
            load: None,
            plan,
            layout,
            params,
        };
        for dc in layout.topology.all_dcs() {
            let server = |partition| ServerId::new(dc, partition);
            let nodes = layout.topology.all_partitions().map(server);
            world.node_of.extend(nodes.map(|server| plan.node_of(&layout.topology, server)));
        }
        world.waiting.resize_with(world.links.streams.len(), Vec::new);
        world.history.events.reserve(plan.steps());
        world.schedule();
        world
    }

    /// Everything that the plan says.
    fn schedule(&mut self) {
        for node in 0..self.nodes.len() {
            let at = &self.plan.config.boot_us[self.group_of(node)];
            self.queue.push(*at, Event::Boot(node));
            let first = mix(self.plan.seed, node as u64) % self.plan.config.upkeep_us;
            self.queue.push(at + first, Event::Upkeep(node));
        }
        for (number, fault) in self.plan.faults.iter().enumerate() {
            self.queue.push(fault.at, Event::Fault { number, begins: true });
            self.queue.push(fault.until, Event::Fault { number, begins: false });
        }
        let dcs = self.layout.topology.dcs;
        for (number, script) in self.plan.scripts.iter().enumerate() {
            self.add_client(number % dcs, Cow::Borrowed(script), Role::Worker);
        }
    }

    fn add_client(&mut self, dc: usize, script: Cow<'a, [Step]>, role: Role) {
        let number = self.clients.len();
        let client = Client::new(number, dc, script, role);
        if let Some(step) = client.script.first() {
            self.busy += 1;
            self.queue.push(step.at.max(self.now), Event::Wake(number));
        }
        self.clients.push(client);
    }

    /// Runs to the end.
    pub(crate) fn run(mut self) -> (RunOutcome, Option<Trace>, Option<Box<Meter>>) {
        if self.busy == 0 {
            self.heal();
        }
        let limit = limit(self.plan);
        while self.stage != Stage::Over {
            let Some((at, event)) = self.queue.pop() else { break };
            debug_assert!(at >= self.now, "time does not go back");
            self.now = at;
            self.stats.events += 1;
            if self.stats.events > limit {
                self.problem(ProblemKind::Liveness, "the schedule does not end: too many events".into());
                break;
            }
            self.handle(event);
        }
        self.stats.virtual_us = self.now;
        let digest = mix(self.digest, self.stats.events);
        let outcome = RunOutcome {
            seed: self.plan.seed,
            digest,
            history: self.history,
            problems: self.problems,
            report: None,
            stats: self.stats,
        };
        (outcome, self.trace, self.meter)
    }

    fn handle(&mut self, event: Event<P>) {
        let note = |digest: &mut u64, now: Micros, kind: u64, of: u64| {
            *digest = mix(*digest ^ now, kind << 56 ^ of);
        };
        let (digest, now) = (&mut self.digest, self.now);
        match event {
            Event::Boot(node) => {
                note(digest, now, 1, node as u64);
                self.boot(node);
            }
            Event::Timer(node) => {
                note(digest, now, 2, node as u64);
                self.timer(node);
            }
            Event::Upkeep(node) => self.upkeep(node),
            Event::Synced(node, life, job) => {
                note(digest, now, 3, node as u64);
                self.synced(node, life, job);
            }
            Event::Notice { at, of, life } => {
                note(digest, now, 4, (at << 16 | of) as u64);
                self.notice(at, of, life);
            }
            Event::Group(within) => self.within(within),
            Event::Request { ticket, to, at, life, writes, request } => {
                note(digest, now, 5, ticket.session << 20 ^ ticket.ask.0);
                self.request(ticket, (to, at), life, writes, request);
            }
            Event::Reply { ticket, from, reply } => {
                note(digest, now, 6, ticket.session << 20 ^ ticket.ask.0);
                self.reply(ticket, from, reply);
            }
            Event::Lost { session, ask } => self.lost(session, ask),
            Event::Deadline(client) => self.deadline(client),
            Event::Wake(client) => self.wake(client),
            Event::Answered(client, outcome) => self.answered(client, outcome),
            Event::Read(client, outcome) => self.end_step(client, &outcome),
            Event::Asks(client) => self.asks(client),
            Event::Message { from, to, lives, cause, message } => {
                note(digest, now, 7, server_number(from) << 24 ^ server_number(to));
                self.message((from, to), lives, cause, message);
            }
            Event::Connect(stream, epoch) => self.connect(stream, epoch),
            Event::Open(stream, epoch, resume) => self.open_feed(stream, epoch, resume),
            Event::Opened(stream, epoch, incarnation) => self.opened(stream, epoch, incarnation),
            Event::Feed(stream, epoch, items) => {
                note(digest, now, 8, (stream.0 as u64) << 16 ^ items.len() as u64);
                self.feed(stream, epoch, items);
            }
            Event::Again(stream, epoch) => self.again(stream, epoch),
            Event::Confirm(stream, seq) => self.confirmed(stream, seq),
            Event::Fault { number, begins } => {
                note(digest, now, 9, (number as u64) << 1 | u64::from(begins));
                self.fault(number, begins);
            }
            Event::Order { to, number, order } => {
                note(digest, now, 10, number << 32 | server_number(to));
                self.order(to, number, &order);
            }
            Event::Ordered { number, from, answer } => {
                note(digest, now, 11, number << 32 | server_number(from));
                self.ordered(number, from, answer);
            }
            Event::Remind(number) => self.remind(number),
            Event::Settle => self.settle(),
            Event::TurnEnds(node) => self.turn_ends(node),
            Event::Phase(phase) => self.phase(phase),
            Event::Probe(dc) => self.probe(dc),
        }
    }

    /// Something that must not happen did.
    fn problem(&mut self, kind: ProblemKind, text: String) {
        if self.problems.len() < 16 {
            self.problems.push(Problem { kind, at_us: self.now, text });
        }
    }

    /// A line for the timeline, made only if one is drawn.
    #[inline]
    fn trace(&mut self, line: impl FnOnce() -> crate::trace::Happening) {
        if let Some(trace) = &mut self.trace {
            trace.add(self.now, line());
        }
    }

    /// The process that everybody takes for the node of `server`.
    #[inline]
    fn node_of(&self, server: ServerId) -> usize {
        let node =
            self.node_of[server.dc.index() * self.layout.topology.partitions + server.partition.index()];
        self.leader[node]
    }
}

fn server_number(server: ServerId) -> u64 {
    u64::from(server.dc.0) << 16 | u64::from(server.partition.0)
}
