//! An open file of the simulated disk.

use super::super::{DiskErrorKind, DiskFile, DiskResult};
use super::platter::Change;
use super::{Fault, SimDisk, State};

#[derive(Debug)]
pub(super) struct SimFile {
    pub(super) disk: SimDisk,
    pub(super) inode: u64,
    pub(super) life: u64,
    pub(super) name: String,
}

impl Drop for SimFile {
    fn drop(&mut self) {
        let mut state = self.disk.state();
        if state.life == self.life {
            state.files.get_mut(&self.inode).expect("an open file exists").handles -= 1;
            state.forget(self.inode);
        }
    }
}

impl SimFile {
    fn with<T>(
        &self,
        operation: &'static str,
        act: impl FnOnce(&mut State, u64) -> DiskResult<T>,
    ) -> DiskResult<T> {
        let mut state = self.disk.state();
        if state.life != self.life {
            return Err(State::error(DiskErrorKind::Io, operation, &self.name, "this process has died"));
        }
        act(&mut state, self.inode)
    }
}

impl DiskFile for SimFile {
    fn size(&self) -> DiskResult<u64> {
        self.with("stat", |state, inode| Ok(state.files[&inode].seen.size))
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> DiskResult<usize> {
        self.with("read", |state, inode| {
            state.trip(Fault::Read, "read", &self.name)?;
            Ok(state.files[&inode].seen.read(offset, buffer))
        })
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> DiskResult<()> {
        self.with("write", |state, inode| {
            let tripped = state.trip(Fault::Write, "write", &self.name);
            let bytes = if tripped.is_ok() { bytes } else { &bytes[..bytes.len() / 2] };
            let more = (offset + bytes.len() as u64).saturating_sub(state.files[&inode].seen.size);
            if more > 0 {
                state.reserve(more, "write", &self.name)?;
            }
            state.written_bytes += bytes.len() as u64;
            let number = state.number();
            let file = state.files.get_mut(&inode).expect("an open file exists");
            file.seen.write(offset, bytes);
            file.changes.push((number, Change::Write(offset, bytes.to_vec())));
            tripped
        })
    }

    fn set_len(&self, bytes: u64) -> DiskResult<()> {
        self.with("resize", |state, inode| {
            let number = state.number();
            let file = state.files.get_mut(&inode).expect("an open file exists");
            file.seen.set_len(bytes);
            file.changes.push((number, Change::SetLen(bytes)));
            Ok(())
        })
    }

    fn sync(&self) -> DiskResult<()> {
        self.with("sync", |state, inode| {
            let tripped = state.trip(Fault::Sync, "sync", &self.name);
            let file = state.files.get_mut(&inode).expect("an open file exists");
            if tripped.is_err() {
                file.forgotten = file.first_unsynced();
            }
            let changes = std::mem::take(&mut file.changes);
            tripped?;
            changes.iter().for_each(|(_, change)| file.durable.apply(change));
            state.syncs += 1;
            Ok(())
        })
    }
}
