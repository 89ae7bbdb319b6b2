//! A cluster of nodes on one virtual clock, whose links are pipes of bytes. Everything happens in the order in which it was
//! caused; nothing is lost unless a test says so.

mod calls;

use bytes::BytesMut;
pub(crate) use calls::{get, layout, set};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use tidemark_core::Outcome;
use tidemark_node::{
    Batch, ClusterLayout, Config, Factory, Flow, Gate, LinkId, Node, NodeId, Notice, OrderAnswer, OrderId,
    Output, Pace, RaftLimits, SessionId,
};
use tidemark_replica::Now;
use tidemark_store::disk::SimDisk;
use tidemark_store::log::Fsync;

/// Sees a piece of bytes before it arrives at an end; false loses it.
type Tap = dyn FnMut(End, &mut Vec<u8>) -> bool;

/// One end of a connection: a node's place and its link.
type End = (usize, LinkId);

pub(crate) struct Process {
    pub(crate) node: Option<Box<dyn Node>>,
    disk: SimDisk,
    /// Read and not taken yet.
    unread: BTreeMap<LinkId, BytesMut>,
    paused: Vec<LinkId>,
    gate: Gate<(SessionId, Outcome)>,
    pub(crate) outcomes: BTreeMap<SessionId, Outcome>,
    pub(crate) ended: Vec<SessionId>,
    pub(crate) closed: Vec<LinkId>,
    pub(crate) notices: Vec<Notice>,
    pub(crate) orders: BTreeMap<OrderId, OrderAnswer>,
    /// Broadcasts of other nodes.
    pub(crate) heard: Vec<(NodeId, Vec<u8>)>,
    /// How far its clock is ahead, in microseconds.
    pub(crate) ahead_us: i64,
}

pub(crate) struct Cluster {
    pub(crate) now_us: u64,
    pub(crate) processes: Vec<Process>,
    layout: Arc<ClusterLayout>,
    factory: &'static dyn Factory,
    connections: Vec<(End, End)>,
    /// Bytes on their way.
    wire: VecDeque<(End, Vec<u8>)>,
    /// Nodes that cannot be connected to, and every byte from or to them is lost.
    pub(crate) silent: Vec<usize>,
    /// Nodes whose connections take nothing.
    pub(crate) stalled: Vec<usize>,
    pub(crate) tap: Box<Tap>,
    starts: u64,
    pub(crate) fsync: Fsync,
    pub(crate) secrets: Vec<Option<String>>,
}

const START_US: u64 = 1_700_000_000_000_000;

impl Cluster {
    /// Starts a cluster; its nodes know each other when this returns.
    pub(crate) fn start(factory: &'static dyn Factory, layout: ClusterLayout) -> Self {
        let mut cluster = Self::stopped(factory, layout);
        (0..cluster.processes.len()).for_each(|at| cluster.boot(at));
        cluster.run_for(3_000_000);
        cluster
    }

    pub(crate) fn stopped(factory: &'static dyn Factory, layout: ClusterLayout) -> Self {
        let process = || Process {
            node: None,
            disk: SimDisk::new(),
            unread: BTreeMap::new(),
            paused: Vec::new(),
            gate: Gate::default(),
            outcomes: BTreeMap::new(),
            ended: Vec::new(),
            closed: Vec::new(),
            notices: Vec::new(),
            orders: BTreeMap::new(),
            heard: Vec::new(),
            ahead_us: 0,
        };
        Self {
            now_us: 1_000_000,
            processes: layout.nodes.iter().map(|_| process()).collect(),
            secrets: vec![None; layout.nodes.len()],
            layout: Arc::new(layout),
            factory,
            connections: Vec::new(),
            wire: VecDeque::new(),
            silent: Vec::new(),
            stalled: Vec::new(),
            tap: Box::new(|_, _| true),
            starts: 0,
            fsync: Fsync::EverySec,
        }
    }

    pub(crate) fn now(&self, at: usize) -> Now {
        let wall = (START_US + self.now_us).saturating_add_signed(self.processes[at].ahead_us);
        Now { wall, mono: self.now_us }
    }

    pub(crate) fn boot(&mut self, at: usize) {
        self.starts += 1;
        let config = Config {
            cluster: self.layout.clone(),
            me: NodeId(at as u16),
            peer_secret: self.secrets[at].clone(),
            fsync: self.fsync,
            boot: "boot".to_string(),
            max_skew_us: 5_000_000,
            limit: tidemark_core::SharedLimit::default(),
            log_segment_bytes: 1 << 20,
            log_retain_bytes: 1 << 30,
            snapshot_every_bytes: 1 << 30,
            op_deadline_us: 5_000_000,
            election_timeout_us: 1_000_000,
            backlog_bytes: 1 << 20,
            stream_frame_bytes: Config::STREAM_FRAME_BYTES,
            parts: tidemark_node::PartSizes::default(),
            pace: Pace::default(),
            raft: RaftLimits::default(),
            observer: None,
            seed: self.starts,
        };
        let disk = Arc::new(self.processes[at].disk.process());
        let node = self.factory.open(config, disk, self.now(at)).expect("its directory can be opened");
        self.processes[at].node = Some(node);
    }

    /// The process ends as if it were killed; what was written survives.
    pub(crate) fn kill(&mut self, at: usize) {
        let process = &mut self.processes[at];
        process.node = None;
        process.disk.kill();
        process.unread.clear();
        process.paused.clear();
        process.gate.clear();
        let broken: Vec<_> =
            self.connections.iter().copied().filter(|(a, b)| a.0 == at || b.0 == at).collect();
        for (a, b) in broken {
            self.hang_up(if a.0 == at { a } else { b });
        }
    }

    /// The disk is replaced by an empty one. REQUIRES: the process was killed.
    pub(crate) fn lose_disk(&mut self, at: usize) {
        self.processes[at].disk = SimDisk::new();
    }

    /// One end closes its connection: the other hears of it.
    fn hang_up(&mut self, end: End) {
        let Some(at) = self.connections.iter().position(|(a, b)| *a == end || *b == end) else { return };
        let (a, b) = self.connections.swap_remove(at);
        let other = if a == end { b } else { a };
        self.wire.retain(|(to, _)| *to != end);
        // What was sent before arrives first.
        let (last, rest) = std::mem::take(&mut self.wire).into_iter().partition(|(to, _)| *to == other);
        self.wire = rest;
        let last: VecDeque<(End, Vec<u8>)> = last;
        last.into_iter().for_each(|(to, bytes)| self.arrive(to, bytes));
        let now = self.now(other.0);
        if let Some(node) = &mut self.processes[other.0].node {
            node.disconnected(now, other.1, "connection reset");
        }
    }

    pub(crate) fn node(&mut self, at: usize) -> &mut dyn Node {
        &mut **self.processes[at].node.as_mut().expect("it runs")
    }

    fn release(&mut self, at: usize) {
        let process = &mut self.processes[at];
        let Some(node) = &process.node else { return };
        let released = node.released().clients;
        while let Some((session, outcome)) = process.gate.release(released) {
            process.outcomes.insert(session, outcome);
        }
    }

    pub(crate) fn end_batch(&mut self, at: usize) -> Batch {
        let now = self.now(at);
        let batch = self.node(at).commit(now, true).expect("its log can be written");
        while let Some(output) = self.node(at).poll() {
            self.carry_out(at, batch, output);
        }
        self.release(at);
        batch
    }

    fn carry_out(&mut self, at: usize, batch: Batch, output: Output) {
        let now = self.now(at);
        match output {
            Output::Done { session, outcome } => self.processes[at].gate.push(batch, (session, outcome)),
            Output::Ended { session } => {
                let process = &mut self.processes[at];
                process.gate.retain(|(of, _)| *of != session);
                process.ended.push(session);
            }
            Output::Dial { link, to, .. } => {
                let other = to.index();
                let there = self.now(other);
                let deaf = self.silent.contains(&at) || self.silent.contains(&other);
                match &mut self.processes[other].node {
                    _ if deaf => {} // nobody answers
                    None => self.node(at).disconnected(now, link, "connection refused"),
                    Some(node) => {
                        let accepted = node.accepted(there);
                        self.connections.push(((at, link), (other, accepted)));
                        self.node(at).connected(now, link);
                    }
                }
            }
            Output::Up { .. } => {}
            Output::Close { link } => {
                self.processes[at].closed.push(link);
                self.transmit(at, link);
                self.hang_up((at, link));
            }
            Output::Ready { .. } if self.stalled.contains(&at) => {}
            Output::Ready { link } => self.transmit(at, link),
            Output::Resume { link } => {
                self.processes[at].paused.retain(|paused| *paused != link);
                self.arrive((at, link), Vec::new());
            }
            Output::Job(job) => {
                let done = job.run();
                self.node(at).done(now, done);
            }
            Output::Ordered { id, answer } => {
                self.processes[at].orders.insert(id, answer);
            }
            Output::Broadcast { node, content } => self.processes[at].heard.push((node, content)),
            Output::Notice(notice) => self.processes[at].notices.push(notice),
        }
    }

    fn transmit(&mut self, at: usize, link: LinkId) {
        let now = self.now(at);
        loop {
            let mut bytes = Vec::new();
            let more = self.node(at).transmit(now, link, 1 << 20, &mut bytes);
            let ends = self.connections.iter().find(|(a, b)| *a == (at, link) || *b == (at, link));
            if let Some((a, b)) = ends
                && !bytes.is_empty()
            {
                let other = if *a == (at, link) { *b } else { *a };
                self.wire.push_back((other, bytes));
            }
            if !more {
                return;
            }
        }
    }

    /// The node at the other end of a connection.
    pub(crate) fn other_end(&self, end: End) -> Option<usize> {
        let (a, b) = self.connections.iter().find(|(a, b)| *a == end || *b == end)?;
        Some(if *a == end { b.0 } else { a.0 })
    }

    /// Bytes arrive at a link.
    pub(crate) fn arrive(&mut self, end: End, bytes: Vec<u8>) {
        let (at, link) = end;
        let now = self.now(at);
        let process = &mut self.processes[at];
        let Some(node) = &mut process.node else { return };
        let unread = process.unread.entry(link).or_default();
        unread.extend_from_slice(&bytes);
        if process.paused.contains(&link) {
            return;
        }
        match node.receive(now, link, unread) {
            Ok(Flow::Go) => {}
            Ok(Flow::Pause) => process.paused.push(link),
            Err(_) => {
                self.transmit(at, link);
                self.hang_up(end);
            }
        }
    }

    /// Lets everything happen that happens within `span_us`.
    pub(crate) fn run_for(&mut self, span_us: u64) {
        let until = self.now_us + span_us;
        loop {
            self.deliver();
            let due = self.processes.iter().filter_map(|process| process.node.as_ref());
            let due = due.map(|node| node.next_timeout()).min().unwrap_or(u64::MAX).max(self.now_us);
            if due > until {
                self.now_us = until;
                return;
            }
            self.now_us = due;
            for at in 0..self.processes.len() {
                let now = self.now(at);
                if let Some(node) = self.processes[at].node.as_mut().filter(|node| node.next_timeout() <= due)
                {
                    node.tick(now);
                }
            }
        }
    }

    fn deliver(&mut self) {
        loop {
            let wants = |process: &Process| process.node.as_ref().is_some_and(|node| node.wants_commit());
            if let Some((end, mut bytes)) = self.wire.pop_front() {
                let (a, b) =
                    *self.connections.iter().find(|(a, b)| *a == end || *b == end).expect("it stands");
                let lost = self.silent.contains(&a.0) || self.silent.contains(&b.0);
                if !lost && (self.tap)(end, &mut bytes) {
                    self.arrive(end, bytes);
                }
            } else if let Some(at) = self.processes.iter().position(wants) {
                self.end_batch(at);
            } else {
                // Outputs of what is not worth a batch: dialling.
                let mut quiet = true;
                for at in 0..self.processes.len() {
                    while self.processes[at].node.is_some()
                        && let Some(output) = self.node(at).poll()
                    {
                        quiet = false;
                        self.carry_out(at, Batch::default(), output);
                    }
                }
                if quiet {
                    return;
                }
            }
        }
    }
}
