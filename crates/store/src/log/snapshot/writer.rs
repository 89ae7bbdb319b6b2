//! Writes a snapshot.

use std::sync::Arc;

use super::{
    HEADER, MAGIC, SNAPSHOT_FORMAT_VERSION, SnapshotError, SnapshotInfo, SnapshotResult, TEMPORARY_SUFFIX,
    frame_identity, header_checksum, name_of, position_of,
};
use crate::disk::{Disk, DiskErrorKind, DiskFile, DiskResult};
use crate::log::{MAX_KIND, Position, frame};

/// How much is gathered for one write.
const CHUNK: usize = 256 * 1024;

/// Writes one snapshot. Dropped before [`SnapshotWriter::finish`] it leaves nothing that a reader would look at; the
/// space comes back when snapshots are looked for, or the next is begun. After an error it is useless, and its file gone.
#[derive(Debug)]
pub struct SnapshotWriter {
    disk: Arc<dyn Disk>,
    file: Arc<dyn DiskFile>,
    temporary: String,
    identity: u64,
    replay_from: Position,
    buffer: Vec<u8>,
    /// Where in the file the buffer goes.
    offset: u64,
    records: u64,
    total: crc32fast::Hasher,
}

/// A snapshot that is durable, and has no name yet. Dropped, it is as a writer that was dropped.
#[derive(Debug)]
#[must_use = "it does not count before it is finished"]
pub struct SealedSnapshot(SnapshotWriter);

impl SnapshotWriter {
    /// Begins a snapshot from which the log is replayed from `replay_from` on.
    ///
    /// # Errors
    /// `Disk`.
    pub fn create(disk: Arc<dyn Disk>, incarnation: u64, replay_from: Position) -> SnapshotResult<Self> {
        let temporary = format!("{:020}{TEMPORARY_SUFFIX}", replay_from.0);
        remove_if_there(&*disk, &temporary)?;
        let file = disk.create(&temporary, 0)?;
        let mut header = [0; HEADER as usize];
        header[..8].copy_from_slice(&MAGIC);
        header[8..12].copy_from_slice(&SNAPSHOT_FORMAT_VERSION.to_le_bytes());
        header[16..24].copy_from_slice(&incarnation.to_le_bytes());
        header[24..32].copy_from_slice(&replay_from.0.to_le_bytes());
        let crc = header_checksum(&header);
        header[12..16].copy_from_slice(&crc.to_le_bytes());
        Ok(Self {
            disk,
            file,
            temporary,
            identity: frame_identity(incarnation, replay_from),
            replay_from,
            buffer: header.to_vec(),
            offset: 0,
            records: 0,
            total: crc32fast::Hasher::new(),
        })
    }

    /// Adds one record, whose payload `encode` pushes to the buffer.
    ///
    /// # Errors
    /// `Disk`: the snapshot cannot be finished.
    ///
    /// # Panics
    /// When `kind` is above [`MAX_KIND`].
    pub fn append(
        &mut self,
        kind: u8,
        partition: u16,
        seq: u64,
        encode: impl FnOnce(&mut Vec<u8>),
    ) -> SnapshotResult<()> {
        assert!(kind <= MAX_KIND, "record kind {kind} belongs to the snapshot itself");
        self.push(kind, partition, seq, encode);
        self.records += 1;
        if self.buffer.len() >= CHUNK {
            self.write()?;
        }
        Ok(())
    }

    /// Closes the snapshot, makes it durable under its name, and removes older ones. `log_durable` is
    /// [`crate::log::Log::durable`] (I2).
    ///
    /// # Errors
    /// `NotDurable`, `Disk`; the snapshot before this one is still there.
    pub fn finish(self, log_durable: Position) -> SnapshotResult<SnapshotInfo> {
        self.seal()?.finish(log_durable)
    }

    /// Closes the snapshot and makes it durable, but not under its name: it does not count yet. This is what takes long.
    ///
    /// # Errors
    /// `Disk`; the file is gone.
    pub fn seal(mut self) -> SnapshotResult<SealedSnapshot> {
        let total = self.total.clone().finalize();
        let records = self.records;
        self.push(frame::KIND_COMMIT, 0xFFFF, records, |buffer| {
            buffer.extend_from_slice(&total.to_le_bytes());
        });
        self.write()?;
        let synced = self.file.sync();
        self.or_give_up(synced)?;
        Ok(SealedSnapshot(self))
    }

    /// Removes the file, as far as the disk lets it.
    pub fn abandon(self) {
        let _ = self.disk.remove(&self.temporary);
    }

    fn push(&mut self, kind: u8, partition: u16, seq: u64, encode: impl FnOnce(&mut Vec<u8>)) {
        let at = self.buffer.len();
        self.buffer.extend_from_slice(&[0; frame::HEADER]);
        encode(&mut self.buffer);
        let position = self.offset + at as u64;
        let bytes = &mut self.buffer[at..];
        frame::finish(bytes, self.identity, position, kind, partition, seq);
        self.total.update(bytes);
    }

    fn write(&mut self) -> SnapshotResult<()> {
        let written = self.file.write_at(self.offset, &self.buffer);
        self.or_give_up(written)?;
        self.offset += self.buffer.len() as u64;
        self.buffer.clear();
        Ok(())
    }

    /// A full disk is the likeliest failure: the half-made file must not keep it full.
    fn or_give_up(&self, result: DiskResult<()>) -> SnapshotResult<()> {
        result.map_err(|error| {
            let _ = self.disk.remove(&self.temporary);
            error.into()
        })
    }
}

impl SealedSnapshot {
    /// Gives the snapshot its name, and removes older ones. `log_durable` is [`crate::log::Log::durable`] (I2).
    ///
    /// # Errors
    /// `NotDurable`, `Disk`; the snapshot before this one is still there.
    pub fn finish(self, log_durable: Position) -> SnapshotResult<SnapshotInfo> {
        let SnapshotWriter { replay_from, records, .. } = self.0;
        if log_durable < replay_from {
            self.abandon();
            return Err(SnapshotError::NotDurable { replay_from, durable: log_durable });
        }
        let Self(writer) = self;
        let file = name_of(replay_from);
        let renamed = writer.disk.rename(&writer.temporary, &file);
        writer.or_give_up(renamed)?;
        writer.disk.sync_dir()?;
        for name in writer.disk.list()? {
            if position_of(&name).is_some_and(|position| position < replay_from) {
                writer.disk.remove(&name)?;
            }
        }
        Ok(SnapshotInfo { file, replay_from, records, bytes: writer.offset })
    }

    /// As [`SnapshotWriter::abandon`].
    pub fn abandon(self) {
        self.0.abandon();
    }
}

fn remove_if_there(disk: &dyn Disk, name: &str) -> SnapshotResult<()> {
    match disk.remove(name) {
        Err(error) if error.kind != DiskErrorKind::NotFound => Err(error.into()),
        _ => Ok(()),
    }
}
