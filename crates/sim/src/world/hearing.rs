//! What members of a group hear of each other, one word a turn or several.

use super::groups::Within;
use super::process::Process;
use super::{Event, World};
use crate::rng::mix;
use tidemark_contract::Protocol;
use tidemark_group::Message;

impl<P: Protocol> World<'_, P> {
    /// A member hears another.
    pub(super) fn word(&mut self, from: usize, to: usize, message: Message) {
        if self.nodes[from].mute > 0 || self.nodes[to].deaf > 0 {
            return;
        }
        let place = &mut self.nodes[to];
        let now = place.clocks.read(self.now);
        let Some(Process::Member(member)) = &mut place.process else { return };
        member.step(now, message);
        self.hear_more(to);
    }

    /// In half of the schedules a member hears what else comes within a while before its turn ends, as servers do.
    fn hear_more(&mut self, process: usize) {
        if self.cpus.is_some() || mix(self.plan.seed, 10).is_multiple_of(2) {
            return self.heard_enough(process, self.nodes[process].boots);
        }
        let place = &mut self.nodes[process];
        if !std::mem::replace(&mut place.gathers, true) {
            let event = Event::Group(Within::TurnEnds(process, place.boots));
            let gathering = mix(self.plan.seed ^ self.now, process as u64) % (self.plan.tick_us() / 4 + 1);
            self.queue.push(self.now + gathering, event);
        }
    }

    pub(super) fn heard_enough(&mut self, process: usize, boots: u64) {
        if self.nodes[process].boots == boots {
            self.nodes[process].gathers = false;
            self.end_member_turn(process, false);
            self.feed_on(process);
        }
    }
}
