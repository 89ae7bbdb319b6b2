//! Copies of everything on their way from one member of a group to another: in pieces, each of which takes its time, and of
//! which none arrives any more once either process has died or one does not hear the other.

use super::groups::Within;
use super::process::Process;
use super::{Event, World};
use crate::rng::mix;
use tidemark_contract::Protocol;
use tidemark_core::Micros;
use tidemark_group::{CopyIn, CopyOut, Member, RecallJob};
use tidemark_replica::SealJob;

/// Little enough that a copy is under way for a while.
const PIECE_BYTES: usize = 300;

/// A copy on its way.
pub(super) struct Transfer {
    pub(super) from: usize,
    pub(super) to: usize,
    /// In which start each of the two was when it left.
    boots: (u64, u64),
    copy: CopyOut,
    stage: Stage,
}

enum Stage {
    Announced,
    Coming(CopyIn),
    Sealing(CopyIn, SealJob),
}

impl<P: Protocol> World<'_, P> {
    /// A member's copies leave, and what it wants to read of its log is read.
    pub(super) fn send_copies(&mut self, process: usize) {
        let Some(member) = self.member_mut(process) else { return };
        let (copies, recall) = (member.take_copies(), member.recall_job());
        if let Some(job) = recall {
            let boots = self.nodes[process].boots;
            let event = Event::Group(Within::Recalled(process, boots, job));
            self.queue.push(self.now + self.a_while(process), event);
        }
        let first = self.group_of(process) * self.plan.replicas;
        for copy in copies {
            let mut members = first..first + self.plan.replicas;
            match members.find(|to| self.nodes[*to].member == copy.to) {
                Some(to) => {
                    let boots = (self.nodes[process].boots, self.nodes[to].boots);
                    let stage = Stage::Announced;
                    self.transfer_later(Transfer { from: process, to, boots, copy, stage });
                }
                None => self.copy_ended(process, copy.to, copy.opened, false),
            }
        }
    }

    /// How long something takes that a process does beside.
    fn a_while(&self, process: usize) -> Micros {
        mix(self.plan.seed ^ self.now, process as u64) % (self.plan.tick_us() + 1)
    }

    fn transfer_later(&mut self, transfer: Transfer) {
        let Transfer { from, to, .. } = transfer;
        let delay = match transfer.stage {
            Stage::Sealing(..) => self.a_while(to),
            _ => self.between_members(from, to),
        };
        self.queue.push(self.now + delay, Event::Group(Within::Copy(Box::new(transfer))));
    }

    /// A piece of a copy arrives, or its end.
    pub(super) fn transfer(&mut self, mut transfer: Transfer) {
        let Transfer { from, to, boots, ref copy, .. } = transfer;
        let (name, opened) = (copy.to, copy.opened);
        let there = self.nodes[to].boots == boots.1 && self.nodes[to].process.is_some();
        let heard = self.nodes[from].mute == 0 && self.nodes[to].deaf == 0;
        let sender = self.member_mut(from).map(|member| member.opened());
        let meant = self.nodes[from].boots == boots.0 && sender == Some(opened);
        if !(there && heard && meant) {
            if let (true, Stage::Coming(copy) | Stage::Sealing(copy, _)) = (there, &transfer.stage) {
                let copy = *copy;
                self.member_mut(to).into_iter().for_each(|member| member.give_up_copy(copy));
            }
            if meant {
                self.copy_ended(from, name, opened, false);
            }
            return;
        }
        let now = self.nodes[to].clocks.read(self.now);
        let Some(member) = self.member_mut(to) else { return };
        let next = match transfer.stage {
            Stage::Announced => {
                member.begin_copy(transfer.copy.message.clone()).map(|copy| Some(Stage::Coming(copy)))
            }
            Stage::Coming(copy) => match transfer.copy.next_piece(PIECE_BYTES) {
                Ok(Some(piece)) => member.copy_piece(copy, &piece).map(|()| Some(Stage::Coming(copy))),
                Ok(None) => member.seal_copy(copy).map(|job| Some(Stage::Sealing(copy, job))),
                Err(_) => {
                    member.give_up_copy(copy);
                    return self.copy_ended(from, name, opened, false);
                }
            },
            Stage::Sealing(copy, job) => match member.copy_sealed(now, copy, job.run()) {
                Ok(taken) => taken.map(|()| None),
                Err(error) => {
                    self.stops(to, &error.to_string());
                    return self.copy_ended(from, name, opened, false);
                }
            },
        };
        self.end_member_turn(to, false);
        self.feed_on(to);
        match next {
            Ok(Some(stage)) => {
                transfer.stage = stage;
                self.transfer_later(transfer);
            }
            Ok(None) => {
                self.stats.copies += 1;
                self.copy_ended(from, name, opened, true);
            }
            Err(_) => self.copy_ended(from, name, opened, false),
        }
    }

    fn copy_ended(&mut self, process: usize, to: u64, opened: u64, arrived: bool) {
        let Some(member) = self.member_mut(process) else { return };
        member.copy_ended(to, opened, arrived);
        self.end_member_turn(process, false);
        self.feed_on(process);
    }

    /// A leader has read what it wants to remember.
    pub(super) fn recalled(&mut self, process: usize, boots: u64, job: RecallJob) {
        let place = &mut self.nodes[process];
        if place.boots != boots {
            return;
        }
        let now = place.clocks.read(self.now);
        let Some(Process::Member(member)) = &mut place.process else { return };
        match member.recalled(now, job.run()) {
            Ok(()) => {
                self.end_member_turn(process, false);
                self.feed_on(process);
            }
            Err(error) => self.stops(process, &error.to_string()),
        }
    }

    pub(super) fn member_mut(&mut self, process: usize) -> Option<&mut Member<P>> {
        match &mut self.nodes[process].process {
            Some(Process::Member(member)) => Some(member),
            _ => None,
        }
    }
}
