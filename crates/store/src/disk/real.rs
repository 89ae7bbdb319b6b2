//! Real files in a real directory.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{Disk, DiskError, DiskErrorKind, DiskFile, DiskLock, DiskResult};

/// A directory of the file system.
#[derive(Debug, Clone)]
pub struct RealDisk {
    directory: PathBuf,
    /// Holds how many bytes files may take in all.
    quota: Option<PathBuf>,
}

#[derive(Debug)]
struct RealFile {
    file: File,
    path: PathBuf,
}

fn disk_error(operation: &'static str, path: &Path, error: &io::Error) -> DiskError {
    let kind = match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => DiskErrorKind::NoSpace,
        ErrorKind::NotFound => DiskErrorKind::NotFound,
        ErrorKind::AlreadyExists => DiskErrorKind::AlreadyExists,
        ErrorKind::WouldBlock => DiskErrorKind::Locked,
        _ => DiskErrorKind::Io,
    };
    DiskError { kind, operation, path: path.display().to_string(), detail: error.to_string() }
}

impl RealDisk {
    /// The directory at `path`, created with its parents when it does not exist.
    ///
    /// # Errors
    /// When it cannot be created.
    pub fn open(path: impl Into<PathBuf>) -> DiskResult<Self> {
        let directory = path.into();
        fs::create_dir_all(&directory).map_err(|e| disk_error("create the directory", &directory, &e))?;
        Ok(Self { directory, quota: None })
    }

    /// Refuses files beyond a number of bytes in all, which stands in `file` and may change: a full disk for tests.
    #[must_use]
    pub fn with_quota(self, file: PathBuf) -> Self {
        Self { quota: Some(file), ..self }
    }

    fn is_full(&self, more: u64) -> bool {
        let Some(text) = self.quota.as_ref().and_then(|file| fs::read_to_string(file).ok()) else {
            return false;
        };
        let Ok(quota) = text.trim().parse::<u64>() else { return false };
        let entries = fs::read_dir(&self.directory).into_iter().flatten().flatten();
        let used: u64 = entries.filter_map(|entry| Some(entry.metadata().ok()?.len())).sum();
        used + more > quota
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.directory
    }

    fn at(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }
}

/// Reserves `bytes` of zeros. Where the file system cannot, they are written: slow, but as honest.
fn reserve(file: &File, bytes: u64) -> io::Result<()> {
    if bytes == 0 {
        return Ok(());
    }
    #[cfg(target_os = "linux")]
    {
        use rustix::io::Errno;
        match rustix::fs::fallocate(file, rustix::fs::FallocateFlags::empty(), 0, bytes) {
            Ok(()) => return Ok(()),
            Err(Errno::OPNOTSUPP | Errno::NOSYS) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
    let zeros = vec![0; 1 << 20];
    let mut offset = 0;
    while offset < bytes {
        let n = (bytes - offset).min(zeros.len() as u64);
        file.write_all_at(&zeros[..n as usize], offset)?;
        offset += n;
    }
    Ok(())
}

impl Disk for RealDisk {
    fn list(&self) -> DiskResult<Vec<String>> {
        let failed = |e: io::Error| disk_error("list", &self.directory, &e);
        let mut names = Vec::new();
        for entry in fs::read_dir(&self.directory).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            if entry.file_type().map_err(failed)?.is_file()
                && let Ok(name) = entry.file_name().into_string()
            {
                names.push(name);
            }
        }
        names.sort_unstable();
        Ok(names)
    }

    fn create(&self, name: &str, bytes: u64) -> DiskResult<Arc<dyn DiskFile>> {
        let path = self.at(name);
        if self.is_full(bytes) {
            return Err(disk_error("reserve space for", &path, &ErrorKind::QuotaExceeded.into()));
        }
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create_new(true)
            .open(&path)
            .map_err(|e| disk_error("create", &path, &e))?;
        if let Err(error) = reserve(&file, bytes) {
            // The half-made file would hold the very space that is missing.
            let _ = fs::remove_file(&path);
            return Err(disk_error("reserve space for", &path, &error));
        }
        Ok(Arc::new(RealFile { file, path }))
    }

    fn open(&self, name: &str) -> DiskResult<Arc<dyn DiskFile>> {
        let path = self.at(name);
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .open(&path)
            .map_err(|e| disk_error("open", &path, &e))?;
        Ok(Arc::new(RealFile { file, path }))
    }

    fn rename(&self, from: &str, to: &str) -> DiskResult<()> {
        let path = self.at(from);
        fs::rename(&path, self.at(to)).map_err(|e| disk_error("rename", &path, &e))
    }

    fn remove(&self, name: &str) -> DiskResult<()> {
        let path = self.at(name);
        fs::remove_file(&path).map_err(|e| disk_error("remove", &path, &e))
    }

    fn sync_dir(&self) -> DiskResult<()> {
        File::open(&self.directory)
            .and_then(|d| d.sync_all())
            .map_err(|e| disk_error("sync the directory", &self.directory, &e))
    }

    fn lock(&self, name: &str) -> DiskResult<DiskLock> {
        let path = self.at(name);
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .map_err(|e| disk_error("lock", &path, &e))?;
        match file.try_lock() {
            Ok(()) => Ok(DiskLock::new(file)),
            Err(TryLockError::WouldBlock) => Err(DiskError {
                kind: DiskErrorKind::Locked,
                operation: "lock",
                path: path.display().to_string(),
                detail: "another process holds it".to_owned(),
            }),
            Err(TryLockError::Error(error)) => Err(disk_error("lock", &path, &error)),
        }
    }
}

impl DiskFile for RealFile {
    fn size(&self) -> DiskResult<u64> {
        self.file.metadata().map(|m| m.len()).map_err(|e| disk_error("stat", &self.path, &e))
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> DiskResult<usize> {
        let mut done = 0;
        while done < buffer.len() {
            match self.file.read_at(&mut buffer[done..], offset + done as u64) {
                Ok(0) => break,
                Ok(n) => done += n,
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) => return Err(disk_error("read", &self.path, &e)),
            }
        }
        Ok(done)
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> DiskResult<()> {
        self.file.write_all_at(bytes, offset).map_err(|e| disk_error("write", &self.path, &e))
    }

    fn set_len(&self, bytes: u64) -> DiskResult<()> {
        self.file.set_len(bytes).map_err(|e| disk_error("resize", &self.path, &e))
    }

    fn sync(&self) -> DiskResult<()> {
        self.file.sync_data().map_err(|e| disk_error("sync", &self.path, &e))
    }
}
