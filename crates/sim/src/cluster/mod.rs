//! One run of one schedule over whole nodes: the code that serves users decides what sessions are told, shakes hands, encodes
//! and decodes frames, elects and resumes. This world has what a node has not: time, the network, disks, users and trouble.
//!
//! It knows no protocol: nodes come from a [`Factory`].

use crate::outcome::{Problem, ProblemKind, RunOutcome, Stats};
use crate::plan::{Layout, Plan};
use crate::queue::Queue;
use crate::rng::{Rng, Stream, mix, stream};
use crate::trace::{Happening, Trace};
use crate::typed::ledger::Ledger;
use clients::Client;
use links::Links;
use metering::Gauge;
use net::{ConnId, Net};
use operator::{Errand, Operator};
pub(crate) use process::ELECTION_TICKS;
use process::Process;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
pub(crate) use tape::{Sent, Tape};
use tidemark_core::history::{Header, History, SessionId};
use tidemark_core::{Micros, Promise, Vector};
use tidemark_node::{Factory, Job};

mod clients;
mod cores;
mod crowd;
mod damage;
mod driving;
mod edge;
mod faults;
mod found;
mod generator;
mod grouping;
mod handing;
mod interactive;
mod lanes;
mod links;
mod losing;
mod measured;
mod metering;
mod net;
mod operator;
mod pools;
mod power;
mod probing;
mod process;
mod record;
mod returning;
mod seats;
mod settle;
mod standing;
mod tape;
mod till;
mod turn;

/// Something that happens at a moment of virtual time. Processes are named with the number of their start where what is
/// meant ends with it.
enum Event {
    /// A process starts, for the first time or again.
    Boot(usize),
    /// A node may have something to do.
    Tick(usize),
    /// A process has gathered enough for a batch.
    TurnEnds(usize, u64),
    /// The first of the jobs that concern the log ends.
    Logged(usize, u64),
    /// Another job ends.
    Worked(usize, u64, Box<Job>),
    /// Somebody answers at the other end, or not.
    Connected(ConnId),
    /// Bytes arrive at an end of a connection.
    Arrives(ConnId, usize),
    /// An end of a connection notices that it is broken.
    Broken(ConnId, usize),
    /// A session takes its next step.
    Wake(usize),
    /// A user does not wait any longer for the operation of that number.
    Impatient(usize, u64),
    /// The moment of a fault has come: power fails.
    PowerFails(usize),
    /// A fault begins or ends.
    Fault { number: usize, begins: bool },
    /// A process that leads hands over, in the start of that number, and ends at that time at the latest.
    HandsOver(usize, u64, Micros),
    /// Something of the operator's arrives.
    Operator(Box<Errand>),
    /// Everything has healed: is all exchanged yet?
    Settle,
    /// Something in a run under load.
    Load(driving::Happening),
    /// Something of edge clients.
    Edge(Box<edge::Happening>),
    /// Something of a crowd of them.
    Crowd(Box<crowd::Happening>),
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

/// What a run needs to know of its protocol.
pub(crate) struct Subject {
    pub(crate) factory: &'static dyn Factory,
    /// What histories are held to.
    pub(crate) promise: Promise,
    /// The protocol's parameters for each node.
    pub(crate) params: Vec<Value>,
    /// How many nodes without partitions each region has, for sessions, if that is not drawn.
    pub(crate) seats: Option<usize>,
    /// Nodes choose checking groups by what sessions read.
    pub(crate) adapts: bool,
}

/// A run.
pub(crate) struct Cluster<'a> {
    plan: &'a Plan,
    layout: &'a Layout,
    factory: &'static dyn Factory,
    queue: Queue<Event>,
    now: Micros,
    stage: Stage,
    /// Those that hold partitions, group by group, and after them those that only have sessions.
    processes: Vec<Process>,
    /// How many hold partitions.
    servers: usize,
    net: Net,
    links: Links,
    clients: Vec<Client<'a>>,
    /// Clients that have steps left.
    busy: usize,
    active_faults: Vec<bool>,
    operator: Operator,
    /// The epochs in which each group was served.
    epochs: Vec<BTreeSet<u64>>,
    /// How many entries members of each group had applied when everything healed.
    agreed: Vec<u64>,
    /// What of each process was not as at its leader when they were last compared, since then.
    differs: Vec<Option<String>>,
    /// The leader of a group held this at that entry.
    held: BTreeMap<usize, (u64, Vec<settle::Chains>)>,
    /// How streams stand while things fail.
    standing: standing::Standing,
    /// When the last bytes that were under way when everything healed have arrived.
    asked_until: Micros,
    history: History,
    /// What becomes of keys of data types.
    ledger: Ledger,
    /// The time of the last version of each region that anybody was told of.
    written: Vector,
    /// A write has failed: there may be versions that nobody was told of.
    untold: bool,
    /// They count among what was written.
    untold_counted: bool,
    /// How long a process gathers inputs before it ends a batch; 0: each is a batch of its own.
    gather_us: Micros,
    problems: Vec<Problem>,
    digest: u64,
    stats: Stats,
    disk_rng: Rng,
    /// What processes may have lost with their power.
    losses: Vec<power::Loss>,
    pub(crate) trace: Option<Trace>,
    /// How much of which session each session has taken over from its pool.
    pooled: BTreeMap<(SessionId, SessionId), u64>,
    /// What each process is known to hold, while a timeline is drawn.
    shown: Vec<std::collections::BTreeSet<(tidemark_core::Key, tidemark_core::Stamp)>>,
    /// How many nodes without partitions each region has.
    seats: usize,
    /// What operations cost, if that is measured.
    gauge: Option<Gauge>,
    /// What drives a run under load, and the cores once work takes time.
    load: Option<Box<driving::Driving<'a>>>,
    cores: Option<cores::Cores>,
    /// Edge clients, and the gateways of nodes.
    edge: Option<Box<edge::Edge<'a>>>,
    /// A crowd of them, in a run that measures one.
    crowd: Option<Box<crowd::World<'a>>>,
    /// Emptied buffers, to be filled again.
    spare: Vec<Vec<u8>>,
    /// Emptied wishes, likewise.
    wishes: Option<Box<turn::Wishes>>,
}

/// More events than any schedule of this size needs: something feeds itself.
fn limit(plan: &Plan) -> u64 {
    (4_000_000 + 40_000 * plan.steps() as u64) * plan.replicas as u64
}

impl<'a> Cluster<'a> {
    pub(crate) fn new(plan: &'a Plan, layout: &'a Layout, subject: &Subject) -> Self {
        let header = Header {
            protocol: Some(subject.factory.name().into()),
            promise: Some(subject.promise),
            dcs: Some(layout.topology.dcs as u32),
            seed: Some(plan.seed),
            about: None,
        };
        let servers = plan.nodes(&layout.topology) * plan.replicas;
        let seats = subject.seats.unwrap_or_else(|| found::seats(plan, layout.topology.dcs));
        let processes = found::processes(plan, layout, subject, seats);
        let gathers = subject.seats.is_none() && mix(plan.seed, 21).is_multiple_of(8);
        let mut cluster = Self {
            queue: Queue::new(8 * plan.config.farthest_us()),
            now: 0,
            stage: Stage::Work,
            net: Net::new(processes.len()),
            pooled: BTreeMap::new(),
            shown: vec![Default::default(); processes.len()],
            processes,
            servers,
            links: Links::new(plan, layout),
            clients: Vec::new(),
            busy: 0,
            active_faults: vec![false; plan.faults.len()],
            operator: Operator::default(),
            epochs: vec![BTreeSet::new(); servers],
            agreed: Vec::new(),
            differs: Vec::new(),
            held: BTreeMap::new(),
            standing: Default::default(),
            asked_until: 0,
            history: History { header, ..History::default() },
            ledger: Ledger::default(),
            written: Vector::zero(layout.topology.dcs),
            untold: false,
            untold_counted: false,
            gather_us: if gathers { 1 + mix(plan.seed, 22) % plan.config.lan_us } else { 0 },
            problems: Vec::new(),
            digest: 0,
            stats: Stats::default(),
            disk_rng: stream(plan.seed, Stream::Disks),
            losses: Vec::new(),
            trace: None,
            seats,
            gauge: None,
            load: None,
            cores: None,
            edge: None,
            crowd: None,
            spare: Vec::new(),
            wishes: None,
            factory: subject.factory,
            plan,
            layout,
        };
        cluster.history.events.reserve(plan.steps());
        cluster.schedule();
        cluster
    }

    /// Everything that the plan says.
    fn schedule(&mut self) {
        for process in 0..self.processes.len() {
            let at = match process < self.servers {
                true => self.plan.config.boot_us[process / self.plan.replicas],
                false => 0,
            };
            self.queue.push(at, Event::Boot(process));
        }
        for (number, fault) in self.plan.faults.iter().enumerate() {
            self.queue.push(fault.at, Event::Fault { number, begins: true });
            self.queue.push(fault.until, Event::Fault { number, begins: false });
        }
        let dcs = self.layout.topology.dcs;
        for (number, script) in self.plan.scripts.iter().enumerate() {
            self.add_client(number % dcs, script.as_slice().into(), clients::Role::Worker);
        }
        self.begin_edge();
    }

    /// Runs to the end.
    pub(crate) fn run(mut self) -> (RunOutcome, Option<Trace>) {
        if self.busy == 0 {
            self.heal();
        }
        let limit = limit(self.plan);
        while self.stage != Stage::Over {
            let Some((at, event)) = self.queue.pop() else { break };
            debug_assert!(at >= self.now, "time does not go back");
            self.now = at;
            self.meter_time();
            self.stats.events += 1;
            if self.stats.events > limit {
                self.problem(ProblemKind::Liveness, "the schedule does not end: too many events".into());
                break;
            }
            self.handle(event);
            self.begin_watches();
        }
        (0..self.processes.len()).for_each(|process| self.note_counters(process));
        self.tell_losses();
        self.judge_edge(self.stage == Stage::Over);
        self.judge_types();
        self.judge_survivors();
        self.stats.virtual_us = self.now;
        let digest = mix(self.digest, self.stats.events);
        let transcript = self.edge.and_then(|edge| edge.into_transcript());
        let outcome = RunOutcome {
            transcript,
            seed: self.plan.seed,
            digest,
            history: self.history,
            problems: self.problems,
            report: None,
            stats: self.stats,
        };
        (outcome, self.trace)
    }

    fn handle(&mut self, event: Event) {
        let (kind, of) = match &event {
            Event::Boot(process) => (1, *process as u64),
            Event::Tick(process) => (2, *process as u64),
            Event::TurnEnds(process, _) => (3, *process as u64),
            Event::Logged(process, _) => (4, *process as u64),
            Event::Worked(process, ..) => (5, *process as u64),
            Event::Connected(ConnId(conn)) => (6, *conn as u64),
            Event::Arrives(ConnId(conn), end) => (7, (*conn as u64) << 1 | *end as u64),
            Event::Broken(ConnId(conn), end) => (8, (*conn as u64) << 1 | *end as u64),
            Event::Wake(client) => (9, *client as u64),
            Event::Impatient(client, _) => (10, *client as u64),
            Event::Fault { number, begins } => (11, (*number as u64) << 1 | u64::from(*begins)),
            Event::HandsOver(process, ..) => (12, *process as u64),
            Event::Settle => (13, 0),
            Event::Operator(_) => (14, 0),
            Event::Load(_) => (15, 0),
            Event::Edge(_) => (16, 0),
            Event::Crowd(_) => (17, 0),
            Event::PowerFails(number) => (18, *number as u64),
        };
        self.digest = mix(self.digest ^ self.now, kind << 56 ^ of);
        match event {
            Event::Boot(process) => self.boot(process),
            Event::Tick(process) => self.tick(process),
            Event::TurnEnds(process, boots) => self.heard_enough(process, boots),
            Event::Logged(process, boots) => self.logged(process, boots),
            Event::Worked(process, boots, job) => self.worked(process, boots, *job),
            Event::Connected(conn) => self.connected(conn),
            Event::Arrives(conn, end) => self.arrives(conn, end),
            Event::Broken(conn, end) => self.broken(conn, end),
            Event::Wake(client) => self.wake(client),
            Event::Impatient(client, operation) => self.impatient(client, operation),
            Event::Fault { number, begins } => self.fault(number, begins),
            Event::HandsOver(process, boots, until) => self.hands_over(process, boots, until),
            Event::Settle => self.settle(),
            Event::Operator(errand) => self.errand(*errand),
            Event::Load(what) => self.happened(what),
            Event::Edge(what) => self.edge_happens(*what),
            Event::Crowd(what) => self.crowd_happens(*what),
            Event::PowerFails(number) => {
                if self.active_faults[number] {
                    self.power_fails(number);
                }
            }
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
    fn trace(&mut self, line: impl FnOnce() -> Happening) {
        if let Some(trace) = &mut self.trace {
            trace.add(self.now, line());
        }
    }

    /// What a process is called.
    fn name_of(&self, process: usize) -> String {
        match process < self.servers {
            true => self.plan.name_of(process),
            false => format!("c{}", process - self.servers),
        }
    }

    /// The layout of the cluster as `process` knows it.
    fn known_to(&self, process: usize) -> Arc<tidemark_node::ClusterLayout> {
        self.processes[process].cluster.clone()
    }
}
