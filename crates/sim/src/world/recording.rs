//! What sessions did, as the history tells it.

use super::World;
use super::sessions::Running;
use crate::divided::parts;
use crate::plan::{Act, Step};
use crate::trace::Happening;
use tidemark_contract::Protocol;
use tidemark_core::history;
use tidemark_core::{Op, Outcome};

impl<P: Protocol> World<'_, P> {
    /// A step of a session has ended.
    pub(super) fn record(&mut self, number: usize, running: &Running, outcome: &Outcome) {
        let client = &mut self.clients[number];
        let times = (running.start, self.now);
        let Step { act, asks, .. } = &client.script[client.step];
        let asks = *asks;
        let mut events = match (act, running.adopts) {
            (Act::Op(Op::PutAll { writes }), _) => {
                history::Event::transaction(client.id, client.dc, times, client.recorded, writes, outcome)
            }
            (Act::Op(op), _) => {
                let event =
                    |op: &Op, outcome: &Outcome| history::Event::of(client.id, client.dc, times, op, outcome);
                let parts = parts(&self.layout.topology, op, outcome);
                match parts.len() {
                    0 => event(op, outcome).into_iter().collect(),
                    _ => parts.iter().filter_map(|(op, outcome)| event(op, outcome)).collect(),
                }
            }
            (Act::Adopt(_) | Act::Move(_), Some((from, events))) if *outcome == Outcome::Adopted => {
                vec![history::Event::adopt(client.id, client.dc, from, events).at(times.0, times.1)]
            }
            (Act::Adopt(_) | Act::Move(_), _) => Vec::new(),
        };
        events.iter_mut().for_each(|event| event.asked = asks);
        self.stats.ops += 1;
        self.stats.failed += u64::from(matches!(outcome, Outcome::Failed(_)));
        if self.trace.is_some() {
            let (session, dc) = (client.id, client.dc);
            let (act, outcome) = (act.clone(), outcome.clone());
            self.trace(|| Happening::Done { session, dc, began: times.0, act, asks, outcome });
        }
        if let Outcome::Written { stamp: Some(stamp), .. } = outcome {
            self.written.include(*stamp);
        }
        self.clients[number].recorded += events.len() as u64;
        self.history.events.extend(events);
    }
}
