//! Edge clients: the code of users, over connections that this module carries frames on. A node has a gateway for as long as it runs, as
//! servers have.
//!
//! A connection keeps the order of frames in each direction, and loses what is under way when it breaks. Each end hears of that at a
//! time of its own.

mod client;
mod gateway;
mod judge;
mod lost;
mod operations;
mod record;
mod transcript;

use super::{Cluster, Event};
use crate::plan::{EdgeAct, EdgePlan};
use crate::rng::mix;
use client::Client;
use gateway::Place;
use record::Records;
use std::collections::BTreeMap;
use tidemark_core::{DcId, Micros};
use tidemark_edge::client::Event as Heard;
use tidemark_edge::gateway::{Answer, AskId, ConnectionId};

/// Something that happens to edge clients or gateways. Clients and processes are named with the number of their start where what is meant
/// ends with it.
pub(super) enum Happening {
    /// A client takes its next step.
    Step(usize),
    /// What a client's own clock was set for.
    Timer(usize, u64, Micros),
    /// The disk of a client has done what was asked first.
    Written(usize, u64),
    /// A client's process starts again.
    Starts(usize, u64),
    /// An attempt of a client to connect has an end.
    Connects(usize, u64, u64),
    /// A frame arrives at a gateway.
    Up(ConnectionId, Vec<u8>),
    /// A frame arrives at a client.
    Down(ConnectionId, Vec<u8>),
    /// The client hears that its connection is broken.
    ClientHears(ConnectionId),
    /// The gateway hears it.
    GatewayHears(ConnectionId),
    /// A gateway looks for new bases.
    Period(usize, u64),
    /// A gateway has an answer.
    Answered(usize, u64, AskId, Box<Answer>),
}

/// A connection of a client to a gateway.
struct Line {
    client: usize,
    /// The start of the client, and what it calls the connection.
    life: u64,
    number: u64,
    process: usize,
    boots: u64,
    /// When the last frame arrives at the gateway, and at the client: nothing overtakes it.
    arrival: [Micros; 2],
    /// The client does not have it any more; the gateway.
    gone: [bool; 2],
}

/// All edge clients and gateways of a run.
pub(super) struct Edge<'a> {
    clients: Vec<Client<'a>>,
    /// By process.
    gateways: Vec<Option<Place>>,
    lines: BTreeMap<ConnectionId, Line>,
    connections: ConnectionId,
    records: Records,
    /// Counts draws that are no part of the plan.
    draws: u64,
    /// What clients are told and do, if it is written down.
    transcript: Option<String>,
}

impl<'a> Edge<'a> {
    pub(super) fn new(plan: &'a [EdgePlan], processes: usize, dcs: usize) -> Self {
        Self {
            clients: plan.iter().enumerate().map(|(number, plan)| Client::new(plan, number, dcs)).collect(),
            gateways: (0..processes).map(|_| None).collect(),
            lines: BTreeMap::new(),
            connections: 0,
            records: Records::default(),
            draws: 0,
            transcript: None,
        }
    }

    pub(super) fn into_transcript(self) -> Option<String> {
        self.transcript
    }
}

impl<'a> Cluster<'a> {
    pub(super) fn edge(&mut self) -> &mut Edge<'a> {
        self.edge.as_mut().expect("there are edge clients")
    }

    pub(super) fn edge_later(&mut self, after: Micros, what: Happening) {
        self.queue.push(self.now + after, Event::Edge(Box::new(what)));
    }

    /// A number below `below` that the schedule does not say.
    fn edge_draw(&mut self, below: u64) -> u64 {
        let edge = self.edge();
        edge.draws += 1;
        let draws = edge.draws;
        mix(self.plan.seed ^ 0xed9e, draws) % below.max(1)
    }

    /// Everything begins.
    pub(super) fn begin_edge(&mut self) {
        let plan = self.plan;
        if plan.edge.is_empty() {
            return;
        }
        let dcs = self.layout.topology.dcs;
        self.edge = Some(Box::new(Edge::new(&plan.edge, self.processes.len(), dcs)));
        for number in 0..plan.edge.len() {
            let endpoints = self.edge_endpoints(number);
            self.edge().clients[number].endpoints = endpoints;
            self.busy += usize::from(!plan.edge[number].steps.is_empty());
            self.edge_later(0, Happening::Starts(number, 0));
            if let Some(step) = plan.edge[number].steps.first() {
                self.queue.push(step.at, Event::Edge(Box::new(Happening::Step(number))));
            }
        }
    }

    /// The gateways that a client knows: those of its own region first, of each at most two.
    fn edge_endpoints(&self, number: usize) -> Vec<usize> {
        let (home, dcs) = (self.plan.edge[number].home.index(), self.layout.topology.dcs);
        let of_region = |dc: usize| {
            let there = (0..self.processes.len()).filter(move |at| self.processes[*at].dc.index() == dc);
            let there: Vec<usize> = there.collect();
            let first = mix(self.plan.seed, number as u64 | 40 << 32) as usize % there.len();
            (0..there.len().min(2)).map(move |n| there[(first + n) % there.len()]).collect::<Vec<_>>()
        };
        (0..dcs).flat_map(|n| of_region((home + n) % dcs)).collect()
    }

    pub(super) fn edge_happens(&mut self, what: Happening) {
        match what {
            Happening::Step(client) => self.edge_step(client),
            Happening::Timer(client, life, at) => {
                let here = &mut self.edge().clients[client];
                if here.life == life && here.wake == Some(at) {
                    here.wake = None;
                    self.edge_tell(client, Heard::Timer);
                }
            }
            Happening::Written(client, life) => self.edge_written(client, life),
            Happening::Starts(client, life) => self.edge_starts(client, life),
            Happening::Connects(client, life, connection) => self.edge_connects(client, life, connection),
            Happening::Up(line, frame) => self.edge_at_gateway(line, &frame),
            Happening::Down(line, frame) => {
                if let Some((client, connection)) = self.edge_client_of(line) {
                    self.edge_tell(client, Heard::Frame { connection, bytes: frame });
                }
            }
            Happening::ClientHears(line) => {
                if let Some((client, connection)) = self.edge_client_of(line) {
                    self.edge_ends(line, 0);
                    self.edge().clients[client].line = None;
                    self.edge_tell(client, Heard::Disconnected { connection });
                }
            }
            Happening::GatewayHears(line) => self.edge_gateway_hears(line),
            Happening::Period(process, boots) => self.edge_period(process, boots),
            Happening::Answered(process, boots, ask, answer) => {
                self.edge_answered(process, boots, ask, *answer)
            }
        }
    }

    /// Whose a connection is, and what it is called there; none if the client does not have it any more.
    fn edge_client_of(&mut self, line: ConnectionId) -> Option<(usize, u64)> {
        let edge = self.edge();
        let Line { client, life, number, gone, .. } = edge.lines.get(&line)?;
        (!gone[0] && edge.clients[*client].life == *life).then_some((*client, *number))
    }

    /// An end does not have a connection any more.
    fn edge_ends(&mut self, line: ConnectionId, end: usize) {
        let edge = self.edge();
        let Some(at) = edge.lines.get_mut(&line) else { return };
        at.gone[end] = true;
        if at.gone == [true; 2] {
            edge.lines.remove(&line);
        }
    }

    /// An attempt to connect has an end.
    fn edge_connects(&mut self, client: usize, life: u64, number: u64) {
        let here = &mut self.edge().clients[client];
        let Some((_, endpoint)) = here.asked.filter(|(asked, _)| here.life == life && *asked == number)
        else {
            return;
        };
        here.asked = None;
        let process = here.endpoints[endpoint];
        let (dc, now) = (self.processes[process].dc, self.now);
        let reaches = self.edge().clients[client].reaches(dc, now);
        if !reaches || self.edge().gateways[process].is_none() {
            return self.edge_tell(client, Heard::Disconnected { connection: number });
        }
        let boots = self.processes[process].boots;
        let edge = self.edge();
        edge.connections += 1;
        let name = edge.connections;
        let line = Line { client, life, number, process, boots, arrival: [now; 2], gone: [false; 2] };
        edge.lines.insert(name, line);
        edge.clients[client].line = Some(name);
        edge.gateways[process].iter_mut().for_each(|place| place.gateway.opened(name));
        self.edge_tell(client, Heard::Connected { connection: number });
    }

    /// How long it takes from a client to a process.
    fn edge_delay(&mut self, client: usize, process: usize) -> Micros {
        let (home, dc) = (self.plan.edge[client].home, self.processes[process].dc);
        let config = &self.plan.config;
        let far = config.wan_us[home.index() * self.layout.topology.dcs + dc.index()];
        let least = if home == dc { config.lan_us } else { far };
        let (jitter, late) = (config.wan_jitter_percent, config.late_percent);
        let extra = least * jitter / 100;
        let late = if self.edge_draw(100) < late { least * self.plan.config.late_factor } else { 0 };
        least + self.edge_draw(extra + 1) + late
    }

    /// A frame leaves one end of a connection: 0 is the client's.
    fn edge_sends(&mut self, line: ConnectionId, from: usize, frame: Option<Vec<u8>>) {
        let edge = self.edge();
        let Some(Line { client, process, gone, .. }) = edge.lines.get(&line) else { return };
        if gone[from] {
            return;
        }
        let (client, process) = (*client, *process);
        let arrives = self.now + self.edge_delay(client, process);
        let Some(at) = self.edge().lines.get_mut(&line) else { return };
        at.arrival[from] = at.arrival[from].max(arrives);
        let arrives = at.arrival[from];
        let what = match (from, frame) {
            (0, Some(frame)) => Happening::Up(line, frame),
            (0, None) => Happening::GatewayHears(line),
            (_, Some(frame)) => Happening::Down(line, frame),
            (_, None) => Happening::ClientHears(line),
        };
        self.queue.push(arrives, Event::Edge(Box::new(what)));
    }

    /// A connection breaks: what is under way is lost, and each end hears of it some time.
    fn edge_breaks(&mut self, line: ConnectionId) {
        let edge = self.edge();
        let Some(at) = edge.lines.remove(&line) else { return };
        // It goes on under another name, which nothing that is under way bears.
        edge.connections += 1;
        let name = edge.connections;
        let Line { client, life, number, process, boots, gone, .. } = at;
        if let (Some(place), false) = (&mut edge.gateways[process], gone[1])
            && place.boots == boots
        {
            let known = place.broken.remove(&line).unwrap_or(line);
            place.broken.insert(name, known);
        }
        if !gone[0] && edge.clients[client].life == life {
            edge.clients[client].line = Some(name);
        }
        let arrival = [self.now; 2];
        self.edge().lines.insert(name, Line { client, life, number, process, boots, arrival, gone });
        let far = self.plan.config.farthest_us();
        let (soon, late) = (self.edge_draw(2 * far), self.edge_draw(4 * far));
        self.edge_later(soon, Happening::ClientHears(name));
        self.edge_later(late, Happening::GatewayHears(name));
    }

    /// A process has ended, and with it its gateway: clients hear of it.
    pub(super) fn edge_process_ends(&mut self, process: usize) {
        if self.edge.is_none() {
            return;
        }
        let edge = self.edge();
        edge.gateways[process] = None;
        let there: Vec<ConnectionId> =
            edge.lines.iter().filter(|(_, line)| line.process == process).map(|(line, _)| *line).collect();
        for line in there {
            self.edge_ends(line, 1);
            self.edge_breaks(line);
        }
    }

    /// Connections of a client to where it cannot reach any more break.
    fn edge_cut_off(&mut self, client: usize, from: Option<DcId>) {
        let Some(line) = self.edge().clients[client].line else { return };
        let Some(process) = self.edge().lines.get(&line).map(|line| line.process) else { return };
        if from.is_none_or(|dc| self.processes[process].dc == dc) {
            self.edge_breaks(line);
        }
    }

    /// Everything heals, clocks too: they stop drifting, and those of a region are set to the latest of them. A region takes no transaction while
    /// its clocks are more than a second apart, and they may be; what drifts as fast as here soon is.
    pub(super) fn heal_edge(&mut self) {
        let now = self.now;
        if self.edge.is_some() {
            let mut latest = BTreeMap::<DcId, Micros>::new();
            for process in &mut self.processes {
                process.clocks.stop_drifting(now);
                let wall = latest.entry(process.dc).or_default();
                *wall = process.clocks.read(now).wall.max(*wall);
            }
            for process in &mut self.processes {
                process.clocks.catch_up(latest[&process.dc], now);
            }
        }
        for number in 0..self.plan.edge.len() {
            let client = &mut self.edge().clients[number];
            client.offline.clear();
            client.full_until = 0;
            if client.core.is_none() && !client.dead {
                let life = client.life;
                client.starts_at = now;
                self.edge_later(0, Happening::Starts(number, life));
            }
        }
    }

    /// A client's next step.
    fn edge_step(&mut self, number: usize) {
        let plan = self.plan;
        let client = &self.edge().clients[number];
        if client.running.is_some() {
            return; // it goes on when that has ended
        }
        let Some(step) = plan.edge[number].steps.get(client.step) else { return };
        if let EdgeAct::Commit { reads, ops } = &step.act {
            if self.edge_commits(number, reads, ops) {
                return;
            }
        } else {
            self.edge_suffers(number, &step.act);
        }
        self.edge_goes_on(number);
    }

    /// A step has ended.
    fn edge_goes_on(&mut self, number: usize) {
        let client = &mut self.edge().clients[number];
        client.step += 1;
        match self.plan.edge[number].steps.get(self.edge().clients[number].step) {
            Some(step) => {
                let at = step.at.max(self.now);
                self.queue.push(at, Event::Edge(Box::new(Happening::Step(number))));
            }
            None => self.one_less_is_busy(),
        }
    }
}
