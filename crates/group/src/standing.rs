//! What a driver asks of a member between turns: what may leave, how it stands, that it ends.

use crate::member::Member;
use crate::rule::LEASE;
use raft::StateRole;
use raft::eraftpb::Message;
use tidemark_contract::Protocol;
use tidemark_core::PartitionId;
use tidemark_replica::{Fatal, Host, HostStatus, Now, Output};
use tidemark_store::log::Position;

impl<P: Protocol> Member<P> {
    /// What was done in turns that end here or before may leave now: most members have it, and nobody else can have been
    /// elected. Nothing while that is not known.
    pub fn released(&self, now: Now) -> Position {
        let sure = self.host().filter(|_| self.lease.holds(now.mono));
        sure.map_or(Position::START, Host::durable)
    }

    /// What may leave the host now.
    pub fn take_outputs(&mut self, now: Now) -> Vec<Output<P>> {
        match self.lease.holds(now.mono) || !LEASE.kept() {
            true if self.serves() => self.held_mut().take_outputs(),
            _ => Vec::new(),
        }
    }

    /// What is to be sent to other members, in order.
    pub fn take_messages(&mut self) -> Vec<Message> {
        std::mem::take(&mut self.messages)
    }

    /// What it may answer, though it follows, to a question that only reads.
    pub fn read_at_follower(&self, at: PartitionId, question: &P::Request) -> Option<P::Reply> {
        self.held().read_at_follower(at, question)
    }

    /// How often it began anew: what belongs to an earlier time does not concern it.
    pub fn opened(&self) -> u64 {
        self.opened
    }

    /// Its name in the group.
    pub fn id(&self) -> u64 {
        self.config.id
    }

    /// Whom it believes to lead; 0 if it does not know.
    pub fn leader(&self) -> u64 {
        self.raft.raft.leader_id
    }

    /// The latest term that it knows.
    pub fn term(&self) -> u64 {
        self.raft.raft.term
    }

    /// The last entry that its log has, agreed on or not.
    pub fn last_entry(&self) -> u64 {
        self.raft.store().last()
    }

    /// What it does, in a word.
    pub fn role(&self) -> &'static str {
        match self.raft.raft.state {
            StateRole::Leader if self.host().is_some() => "leader",
            StateRole::Leader => "elected",
            StateRole::Follower if !self.raft.raft.promotable() => "learner",
            StateRole::Follower => "follower",
            StateRole::Candidate | StateRole::PreCandidate => "candidate",
        }
    }

    /// How what it holds stands.
    pub fn status(&self) -> HostStatus {
        self.held().status()
    }

    /// Ends well: what is written is synced. A leader that was replaced leaves what is not written as it is: that is no entry,
    /// and will be none.
    ///
    /// # Errors
    /// The log failed.
    pub fn close(mut self) -> Result<(), Fatal> {
        if self.is_replaced() {
            return Ok(());
        }
        self.host.take().map_or(Ok(()), Host::close)
    }
}
