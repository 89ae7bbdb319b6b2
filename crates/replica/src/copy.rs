//! A copy of everything, for a member of the group that lacks more than the log can give it.
//!
//! It is the newest snapshot, and before it the records that another data centre may still ask for: whoever holds the copy
//! may be the next to lead, and has to feed the others. The receiver writes both to its own directory, and begins anew.

use crate::entry::{Entries, EntryKind, push_record, records};
use crate::group::GroupState;
use crate::host::Host;
use crate::record::{self, ENTRY, GROUP, WRITTEN};
use crate::recover::{Item, OpenError};
use crate::replay::Replay;
use bytes::Bytes;
use std::sync::Arc;
use tidemark_contract::Protocol;
use tidemark_store::log::snapshot::{LatestSnapshot, SnapshotRecord, SnapshotWriter};
use tidemark_store::log::{Frame, Position};

impl<P: Protocol> Host<P> {
    /// The entries since the newest snapshot, or all if there is none, as they stand in the log.
    ///
    /// # Errors
    /// The snapshot or the log cannot be read.
    pub fn entries(&self) -> Result<Entries, OpenError> {
        let incarnation = self.directory.manifest().incarnation;
        let mut replay = Replay::default();
        let mut snapshot = LatestSnapshot::find(&*self.disk, incarnation)?;
        let replay_from = snapshot.replay_from();
        if let Some(reader) = &mut snapshot.reader
            && let Some(SnapshotRecord { kind, partition, seq, payload }) = reader.read()?
        {
            // It is the first thing that a snapshot says.
            replay.takes_of_snapshot(&Item { at: replay_from, kind, partition, seq, payload })?;
        }
        let mut cursor = self.log.cursor(replay_from)?;
        while let Some(frame) = self.log.read(&mut cursor)? {
            let (at, kind) = (frame.position, frame.kind);
            let Frame { partition, seq, payload, .. } = frame;
            replay.take(&Item { at, kind, partition, seq, payload })?;
        }
        Ok(replay.finish(self.log.flushed()).1)
    }

    /// What a member needs that has nothing, or too little, up to the entries that [`Self::entries`] begins with: nothing, if
    /// these are all that there ever were.
    ///
    /// # Errors
    /// The snapshot or the log cannot be read.
    pub fn copy(&self) -> Result<Bytes, OpenError> {
        let incarnation = self.directory.manifest().incarnation;
        let mut snapshot = LatestSnapshot::find(&*self.disk, incarnation)?;
        let end = snapshot.replay_from();
        let Some(reader) = &mut snapshot.reader else { return Ok(Bytes::new()) };
        let mut data = Vec::new();
        let mut cursor = self.log.cursor(self.fed_from())?;
        while let Some(frame) = self.log.read_before(&mut cursor, end)? {
            let retracted = self.group.as_ref().is_some_and(|group| group.is_retracted(frame.position));
            if frame.kind == WRITTEN && !retracted {
                let header = (frame.kind, frame.partition, frame.seq);
                push_record(&mut data, header, |buffer| buffer.extend_from_slice(frame.payload));
            }
        }
        while let Some(item) = reader.read()? {
            if item.kind != GROUP {
                let header = (item.kind, item.partition, item.seq);
                push_record(&mut data, header, |buffer| buffer.extend_from_slice(item.payload));
            }
        }
        Ok(data.into())
    }

    /// From where on the log has what other data centres may ask for.
    fn fed_from(&self) -> Position {
        let others = || self.config.topology.all_dcs().filter(|dc| *dc != self.config.dc);
        let needed =
            (0..self.places.len()).flat_map(|at| others().filter_map(move |dc| self.needed_by(at, dc)));
        needed.min().unwrap_or(self.log.flushed())
    }

    /// Writes a copy to this directory, in place of all that it holds; `state` is what is kept of the group from now on.
    /// REQUIRES: [`Self::rejoin`] next.
    ///
    /// # Errors
    /// It cannot be understood or written; what was there still counts.
    pub fn install(&mut self, state: &GroupState, copy: &[u8]) -> Result<(), OpenError> {
        let incarnation = self.directory.manifest().incarnation;
        records(copy).try_for_each(|item| item.map(drop).map_err(damaged))?;
        let begin = self.log.end();
        for item in records(copy).flatten().filter(|item| item.kind == WRITTEN) {
            self.log.append(item.kind, item.partition, item.seq, |buffer| buffer.extend(item.payload))?;
        }
        // Should this end before the snapshot counts, they are no part of the next entry.
        self.log.append(ENTRY, 0, 0, |buffer| {
            record::encode(&(0u64, EntryKind::Records, &[0u8; 0][..]), buffer)
        })?;
        self.log.flush()?;
        self.log.sync_without_the_job()?;
        let group = self.group.as_mut().expect("it is one of a group");
        group.supersede(begin);
        let retracted = group.for_snapshot().1;
        let replay_from = self.log.flushed();
        let mut writer = SnapshotWriter::create(Arc::clone(&self.disk), incarnation, replay_from)?;
        let group = (state, retracted);
        writer.append(GROUP, 0, state.applied, |buffer| record::encode(&group, buffer))?;
        for item in records(copy).flatten().filter(|item| item.kind != WRITTEN) {
            writer.append(item.kind, item.partition, item.seq, |buffer| buffer.extend(item.payload))?;
        }
        writer.finish(self.log.durable())?;
        Ok(())
    }
}

fn damaged(detail: impl Into<String>) -> OpenError {
    let detail = format!("a copy of the group's data: {}", detail.into());
    OpenError::Meaning { kind: GROUP, seq: 0, position: Position::START, detail }
}
