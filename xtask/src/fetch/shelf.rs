//! Folders of installed packages, below the target directory. Each is whole under its name, which has a digest of its pins: it is
//! filled beside its place and renamed, so that a raised pin, or a run that was interrupted, leads to another folder.
//!
//! `NAME` is a link to the folder of the newest pins: tests look there, and compare the lock file in it with the pinned one.

use crate::foreign::target;
use anyhow::{Context, Result};
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

/// A folder of installed packages that is to be there.
pub(super) struct Shelf<'a> {
    pub(super) name: &'a str,
    /// The pinned files, which its `install` may copy.
    pub(super) pins: &'a [PathBuf],
    /// The version of an interpreter, or nothing: another one has another folder.
    pub(super) beside: &'a str,
}

impl Shelf<'_> {
    /// The folder, filled by `install` if it is not there.
    pub(super) fn filled(&self, install: impl FnOnce(&Path) -> Result<()>) -> Result<PathBuf> {
        self.filled_in(&target()?.join("fetched"), install)
    }

    fn filled_in(&self, fetched: &Path, install: impl FnOnce(&Path) -> Result<()>) -> Result<PathBuf> {
        let folder = fetched.join(format!("{}-{:016x}", self.name, self.digest()?));
        if !folder.exists() {
            eprintln!("installing {}", self.name);
            let fresh = fetched.join(format!("{}-installing-{}", self.name, std::process::id()));
            fs::create_dir_all(&fresh)?;
            let installed = install(&fresh).with_context(|| format!("{} cannot be installed", self.name));
            let moved = installed.and_then(|()| Ok(fs::rename(&fresh, &folder)?));
            let _ = fs::remove_dir_all(&fresh);
            // Another run may have been faster.
            if !folder.exists() {
                moved?;
            }
        }
        self.link(fetched, &folder)?;
        Ok(folder)
    }

    fn digest(&self) -> Result<u64> {
        let mut hasher = DefaultHasher::new();
        self.beside.hash(&mut hasher);
        for pin in self.pins {
            fs::read(pin).with_context(|| pin.display().to_string())?.hash(&mut hasher);
        }
        Ok(hasher.finish())
    }

    fn link(&self, fetched: &Path, folder: &Path) -> Result<()> {
        let (link, to) = (fetched.join(self.name), folder.file_name().context("a folder has a name")?);
        if fs::read_link(&link).is_ok_and(|found| found == Path::new(to)) {
            return Ok(());
        }
        let fresh = fetched.join(format!("{}-link-{}", self.name, std::process::id()));
        std::os::unix::fs::symlink(to, &fresh)?;
        Ok(fs::rename(fresh, link)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::bail;

    fn shelf<'a>(pins: &'a [PathBuf], beside: &'a str) -> Shelf<'a> {
        Shelf { name: "things", pins, beside }
    }

    #[test]
    fn a_folder_is_filled_once_and_again_when_its_pins_change() {
        let scratch = tempfile::tempdir().unwrap();
        let (pins, fetched) = ([scratch.path().join("lock")], scratch.path().join("fetched"));
        let fill = |what: &'static str| {
            let install = move |folder: &Path| Ok(fs::write(folder.join("what"), what)?);
            let folder = shelf(&pins, "").filled_in(&fetched, install).unwrap();
            assert_eq!(fs::read_link(fetched.join("things")).unwrap(), folder.file_name().unwrap());
            fs::read_to_string(fetched.join("things/what")).unwrap()
        };
        fs::write(&pins[0], "one 1.0").unwrap();
        assert_eq!([fill("old"), fill("new")], ["old", "old"]);
        fs::write(&pins[0], "one 2.0").unwrap();
        assert_eq!(fill("new"), "new");
        fs::write(&pins[0], "one 1.0").unwrap();
        assert_eq!(fill("newest"), "old", "it was kept");
    }

    #[test]
    fn another_interpreter_has_another_folder() {
        let scratch = tempfile::tempdir().unwrap();
        let fill = |beside: &str| shelf(&[], beside).filled_in(scratch.path(), |_| Ok(())).unwrap();
        assert_eq!(fill("3.11"), fill("3.11"));
        assert_ne!(fill("3.11"), fill("3.12"));
    }

    #[test]
    fn an_installation_that_fails_leaves_nothing() {
        let scratch = tempfile::tempdir().unwrap();
        let fails = |folder: &Path| {
            fs::write(folder.join("half"), "")?;
            bail!("no more")
        };
        let error = shelf(&[], "").filled_in(scratch.path(), fails).unwrap_err();
        assert_eq!(format!("{error:#}"), "things cannot be installed: no more");
        assert_eq!(fs::read_dir(scratch.path()).unwrap().count(), 0);
    }
}
