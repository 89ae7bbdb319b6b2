//! The source of Redis, whose tests are run: downloaded once, checked, and kept in the target directory.

use crate::environment::{both_streams, failure};
use crate::fetch::programs::redis_pin;
use crate::run::{command, output, run, shown};
use anyhow::{Context, Result, bail};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where it is. The sum is pinned, so the second address is as good as the first where certificates are missing.
const FOLDERS: [&str; 2] =
    ["https://deb.debian.org/debian/pool/main/r/redis/", "http://deb.debian.org/debian/pool/main/r/redis/"];

/// Programs that tests run from the source tree, where they are not built.
const PROGRAMS: [&str; 2] = ["redis-cli", "redis-benchmark"];

/// The unpacked source below `target`.
pub(super) fn unpacked(target: &Path) -> Result<PathBuf> {
    let folder = target.join("redis-tests");
    let (version, pinned) = redis_pin()?;
    let name = format!("redis-{version}");
    let source = folder.join(&name);
    if !source.exists() {
        fs::create_dir_all(&folder)?;
        let archive = folder.join(format!("redis_{version}.orig.tar.gz"));
        if sum(&archive).is_none_or(|sum| sum != pinned) {
            download(&archive, &pinned)?;
        }
        // What is there under its name is whole: a run that is interrupted leaves nothing there.
        let fresh = folder.join(format!("unpacking-{}", std::process::id()));
        fs::create_dir_all(&fresh)?;
        run(Command::new("tar").arg("xzf").arg(&archive).arg("-C").arg(&fresh))?;
        add_programs(&fresh.join(&name).join("src"))?;
        if let Err(error) = fs::rename(fresh.join(&name), &source)
            && !source.exists()
        {
            return Err(error).context("the source of Redis cannot be moved to its place");
        }
        let _ = fs::remove_dir_all(&fresh);
    }
    Ok(source)
}

fn download(archive: &Path, pinned: &str) -> Result<()> {
    let name = archive.file_name().context("an archive has a name")?.to_string_lossy();
    let part = archive.with_extension(format!("part-{}", std::process::id()));
    let mut errors = Vec::new();
    for folder in FOLDERS {
        let address = format!("{folder}{name}");
        eprintln!("downloading {address}");
        let mut curl = Command::new("curl");
        curl.args(["--fail", "--silent", "--show-error", "--location", "--retry", "2"]);
        // What limits it is silence, not duration.
        curl.args(["--connect-timeout", "60", "--speed-limit", "1", "--speed-time", "120"]);
        let (succeeded, said) = both_streams(curl.arg("--output").arg(&part).arg(&address))?;
        if succeeded {
            let sum = sum(&part).context("sha256sum does not run")?;
            if sum != pinned {
                fs::remove_file(&part)?;
                bail!("{address} has the SHA-256 {sum}, and should have {pinned}");
            }
            return Ok(fs::rename(&part, archive)?);
        }
        errors.push(format!("{}\n{said}", shown(&curl)));
    }
    let error = failure("Debian's archive", "curl", &errors.join("\n"));
    Err(error.context(format!("without network, put the source of Redis at {}", archive.display())))
}

/// The SHA-256 of a file, if there is one.
fn sum(file: &Path) -> Option<String> {
    let said = output(Command::new("sha256sum").arg(file)).ok()?;
    Some(said.split_whitespace().next()?.to_string())
}

/// Links to the installed programs, under the names by which tests run them.
fn add_programs(folder: &Path) -> Result<()> {
    for program in PROGRAMS {
        let found = output(&mut command("sh", &["-c", &format!("command -v {program}")]));
        let found = found.with_context(|| format!("{program} is missing; Debian has it in redis-tools"))?;
        std::os::unix::fs::symlink(found.trim(), folder.join(program))?;
    }
    Ok(())
}
