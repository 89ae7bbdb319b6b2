//! Who belongs to the group. Members come one at a time, listen until they have what the leader has, and vote from then on;
//! they go one at a time too. Who lost its disk goes, and comes back under another name: what it had promised is lost with
//! the disk.

use crate::member::Member;
use raft::eraftpb::{ConfChangeSingle, ConfChangeType, ConfChangeV2};
use raft::{INVALID_ID, ProgressState};
use tidemark_contract::Protocol;

/// A change of who belongs to a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// A member comes. Its name must never have been used in this group.
    Add(u64),
    /// A member goes.
    Remove(u64),
}

/// Why a group is not changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChangeRefused {
    /// This member does not lead.
    #[error("this member does not lead its group; ask the one that does")]
    NotLeading,
    /// An earlier change is not done.
    #[error("the group is being changed already; try again when that is done")]
    Busy,
    /// It belongs to the group, or it does not.
    #[error("there is nothing to change: the members are {0:?}")]
    Nothing(Vec<u64>),
    /// The leader itself.
    #[error("a leader is not removed; stop it, and ask the next one")]
    Leader,
}

/// How many entries a member may lack that has caught up, and may vote.
pub(crate) const NEARLY: u64 = 16;

impl<P: Protocol> Member<P> {
    /// Proposes a change; it is done when [`Member::state`] says so. REQUIRES: [`Self::commit`] after it.
    ///
    /// # Errors
    /// Nothing will change.
    pub fn change(&mut self, change: Change) -> Result<(), ChangeRefused> {
        if self.host().is_none() || !self.takes_requests() {
            return Err(ChangeRefused::NotLeading);
        }
        let state = self.state();
        let members: Vec<u64> = state.voters.iter().chain(&state.learners).copied().collect();
        let (id, kind) = match change {
            Change::Add(id) => (id, ConfChangeType::AddLearnerNode),
            Change::Remove(id) => (id, ConfChangeType::RemoveNode),
        };
        if members.contains(&id) == matches!(change, Change::Add(_)) || id == INVALID_ID {
            return Err(ChangeRefused::Nothing(members));
        }
        if id == self.raft.raft.id {
            return Err(ChangeRefused::Leader);
        }
        self.propose_change(id, kind)
    }

    fn propose_change(&mut self, id: u64, kind: ConfChangeType) -> Result<(), ChangeRefused> {
        // What the host has written comes first: it stands in the log already.
        if self.raft.raft.has_pending_conf() || self.is_replaced() || !self.propose_turn() {
            return Err(ChangeRefused::Busy);
        }
        let mut single = ConfChangeSingle { node_id: id, ..ConfChangeSingle::default() };
        single.set_change_type(kind);
        let change = ConfChangeV2 { changes: vec![single].into(), ..ConfChangeV2::default() };
        self.raft.propose_conf_change(Vec::new(), change).map_err(|_| ChangeRefused::Busy)
    }

    /// Lets those vote that have caught up.
    pub(crate) fn promote(&mut self) {
        let last = self.raft.store().last();
        let ready = |id: &u64| {
            let progress = self.raft.raft.prs().get(*id);
            progress.is_some_and(|progress| {
                let has_something = progress.matched > 0 && progress.state != ProgressState::Snapshot;
                has_something && progress.matched + NEARLY >= last
            })
        };
        let listening = self.state().learners.iter().copied().find(ready);
        if let Some(id) = listening {
            // If the group is busy, the next time will do.
            drop(self.propose_change(id, ConfChangeType::AddNode));
        }
    }
}
