//! Members that lack more than the leader remembers. It remembers more for a while, all that its log has since the newest
//! snapshot; who lacks even that gets a copy of the snapshot, and installs it in place of everything.
//!
//! Who has just come waits for a snapshot that is taken after that. For the others one of this moment would not do: it waits
//! until what it contains is agreed on, which may take the very member that waits for it.

use crate::member::Member;
use crate::raft::kept;
use raft::eraftpb::Snapshot;
use raft::{ProgressState, Ready, SnapshotStatus};
use tidemark_contract::Protocol;
use tidemark_replica::{GroupState, Now, OpenError, UpkeepDone, UpkeepJob};

impl<P: Protocol> Member<P> {
    /// Whether a snapshot waits for a sync, which the policy may not ask for, and another member perhaps for the snapshot.
    pub fn wants_sync(&self) -> bool {
        self.leads() && self.held().snapshot_waits()
    }

    /// Does a piece of what has to be done now and then. A job that it returns is run anywhere, and its result given to
    /// [`Self::upkept`]. REQUIRES: [`Self::commit`] after it.
    ///
    /// # Errors
    /// The snapshot or the log cannot be read: the process must stop.
    pub fn upkeep(&mut self, now: Now) -> Result<Option<UpkeepJob>, OpenError> {
        self.make_way(now);
        // Whoever looks for a snapshot clears away what one that is being written has so far.
        if !self.held().is_taking_snapshot() && self.raft.mut_store().copy_wanted.take() {
            let entries = self.held().entries()?;
            let mut copy = Snapshot { data: self.held().copy()?, ..Snapshot::default() };
            let about = copy.mut_metadata();
            (about.index, about.term) = (entries.after.applied, entries.after.applied_term);
            about.mut_conf_state().voters = entries.after.voters.clone();
            about.mut_conf_state().learners = entries.after.learners.clone();
            let listens = &self.state().learners;
            if listens.iter().any(|member| !entries.after.learners.contains(member)) {
                self.held_mut().want_snapshot(); // one that knows who has come
            }
            self.raft.mut_store().refill(kept(entries), copy);
            self.offered = Some(now.mono);
        }
        Ok(self.held_mut().upkeep())
    }

    /// A snapshot that is being taken keeps those waiting who need a copy of an older one. If what it contains is not agreed on
    /// for long, that may take one of them, and it is given up.
    fn make_way(&mut self, now: Now) {
        if !self.held().snapshot_awaits_agreement() || !self.raft.store().copy_wanted.get() {
            self.held_up = None;
        } else if *self.held_up.get_or_insert(now.mono) + self.config.election_us() <= now.mono {
            self.held_up = None;
            self.held_mut().give_up_snapshot();
        }
    }

    /// An upkeep job has ended.
    pub fn upkept(&mut self, done: UpkeepDone) {
        self.held_mut().upkept(done);
    }

    /// A copy has come, because what this member lacks is gone from the leader's memory.
    pub(crate) fn install(&mut self, now: Now, mut ready: Ready) -> Result<(), OpenError> {
        let copy = ready.snapshot();
        let members = copy.get_metadata().get_conf_state();
        let state = GroupState {
            term: self.raft.raft.term,
            vote: self.raft.raft.vote,
            applied: copy.get_metadata().index,
            applied_term: copy.get_metadata().term,
            voters: members.voters.clone(),
            learners: members.learners.clone(),
        };
        let data = copy.data.clone();
        self.held_mut().install(&state, &data)?;
        self.messages.append(&mut ready.take_persisted_messages());
        self.begin_anew(now)
    }

    /// A copy, or what was answered to it, may be lost on the way: after a while it is tried again.
    pub(crate) fn look_after_copies(&mut self, now: Now) {
        let Self { raft, copies, config, .. } = self;
        let waits =
            |id| raft.raft.prs().get(id).is_some_and(|member| member.state == ProgressState::Snapshot);
        let overdue_us = 4 * config.election_us();
        copies.retain(|(id, _)| waits(*id));
        let overdue = copies.extract_if(.., |(_, at)| *at + overdue_us <= now.mono).collect::<Vec<_>>();
        for (id, _) in overdue {
            raft.report_snapshot(id, SnapshotStatus::Failure);
        }
        if self.copies.is_empty() && self.offered.is_some_and(|at| at + overdue_us <= now.mono) {
            self.offered = None;
            self.raft.mut_store().unpin();
        }
    }
}
