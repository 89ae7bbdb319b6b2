//! What users saw: the history that the checker reads.

use super::clients::{Role, Running};
use super::interactive::Interactive;
use super::losing::as_far_as_is_left;
use super::{Cluster, Event, Stage};
use crate::divided::parts;
use crate::outcome::ProblemKind;
use crate::plan::{Act, Step};
use crate::rng::mix;
use crate::trace::Happening;
use crate::typed::ledger::Told;
use crate::typed::{self, program};
use tidemark_core::history;
use tidemark_core::{DcId, Failure, Found, Op, Outcome};

impl Cluster<'_> {
    /// A step has ended: it is written down, and the next one planned.
    pub(super) fn end_step(&mut self, number: usize, outcome: &Outcome) {
        let Some(running) = self.clients[number].running.take() else { return };
        self.note_outcome(number, outcome);
        if running.returns {
            return self.took_over(number, &running, outcome);
        }
        if running.ends {
            if matches!(outcome, Outcome::Failed(Failure::Indefinite(_))) {
                self.reopen(number);
            }
            return self.advance(number);
        }
        self.meter_end(number, outcome);
        let end = self.clients[number].interactive.as_ref().map(Interactive::end);
        if self.clients[number].role == Role::Worker {
            self.record(number, &running, outcome);
        }
        if matches!(outcome, Outcome::Failed(Failure::Indefinite(_))) {
            // Nobody knows what became of it: the connection is given up, and with it its session.
            self.reopen(number);
        }
        self.export_if_idle(number);
        if let Some(end) = end
            && self.gives_back(number, &running, end)
        {
            return;
        }
        match self.clients[number].role {
            Role::Worker => self.advance(number),
            Role::LastWords => self.end_last_word(number, outcome),
            Role::Looker => self.looked(number, outcome, running.start),
            Role::Loader | Role::Driver | Role::Prober | Role::Seeker => {
                self.driven(number, outcome, running.start);
            }
        }
    }

    /// A client goes on to its next step, if it has one.
    pub(super) fn advance(&mut self, number: usize) {
        let client = &mut self.clients[number];
        client.step += 1;
        match client.script.get(client.step) {
            Some(step) => self.queue.push(step.at.max(self.now), Event::Wake(number)),
            None => self.one_less_is_busy(),
        }
    }

    /// Somebody has no steps left.
    pub(super) fn one_less_is_busy(&mut self) {
        self.busy -= 1;
        if self.busy == 0 {
            if self.stage == Stage::Work { self.heal() } else { self.stage = Stage::Over }
        }
    }

    fn record(&mut self, number: usize, running: &Running, outcome: &Outcome) {
        let transacted = self.transacted(number, running, outcome);
        let client = &mut self.clients[number];
        let times = (running.start, self.now);
        let Step { act, asks, .. } = &client.script[client.step];
        let asks = *asks;
        let mut events = match (act, running.adopts) {
            _ if transacted.is_some() => transacted.unwrap_or_default(),
            (Act::Op(Op::PutAll { writes }), _) => {
                history::Event::transaction(client.id, client.dc, times, client.recorded, writes, outcome)
            }
            (Act::Op(op), _) => {
                let event =
                    |op: &Op, outcome: &Outcome| typed::event(client.id, client.dc, times, op, outcome);
                let told = Told { dc: client.dc, start_us: times.0, end_us: times.1 };
                self.ledger.note(op, &as_far_as_is_left(self.plan, client.dc, outcome), told);
                let parts = parts(&self.layout.topology, op, outcome);
                let who = (client.id, client.dc);
                match program::events(who, times, client.recorded, op, outcome) {
                    Some(events) => events,
                    None if parts.is_empty() => event(op, outcome).into_iter().collect(),
                    None => parts.iter().filter_map(|(op, outcome)| event(op, outcome)).collect(),
                }
            }
            (Act::Adopt(_) | Act::Move(_), Some((from, events))) if *outcome == Outcome::Adopted => {
                vec![history::Event::adopt(client.id, client.dc, from, events).at(times.0, times.1)]
            }
            (Act::Begin { .. } | Act::Commit { .. } | Act::Adopt(_) | Act::Move(_), _) => Vec::new(),
        };
        let disorder = if let Act::Op(op) = act { typed::disorder(op, outcome) } else { None };
        events.iter_mut().for_each(|event| event.asked = asks);
        self.stats.ops += 1;
        let failed = matches!(outcome, Outcome::Failed(_));
        self.stats.failed += u64::from(failed);
        let may_write = match act {
            Act::Op(op) => op.writes().is_some(),
            act => matches!(act, Act::Commit { .. }),
        };
        self.untold |= failed && may_write;
        if self.trace.is_some() {
            let (session, dc) = (client.id, client.dc);
            let (act, outcome) = (act.clone(), outcome.clone());
            self.trace(|| Happening::Done { session, dc, began: times.0, act, asks, outcome });
        }
        if let Outcome::Written { stamp: Some(stamp), .. } = outcome {
            self.written.include(*stamp);
        }
        if let Some(what) = disorder {
            self.problem(ProblemKind::Types, what);
        }
        self.clients[number].recorded += events.len() as u64;
        self.history.events.extend(events);
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
            Outcome::Conflicts(keys) => 6 + keys.len() as u64,
            Outcome::Adopted => 4,
            Outcome::Begun(snapshot) => snapshot.number,
            Outcome::Bases(bases, _) => bases.iter().fold(7, |so_far, base| mix(so_far, base.digest())),
            Outcome::Changed(keys) => 9 + keys.as_ref().map_or(0, |keys| keys.len() as u64),
            Outcome::Accepted(what) => mix(8, format!("{what:?}").len() as u64),
            Outcome::Failed(failure) => 5 + u64::from(failure.is_definite()),
        };
        self.digest = mix(self.digest ^ self.now, mix(self.clients[number].id.0, told));
    }

    /// For the timeline: what a process has received since it was looked at last.
    pub(super) fn show_versions(&mut self, at: usize) {
        let process = &self.processes[at];
        let Some(node) = &process.node else { return };
        let mut new = Vec::new();
        let known = &mut self.shown[at];
        for partition in &process.partitions {
            let to = tidemark_core::ServerId::new(process.dc, *partition);
            node.versions(*partition, &mut |key, stamp, write| {
                if known.insert((key.clone(), stamp)) && stamp.origin != to.dc && stamp.origin != DcId::EDGE {
                    let from = tidemark_core::ServerId::new(stamp.origin, *partition);
                    let (key, write) = (key.clone(), write.clone());
                    new.push(Happening::Received { from, to, key, write, stamp });
                }
            });
        }
        new.into_iter().for_each(|happening| self.trace(|| happening));
    }
}
