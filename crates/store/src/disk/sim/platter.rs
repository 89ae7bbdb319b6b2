//! Files and names of the simulated disk: what programs see, what a power failure leaves.

use std::collections::BTreeMap;

use fastrand::Rng;

/// The unit in which a disk keeps or loses a write.
const SECTOR: usize = 512;

/// A change of the directory that is not durable yet.
#[derive(Debug, Clone)]
pub(super) enum NameChange {
    Create(String, u64),
    Rename(String, String, u64),
    Remove(String, u64),
}

/// Bytes, followed by zeros up to `size`: reserved space costs no memory.
#[derive(Debug, Clone, Default)]
pub(super) struct Content {
    bytes: Vec<u8>,
    pub(super) size: u64,
}

#[derive(Debug)]
pub(super) enum Change {
    Write(u64, Vec<u8>),
    SetLen(u64),
}

#[derive(Debug, Default)]
pub(super) struct Inode {
    pub(super) seen: Content,
    pub(super) durable: Content,
    /// What was done since the last sync, each with its number among all changes of the disk.
    pub(super) changes: Vec<(u64, Change)>,
    /// The first change that a failed sync has forgotten: it never becomes durable.
    pub(super) forgotten: Option<u64>,
    /// Open handles: a file without a name lives as long as they do.
    pub(super) handles: usize,
}

impl Content {
    pub(super) fn write(&mut self, offset: u64, data: &[u8]) {
        let start = offset as usize;
        let end = start + data.len();
        if self.bytes.len() < start {
            self.bytes.resize(start, 0);
        }
        let (over, beyond) = data.split_at(data.len().min(self.bytes.len() - start));
        self.bytes[start..start + over.len()].copy_from_slice(over);
        self.bytes.extend_from_slice(beyond);
        self.size = self.size.max(end as u64);
    }

    pub(super) fn set_len(&mut self, size: u64) {
        self.bytes.truncate(size as usize);
        self.size = size;
    }

    pub(super) fn read(&self, offset: u64, buffer: &mut [u8]) -> usize {
        let n = self.size.saturating_sub(offset).min(buffer.len() as u64) as usize;
        let from = (offset as usize).min(self.bytes.len());
        let have = (self.bytes.len() - from).min(n);
        buffer[..have].copy_from_slice(&self.bytes[from..from + have]);
        buffer[have..n].fill(0);
        n
    }

    pub(super) fn apply(&mut self, change: &Change) {
        match change {
            Change::Write(offset, data) => self.write(*offset, data),
            Change::SetLen(size) => self.set_len(*size),
        }
    }
}

impl Inode {
    /// The first change that a power failure may take.
    pub(super) fn first_unsynced(&self) -> Option<u64> {
        self.changes.first().map(|(number, _)| *number).into_iter().chain(self.forgotten).min()
    }

    /// What is left of the file when the power goes.
    pub(super) fn crash(&mut self, rng: &mut Rng) {
        self.forgotten = None;
        let changes: Vec<Change> = self.changes.drain(..).map(|(_, change)| change).collect();
        match rng.u32(0..4) {
            0 => {}
            1 => changes.iter().for_each(|c| self.durable.apply(c)),
            2 if !changes.is_empty() => {
                let whole = rng.usize(0..changes.len());
                changes[..whole].iter().for_each(|c| self.durable.apply(c));
                if let Change::Write(offset, data) = &changes[whole] {
                    self.durable.write(*offset, &data[..rng.usize(0..=data.len())]);
                }
            }
            _ => changes.iter().for_each(|c| self.tear(c, rng)),
        }
        self.seen = self.durable.clone();
    }

    /// Keeps any of the sectors that one change touched.
    fn tear(&mut self, change: &Change, rng: &mut Rng) {
        match change {
            Change::SetLen(size) => {
                if rng.bool() {
                    self.durable.set_len(*size);
                }
            }
            Change::Write(offset, data) => {
                let mut done = 0;
                while done < data.len() {
                    let at = *offset + done as u64;
                    let end = data.len().min(done + SECTOR - at as usize % SECTOR);
                    if rng.bool() {
                        self.durable.write(at, &data[done..end]);
                    }
                    done = end;
                }
            }
        }
    }
}

impl NameChange {
    pub(super) fn apply(&self, names: &mut BTreeMap<String, u64>) {
        match self {
            Self::Create(name, inode) => {
                names.insert(name.clone(), *inode);
            }
            Self::Rename(from, to, inode) => {
                if names.get(from) == Some(inode) {
                    names.remove(from);
                }
                names.insert(to.clone(), *inode);
            }
            Self::Remove(name, inode) => {
                if names.get(name) == Some(inode) {
                    names.remove(name);
                }
            }
        }
    }
}
