//! The work on a snapshot that blocks.

use crate::record::{self, OBJECT};
use std::sync::Arc;
use tidemark_contract::Wire;
use tidemark_core::Key;
use tidemark_store::Mark;
use tidemark_store::chains::Frozen;
use tidemark_store::log::Position;
use tidemark_store::log::snapshot::{SnapshotResult, SnapshotWriter};

/// Writes records of a snapshot.
pub(super) type Write = Box<dyn FnOnce(&mut SnapshotWriter) -> SnapshotResult<()> + Send>;

/// A part of the work on a snapshot that blocks, to be run on any thread.
#[must_use = "the snapshot does not count before the job has run"]
pub struct UpkeepJob {
    pub(super) writer: SnapshotWriter,
    pub(super) replay_from: Position,
    pub(super) work: Work,
}

pub(super) enum Work {
    /// Keys with many elements.
    Write(Vec<Write>),
    /// The end: it syncs, renames, and removes what is older. The log is durable up to there.
    Finish(Position),
}

/// What an [`UpkeepJob`] did: the writer comes back if there is more to write.
#[must_use = "hand it to Host::upkept"]
pub struct UpkeepDone {
    pub(super) replay_from: Position,
    pub(super) result: SnapshotResult<Option<SnapshotWriter>>,
}

impl UpkeepJob {
    /// Whether a snapshot counts once it has run.
    pub fn ends(&self) -> bool {
        matches!(self.work, Work::Finish(_))
    }

    /// Does it; blocks for as long as the disk takes.
    pub fn run(self) -> UpkeepDone {
        let Self { mut writer, replay_from, work } = self;
        let result = match work {
            Work::Write(all) => {
                all.into_iter().try_for_each(|write| write(&mut writer)).map(|()| Some(writer))
            }
            Work::Finish(durable) => writer.finish(durable).map(|_| None),
        };
        UpkeepDone { replay_from, result }
    }
}

/// Writes a key of a data type as it was when it was frozen.
pub(super) fn write_object<M: Wire>(
    key: Key,
    mark: Arc<Mark>,
    frozen: Frozen<M>,
    place: u16,
) -> impl FnOnce(&mut SnapshotWriter) -> SnapshotResult<()> + Send {
    move |writer| {
        let mut result = Ok(());
        frozen.parts(|part| {
            if result.is_ok() {
                result = writer.append(OBJECT, place, 0, |to| record::encode(&(&key, &*mark, part), to));
            }
        });
        result
    }
}
