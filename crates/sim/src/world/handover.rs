//! Processes that are asked to end while they lead: they hand their group over first.

use super::groups::{ELECTION_TICKS, Within};
use super::{Event, World};
use crate::rng::mix;
use tidemark_contract::Protocol;
use tidemark_core::Micros;

impl<P: Protocol> World<'_, P> {
    /// Whether a process that is to die leads a group, and is asked to end instead.
    pub(super) fn ends_well(&mut self, process: usize) -> bool {
        let (chance, patience) =
            (mix(self.plan.seed ^ self.now, process as u64), ELECTION_TICKS as Micros * self.plan.tick_us());
        let leads = self.nodes[process].leads.is_some() && self.member_mut(process).is_some();
        if !leads || chance.is_multiple_of(2) {
            return false;
        }
        self.hands_over(process, self.nodes[process].boots, self.now + patience);
        true
    }

    /// A process hands over, for as long as there is something to wait for; then it ends.
    pub(super) fn hands_over(&mut self, process: usize, boots: u64, until: Micros) {
        if self.nodes[process].boots != boots || self.nodes[process].process.is_none() {
            return;
        }
        let now = self.nodes[process].clocks.read(self.now);
        let done = self.member_mut(process).is_none_or(|member| member.hand_over(now));
        self.end_member_turn(process, false);
        if !done && self.now < until {
            // Some ask more often than others, and end sooner after that.
            let often = 1 + mix(self.plan.seed ^ boots, process as u64) % self.plan.tick_us();
            let event = Event::Group(Within::HandsOver(process, boots, until));
            return self.queue.push(self.now + often, event);
        }
        self.stats.handed_over += u64::from(done);
        self.crash(process, false);
        if self.nodes[process].kept_down == 0 {
            self.queue.push(self.now, Event::Boot(process));
        }
    }
}
