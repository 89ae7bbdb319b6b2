//! A disk that keeps in memory what is not synced: the end of its process, however it comes, is a loss of power. For tests of real
//! processes; [`super::SimDisk`] is the one of simulations.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use fastrand::Rng;

use super::{Disk, DiskFile, DiskLock, DiskResult};

/// Writes reach `base` when they are synced, and any part of them earlier. Names do so at once, as they may (I2).
#[derive(Debug)]
pub struct Unsynced {
    base: Arc<dyn Disk>,
    files: Mutex<BTreeMap<String, Arc<Held>>>,
    chance: Arc<Mutex<Rng>>,
}

/// One file, whoever has opened it.
#[derive(Debug)]
struct Held {
    base: Arc<dyn DiskFile>,
    /// Writes that are not synced, in this order.
    writes: Mutex<Vec<(u64, Vec<u8>)>>,
    chance: Arc<Mutex<Rng>>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Unsynced {
    /// Over `base`; `seed` chooses what reaches it before it is synced.
    #[must_use]
    pub fn new(base: Arc<dyn Disk>, seed: u64) -> Self {
        Self { base, files: Mutex::default(), chance: Arc::new(Mutex::new(Rng::with_seed(seed))) }
    }

    fn hold(&self, base: Arc<dyn DiskFile>, name: &str) -> Arc<Held> {
        let file = Arc::new(Held { base, writes: Mutex::default(), chance: self.chance.clone() });
        locked(&self.files).insert(name.to_owned(), file.clone());
        file
    }
}

impl Disk for Unsynced {
    fn list(&self) -> DiskResult<Vec<String>> {
        self.base.list()
    }

    fn create(&self, name: &str, bytes: u64) -> DiskResult<Arc<dyn DiskFile>> {
        Ok(self.hold(self.base.create(name, bytes)?, name))
    }

    fn open(&self, name: &str) -> DiskResult<Arc<dyn DiskFile>> {
        if let Some(file) = locked(&self.files).get(name) {
            return Ok(file.clone());
        }
        Ok(self.hold(self.base.open(name)?, name))
    }

    fn rename(&self, from: &str, to: &str) -> DiskResult<()> {
        self.base.rename(from, to)?;
        let mut files = locked(&self.files);
        match files.remove(from) {
            Some(file) => files.insert(to.to_owned(), file),
            None => files.remove(to),
        };
        Ok(())
    }

    fn remove(&self, name: &str) -> DiskResult<()> {
        self.base.remove(name)?;
        locked(&self.files).remove(name);
        Ok(())
    }

    fn sync_dir(&self) -> DiskResult<()> {
        self.base.sync_dir()
    }

    fn lock(&self, name: &str) -> DiskResult<DiskLock> {
        self.base.lock(name)
    }
}

impl DiskFile for Held {
    fn size(&self) -> DiskResult<u64> {
        let ends = |writes: &[(u64, Vec<u8>)]| writes.iter().map(|(at, bytes)| at + bytes.len() as u64).max();
        let written = ends(&locked(&self.writes)).unwrap_or(0);
        Ok(self.base.size()?.max(written))
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> DiskResult<usize> {
        let writes = locked(&self.writes);
        let mut length = self.base.read_at(offset, buffer)?;
        buffer[length..].fill(0);
        for (at, bytes) in &*writes {
            let end = (offset + buffer.len() as u64).min(at + bytes.len() as u64);
            let begin = offset.max(*at);
            if begin < end {
                let part = &bytes[(begin - at) as usize..(end - at) as usize];
                buffer[(begin - offset) as usize..(end - offset) as usize].copy_from_slice(part);
                length = length.max((end - offset) as usize);
            }
        }
        Ok(length)
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> DiskResult<()> {
        let mut writes = locked(&self.writes);
        // Most often nothing reaches the disk early; else all of it, or what comes before some byte.
        let early = {
            let mut chance = locked(&self.chance);
            if chance.u8(0..4) > 0 { 0 } else { chance.usize(0..=bytes.len()) }
        };
        self.base.write_at(offset, &bytes[..early])?;
        writes.push((offset, bytes.to_vec()));
        Ok(())
    }

    fn set_len(&self, bytes: u64) -> DiskResult<()> {
        let mut writes = locked(&self.writes);
        writes.iter_mut().for_each(|(at, written)| written.truncate(bytes.saturating_sub(*at) as usize));
        self.base.set_len(bytes)
    }

    fn sync(&self) -> DiskResult<()> {
        let mut writes = locked(&self.writes);
        for (at, bytes) in writes.drain(..) {
            self.base.write_at(at, &bytes)?;
        }
        drop(writes);
        self.base.sync()
    }
}

#[cfg(test)]
mod tests {
    use super::super::SimDisk;
    use super::*;

    fn text(disk: &dyn Disk, name: &str) -> String {
        let file = disk.open(name).unwrap();
        let mut bytes = vec![0; 8];
        let length = file.read_at(0, &mut bytes).unwrap();
        assert_eq!(file.size().unwrap() as usize, length);
        String::from_utf8_lossy(&bytes[..length]).replace('\0', ".")
    }

    #[test]
    fn what_is_synced_is_there_when_the_process_ends_and_what_is_not_may_be() {
        let mut kept = [0; 3];
        for seed in 0..100 {
            let base = Arc::new(SimDisk::new());
            let disk = Unsynced::new(base.clone(), seed);
            let file = disk.create("a", 4).unwrap();
            file.write_at(0, b"abcd").unwrap();
            file.sync().unwrap();
            file.write_at(2, b"XY").unwrap();
            disk.rename("a", "b").unwrap();
            disk.open("b").unwrap().write_at(4, b"Z").unwrap();
            assert_eq!(text(&disk, "b"), "abXYZ");
            let left = text(&*base, "b");
            assert!(left.starts_with("ab") && ["cd", "Xd", "XY"].contains(&&left[2..4]), "{left}");
            kept[left.bytes().filter(|byte| b"XY".contains(byte)).count()] += 1;
            file.sync().unwrap();
            assert_eq!(text(&*base, "b"), "abXYZ");
        }
        assert!(kept.iter().all(|times| *times > 0), "nothing, a part, all: {kept:?}");
    }
}
