//! The data directory's identity: whose it is, so that no other program, protocol or cluster writes there.
//!
//! `MANIFEST` is a text of `key = value` lines that a person can read, replaced atomically. `LOCK` is held by the process
//! that has the directory open.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use crate::disk::{Disk, DiskError, DiskErrorKind, DiskLock};

/// The version of the layout of a data directory.
pub const DIRECTORY_FORMAT_VERSION: u32 = 1;

const MANIFEST: &str = "MANIFEST";
const TEMPORARY: &str = "MANIFEST.tmp";
const LOCK: &str = "LOCK";
const TITLE: &str = "# The identity of a Tidemark data directory. Written by Tidemark: do not edit.";

/// Why a data directory is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ManifestError {
    /// An operation of the disk failed.
    #[error("{0}. Check the disk and the permissions, then start again")]
    Disk(#[from] DiskError),
    /// Another process has it open.
    #[error(
        "the data directory is in use by another process ({0}). Stop that one first, or choose another directory"
    )]
    InUse(DiskError),
    /// There are data, but nothing says whose.
    #[error(
        "the data directory holds {file} but no MANIFEST. Restore the MANIFEST from a copy; a node that has never run needs an empty directory"
    )]
    Unclaimed {
        /// One of the files.
        file: String,
    },
    /// The manifest cannot be understood.
    #[error("MANIFEST line {line} is damaged: {detail}. Restore the file from a backup")]
    Damaged {
        /// The line, from 1; 0 for the file as a whole.
        line: usize,
        /// What is wrong with it.
        detail: String,
    },
    /// The directory has another format.
    #[error(
        "the data directory has format {found}; this program uses format {expected}. Use the version of Tidemark that wrote it"
    )]
    WrongFormat {
        /// Its format.
        found: String,
        /// Ours.
        expected: u32,
    },
    /// The directory belongs to another protocol or another cluster.
    #[error(
        "the data directory was written with {key} {found}, this server is configured with {expected}. Correct the configuration, or choose another directory"
    )]
    Different {
        /// "protocol" or "topology".
        key: &'static str,
        /// What the directory says.
        found: String,
        /// What was asked for.
        expected: String,
    },
}

/// What a data directory says about itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Manifest {
    /// The protocol's name.
    pub protocol: String,
    /// A fingerprint of the topology, as the caller computes it.
    pub topology: String,
    /// Tells this directory's log from every other.
    pub incarnation: u64,
    /// The log was created. From then on its absence is a loss.
    pub initialised: bool,
    /// What else the caller keeps here. Keys and values are one line each.
    pub extra: BTreeMap<String, String>,
}

/// A data directory, locked for this process and known to be ours.
#[derive(Debug)]
pub struct DataDir {
    disk: Arc<dyn Disk>,
    manifest: Manifest,
    _lock: DiskLock,
}

impl DataDir {
    /// Locks the directory and checks that it is that of `protocol` and `topology`; an empty one becomes it, with
    /// `new_incarnation` (a random number).
    ///
    /// # Errors
    /// Any [`ManifestError`].
    pub fn open(
        disk: Arc<dyn Disk>,
        protocol: &str,
        topology: &str,
        new_incarnation: u64,
    ) -> Result<Self, ManifestError> {
        let lock = disk.lock(LOCK).map_err(|error| match error.kind {
            DiskErrorKind::Locked => ManifestError::InUse(error),
            _ => ManifestError::Disk(error),
        })?;
        let manifest = match read(&*disk)? {
            Some(manifest) => manifest,
            None => {
                let manifest = Manifest {
                    protocol: protocol.to_owned(),
                    topology: topology.to_owned(),
                    incarnation: new_incarnation,
                    initialised: false,
                    extra: BTreeMap::new(),
                };
                claim(&*disk, &manifest)?;
                manifest
            }
        };
        let same = |key, found: &str, expected: &str| match found == expected {
            true => Ok(()),
            false => Err(ManifestError::Different { key, found: found.into(), expected: expected.into() }),
        };
        same("protocol", &manifest.protocol, protocol)?;
        same("topology", &manifest.topology, topology)?;
        Ok(Self { disk, manifest, _lock: lock })
    }

    /// What the directory says.
    #[must_use]
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// Changes the manifest, durably and atomically.
    ///
    /// # Errors
    /// `Disk`: the old one or the new one is in force.
    pub fn update(&mut self, change: impl FnOnce(&mut Manifest)) -> Result<(), ManifestError> {
        let mut manifest = self.manifest.clone();
        change(&mut manifest);
        if manifest != self.manifest {
            write(&*self.disk, &manifest)?;
            self.manifest = manifest;
        }
        Ok(())
    }
}

/// Makes a directory without manifest ours, unless it has somebody's data.
fn claim(disk: &dyn Disk, manifest: &Manifest) -> Result<(), ManifestError> {
    let data = |name: &String| name.ends_with(".log") || name.ends_with(".snapshot");
    if let Some(file) = disk.list()?.into_iter().find(data) {
        return Err(ManifestError::Unclaimed { file });
    }
    write(disk, manifest)
}

fn write(disk: &dyn Disk, manifest: &Manifest) -> Result<(), ManifestError> {
    let text = manifest.to_text();
    match disk.remove(TEMPORARY) {
        Err(error) if error.kind != DiskErrorKind::NotFound => return Err(error.into()),
        _ => {}
    }
    let file = disk.create(TEMPORARY, 0)?;
    file.write_at(0, text.as_bytes())?;
    file.sync()?;
    disk.rename(TEMPORARY, MANIFEST)?;
    disk.sync_dir()?;
    Ok(())
}

fn read(disk: &dyn Disk) -> Result<Option<Manifest>, ManifestError> {
    // What is acted upon must not be undone by a power failure, even if its writer died before it synced the name.
    disk.sync_dir()?;
    let file = match disk.open(MANIFEST) {
        Ok(file) => file,
        Err(error) if error.kind == DiskErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let mut bytes = vec![0; file.size()? as usize];
    let n = file.read_at(0, &mut bytes)?;
    bytes.truncate(n);
    let text = String::from_utf8(bytes)
        .map_err(|error| ManifestError::Damaged { line: 0, detail: error.to_string() })?;
    Manifest::parse(&text).map(Some)
}

impl Manifest {
    fn to_text(&self) -> String {
        let mut text = format!("{TITLE}\n");
        let mut line = |key: &str, value: &str| {
            assert!(!key.contains(['\n', '=']) && !value.contains('\n'), "{key} = {value} is not one line");
            let _ = writeln!(text, "{key} = {value}");
        };
        line("format", &DIRECTORY_FORMAT_VERSION.to_string());
        line("protocol", &self.protocol);
        line("topology", &self.topology);
        line("incarnation", &format!("{:016x}", self.incarnation));
        line("initialised", if self.initialised { "yes" } else { "no" });
        for (key, value) in &self.extra {
            line(key, value);
        }
        text
    }

    fn parse(text: &str) -> Result<Self, ManifestError> {
        let mut values = BTreeMap::new();
        for (i, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let damaged = |detail: &str| ManifestError::Damaged { line: i + 1, detail: detail.to_owned() };
            let (key, value) = line.split_once('=').ok_or_else(|| damaged("it is not 'key = value'"))?;
            if values.insert(key.trim().to_owned(), value.trim().to_owned()).is_some() {
                return Err(damaged("the key is there twice"));
            }
        }
        let whole = |detail: String| ManifestError::Damaged { line: 0, detail };
        let mut take = |key: &str| values.remove(key).ok_or_else(|| whole(format!("there is no {key}")));
        let found = take("format")?;
        if found != DIRECTORY_FORMAT_VERSION.to_string() {
            return Err(ManifestError::WrongFormat { found, expected: DIRECTORY_FORMAT_VERSION });
        }
        let (protocol, topology) = (take("protocol")?, take("topology")?);
        let incarnation = u64::from_str_radix(&take("incarnation")?, 16)
            .map_err(|error| whole(format!("the incarnation is no number: {error}")))?;
        let initialised = match take("initialised")?.as_str() {
            "yes" => true,
            "no" => false,
            other => return Err(whole(format!("initialised is '{other}', not yes or no"))),
        };
        Ok(Self { protocol, topology, incarnation, initialised, extra: values })
    }
}
