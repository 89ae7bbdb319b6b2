//! A copy that comes: it is kept beside what this member holds until all of it is there, and the leader still means it.

use crate::member::{Member, Role};
use raft::Ready;
use raft::eraftpb::{Message, MessageType};
use tidemark_contract::Protocol;
use tidemark_replica::{CopyRefused, GroupState, Now, OpenError, SealDone, SealJob};

/// A copy on its way in.
pub(crate) struct Incoming {
    /// Which of this start it is.
    number: u64,
    /// What is heard when all of it is there.
    message: Message,
}

/// A copy that a driver is receiving.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CopyIn {
    opened: u64,
    number: u64,
}

impl<P: Protocol> Member<P> {
    /// A leader begins to send a copy; one that another has begun is given up. What it gets is handed to
    /// [`Self::copy_piece`], then [`Self::seal_copy`] and [`Self::copy_sealed`], or [`Self::give_up_copy`]. REQUIRES:
    /// [`Self::commit`] after it.
    ///
    /// # Errors
    /// It is for somebody else, or of no use here.
    pub fn begin_copy(&mut self, message: Message) -> Result<CopyIn, CopyRefused> {
        let about = message.get_snapshot().get_metadata();
        let kept = self.state();
        let state = GroupState {
            term: kept.term,
            vote: kept.vote,
            applied: about.index,
            applied_term: about.term,
            voters: about.get_conf_state().voters.clone(),
            learners: about.get_conf_state().learners.clone(),
        };
        let refused = |why: &str| Err(CopyRefused(why.to_string()));
        if message.msg_type != MessageType::MsgSnapshot || message.to != self.config.id {
            return refused("it is for another member");
        }
        if self.role != Role::Follows || message.term < self.raft.raft.term {
            return refused("who sends it does not lead");
        }
        if about.index <= kept.applied {
            // The library says how far this member is. Otherwise it would be sent copies for ever.
            drop(self.raft.step(message));
            return refused("everything in it is here");
        }
        self.held_mut().stage(state);
        self.copies_begun += 1;
        let number = self.copies_begun;
        self.incoming = Some(Incoming { number, message });
        Ok(CopyIn { opened: self.opened, number })
    }

    fn is_under_way(&self, copy: CopyIn) -> Result<(), CopyRefused> {
        let incoming = self.incoming.as_ref().map(|incoming| incoming.number);
        match copy.opened == self.opened && incoming == Some(copy.number) {
            true => Ok(()),
            false => Err(CopyRefused("another has taken its place".to_string())),
        }
    }

    /// Takes a piece of a copy. REQUIRES: [`Self::commit`] after it.
    ///
    /// # Errors
    /// The copy is given up, or was.
    pub fn copy_piece(&mut self, copy: CopyIn, piece: &[u8]) -> Result<(), CopyRefused> {
        self.is_under_way(copy)?;
        self.held_mut().stage_records(piece)
    }

    /// All of a copy has come. The job is run anywhere; its result is for [`Self::copy_sealed`].
    ///
    /// # Errors
    /// The copy is given up, or was.
    pub fn seal_copy(&mut self, copy: CopyIn) -> Result<SealJob, CopyRefused> {
        self.is_under_way(copy)?;
        self.held_mut().seal_staged()
    }

    /// A copy is durable: it is installed, if the group still wants that, and loaded. That is a turn of its own: what the member
    /// heard between the message that there is a copy and its installation, it would confirm, and forget.
    ///
    /// # Errors
    /// The outer ones: the process must stop. The inner: the copy is given up, or was.
    pub fn copy_sealed(
        &mut self,
        now: Now,
        copy: CopyIn,
        done: SealDone,
    ) -> Result<Result<(), CopyRefused>, OpenError> {
        if let Err(refused) = self.held_mut().sealed(done) {
            return Ok(Err(refused));
        }
        if let Err(refused) = self.is_under_way(copy) {
            self.held_mut().unstage();
            return Ok(Err(refused));
        }
        let Some(Incoming { message, .. }) = self.incoming.take() else { return Ok(Ok(())) };
        self.commit(now)?;
        // What it refuses is of another term.
        drop(self.raft.step(message));
        if self.raft.raft.raft_log.unstable.snapshot.is_none() {
            self.held_mut().unstage();
        }
        self.commit(now).map(Ok)
    }

    /// Nothing more of a copy will come.
    pub fn give_up_copy(&mut self, copy: CopyIn) {
        if self.is_under_way(copy).is_ok() {
            self.incoming = None;
            self.held_mut().unstage();
        }
    }

    /// The group wants the copy that is here.
    pub(crate) fn install(&mut self, now: Now, mut ready: Ready) -> Result<(), OpenError> {
        debug_assert!(ready.entries().is_empty(), "nothing was heard since");
        self.keep_state(ready.hs().cloned(), false);
        self.held_mut().install()?;
        self.messages.append(&mut ready.take_persisted_messages());
        self.begin_anew(now)
    }
}
