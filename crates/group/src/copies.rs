//! Copies that leave: for members that lack more than the leader remembers. It remembers more for a while, all that its log
//! has since the newest snapshot; who lacks even that gets a copy of the snapshot, and installs it in place of everything.
//!
//! A copy is large: it leaves on a way of its own, a piece at a time, and the message that says that there is one comes after
//! it. What the log has is read by a job, and so is the copy.
//!
//! Who has just come waits for a snapshot that is taken after that. For the others one of this moment would not do: it waits
//! until what it contains is agreed on, which may take the very member that waits for it.

use crate::member::Member;
use crate::members::NEARLY;
use crate::raft::kept;
use bytes::Bytes;
use raft::eraftpb::{Message, Snapshot};
use raft::{ProgressState, SnapshotStatus};
use tidemark_contract::Protocol;
use tidemark_core::Micros;
use tidemark_replica::{CopyReader, CopySource, Entries, Now, OpenError, UpkeepDone, UpkeepJob};

/// What a leader remembers for those who lack much.
pub(crate) struct Offer {
    /// What their copies are made from.
    source: CopySource,
    /// When somebody was last seen to need it.
    needed_at: Micros,
}

/// A member that was sent a copy, and does not have everything yet.
pub(crate) struct Sent {
    to: u64,
    /// The copy is on its way.
    under_way: bool,
}

/// Reads what of the log a leader has to remember again; to be run anywhere.
#[must_use = "who lacks much waits for it"]
pub struct RecallJob {
    opened: u64,
    source: CopySource,
}

/// What a [`RecallJob`] found.
#[must_use = "hand it to Member::recalled"]
pub struct Recalled {
    opened: u64,
    source: CopySource,
    entries: Result<Entries, OpenError>,
}

impl RecallJob {
    /// Does it; blocks for as long as the disk takes.
    pub fn run(self) -> Recalled {
        let Self { opened, source } = self;
        Recalled { opened, entries: source.entries(), source }
    }
}

/// A copy that is to be sent: [`Self::message`] first, then every piece.
#[must_use = "hand its end to Member::copy_ended"]
pub struct CopyOut {
    /// The name of the member that it is for.
    pub to: u64,
    /// How often the sender had begun anew: if it does so again, nobody waits for this copy any more.
    pub opened: u64,
    /// What the receiver is told before it, and by itself takes to heart after it.
    pub message: Message,
    reader: CopyReader,
}

impl CopyOut {
    /// The next piece, of about `max_bytes`; none after the last. Blocks for as long as the disk takes.
    ///
    /// # Errors
    /// What the copy is made from cannot be read.
    pub fn next_piece(&mut self, max_bytes: usize) -> Result<Option<Bytes>, OpenError> {
        self.reader.next_piece(max_bytes)
    }
}

impl<P: Protocol> Member<P> {
    /// Whether a snapshot waits for a sync, which the policy may not ask for, and another member perhaps for the snapshot.
    pub fn wants_sync(&self) -> bool {
        self.leads() && self.held().snapshot_waits()
    }

    /// Does a piece of what has to be done now and then. A job that it returns is run anywhere, and its result given to
    /// [`Self::upkept`]. REQUIRES: [`Self::commit`] after it.
    pub fn upkeep(&mut self, now: Now) -> Option<UpkeepJob> {
        self.make_way(now);
        // It would write something.
        if self.takes_requests() { self.held_mut().upkeep() } else { None }
    }

    /// An upkeep job has ended. REQUIRES: this has not begun anew since it was given out ([`Self::opened`]).
    pub fn upkept(&mut self, done: UpkeepDone) {
        self.held_mut().upkept(done);
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

    /// If somebody lacks what this leader does not remember: a job that reads it, whose result [`Self::recalled`] takes.
    pub fn recall_job(&mut self) -> Option<RecallJob> {
        if self.recalling || self.held().is_taking_snapshot() || !self.raft.mut_store().copy_wanted.take() {
            return None;
        }
        match self.held().copy_source() {
            Ok(source) => {
                self.recalling = true;
                self.raft.mut_store().pin(self.config.pinned_bytes);
                Some(RecallJob { opened: self.opened, source })
            }
            // The file is gone, or not what it was. Another takes its place.
            Err(_) => {
                self.held_mut().want_snapshot();
                None
            }
        }
    }

    /// A leader remembers what a job has read.
    ///
    /// # Errors
    /// The log cannot be read: the process must stop.
    pub fn recalled(&mut self, now: Now, recalled: Recalled) -> Result<(), OpenError> {
        let Recalled { opened, source, entries } = recalled;
        if opened != self.opened {
            return Ok(());
        }
        self.recalling = false;
        let entries = match entries {
            Ok(entries) => entries,
            Err(OpenError::Snapshot(_)) => {
                self.raft.mut_store().unpin();
                self.held_mut().want_snapshot();
                return Ok(());
            }
            Err(error) => return Err(error),
        };
        let mut copy = Snapshot::default();
        let about = copy.mut_metadata();
        (about.index, about.term) = (entries.after.applied, entries.after.applied_term);
        about.mut_conf_state().voters = entries.after.voters.clone();
        about.mut_conf_state().learners = entries.after.learners.clone();
        if self.state().learners.iter().any(|member| !entries.after.learners.contains(member)) {
            self.held_mut().want_snapshot(); // one that knows who has come
        }
        match self.raft.mut_store().refill(kept(entries), copy, self.config.pinned_bytes) {
            true => self.offer = Some(Offer { source, needed_at: now.mono }),
            false => self.raft.mut_store().unpin(),
        }
        Ok(())
    }

    /// The library wants to send a copy.
    pub(crate) fn send_copy(&mut self, message: Message) {
        let to = message.to;
        self.sent.retain(|sent| sent.to != to);
        match &self.offer {
            Some(offer) => {
                let reader = offer.source.reader();
                self.copies.push(CopyOut { to, opened: self.opened, message, reader });
                self.sent.push(Sent { to, under_way: true });
            }
            None => self.raft.report_snapshot(to, SnapshotStatus::Failure),
        }
    }

    /// Copies that are to be sent, each on a way of its own, beside the messages. Each has to end: [`Self::copy_ended`].
    pub fn take_copies(&mut self) -> Vec<CopyOut> {
        std::mem::take(&mut self.copies)
    }

    /// A copy that left in start `opened` has reached `to`, or is lost on the way. REQUIRES: [`Self::commit`] after it.
    pub fn copy_ended(&mut self, to: u64, opened: u64, arrived: bool) {
        if opened != self.opened {
            return;
        }
        self.sent.iter_mut().filter(|sent| sent.to == to).for_each(|sent| sent.under_way = false);
        let status = if arrived { SnapshotStatus::Finish } else { SnapshotStatus::Failure };
        self.raft.report_snapshot(to, status);
    }

    /// Forgets what was remembered for others when nobody has needed it for a while.
    pub(crate) fn look_after_copies(&mut self, now: Now) {
        let Self { raft, sent, offer: Some(offer), config, .. } = self else { return };
        let last = raft.store().last();
        sent.retain(|sent| {
            let progress = raft.raft.prs().get(sent.to);
            let lacks = progress.is_some_and(|member| {
                member.state != ProgressState::Replicate || member.matched + NEARLY < last
            });
            if sent.under_way || (lacks && progress.is_some_and(|member| member.recent_active)) {
                offer.needed_at = now.mono;
            }
            sent.under_way || lacks
        });
        if offer.needed_at + 4 * config.election_us() <= now.mono {
            self.offer = None;
            raft.mut_store().unpin();
        }
    }
}
