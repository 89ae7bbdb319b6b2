//! A copy of everything on its way into the directory of one of a group, which lacks too much.
//!
//! The records that other data centres may ask for are appended to the log as they come, and the rest is written as a
//! snapshot that has no name yet. Until [`Host::install`] gives it one, what was there counts; from then on, the copy does.
//!
//! **Invariants**
//! - I1 An entry that is logged puts an end to a copy that is not installed: it would be passed over after that.
//! - I2 While there is one, no other snapshot is begun: it would count as the newer of the two.

use crate::entry::{EntryKind, records};
use crate::group::GroupState;
use crate::host::Host;
use crate::record::{self, CEILING, ENTRY, GROUP, START, WRITTEN};
use crate::recover::{Item, OpenError};
use std::sync::Arc;
use tidemark_contract::Protocol;
use tidemark_store::log::snapshot::{SealedSnapshot, SnapshotResult, SnapshotWriter};
use tidemark_store::log::{LogResult, Position};

/// A copy is not taken; what was there counts.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the copy is not taken: {0}")]
pub struct CopyRefused(pub String);

fn refused(why: impl ToString) -> CopyRefused {
    CopyRefused(why.to_string())
}

/// A copy on its way in.
pub(crate) struct Staged {
    /// What is kept of the group once it is installed.
    state: GroupState,
    /// Where in the log it begins.
    begin: Position,
    stage: Stage,
}

enum Stage {
    /// Records for streams come.
    Records,
    /// What the snapshot says comes.
    Snapshot(SnapshotWriter),
    /// A job is out.
    Sealing,
    /// All of it is there, and durable.
    Sealed(SealedSnapshot),
}

impl Staged {
    /// Gives the space back.
    fn abandon(self) {
        match self.stage {
            Stage::Records | Stage::Sealing => {}
            Stage::Snapshot(writer) => writer.abandon(),
            Stage::Sealed(sealed) => sealed.abandon(),
        }
    }
}

/// Makes a copy durable that has come; to be run on any thread.
#[must_use = "the copy cannot be installed before the job has run"]
pub struct SealJob {
    /// Which copy it is: no two begin at the same place of the log.
    begin: Position,
    writer: SnapshotWriter,
}

/// What a [`SealJob`] did.
#[must_use = "hand it to Host::sealed"]
pub struct SealDone {
    begin: Position,
    result: SnapshotResult<SealedSnapshot>,
}

impl SealJob {
    /// Does it; blocks for as long as the disk takes.
    pub fn run(self) -> SealDone {
        SealDone { begin: self.begin, result: self.writer.seal() }
    }
}

impl<P: Protocol> Host<P> {
    /// A copy is going to come; `state` is what is kept of the group with it. One that was on its way is given up. REQUIRES:
    /// this host does not lead.
    pub fn stage(&mut self, state: GroupState) {
        self.unstage();
        self.staged = Some(Staged { state, begin: self.log.end(), stage: Stage::Records });
    }

    /// Gives up a copy that is on its way.
    pub fn unstage(&mut self) {
        if let Some(staged) = self.staged.take() {
            staged.abandon();
        }
    }

    /// Takes a piece of a copy.
    ///
    /// # Errors
    /// It cannot be understood, there is no room for it, or there is no copy on its way any more. The copy is given up.
    pub fn stage_records(&mut self, piece: &[u8]) -> Result<(), CopyRefused> {
        let result = records(piece)
            .try_for_each(|item| item.map(drop))
            .map_err(refused)
            .and_then(|()| records(piece).flatten().try_for_each(|item| self.stage_record(&item)));
        if result.is_err() {
            self.unstage();
        }
        result
    }

    fn stage_record(&mut self, item: &Item<'_>) -> Result<(), CopyRefused> {
        let staged = self.staged.as_mut().ok_or_else(|| refused("it was given up"))?;
        match &mut staged.stage {
            Stage::Records if item.kind == WRITTEN => self.log_for_streams(item).map_err(refused),
            Stage::Records => {
                self.begin_staged_snapshot()?;
                self.stage_record(item)
            }
            Stage::Snapshot(writer) if item.kind != WRITTEN && item.kind != GROUP => writer
                .append(item.kind, item.partition, item.seq, |buffer| buffer.extend(item.payload))
                .map_err(refused),
            _ => Err(refused(format!("a record of kind {} comes too late", item.kind))),
        }
    }

    /// Each is closed as no part of any entry, so that the next entry begins after it.
    fn log_for_streams(&mut self, item: &Item<'_>) -> LogResult<()> {
        const CLOSING: usize = 16;
        self.log.reserve(2, item.payload.len() + CLOSING)?;
        self.log.append(item.kind, item.partition, item.seq, |buffer| buffer.extend(item.payload))?;
        self.close_for_streams()
    }

    fn close_for_streams(&mut self) -> LogResult<()> {
        let nothing = (0u64, EntryKind::Records, &[0u8; 0][..]);
        self.log.append(ENTRY, 0, 0, |buffer| record::encode(&nothing, buffer)).map(drop)
    }

    fn begin_staged_snapshot(&mut self) -> Result<(), CopyRefused> {
        // It has to begin after every snapshot that there is or will be of what was here.
        self.close_for_streams().map_err(refused)?;
        let replay_from = self.commit().map_err(refused)?;
        let incarnation = self.directory.manifest().incarnation;
        let group = self.group.as_ref().expect("it is one of a group");
        let Some(staged) = &mut self.staged else { return Err(refused("it was given up")) };
        let mut retracted = group.for_snapshot().1;
        // It takes the place of every entry that is not agreed on.
        retracted.extend(group.open.front().map(|first| (first.start.0, staged.begin.0)));
        let mut writer =
            SnapshotWriter::create(Arc::clone(&self.disk), incarnation, replay_from).map_err(refused)?;
        let payload = (&staged.state, retracted);
        writer
            .append(GROUP, 0, staged.state.applied, |buffer| record::encode(&payload, buffer))
            .map_err(refused)?;
        let (number, start, ceiling) = self.lineage.for_snapshot();
        writer.append(START, 0, number, |buffer| record::encode(start, buffer)).map_err(refused)?;
        writer.append(CEILING, 0, ceiling, |_| ()).map_err(refused)?;
        staged.stage = Stage::Snapshot(writer);
        Ok(())
    }

    /// All of a copy has come: it has to be made durable.
    ///
    /// # Errors
    /// There is no room for it, or there is no copy on its way any more. The copy is given up.
    pub fn seal_staged(&mut self) -> Result<SealJob, CopyRefused> {
        if matches!(&self.staged, Some(Staged { stage: Stage::Records, .. })) {
            self.begin_staged_snapshot().inspect_err(|_| self.unstage())?;
        }
        let staged = self.staged.as_mut().ok_or_else(|| refused("it was given up"))?;
        match std::mem::replace(&mut staged.stage, Stage::Sealing) {
            Stage::Snapshot(writer) => Ok(SealJob { begin: staged.begin, writer }),
            other => {
                staged.stage = other;
                Err(refused("it has come already"))
            }
        }
    }

    /// A copy is durable, or is not.
    ///
    /// # Errors
    /// It is not, or it was given up meanwhile.
    pub fn sealed(&mut self, done: SealDone) -> Result<(), CopyRefused> {
        let SealDone { begin, result } = done;
        match &mut self.staged {
            Some(staged) if staged.begin == begin && matches!(staged.stage, Stage::Sealing) => {
                let sealed = result.map_err(refused).inspect_err(|_| self.staged = None)?;
                self.staged.as_mut().expect("just seen").stage = Stage::Sealed(sealed);
                Ok(())
            }
            _ => {
                result.into_iter().for_each(SealedSnapshot::abandon);
                Err(refused("it was given up"))
            }
        }
    }

    /// The copy takes the place of all that this directory holds. REQUIRES: it is sealed; and [`Self::rejoin`] next.
    ///
    /// # Errors
    /// It cannot be: what was there still counts.
    pub fn install(&mut self) -> Result<(), OpenError> {
        self.log.flush()?;
        self.log.sync_without_the_job()?;
        let Some(Staged { stage: Stage::Sealed(sealed), .. }) = self.staged.take() else {
            unreachable!("a copy is installed when it is sealed")
        };
        sealed.finish(self.log.durable())?;
        Ok(())
    }
}
