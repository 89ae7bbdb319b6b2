//! Questions to members of groups that follow.

use super::process::Process;
use super::{Event, World};
use crate::rng::mix;
use tidemark_contract::{Protocol, Ticket};
use tidemark_core::ServerId;
use tidemark_group::Member;
use tidemark_replica::Output;

impl<P: Protocol> World<'_, P> {
    /// The process that a session asks: any of those that hold what `server` does, if it only reads and followers answer.
    pub(super) fn process_to_ask(&self, server: ServerId, who: u64, writes: bool) -> usize {
        if writes || P::EXTENSIONS.follower_read.is_none() {
            return self.process_for(server, who);
        }
        let replicas = self.plan.replicas;
        let first = self.group_of(self.node_of(server)) * replicas;
        let any = first + mix(who, self.now) as usize % replicas;
        match self.follower(any) {
            Some(_) => any,
            None => self.process_for(server, who),
        }
    }

    /// The member that is this process, if it runs and does not lead.
    fn follower(&self, process: usize) -> Option<&Member<P>> {
        match &self.nodes[process].process {
            Some(Process::Member(member)) if member.host().is_none() => Some(member),
            _ => None,
        }
    }

    /// A question has come to a process: if it only reads and the process follows, that answers, or hands the question on to the leader.
    /// Otherwise the question comes back.
    pub(super) fn ask_follower(
        &mut self,
        ticket: Ticket,
        (to, process): (ServerId, usize),
        writes: Option<usize>,
        request: P::Request,
    ) -> Option<P::Request> {
        let may_answer = P::EXTENSIONS.follower_read.is_some() && writes.is_none();
        let Some(member) = self.follower(process).filter(|_| may_answer) else { return Some(request) };
        match member.read_at_follower(to.partition, &request) {
            Some(reply) => {
                self.stats.follower_reads += 1;
                let mut outputs = vec![Output::Reply { ticket, from: to, reply, cause: 0 }];
                if !self.holds_back(process, &mut outputs, true) {
                    outputs.into_iter().for_each(|output| self.leave(process, output, true));
                }
            }
            None => {
                let leader = self.process_for(to, ticket.session);
                let (at, life) = (self.now + self.plan.config.lan_us, self.nodes[leader].life);
                self.queue.push(at, Event::Request { ticket, to, at: leader, life, writes: None, request });
            }
        }
        None
    }
}
