//! A disk that is only read: what is changed stays in memory. A server whose disk is full opens its log on one, so that it can be read.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{Disk, DiskError, DiskErrorKind, DiskFile, DiskLock, DiskResult};

/// The files of another disk, and what was changed.
#[derive(Debug)]
pub struct Overlay {
    base: Arc<dyn Disk>,
    /// Files that were opened, created, renamed; none for those that were removed.
    files: Mutex<BTreeMap<String, Option<Arc<Layered>>>>,
    room: Room,
}

/// The bytes by which files may still grow in all.
type Room = Arc<Mutex<u64>>;

/// One file.
#[derive(Debug)]
struct Layered {
    /// The file below; nothing for a file that was created here.
    base: Option<Arc<dyn DiskFile>>,
    content: Mutex<Content>,
    room: Room,
}

#[derive(Debug)]
struct Content {
    size: u64,
    /// So much of what is below shows.
    shows: u64,
    /// Writes, in this order.
    writes: Vec<(u64, Vec<u8>)>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn error(kind: DiskErrorKind, operation: &'static str, name: &str, detail: &str) -> DiskError {
    DiskError { kind, operation, path: name.to_owned(), detail: detail.to_owned() }
}

fn take(room: &Room, bytes: u64) -> DiskResult<()> {
    let mut room = locked(room);
    match room.checked_sub(bytes) {
        Some(left) => {
            *room = left;
            Ok(())
        }
        None => Err(error(DiskErrorKind::NoSpace, "reserve space in", "memory", "the disk is only read")),
    }
}

impl Overlay {
    /// Over `base`, unchanged yet, with room for `bytes` more.
    #[must_use]
    pub fn new(base: Arc<dyn Disk>, bytes: u64) -> Self {
        Self { base, files: Mutex::default(), room: Arc::new(Mutex::new(bytes)) }
    }

    fn has(&self, files: &BTreeMap<String, Option<Arc<Layered>>>, name: &str) -> DiskResult<bool> {
        match files.get(name) {
            Some(file) => Ok(file.is_some()),
            None => Ok(self.base.list()?.iter().any(|other| other == name)),
        }
    }

    fn file(
        &self,
        files: &mut BTreeMap<String, Option<Arc<Layered>>>,
        operation: &'static str,
        name: &str,
    ) -> DiskResult<Arc<Layered>> {
        match files.get(name) {
            Some(Some(file)) => return Ok(file.clone()),
            Some(None) => return Err(error(DiskErrorKind::NotFound, operation, name, "no such file")),
            None => {}
        }
        let base = self.base.open(name)?;
        let size = base.size()?;
        let content = Mutex::new(Content { size, shows: size, writes: Vec::new() });
        let file = Arc::new(Layered { base: Some(base), content, room: self.room.clone() });
        files.insert(name.to_owned(), Some(file.clone()));
        Ok(file)
    }
}

impl Disk for Overlay {
    fn list(&self) -> DiskResult<Vec<String>> {
        let files = locked(&self.files);
        let below = self.base.list()?.into_iter().filter(|name| !files.contains_key(name));
        let here = files.iter().filter(|(_, file)| file.is_some()).map(|(name, _)| name.clone());
        let mut names: Vec<String> = below.chain(here).collect();
        names.sort_unstable();
        Ok(names)
    }

    fn create(&self, name: &str, bytes: u64) -> DiskResult<Arc<dyn DiskFile>> {
        let mut files = locked(&self.files);
        if self.has(&files, name)? {
            return Err(error(DiskErrorKind::AlreadyExists, "create", name, "the file exists"));
        }
        take(&self.room, bytes)?;
        let content = Mutex::new(Content { size: bytes, shows: 0, writes: Vec::new() });
        let file = Arc::new(Layered { base: None, content, room: self.room.clone() });
        files.insert(name.to_owned(), Some(file.clone()));
        Ok(file)
    }

    fn open(&self, name: &str) -> DiskResult<Arc<dyn DiskFile>> {
        let file = self.file(&mut locked(&self.files), "open", name)?;
        Ok(file)
    }

    fn rename(&self, from: &str, to: &str) -> DiskResult<()> {
        let mut files = locked(&self.files);
        let file = self.file(&mut files, "rename", from)?;
        files.insert(from.to_owned(), None);
        files.insert(to.to_owned(), Some(file));
        Ok(())
    }

    fn remove(&self, name: &str) -> DiskResult<()> {
        let mut files = locked(&self.files);
        if !self.has(&files, name)? {
            return Err(error(DiskErrorKind::NotFound, "remove", name, "no such file"));
        }
        files.insert(name.to_owned(), None);
        Ok(())
    }

    fn sync_dir(&self) -> DiskResult<()> {
        Ok(())
    }

    fn lock(&self, name: &str) -> DiskResult<DiskLock> {
        self.base.lock(name)
    }
}

impl Layered {
    fn read(&self, content: &Content, offset: u64, buffer: &mut [u8]) -> DiskResult<usize> {
        let length = (content.size.saturating_sub(offset)).min(buffer.len() as u64) as usize;
        let buffer = &mut buffer[..length];
        buffer.fill(0);
        let shown = (content.shows.saturating_sub(offset)).min(length as u64) as usize;
        if let Some(base) = &self.base {
            base.read_at(offset, &mut buffer[..shown])?;
        }
        for (at, bytes) in &content.writes {
            let (begin, end) = (offset.max(*at), (offset + length as u64).min(at + bytes.len() as u64));
            if begin < end {
                let from = &bytes[(begin - at) as usize..(end - at) as usize];
                buffer[(begin - offset) as usize..(end - offset) as usize].copy_from_slice(from);
            }
        }
        Ok(length)
    }
}

impl DiskFile for Layered {
    fn size(&self) -> DiskResult<u64> {
        Ok(locked(&self.content).size)
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> DiskResult<usize> {
        self.read(&locked(&self.content), offset, buffer)
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> DiskResult<()> {
        let mut content = locked(&self.content);
        // What recovery writes again is there.
        let mut there = vec![0; bytes.len()];
        if self.read(&content, offset, &mut there)? == bytes.len() && there == bytes {
            return Ok(());
        }
        let end = offset + bytes.len() as u64;
        take(&self.room, end.saturating_sub(content.size))?;
        content.size = content.size.max(end);
        content.writes.push((offset, bytes.to_vec()));
        Ok(())
    }

    fn set_len(&self, bytes: u64) -> DiskResult<()> {
        let mut content = locked(&self.content);
        content.size = bytes;
        content.shows = content.shows.min(bytes);
        content
            .writes
            .iter_mut()
            .for_each(|(at, written)| written.truncate(bytes.saturating_sub(*at) as usize));
        Ok(())
    }

    /// Syncs the file below, which is shown and may not be durable.
    fn sync(&self) -> DiskResult<()> {
        self.base.as_ref().map_or(Ok(()), |base| base.sync())
    }
}

#[cfg(test)]
mod tests {
    use super::super::SimDisk;
    use super::*;

    fn text(disk: &dyn Disk, name: &str) -> String {
        let file = disk.open(name).unwrap();
        let mut bytes = vec![0; file.size().unwrap() as usize + 5];
        let length = file.read_at(0, &mut bytes).unwrap();
        String::from_utf8_lossy(&bytes[..length]).replace('\0', ".")
    }

    #[test]
    fn what_is_changed_stays_in_memory() {
        let base = SimDisk::new();
        base.create("a", 6).unwrap().write_at(0, b"abcdef").unwrap();
        base.create("b", 1).unwrap().write_at(0, b"b").unwrap();
        let over = Overlay::new(Arc::new(base.clone()), 8);
        let file = over.open("a").unwrap();
        file.write_at(2, b"XY").unwrap();
        assert_eq!(text(&over, "a"), "abXYef");
        file.set_len(3).unwrap();
        file.set_len(6).unwrap();
        assert_eq!(text(&over, "a"), "abX...");
        file.write_at(6, b"gh").unwrap();
        over.rename("a", "c").unwrap();
        over.remove("b").unwrap();
        assert!(over.open("a").is_err() && over.remove("b").is_err());
        let made = over.create("d", 4).unwrap();
        made.write_at(1, b"d").unwrap();
        assert_eq!((text(&over, "c"), text(&over, "d")), ("abX...gh".into(), ".d..".into()));
        assert_eq!(over.list().unwrap(), ["c", "d"]);
        assert!(over.create("e", 3).unwrap_err().is_no_space() && made.write_at(4, b"123").is_err());
        assert_eq!(over.create("d", 0).unwrap_err().kind, DiskErrorKind::AlreadyExists);
        assert_eq!((text(&base, "a"), text(&base, "b")), ("abcdef".into(), "b".into()));
        assert_eq!(base.list().unwrap(), ["a", "b"]);
    }
}
