//! The load generator, in runs whose clients take time as well: one core, which all of them share. It is what
//! `tidemark bench` is on a machine with few processors, so that what it would measure can be predicted.
//!
//! It is a queue: each operation is served twice, when it is sent and when its answer has come. Only then has the client
//! seen how long it took.

use super::clients::Role;
use super::driving::Happening;
use super::{Cluster, Event};
use crate::load::Costs;
use tidemark_core::{Micros, Outcome};

/// The core that clients share.
#[derive(Debug, Default)]
pub(super) struct Generator {
    /// When it has nothing left to do.
    free_ns: u64,
}

impl Generator {
    /// Sends a request, or reads an answer, that is there at `now`: when that is done.
    fn serve(&mut self, now: Micros, costs: &Costs) -> Micros {
        let now_ns = now * 1_000;
        let wake_ns = if self.free_ns < now_ns { costs.idle_ns + costs.client_wake_ns } else { 0.0 };
        self.free_ns = self.free_ns.max(now_ns) + (wake_ns + costs.client_ns / 2.0) as u64;
        self.free_ns.div_ceil(1_000)
    }
}

impl Cluster<'_> {
    /// When the load generator has done half of what an operation of this client takes; none if clients take no time.
    fn generated(&mut self, number: usize) -> Option<Micros> {
        let costs = self.load.as_ref()?.what.costs;
        let generator = self.cores.as_mut()?.generator.as_mut();
        let generator = generator.filter(|_| self.clients[number].role == Role::Driver)?;
        Some(generator.serve(self.now, &costs))
    }

    /// A client of the run begins its next operation at `at`, and its node hears of it a moment later.
    pub(super) fn will_ask(&mut self, number: usize, at: Micros) {
        if self.cores.as_ref().is_some_and(|cores| cores.generator.is_some()) {
            return self.happens(at, Happening::Asks(number));
        }
        self.queue.push(at + self.client_delay(number), Event::Wake(number));
    }

    /// That moment has come, and the load generator finds the time for it.
    pub(super) fn asks(&mut self, number: usize) {
        let sent = self.generated(number).unwrap_or(self.now);
        self.queue.push(sent + self.client_delay(number), Event::Wake(number));
    }

    /// What its node says arrives at a client.
    pub(super) fn hears(&mut self, number: usize, outcome: Box<Outcome>) {
        match self.generated(number) {
            Some(read) => self.happens(read, Happening::Read(number, outcome)),
            None => self.end_step(number, &outcome),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_comes_while_it_works_waits_and_does_not_wake_it() {
        let costs = Costs { client_ns: 4_000.0, client_wake_ns: 10_000.0, ..Costs::NONE };
        let mut generator = Generator::default();
        assert_eq!(generator.serve(100, &costs), 112);
        assert_eq!(generator.serve(105, &costs), 114);
        assert_eq!(generator.serve(114, &costs), 116);
        assert_eq!(generator.serve(200, &costs), 212);
    }
}
