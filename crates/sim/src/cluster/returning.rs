//! Clients whose connection breaks, at any point of an operation, and who come back with a token that they got before: at the
//! same node, at another one of the region, or in another region.

use super::clients::{Reply, Running, unreachable};
use super::{Cluster, Event, Stage};
use crate::outcome::ProblemKind;
use tidemark_core::history;
use tidemark_core::{DcId, Failure, Outcome};
use tidemark_node::TokenError;

/// What a client has to come back with.
#[derive(Default)]
pub(super) struct Returning {
    /// It is to export its token, once it waits for nothing.
    exports: bool,
    /// The last token that it got, and how much of the history that stands for.
    kept: Option<(String, (history::SessionId, u64))>,
    /// Its connection has broken: before it goes on, it takes over what it has kept.
    takes_over: bool,
}

impl Cluster<'_> {
    /// A client wants a token, in case its connection breaks.
    pub(super) fn wants_token(&mut self, number: usize) {
        self.clients[number].returning.exports = true;
        self.export_if_idle(number);
    }

    /// A client that waits for nothing exports its token, if it wants one.
    pub(super) fn export_if_idle(&mut self, number: usize) {
        let client = &mut self.clients[number];
        let Some(connection) = client.connection.as_ref().filter(|_| client.running.is_none()) else {
            return;
        };
        let (process, session) = (connection.process, connection.session);
        if !std::mem::take(&mut client.returning.exports) {
            return;
        }
        let past = (client.id, client.recorded);
        let text = self.input(process, |node, now| node.export(now, session));
        let reply = text.map(|text| Reply::Kept { session, client: number, text, past });
        self.processes[process].said.extend(reply);
        self.turn(process);
    }

    /// A client has got its token.
    pub(super) fn keep_token(&mut self, number: usize, text: String, past: (history::SessionId, u64)) {
        self.clients[number].returning.kept = Some((text, past));
    }

    /// A client's connection breaks; it goes on in `dc`, `node` nodes further than where it was.
    pub(super) fn hang_up(&mut self, number: usize, dc: DcId, node: usize) {
        if self.stage != Stage::Work || self.clients[number].step >= self.clients[number].script.len() {
            return;
        }
        self.disconnect_client(number);
        let client = &mut self.clients[number];
        (client.dc, client.first) = (dc, node);
        client.returning.takes_over = client.returning.kept.is_some();
    }

    /// A client that has come back takes over the past that it has kept, before its next step. Whether it does.
    pub(super) fn takes_over(&mut self, number: usize) -> bool {
        let returning = &mut self.clients[number].returning;
        if !std::mem::take(&mut returning.takes_over) {
            return false;
        }
        let Some((text, past)) = returning.kept.clone() else { return false };
        let operation = self.clients[number].operations;
        let running = Running { start: self.now, adopts: Some(past), operation, returns: true, ends: false };
        self.clients[number].running = Some(running);
        self.queue.push(self.now + self.patience_us(), Event::Impatient(number, operation));
        let Some((process, session)) = self.connect(number).map(|at| (at.process, at.session)) else {
            self.end_step(number, &unreachable());
            return true;
        };
        match self.input(process, |node, now| node.import(now, session, text.as_bytes())) {
            Some(Ok(outcome)) => self.answered(number, process, session, outcome),
            Some(Err(TokenError::Ahead(failure))) => self.end_step(number, &Outcome::Failed(failure)),
            Some(Err(error)) => {
                let text = format!("the token of {} is refused: {error}", past.0);
                self.problem(ProblemKind::Recovery, text);
                self.end_step(number, &Outcome::Failed(Failure::Unavailable(error.to_string())));
            }
            None => {}
        }
        true
    }

    /// A client has taken over its past, or not: it goes on with what it was about to do.
    pub(super) fn took_over(&mut self, number: usize, running: &Running, outcome: &Outcome) {
        let client = &mut self.clients[number];
        if let (Outcome::Adopted, Some((from, events))) = (outcome, running.adopts) {
            let event = history::Event::adopt(client.id, client.dc, from, events).at(running.start, self.now);
            client.recorded += 1;
            self.history.events.push(event);
            self.stats.returned += 1;
        }
        if matches!(outcome, Outcome::Failed(Failure::Indefinite(_))) {
            self.reopen(number);
        }
        self.queue.push(self.now, Event::Wake(number));
    }
}
