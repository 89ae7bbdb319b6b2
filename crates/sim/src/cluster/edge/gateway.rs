//! The gateways of nodes: what they ask is asked over sessions that know nothing, one question each.

use super::super::Cluster;
use super::super::clients::Reply;
use super::super::process::User;
use super::Happening;
use crate::plan::edge::{idle_ms, isolated_ms, patience_us, period_ms, retain_us};
use crate::trace::Happening as Line;
use std::collections::BTreeMap;
use tidemark_contract::cx::edge::shown;
use tidemark_core::{Failure, Hlc, Outcome};
use tidemark_edge::frames::SHARED;
use tidemark_edge::gateway::{Answer, Ask, AskId, ConnectionId, Gateway, Output, Settings};
use tidemark_node::SessionId;

/// The gateway of a process.
pub(super) struct Place {
    pub(super) gateway: Gateway,
    pub(super) boots: u64,
    /// What was asked and has no answer.
    asked: BTreeMap<AskId, Ask>,
    /// Sessions that no question has.
    idle: Vec<SessionId>,
    /// What the gateway calls connections that are broken.
    pub(super) broken: BTreeMap<ConnectionId, ConnectionId>,
}

impl Cluster<'_> {
    /// A process has started, and its gateway with it.
    pub(in super::super) fn edge_boots(&mut self, process: usize) {
        if self.edge.is_none() {
            return;
        }
        let (dc, boots) = (self.processes[process].dc, self.processes[process].boots);
        let dcs = self.layout.topology.dcs;
        let retain_us = self.known_to(process).params.get("edge_retain_us").and_then(|us| us.as_u64());
        let settings = Settings {
            region: dc.0,
            regions: dcs as u8,
            name: dc.to_string().into(),
            period_ms: period_ms(self.plan),
            idle_ms: idle_ms(self.plan),
            retain_ms: retain_us.unwrap_or_default() / 1_000,
            isolated_ms: isolated_ms(self.plan),
            token: None,
        };
        let (gateway, asked) = (Gateway::new(settings), BTreeMap::new());
        self.edge().gateways[process] =
            Some(Place { gateway, boots, asked, idle: Vec::new(), broken: BTreeMap::new() });
        self.edge_later(0, Happening::Period(process, boots));
    }

    fn edge_place(&mut self, process: usize, boots: u64) -> Option<&mut Place> {
        self.edge().gateways[process].as_mut().filter(|place| place.boots == boots)
    }

    /// Microseconds since 1970, at a process.
    fn edge_wall(&self, process: usize) -> u64 {
        self.processes[process].clocks.read(self.now).wall
    }

    pub(super) fn edge_period(&mut self, process: usize, boots: u64) {
        let now_us = self.edge_wall(process);
        let Some(place) = self.edge_place(process, boots) else { return };
        place.gateway.tick(now_us);
        self.edge_serves(process);
        self.edge_later(period_ms(self.plan) * 1_000, Happening::Period(process, boots));
    }

    pub(super) fn edge_at_gateway(&mut self, line: ConnectionId, frame: &[u8]) {
        let Some(at) = self.edge().lines.get(&line).filter(|line| !line.gone[1]) else { return };
        let (process, boots) = (at.process, at.boots);
        let now_us = self.edge_wall(process);
        let Some(place) = self.edge_place(process, boots) else { return };
        place.gateway.frame(line, frame, now_us);
        self.edge_serves(process);
    }

    pub(super) fn edge_gateway_hears(&mut self, line: ConnectionId) {
        let Some(at) = self.edge().lines.get(&line).filter(|line| !line.gone[1]) else { return };
        let (process, boots) = (at.process, at.boots);
        self.edge_ends(line, 1);
        let Some(place) = self.edge_place(process, boots) else { return };
        let name = place.broken.remove(&line).unwrap_or(line);
        place.gateway.closed(name);
        self.edge_serves(process);
    }

    /// Carries out what a gateway wants.
    fn edge_serves(&mut self, process: usize) {
        loop {
            let Some(place) = &mut self.edge().gateways[process] else { return };
            let outputs = place.gateway.outputs();
            if outputs.is_empty() {
                return;
            }
            for output in outputs {
                match output {
                    Output::Send(line, frame) => {
                        self.stats.edge_shared += u64::from(frame.first() == Some(&SHARED));
                        self.edge_sends(line, 1, Some(frame));
                    }
                    Output::Close(line) => {
                        self.edge_sends(line, 1, None);
                        self.edge_ends(line, 1);
                        if let Some(place) = &mut self.edge().gateways[process] {
                            place.gateway.closed(line);
                        }
                    }
                    Output::Ask(id, ask) => self.edge_asks(process, id, ask),
                }
            }
        }
    }

    fn edge_asks(&mut self, process: usize, id: AskId, ask: Ask) {
        let op = ask.operation();
        if let Ask::Accept(transaction) = &ask {
            self.edge_sends_to_region(self.processes[process].dc, transaction);
        }
        let Some(place) = &mut self.edge().gateways[process] else { return };
        place.asked.insert(id, ask);
        let idle = place.idle.pop();
        let Some(session) = idle.or_else(|| self.input(process, |node, _| node.open())) else { return };
        self.processes[process].users.set(session, Some(User::Gateway(id)));
        let outcome = self.input(process, |node, now| node.begin(now, session, op)).flatten();
        self.processes[process].said.extend(outcome.map(|outcome| Reply::Answer {
            session,
            ask: id,
            outcome,
        }));
        self.turn(process);
    }

    /// What a gateway has asked has an outcome, which may leave. Its thread hears of it a little later.
    pub(in super::super) fn edge_hears(
        &mut self,
        process: usize,
        session: SessionId,
        id: AskId,
        outcome: Outcome,
    ) {
        self.processes[process].users.set(session, None);
        let now = Hlc::at(self.edge_wall(process));
        let Some(place) = &mut self.edge().gateways[process] else { return };
        place.idle.push(session);
        let Some(ask) = place.asked.remove(&id) else { return };
        let boots = place.boots;
        let dc = self.processes[process].dc;
        let answer = ask.answer(outcome, |found| shown(found, now));
        let answer = answer.unwrap_or_else(|| Answer::Failed(Failure::Refused("it cannot be read".into())));
        match (&ask, &answer) {
            (Ask::Accept(transaction), Answer::Accepted(what)) => {
                self.edge_accepts(dc, transaction, what);
            }
            (Ask::Accept(transaction), Answer::Failed(why)) => {
                let (k, h) = (transaction.k, transaction.h);
                self.trace(|| Line::Trouble(format!("transaction {k} of an edge client at {h}: {why:?}")));
            }
            _ => {}
        }
        let after = self.edge_draw(self.plan.config.lan_us);
        self.edge_later(after, Happening::Answered(process, boots, id, Box::new(answer)));
    }

    /// The session of a question has ended: there is no answer.
    pub(in super::super) fn edge_ended(&mut self, process: usize, id: AskId) {
        let Some(place) = &mut self.edge().gateways[process] else { return };
        place.asked.remove(&id);
        let boots = place.boots;
        let failed = Answer::Failed(Failure::Unavailable("the session has ended".into()));
        self.edge_later(0, Happening::Answered(process, boots, id, Box::new(failed)));
    }

    pub(super) fn edge_answered(&mut self, process: usize, boots: u64, ask: AskId, answer: Answer) {
        let now_us = self.edge_wall(process);
        let Some(place) = self.edge_place(process, boots) else { return };
        place.gateway.answered(ask, answer, now_us);
        self.edge_serves(process);
    }

    /// How long it may take until clients have sent all and were told all, once regions have everything.
    pub(in super::super) fn edge_patience(&self) -> u64 {
        match self.edge {
            Some(_) => {
                40_000 * period_ms(self.plan)
                    + 3_000 * idle_ms(self.plan)
                    + 6 * retain_us(self.plan)
                    + 3 * patience_us(self.plan)
            }
            None => 0,
        }
    }
}
