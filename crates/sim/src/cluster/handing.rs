//! Processes that are asked to end: they hand over what they lead first.

use super::net::Ending;
use super::process::ELECTION_TICKS;
use super::{Cluster, Event};
use crate::rng::mix;
use tidemark_core::Micros;

impl Cluster<'_> {
    /// Whether a process that is to die is asked to end instead: half of them.
    pub(super) fn ends_well(&mut self, at: usize) -> bool {
        let (chance, patience) =
            (mix(self.plan.seed ^ self.now, at as u64), ELECTION_TICKS as Micros * self.plan.tick_us());
        if self.processes[at].node.is_none() || chance.is_multiple_of(2) {
            return false;
        }
        self.hands_over(at, self.processes[at].boots, self.now + patience);
        true
    }

    /// A process hands over, for as long as there is something to wait for; then it ends.
    pub(super) fn hands_over(&mut self, at: usize, boots: u64, until: Micros) {
        if self.processes[at].boots != boots {
            return;
        }
        let Some(done) = self.input(at, |node, now| node.hand_over(now)) else { return };
        self.end_turn(at);
        if self.processes[at].node.is_none() {
            return; // its disk failed
        }
        if (!done || !self.processes[at].log_jobs.is_empty()) && self.now < until {
            // Some ask more often than others, and end sooner after that.
            let often = 1 + mix(self.plan.seed ^ boots, at as u64) % self.plan.tick_us();
            return self.queue.push(self.now + often, Event::HandsOver(at, boots, until));
        }
        self.stats.handed_over += u64::from(done && self.plan.replicas > 1);
        let process = &mut self.processes[at];
        let now = process.clocks.read(self.now);
        if process.log_jobs.is_empty()
            && let Some(node) = process.node.take()
        {
            // If its disk fails now, it ends all the same.
            let _ = node.shut_down(now);
            process.note_written(self.now, self.plan.replicas);
        }
        self.processes[at].disk.kill();
        self.ends(at, Ending::Reset);
        if self.processes[at].kept_down == 0 {
            self.queue.push(self.now, Event::Boot(at));
        }
    }
}
