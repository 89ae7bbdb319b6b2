//! A file for the durable state of a client: the only part of this crate that does input and output.
//!
//! The file begins with [`MAGIC`]. A record follows for each set of rows that became durable together: the length of its payload (4
//! bytes, big-endian), the CRC-32 of that (4 bytes, big-endian), and the payload. The payload is the rows, each as its length (4 bytes,
//! big-endian) and its bytes. Now and then the file is replaced by one whose first record leads to the present state.
//!
//! **Invariants**
//! - I1 A record counts as a whole or not at all. One that a crash cut off is dropped at the next opening.
//! - I2 A damaged record with others behind it is an error: to go on without it would be to forget commits.
//! - I3 One process at a time has the file. Two would be two clients under one name.
//! - I4 After a failure that leaves unknown what is on disk, every later append fails.

use crate::durable::{Durable, Row};
use crate::frames::{Change, Secret};
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Error, ErrorKind, Read, Result, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// How a file begins: the name and the version of the format.
pub const MAGIC: [u8; 8] = *b"TMEDGE\x00\x02";

/// A file that has grown by more than this, and by more than four times the state, is written anew. In bytes.
pub const REWRITE_AFTER: u64 = 64 << 10;

/// Of a record: its length and its checksum.
const HEAD: usize = 8;

/// The open file of a client.
#[derive(Debug)]
pub struct ClientFile {
    path: PathBuf,
    file: File,
    /// Held as long as this lives; the file itself is replaced now and then.
    _lock: File,
    state: Durable,
    length: u64,
    /// The length after which the file is written anew.
    rewrite_at: u64,
    broken: bool,
}

impl ClientFile {
    /// Opens the file at `path`, or makes one for a new client with the secret `fresh`. Another file, `path` with `.lock` behind it, is
    /// locked as long as the result lives.
    ///
    /// # Errors
    /// Another process has it ([`ErrorKind::WouldBlock`]); it is damaged, or not such a file ([`ErrorKind::InvalidData`]); others are
    /// the system's.
    pub fn open(path: &Path, fresh: Secret) -> Result<Self> {
        let lock = OpenOptions::new().create(true).truncate(false).write(true).open(beside(path, ".lock"))?;
        lock.try_lock().map_err(|error| match error {
            TryLockError::WouldBlock => Error::new(ErrorKind::WouldBlock, "another process has this client"),
            TryLockError::Error(error) => error,
        })?;
        let mut bytes = Vec::new();
        let opened = OpenOptions::new().read(true).write(true).open(path);
        match opened {
            Ok(mut file) => file.read_to_end(&mut bytes)?,
            Err(error) if error.kind() == ErrorKind::NotFound => {
                let state = Durable::new(fresh);
                let (file, length) = write_anew(path, &state)?;
                return Ok(Self::new(path, file, lock, state, length));
            }
            Err(error) => return Err(error),
        };
        let (state, length) = replay(&bytes)?;
        let mut file = OpenOptions::new().write(true).open(path)?;
        file.set_len(length)?;
        file.seek(SeekFrom::End(0))?;
        file.sync_all()?;
        Ok(Self::new(path, file, lock, state, length))
    }

    fn new(path: &Path, file: File, lock: File, state: Durable, length: u64) -> Self {
        let rewrite_at = rewrite_at(&state);
        Self { path: path.to_path_buf(), file, _lock: lock, state, length, rewrite_at, broken: false }
    }

    /// What is on disk.
    pub fn state(&self) -> &Durable {
        &self.state
    }

    /// Makes rows durable, together or not at all.
    ///
    /// # Errors
    /// The system's. Then none of the rows is on disk, or this and every later append fails.
    pub fn append(&mut self, rows: &[Row]) -> Result<()> {
        if self.broken {
            return Err(Error::other("an earlier write has failed, and nobody knows what is on disk"));
        }
        let record = record(rows)?;
        let written = self.file.write_all(&record).and_then(|()| self.file.sync_data());
        if let Err(error) = written {
            self.take_back();
            return Err(error);
        }
        self.length += record.len() as u64;
        rows.iter().for_each(|row| self.state.apply(row));
        if self.length > self.rewrite_at {
            // The rows are durable, whether this succeeds or not.
            match write_anew(&self.path, &self.state) {
                Ok((file, length)) => {
                    (self.file, self.length) = (file, length);
                    self.rewrite_at = rewrite_at(&self.state);
                }
                Err(_) => self.rewrite_at = self.length * 2,
            }
        }
        Ok(())
    }

    /// Cuts off what a failed append has left.
    fn take_back(&mut self) {
        let cut = self.file.set_len(self.length).and_then(|()| self.file.seek(SeekFrom::End(0)));
        self.broken = cut.is_err() || self.file.sync_all().is_err();
    }
}

/// The file's name with something behind it.
fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}

/// Writes a file that leads to `state`, and puts it in the place of the old one. Returns it open at its end, and its length.
fn write_anew(path: &Path, state: &Durable) -> Result<(File, u64)> {
    let new = beside(path, ".new");
    let mut file = File::create(&new)?;
    let bytes = [&MAGIC[..], &record(&rows_of(state))?].concat();
    file.write_all(&bytes)?;
    file.sync_all()?;
    std::fs::rename(&new, path)?;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    File::open(folder.unwrap_or(Path::new(".")))?.sync_all()?;
    Ok((file, bytes.len() as u64))
}

fn rewrite_at(state: &Durable) -> u64 {
    let record = record(&rows_of(state)).map_or(u64::MAX / 8, |record| record.len() as u64);
    record + (4 * record).max(REWRITE_AFTER)
}

/// The rows that lead to a state.
fn rows_of(state: &Durable) -> Vec<Row> {
    let mut rows = vec![Row::Secret(state.secret.clone()), Row::Base(state.base.clone())];
    rows.push(Row::Regions(state.regions));
    rows.extend(state.log.values().cloned().map(Row::Entry));
    rows.extend(
        state.values.iter().map(|(key, value)| Row::Value(key.clone(), Change::Whole(value.clone()))),
    );
    rows
}

/// # Errors
/// They are longer than a record says, 4 GiB.
fn record(rows: &[Row]) -> Result<Vec<u8>> {
    let mut payload = Vec::new();
    for row in rows {
        let bytes = row.encode();
        payload.extend_from_slice(&(bytes.len() as u32).to_be_bytes());
        payload.extend(bytes);
    }
    let length = u32::try_from(payload.len());
    let length = length.map_err(|_| Error::new(ErrorKind::InvalidInput, "more than 4 GiB at a time"))?;
    let mut record = length.to_be_bytes().to_vec();
    record.extend_from_slice(&crc32fast::hash(&payload).to_be_bytes());
    record.extend(payload);
    Ok(record)
}

/// The state that a file leads to, and the length of what counts of it.
fn replay(bytes: &[u8]) -> Result<(Durable, u64)> {
    let damaged = |why| Error::new(ErrorKind::InvalidData, why);
    let mut rest = bytes
        .strip_prefix(&MAGIC)
        .ok_or(damaged("it is not the file of an edge client, or of another version"))?;
    let mut state: Option<Durable> = None;
    while let Some(payload) = next_record(rest)? {
        for row in rows(payload).ok_or(damaged("a record that is not made of rows"))? {
            match (&mut state, row) {
                (None, Row::Secret(secret)) => state = Some(Durable::new(secret)),
                (None, _) => return Err(damaged("it does not begin with a secret")),
                (Some(state), row) => state.apply(&row),
            }
        }
        rest = &rest[HEAD + payload.len()..];
    }
    let state = state.ok_or(damaged("its first record is not whole"))?;
    Ok((state, (bytes.len() - rest.len()) as u64))
}

/// The payload of the record at the beginning of `rest`; nothing if a crash has cut it off there.
fn next_record(rest: &[u8]) -> Result<Option<&[u8]>> {
    let Some((head, behind)) = rest.split_at_checked(HEAD) else { return Ok(None) };
    let (length, sum) = head.split_at(4);
    let length = u32::from_be_bytes(length.try_into().expect("4 bytes")) as usize;
    let Some(payload) = behind.get(..length) else { return Ok(None) };
    if length > 0 && crc32fast::hash(payload).to_be_bytes() == *sum {
        return Ok(Some(payload));
    }
    // Some file systems leave zeros where a crash has cut off a write.
    if behind.len() == length || rest.iter().all(|byte| *byte == 0) {
        return Ok(None);
    }
    Err(Error::new(ErrorKind::InvalidData, "a damaged record with others behind it"))
}

fn rows(mut payload: &[u8]) -> Option<Vec<Row>> {
    let mut rows = Vec::new();
    while !payload.is_empty() {
        let (length, behind) = payload.split_at_checked(4)?;
        let length = u32::from_be_bytes(length.try_into().ok()?) as usize;
        let (row, behind) = behind.split_at_checked(length)?;
        rows.push(Row::decode(row).ok()?);
        payload = behind;
    }
    Some(rows)
}
