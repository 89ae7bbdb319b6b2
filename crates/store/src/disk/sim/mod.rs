//! A disk in memory that a simulation can crash, fill, fail and corrupt. Deterministic: every choice comes from the
//! generator that the caller passes.
//!
//! It keeps two contents of every file: what programs see, and what the platter has, with the list of writes between
//! them. A crash keeps, a file at a time, none of that list, all of it, a prefix torn at any byte, or any subset of its
//! 512-byte pieces; and of the names not made durable, a prefix or any subset. A failed sync forgets the list but goes
//! on showing the writes, as kernels do (I3 of [`super`]).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard};

use fastrand::Rng;

use super::{Disk, DiskError, DiskErrorKind, DiskFile, DiskLock, DiskResult};

mod file;
mod platter;

use file::SimFile;
use platter::{Change, Inode, NameChange};

/// An operation that can be made to fail once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// A write: half of it reaches the file.
    Write,
    /// A sync of a file: its unsynced writes will never be durable, though they go on being read.
    Sync,
    /// A sync of the directory.
    SyncDir,
    /// A read.
    Read,
    /// The creation of a file, for want of space.
    CreateNoSpace,
}

/// A simulated disk. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct SimDisk {
    state: Arc<Mutex<State>>,
    /// The process life that this handle belongs to, after which it is dead; `None` for the simulation itself.
    life: Option<u64>,
}

#[derive(Debug, Default)]
struct State {
    files: BTreeMap<u64, Inode>,
    names: BTreeMap<String, u64>,
    durable_names: BTreeMap<String, u64>,
    /// What is not durable of the directory, each with its number among all changes.
    name_changes: Vec<(u64, NameChange)>,
    next_inode: u64,
    life: u64,
    capacity: Option<u64>,
    faults: BTreeMap<Fault, u64>,
    locks: BTreeSet<(u64, String)>,
    syncs: u64,
    written_bytes: u64,
    /// How many changes there were, of files and names.
    changes: u64,
}

impl State {
    fn end_life(&mut self) {
        self.life += 1;
        self.locks.clear();
        self.faults.clear();
        self.files.values_mut().for_each(|file| file.handles = 0);
    }

    /// The number of a change that is made now.
    fn number(&mut self) -> u64 {
        self.changes += 1;
        self.changes
    }

    fn error(kind: DiskErrorKind, operation: &'static str, name: &str, detail: &str) -> DiskError {
        DiskError { kind, operation, path: name.to_owned(), detail: detail.to_owned() }
    }

    fn trip(&mut self, fault: Fault, operation: &'static str, name: &str) -> DiskResult<()> {
        match self.faults.get_mut(&fault) {
            Some(0) => {
                self.faults.remove(&fault);
                let kind =
                    if fault == Fault::CreateNoSpace { DiskErrorKind::NoSpace } else { DiskErrorKind::Io };
                Err(Self::error(kind, operation, name, "a fault was injected"))
            }
            Some(left) => {
                *left -= 1;
                Ok(())
            }
            None => Ok(()),
        }
    }

    fn used(&self) -> u64 {
        self.names.values().collect::<BTreeSet<_>>().into_iter().map(|i| self.files[i].seen.size).sum()
    }

    fn reserve(&self, more: u64, operation: &'static str, name: &str) -> DiskResult<()> {
        match self.capacity {
            Some(capacity) if self.used() + more > capacity => Err(Self::error(
                DiskErrorKind::NoSpace,
                operation,
                name,
                "no space left on the simulated disk",
            )),
            _ => Ok(()),
        }
    }

    /// Drops a file that nothing leads to any more: no name, no durable name, no change that may survive, no handle.
    fn forget(&mut self, inode: u64) {
        let named = self.names.values().chain(self.durable_names.values()).any(|&i| i == inode);
        let pending = !self.name_changes.is_empty();
        if !named && !pending && self.files.get(&inode).is_some_and(|file| file.handles == 0) {
            self.files.remove(&inode);
        }
    }

    fn inode(&self, operation: &'static str, name: &str) -> DiskResult<u64> {
        let missing = || Self::error(DiskErrorKind::NotFound, operation, name, "no such file");
        self.names.get(name).copied().ok_or_else(missing)
    }
}

impl SimDisk {
    /// An empty disk without bound.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no method of the simulated disk panics with the lock held")
    }

    /// The disk as one process sees it: dead after the next [`SimDisk::crash`] or [`SimDisk::kill`], so that what is left
    /// of the process cannot touch what its successor does.
    #[must_use]
    pub fn process(&self) -> Self {
        let life = self.state().life;
        Self { state: self.state.clone(), life: Some(life) }
    }

    fn alive(&self, operation: &'static str, name: &str) -> DiskResult<MutexGuard<'_, State>> {
        let state = self.state();
        match self.life {
            Some(life) if life != state.life => {
                Err(State::error(DiskErrorKind::Io, operation, name, "this process has died"))
            }
            _ => Ok(state),
        }
    }

    fn handle(&self, state: &mut State, inode: u64, name: &str) -> Arc<dyn DiskFile> {
        state.files.get_mut(&inode).expect("a name leads to a file").handles += 1;
        let disk = self.clone();
        Arc::new(SimFile { disk, inode, life: state.life, name: name.to_owned() })
    }

    /// The power fails: what was not synced is kept, lost or torn as `rng` decides, and every open handle is dead.
    pub fn crash(&self, rng: &mut Rng) {
        let mut state = self.state();
        state.end_life();
        let changes = std::mem::take(&mut state.name_changes);
        let ordered = rng.bool();
        let kept = rng.usize(0..=changes.len());
        for (i, (_, change)) in changes.iter().enumerate() {
            if if ordered { i < kept } else { rng.bool() } {
                change.apply(&mut state.durable_names);
            }
        }
        state.names = state.durable_names.clone();
        let kept: BTreeSet<u64> = state.names.values().copied().collect();
        state.files.retain(|inode, _| kept.contains(inode));
        for inode in state.files.values_mut() {
            inode.crash(rng);
        }
    }

    /// The process dies but the system lives: nothing is lost, every open handle is dead.
    pub fn kill(&self) {
        self.state().end_life();
    }

    /// Makes one operation fail: the next one, after `skip` that go well.
    pub fn inject(&self, fault: Fault, skip: u64) {
        self.state().faults.insert(fault, skip);
    }

    /// Takes back the failures that were injected and have not happened yet.
    pub fn mend(&self) {
        self.state().faults.clear();
    }

    /// Bounds the disk, or frees it of its bound. Reserved space counts.
    pub fn set_capacity(&self, bytes: Option<u64>) {
        self.state().capacity = bytes;
    }

    /// Bytes taken by all files, reserved space included.
    #[must_use]
    pub fn used(&self) -> u64 {
        self.state().used()
    }

    /// How many file syncs have succeeded.
    #[must_use]
    pub fn syncs(&self) -> u64 {
        self.state().syncs
    }

    /// How many bytes have been written.
    #[must_use]
    pub fn written_bytes(&self) -> u64 {
        self.state().written_bytes
    }

    /// How many changes of files and names there were.
    #[must_use]
    pub fn changes(&self) -> u64 {
        self.state().changes
    }

    /// How many of them no power failure can take: all before the first that it can. That a name was taken does not count: the file
    /// may come back, and nothing is lost.
    #[must_use]
    pub fn durable_changes(&self) -> u64 {
        let state = self.state();
        let of_files = state.names.values().filter_map(|inode| state.files[inode].first_unsynced());
        let given = |(number, change): &(u64, NameChange)| {
            (!matches!(change, NameChange::Remove(..))).then_some(*number)
        };
        let first = of_files.chain(state.name_changes.iter().filter_map(given)).min();
        first.map_or(state.changes, |first| first - 1)
    }

    /// Flips bits of one byte, on the platter and in what is read.
    ///
    /// # Panics
    /// When there is no such file.
    pub fn corrupt(&self, name: &str, offset: u64, xor: u8) {
        let mut state = self.state();
        let inode = state.names[name];
        let file = state.files.get_mut(&inode).expect("a name leads to a file");
        for content in [&mut file.seen, &mut file.durable] {
            let mut byte = [0];
            content.read(offset, &mut byte);
            content.write(offset, &[byte[0] ^ xor]);
        }
    }
}

struct SimLock {
    disk: SimDisk,
    key: (u64, String),
}

impl Drop for SimLock {
    fn drop(&mut self) {
        self.disk.state().locks.remove(&self.key);
    }
}

impl Disk for SimDisk {
    fn list(&self) -> DiskResult<Vec<String>> {
        Ok(self.alive("list", "the directory")?.names.keys().cloned().collect())
    }

    fn create(&self, name: &str, bytes: u64) -> DiskResult<Arc<dyn DiskFile>> {
        let mut state = self.alive("create", name)?;
        state.trip(Fault::CreateNoSpace, "create", name)?;
        if state.names.contains_key(name) {
            return Err(State::error(DiskErrorKind::AlreadyExists, "create", name, "the file exists"));
        }
        state.reserve(bytes, "reserve space for", name)?;
        let inode = state.next_inode;
        state.next_inode += 1;
        let number = state.number();
        let mut file = Inode::default();
        file.seen.set_len(bytes);
        file.changes.push((number, Change::SetLen(bytes)));
        state.files.insert(inode, file);
        state.names.insert(name.to_owned(), inode);
        state.name_changes.push((number, NameChange::Create(name.to_owned(), inode)));
        Ok(self.handle(&mut state, inode, name))
    }

    fn open(&self, name: &str) -> DiskResult<Arc<dyn DiskFile>> {
        let mut state = self.alive("open", name)?;
        let inode = state.inode("open", name)?;
        Ok(self.handle(&mut state, inode, name))
    }

    fn rename(&self, from: &str, to: &str) -> DiskResult<()> {
        let mut state = self.alive("rename", from)?;
        let inode = state.inode("rename", from)?;
        let change = NameChange::Rename(from.to_owned(), to.to_owned(), inode);
        change.apply(&mut state.names);
        let number = state.number();
        state.name_changes.push((number, change));
        Ok(())
    }

    fn remove(&self, name: &str) -> DiskResult<()> {
        let mut state = self.alive("remove", name)?;
        let Some(inode) = state.names.remove(name) else {
            return Err(State::error(DiskErrorKind::NotFound, "remove", name, "no such file"));
        };
        let number = state.number();
        state.name_changes.push((number, NameChange::Remove(name.to_owned(), inode)));
        state.forget(inode);
        Ok(())
    }

    fn sync_dir(&self) -> DiskResult<()> {
        let mut state = self.alive("sync", "the directory")?;
        state.trip(Fault::SyncDir, "sync", "the directory")?;
        state.name_changes.clear();
        let before = std::mem::take(&mut state.durable_names);
        state.durable_names = state.names.clone();
        before.into_values().for_each(|inode| state.forget(inode));
        Ok(())
    }

    fn lock(&self, name: &str) -> DiskResult<DiskLock> {
        let mut state = self.alive("lock", name)?;
        let key = (state.life, name.to_owned());
        if !state.locks.insert(key.clone()) {
            return Err(State::error(DiskErrorKind::Locked, "lock", name, "another process holds it"));
        }
        drop(state);
        Ok(DiskLock::new(SimLock { disk: self.clone(), key }))
    }
}
