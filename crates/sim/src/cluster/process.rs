//! Processes: a node, its disk, its clock; how they start, and how they end.

use super::clients::Reply;
use super::net::{ConnId, Ending};
use super::power::{Armed, Wrote};
use super::{Cluster, Event, found};
use crate::clocks::Clocks;
use crate::outcome::ProblemKind;
use crate::plan::ClockPlan;
use crate::rng::mix;
use crate::trace::Happening;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;
use tidemark_core::{DcId, Micros, PartitionId};
use tidemark_edge::gateway::AskId;
use tidemark_node::{Batch, ClusterLayout, Config, Gate, Job, LinkId, Node, NodeId, SessionId};
use tidemark_store::disk::{Disk, SimDisk};
use tidemark_store::log::{BALLAST, Fsync};

/// How many units of time a follower waits for its leader before it stands for election.
pub(crate) const ELECTION_TICKS: usize = 10;

/// Whose a session is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum User {
    /// A client's.
    Client(usize),
    /// The gateway's of the process, for a question.
    Gateway(AskId),
}

/// Whose each open session is.
#[derive(Default)]
pub(super) struct Users(Vec<Option<User>>);

impl Users {
    pub(super) fn of(&self, session: SessionId) -> Option<User> {
        self.0.get(session.slot()).copied().flatten()
    }

    pub(super) fn set(&mut self, session: SessionId, user: Option<User>) {
        if self.0.len() <= session.slot() {
            self.0.resize(session.slot() + 1, None);
        }
        self.0[session.slot()] = user;
    }
}

/// How long a real processor has worked for something.
#[derive(Clone, Copy, Debug)]
pub(super) struct Worked {
    clock: fn() -> Duration,
    pub(super) all: Duration,
}

impl Worked {
    pub(super) fn by(clock: fn() -> Duration) -> Self {
        Self { clock, all: Duration::ZERO }
    }

    /// Does something, and measures how long that takes if anybody asks.
    #[inline]
    pub(super) fn measure<T>(worked: &mut Option<Self>, what: impl FnOnce() -> T) -> T {
        let Some(worked) = worked else { return what() };
        let began = (worked.clock)();
        let done = what();
        worked.all += (worked.clock)() - began;
        done
    }
}

/// One process of one region.
pub(super) struct Process {
    /// None while it is down.
    pub(super) node: Option<Box<dyn Node>>,
    /// How often it was started.
    pub(super) boots: u64,
    pub(super) disk: SimDisk,
    pub(super) dc: DcId,
    pub(super) partitions: Vec<PartitionId>,
    pub(super) clocks: Clocks,
    pub(super) cluster: Arc<ClusterLayout>,
    /// The connection that each link of this start is an end of, by number of the link.
    pub(super) ends: Vec<Option<(ConnId, usize)>>,
    pub(super) users: Users,
    /// Replies of the batch that is being gathered.
    pub(super) said: Vec<Reply>,
    /// Replies of batches that may not leave yet.
    pub(super) gate: Gate<Reply>,
    /// The same, of what is kept where it is heard: it waits until a loss of power here cannot take it back.
    pub(super) kept_gate: Gate<Reply>,
    pub(super) batch: Batch,
    /// It gathers inputs for a batch.
    pub(super) gathers: bool,
    /// Jobs that concern the log; the first one runs.
    pub(super) log_jobs: VecDeque<Job>,
    /// When it is told the time next, if that is planned, and for what time of its own clock.
    pub(super) tick_at: Option<Micros>,
    pub(super) tick_due: Micros,
    /// The epoch in which it serves its partitions, if it does.
    pub(super) serves: Option<u64>,
    /// Other members of its group do not hear it.
    pub(super) mute: u32,
    /// It does not hear other members of its group.
    pub(super) deaf: u32,
    /// When it began last.
    pub(super) began_at: Micros,
    /// It must not start now: a fault keeps it down.
    pub(super) kept_down: u32,
    /// What everything to and from it takes longer.
    pub(super) slow_us: Micros,
    /// Whatever it says leaves it this much later.
    pub(super) lag_us: Micros,
    /// Its disk is full on purpose.
    pub(super) full: bool,
    /// When its log is synced, in this start.
    pub(super) fsync: Fsync,
    /// How often its power has failed: with it its machine starts anew.
    pub(super) powers: u64,
    /// What it has written and may lose with its power, oldest first.
    pub(super) wrote: VecDeque<Wrote>,
    /// Up to which change of its disk that was noted.
    pub(super) noted: u64,
    /// The moment at which its power fails.
    pub(super) armed: Option<Armed>,
    /// No sync of it ends.
    pub(super) stalls: u32,
    /// A failure of its disk was injected in this start, or before it.
    pub(super) injected: bool,
    /// How long a real processor has worked for it, if that is measured.
    pub(super) worked: Option<Worked>,
}

impl Process {
    pub(super) fn new(at: usize, cluster: Arc<ClusterLayout>, clock: ClockPlan) -> Self {
        let layout = &cluster.nodes[at];
        Self {
            node: None,
            boots: 0,
            disk: SimDisk::new(),
            dc: layout.dc,
            partitions: layout.partitions.clone(),
            clocks: Clocks::new(clock),
            ends: Vec::new(),
            users: Users::default(),
            said: Vec::new(),
            gate: Gate::default(),
            kept_gate: Gate::default(),
            batch: Batch::default(),
            gathers: false,
            log_jobs: VecDeque::new(),
            tick_at: None,
            tick_due: 0,
            serves: None,
            mute: 0,
            deaf: 0,
            began_at: 0,
            kept_down: 0,
            slow_us: 0,
            lag_us: 0,
            full: false,
            fsync: Fsync::Always,
            powers: 0,
            wrote: VecDeque::new(),
            noted: 0,
            armed: None,
            stalls: 0,
            injected: false,
            worked: None,
            cluster,
        }
    }

    /// The end of a connection that a link of this start is.
    pub(super) fn end_of(&self, link: LinkId) -> Option<(ConnId, usize)> {
        *self.ends.get(link.0 as usize)?
    }

    pub(super) fn bind(&mut self, link: LinkId, end: Option<(ConnId, usize)>) {
        let at = link.0 as usize;
        if self.ends.len() <= at {
            self.ends.resize(at + 1, None);
        }
        self.ends[at] = end;
    }

    /// Everything of this start is gone.
    fn forget(&mut self) {
        self.node = None;
        self.serves = None;
        self.ends.clear();
        self.users = Users::default();
        self.said.clear();
        self.gate.clear();
        self.kept_gate.clear();
        self.batch = Batch::default();
        self.gathers = false;
        self.log_jobs.clear();
        self.tick_at = None;
        self.injected = false;
    }
}

impl Cluster<'_> {
    /// The group that a process belongs to.
    pub(super) fn group_of(&self, process: usize) -> usize {
        process / self.plan.replicas
    }

    /// The process starts, unless something keeps it down.
    pub(super) fn boot(&mut self, at: usize) {
        let (cluster, op_deadline_us, observer) = (self.known_to(at), self.deadline_us(), self.observer());
        let process = &mut self.processes[at];
        if process.node.is_some() || process.kept_down > 0 {
            return;
        }
        process.boots += 1;
        process.began_at = self.now;
        let fsync = self.policy(at);
        let process = &mut self.processes[at];
        process.fsync = fsync;
        let (plan, again) = (self.plan, process.boots > 1);
        let config = Config {
            cluster,
            me: NodeId(at as u16),
            peer_secret: None,
            fsync,
            boot: process.powers.to_string(),
            max_skew_us: plan.config.max_skew_us,
            limit: tidemark_core::SharedLimit::default(),
            log_segment_bytes: plan.config.segment_bytes,
            log_retain_bytes: u64::MAX,
            snapshot_every_bytes: plan.config.snapshot_bytes,
            op_deadline_us,
            election_timeout_us: ELECTION_TICKS as Micros * plan.tick_us(),
            parts: plan.config.parts,
            pace: found::pace(plan),
            raft: found::raft_limits(plan),
            backlog_bytes: 64 << 20,
            stream_frame_bytes: if plan.config.pieces { 1 } else { Config::STREAM_FRAME_BYTES },
            observer,
            seed: mix(mix(plan.seed, at as u64), process.boots),
        };
        let disk = Arc::new(process.disk.process());
        // With ballast a full disk is no reason not to start.
        let may_be_full =
            process.full && !disk.list().is_ok_and(|names| names.iter().any(|name| name == BALLAST));
        let now = process.clocks.read(self.now);
        match self.factory.open(config, disk, now) {
            Ok(node) => {
                process.node = Some(node);
                process.note_written(self.now, plan.replicas);
                let powers = process.powers;
                self.edge_boots(at);
                self.crowd_boots(at);
                if again {
                    let name = self.name_of(at);
                    let how = format!("after {powers} losses of power, fsync {fsync}");
                    self.trace(|| Happening::Trouble(format!("{name} is up again, {how}")));
                }
                if self.power_fails_again(at, true) {
                    return;
                }
                self.end_turn(at);
                self.power_fails_again(at, false);
            }
            Err(error) => {
                let name = self.name_of(at);
                self.trace(|| Happening::Trouble(format!("{name} does not start: {error}")));
                let process = &mut self.processes[at];
                process.disk.kill();
                let injected = std::mem::take(&mut process.injected);
                if !may_be_full && !injected {
                    self.problem(ProblemKind::Recovery, format!("{name} does not start: {error}"));
                }
                let again = self.now + self.plan.config.farthest_us();
                self.queue.push(again, Event::Boot(at));
            }
        }
    }

    /// How long an operation may wait for replies.
    pub(super) fn deadline_us(&self) -> Micros {
        // There and back, for the session and for its request, and what it has seen has to arrive there too.
        let far = match self.layout.topology.placement.rules.is_empty() {
            true => 0,
            false => 8 * self.plan.config.slowest_us(),
        };
        self.plan.config.deadline_us + far
    }

    /// The process stops by itself, because its disk failed; it is started again a while later.
    pub(super) fn stops(&mut self, at: usize, why: &str) {
        let name = self.name_of(at);
        self.trace(|| Happening::Trouble(format!("{name} stops: {why}")));
        if !self.processes[at].injected && !self.processes[at].full {
            self.problem(ProblemKind::Recovery, format!("{name} stops: {why}"));
        }
        self.stats.disk_failures += 1;
        self.crash(at, false);
        let repair = mix(self.plan.seed ^ self.now, at as u64) % self.plan.config.farthest_us();
        self.queue.push(self.now + repair, Event::Boot(at));
    }

    /// The process dies; if its power fails, its disk loses what it will.
    pub(super) fn crash(&mut self, at: usize, power: bool) {
        let process = &mut self.processes[at];
        if process.node.is_none() {
            return;
        }
        if power {
            self.note_loss(at);
            self.processes[at].disk.crash(&mut self.disk_rng);
        } else {
            process.disk.kill();
        }
        self.ends(at, if power { Ending::Silent } else { Ending::Reset });
    }

    /// The process is there no more.
    pub(super) fn ends(&mut self, at: usize, ending: Ending) {
        self.note_counters(at);
        self.processes[at].forget();
        self.stats.crashes += 1;
        self.shown[at].clear();
        self.break_connections_of(at, ending);
        self.edge_process_ends(at);
        self.crowd_process_ends(at);
        // Last: if what these clients wait for was the last that a schedule does, everything heals here, and the process starts again.
        self.disconnect_clients_of(at);
    }

    /// What a node has counted that concerns the run. REQUIRES: once for each of its starts.
    pub(super) fn note_counters(&mut self, at: usize) {
        let Some(node) = &self.processes[at].node else { return };
        let counters = *node.counters();
        self.stats.follower_reads += counters.follower_reads;
        if counters.streams_refused > 0 {
            let text = format!("{} was refused records, or refused them", self.name_of(at));
            self.problem(ProblemKind::Stream, text);
        }
        if counters.stream_gaps > 0 {
            let text = format!("{} did not get all records in their order", self.name_of(at));
            self.problem(ProblemKind::Stream, text);
        }
    }

    /// A process that has begun to serve what its group holds does so in an epoch in which nobody served before. A leader that was cut
    /// off may hear that its first entry is agreed on when another leads already: that one's epoch is later, and its own lets nothing out.
    /// Without a group each epoch is later than the last one.
    pub(super) fn see_epoch(&mut self, at: usize) {
        let process = &mut self.processes[at];
        let serves = process.node.as_ref().and_then(|node| node.serves());
        if std::mem::replace(&mut process.serves, serves) == serves {
            return;
        }
        let Some(epoch) = serves.filter(|_| at < self.servers) else { return };
        let group = self.group_of(at);
        self.stats.elections += u64::from(self.plan.replicas > 1);
        let back = self.plan.replicas == 1 && self.epochs[group].last() > Some(&epoch);
        if back || !self.epochs[group].insert(epoch) {
            let text = format!("{} serves in epoch {epoch}, which has been or is past", self.name_of(at));
            self.problem(ProblemKind::Recovery, text);
        }
    }

    /// The process loses its disk for good. It starts with an empty one.
    pub(super) fn lose_disk(&mut self, at: usize) {
        self.crash(at, false);
        let process = &mut self.processes[at];
        (process.disk, process.noted) = (SimDisk::new(), 0);
        process.wrote.clear();
        self.boot(at);
    }
}
