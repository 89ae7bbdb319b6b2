//! Gateways of nodes, and all that is asked of nodes: by gateways, by clients without a cache, and by whoever measures.

use super::super::Cluster;
use super::super::clients::Reply;
use super::super::process::{User as Asker, Worked};
use super::compare::Comparison;
use super::{Happening, World};
use std::collections::HashMap;
use tidemark_contract::cx::edge::shown;
use tidemark_core::{Failure, Hlc, Micros, Op, Outcome};
use tidemark_edge::gateway::{Answer, Ask, AskId, ConnectionId, Gateway, Output, Settings};
use tidemark_node::SessionId;

/// Why a node is asked something.
pub(super) enum Purpose {
    /// Its gateway asks.
    Gateway(Box<Ask>),
    /// The store is filled.
    Load,
    /// A client without a cache asks, in its transaction of this number.
    User(usize, u64),
    /// What a client has read is compared.
    Compare(Box<Comparison>),
}

/// The numbers of what is not asked by gateways begin here.
const OTHERS: AskId = 1 << 62;

/// What a process has beside its node.
pub(super) struct Place {
    gateway: Gateway,
    boots: u64,
    /// What was asked and has no answer.
    pub(super) asked: HashMap<AskId, Purpose>,
    /// Sessions that no question has.
    pub(super) idle: Vec<SessionId>,
    others: AskId,
    /// How long a real processor has worked for the gateway, if that is measured.
    pub(super) worked: Option<Worked>,
}

impl Cluster<'_> {
    pub(super) fn gateway_boots(&mut self, process: usize) {
        let (dc, boots) = (self.processes[process].dc, self.processes[process].boots);
        let retain_us = self.known_to(process).params.get("edge_retain_us").and_then(|us| us.as_u64());
        let Some(world) = &mut self.crowd else { return };
        let gateway = Gateway::new(Settings {
            region: dc.0,
            regions: world.what.dcs() as u8,
            name: dc.to_string().into(),
            period_ms: (world.what.period_us / 1_000).max(1),
            idle_ms: 5_000,
            retain_ms: retain_us.unwrap_or_default() / 1_000,
            isolated_ms: 24 * 3_600_000, // clients stay where they are
            token: None,
        });
        let period = world.what.period_us;
        let worked = world.what.work.map(|work| Worked::by(work.clock));
        let (asked, idle) = (HashMap::new(), Vec::new());
        world.places[process] = Some(Place { gateway, boots, asked, idle, others: OTHERS, worked });
        // Not all at once.
        let first = self.crowd_draw(period);
        self.crowd_later(first, Happening::Period(process, boots));
    }

    fn place(&mut self, process: usize, boots: u64) -> Option<&mut Place> {
        self.crowd.as_mut()?.places[process].as_mut().filter(|place| place.boots == boots)
    }

    /// Microseconds since 1970, at a process.
    fn wall_us(&self, process: usize) -> u64 {
        self.processes[process].clocks.read(self.now).wall
    }

    pub(super) fn gateway_period(&mut self, process: usize, boots: u64) {
        let now_us = self.wall_us(process);
        let Some(place) = self.place(process, boots) else { return };
        Worked::measure(&mut place.worked, || place.gateway.tick(now_us));
        self.gateway_serves(process);
        let period = self.crowd.as_ref().map_or(Micros::MAX, |world| world.what.period_us);
        self.crowd_later(period, Happening::Period(process, boots));
    }

    /// A client has connected.
    pub(super) fn gateway_opens(&mut self, process: usize, line: ConnectionId) {
        let boots = self.processes[process].boots;
        if let Some(place) = self.place(process, boots) {
            place.gateway.opened(line);
        }
    }

    pub(super) fn gateway_closes(&mut self, process: usize, boots: u64, line: ConnectionId) {
        if let Some(place) = self.place(process, boots) {
            Worked::measure(&mut place.worked, || place.gateway.closed(line));
            self.gateway_serves(process);
        }
    }

    pub(super) fn gateway_takes(&mut self, process: usize, boots: u64, line: ConnectionId, frame: &[u8]) {
        let now_us = self.wall_us(process);
        if let Some(world) = &mut self.crowd {
            world.sockets.0 += 1;
        }
        if let Some(place) = self.place(process, boots) {
            Worked::measure(&mut place.worked, || place.gateway.frame(line, frame, now_us));
            self.gateway_serves(process);
        }
    }

    /// Carries out what a gateway wants.
    fn gateway_serves(&mut self, process: usize) {
        loop {
            let Some(place) = self.crowd.as_mut().and_then(|world| world.places[process].as_mut()) else {
                return;
            };
            let outputs = place.gateway.outputs();
            if outputs.is_empty() {
                return;
            }
            for output in outputs {
                match output {
                    Output::Send(line, frame) => {
                        if let Some(world) = &mut self.crowd {
                            world.sockets.1 += 1;
                        }
                        self.line_sends(line, 1, frame);
                    }
                    Output::Close(line) => {
                        let boots = self.processes[process].boots;
                        self.line_ends(line, 1);
                        self.gateway_closes(process, boots, line);
                    }
                    Output::Ask(id, ask) => {
                        let op = ask.operation();
                        self.ask_as(process, id, op, Purpose::Gateway(Box::new(ask)));
                    }
                }
            }
        }
    }

    /// Asks a node something, on any session.
    pub(super) fn ask(&mut self, process: usize, op: Op, purpose: Purpose) {
        let Some(place) = self.crowd.as_mut().and_then(|world| world.places[process].as_mut()) else {
            return self.not_asked(purpose);
        };
        place.others += 1;
        let id = place.others;
        self.ask_as(process, id, op, purpose);
    }

    fn ask_as(&mut self, process: usize, id: AskId, op: Op, purpose: Purpose) {
        let place = |world: &mut Box<World<'_>>| world.places[process].as_mut()?.idle.pop();
        let idle = self.crowd.as_mut().and_then(place);
        let session = idle.or_else(|| self.input(process, |node, _| node.open()));
        let place = self.crowd.as_mut().and_then(|world| world.places[process].as_mut());
        let (Some(session), Some(place)) = (session, place) else { return self.not_asked(purpose) };
        place.asked.insert(id, purpose);
        self.processes[process].users.set(session, Some(Asker::Gateway(id)));
        let outcome = self.input(process, |node, now| node.begin(now, session, op)).flatten();
        let reply = outcome.map(|outcome| Reply::Answer { session, ask: id, outcome });
        self.processes[process].said.extend(reply);
        self.turn(process);
    }

    /// The process is down.
    fn not_asked(&mut self, purpose: Purpose) {
        if let Purpose::User(number, transaction) = purpose {
            let failed = Outcome::Failed(Failure::Unavailable("the node is down".into()));
            self.node_answers(number, transaction, &failed);
        }
    }

    /// What a gateway has asked has an outcome. Its thread hears of it a little later.
    pub(super) fn gateway_hears(&mut self, process: usize, id: AskId, ask: &Ask, outcome: Outcome) {
        let now = Hlc::at(self.wall_us(process));
        let Some(place) = self.crowd.as_mut().and_then(|world| world.places[process].as_mut()) else {
            return;
        };
        let answer = Worked::measure(&mut place.worked, || ask.answer(outcome, |found| shown(found, now)));
        let answer = answer.unwrap_or_else(|| Answer::Failed(Failure::Refused("it cannot be read".into())));
        let boots = self.processes[process].boots;
        let after = self.crowd_draw(self.plan.config.lan_us);
        self.crowd_later(after, Happening::Answered(process, boots, id, Box::new(answer)));
    }

    pub(super) fn gateway_answered(&mut self, process: usize, boots: u64, ask: AskId, answer: Answer) {
        let now_us = self.wall_us(process);
        let Some(place) = self.place(process, boots) else { return };
        Worked::measure(&mut place.worked, || place.gateway.answered(ask, answer, now_us));
        self.gateway_serves(process);
    }
}
