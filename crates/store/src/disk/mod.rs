//! The border to the disk: named files in one directory, and nothing more.
//!
//! The log, the snapshots and the manifest are written against these two small traits, so that the same code runs on
//! real files ([`RealDisk`]) and on a simulated disk that forgets, tears and fails ([`SimDisk`]). The shape follows
//! redb's `StorageBackend`: few methods, positions given by the caller, no cursor hidden in a file.
//!
//! What an implementation promises, and nothing beyond it:
//!
//! - **I1** A write is durable only after [`DiskFile::sync`] of that file returned `Ok`. Before that a crash may keep
//!   any part of it, in any order.
//! - **I2** A name (created, renamed, removed) is durable only after [`Disk::sync_dir`] returned `Ok`. A rename is
//!   atomic: after a crash the target is the old file or the new one.
//! - **I3** After a failed `sync` nothing is known about the writes before it, and a later `Ok` does not make it known:
//!   the caller must write them again or give up (kernels mark the pages clean: "fsyncgate").
//! - **I4** Space given to [`Disk::create`] is reserved: writing inside it does not fail for want of space.

use std::fmt;
use std::sync::Arc;

mod overlay;
mod real;
mod sim;
mod unsynced;

pub use overlay::Overlay;
pub use real::RealDisk;
pub use sim::{Fault, SimDisk};
pub use unsynced::Unsynced;

/// What went wrong, as far as a caller may wish to act on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DiskErrorKind {
    /// The file system, or a quota, is full.
    NoSpace,
    /// No file has this name.
    NotFound,
    /// The name is taken already.
    AlreadyExists,
    /// Another process holds the lock.
    Locked,
    /// Anything else that the operating system reports.
    Io,
}

/// A failed disk operation: what was tried, on which file, and what the system said.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("cannot {operation} {path}: {detail}")]
pub struct DiskError {
    /// The class of the failure.
    pub kind: DiskErrorKind,
    /// The operation, as a verb: "write", "sync", "create".
    pub operation: &'static str,
    /// The file, with its directory where there is one.
    pub path: String,
    /// The words of the operating system.
    pub detail: String,
}

impl DiskError {
    /// True when space, or its want, is the reason.
    #[must_use]
    pub fn is_no_space(&self) -> bool {
        self.kind == DiskErrorKind::NoSpace
    }
}

/// The result of a disk operation.
pub type DiskResult<T> = Result<T, DiskError>;

/// One directory of named files. Names are plain: no separators.
pub trait Disk: Send + Sync + fmt::Debug {
    /// The names of all files, sorted.
    ///
    /// # Errors
    /// When the directory cannot be read.
    fn list(&self) -> DiskResult<Vec<String>>;

    /// Creates a file of `bytes` zero bytes whose space is reserved (I4). The name must be free. When it fails, no file
    /// is left behind.
    ///
    /// # Errors
    /// `NoSpace`, `AlreadyExists`, `Io`.
    fn create(&self, name: &str, bytes: u64) -> DiskResult<Arc<dyn DiskFile>>;

    /// Opens an existing file for reading and writing.
    ///
    /// # Errors
    /// `NotFound`, `Io`.
    fn open(&self, name: &str) -> DiskResult<Arc<dyn DiskFile>>;

    /// Gives a file another name, atomically replacing a file that has it.
    ///
    /// # Errors
    /// `NotFound`, `Io`.
    fn rename(&self, from: &str, to: &str) -> DiskResult<()>;

    /// Removes a name. Open handles go on working.
    ///
    /// # Errors
    /// `NotFound`, `Io`.
    fn remove(&self, name: &str) -> DiskResult<()>;

    /// Makes every name given or taken so far durable (I2).
    ///
    /// # Errors
    /// `Io`.
    fn sync_dir(&self) -> DiskResult<()>;

    /// Takes an advisory lock on the file `name` (created if needed) for as long as the guard lives: no second process
    /// gets it.
    ///
    /// # Errors
    /// `Locked` when another holds it, `Io`.
    fn lock(&self, name: &str) -> DiskResult<DiskLock>;
}

/// One open file. All methods take `&self`: a sync may run on another thread while the owner goes on writing.
pub trait DiskFile: Send + Sync + fmt::Debug {
    /// Its size in bytes, reserved space included.
    ///
    /// # Errors
    /// `Io`.
    fn size(&self) -> DiskResult<u64>;

    /// Reads from `offset` until `buffer` is full or the file ends; returns how many bytes that were.
    ///
    /// # Errors
    /// `Io`.
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> DiskResult<usize>;

    /// Writes all of `bytes` at `offset`, in one system call where the system allows it.
    ///
    /// # Errors
    /// `NoSpace`, `Io`; any part may have been written.
    fn write_at(&self, offset: u64, bytes: &[u8]) -> DiskResult<()>;

    /// Cuts the file, or extends it with zeros that are not reserved.
    ///
    /// # Errors
    /// `NoSpace`, `Io`.
    fn set_len(&self, bytes: u64) -> DiskResult<()>;

    /// Makes every write that returned before this call durable (I1). REQUIRES: after an error, do as I3 says.
    ///
    /// # Errors
    /// `Io`, `NoSpace`.
    fn sync(&self) -> DiskResult<()>;
}

/// Holds a directory's lock until it is dropped.
pub struct DiskLock {
    _held: Box<dyn Send + Sync>,
}

impl DiskLock {
    /// A guard that releases the lock by dropping `held`.
    pub(crate) fn new(held: impl Send + Sync + 'static) -> Self {
        Self { _held: Box::new(held) }
    }
}

impl fmt::Debug for DiskLock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("DiskLock")
    }
}
