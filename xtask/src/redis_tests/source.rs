//! The source of Redis, whose tests are run: downloaded once, checked, and kept in the target directory.

use crate::run::{command, output, run};
use anyhow::{Context, Result, bail};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The version whose tests are run.
const VERSION: &str = "7.0.15";

const ARCHIVE: &str = "redis_7.0.15.orig.tar.gz";
const SHA256: &str = "4b1dc4ee6d622a09fff9c6777191209750fb5e5a725ef78ea012d6eef4c22982";

/// Where it is. The sum is pinned, so the second address is as good as the first where certificates are missing.
const FOLDERS: [&str; 2] =
    ["https://deb.debian.org/debian/pool/main/r/redis/", "http://deb.debian.org/debian/pool/main/r/redis/"];

/// Programs that tests run from the source tree, where they are not built.
const PROGRAMS: [&str; 2] = ["redis-cli", "redis-benchmark"];

/// The unpacked source below `target`.
pub(super) fn unpacked(target: &Path) -> Result<PathBuf> {
    let folder = target.join("redis-tests");
    let source = folder.join(format!("redis-{VERSION}"));
    if !source.exists() {
        fs::create_dir_all(&folder)?;
        let archive = folder.join(ARCHIVE);
        if sum(&archive).is_none_or(|sum| sum != SHA256) {
            download(&archive)?;
        }
        // What is there under its name is whole: a run that is interrupted leaves nothing there.
        let fresh = folder.join(format!("unpacking-{}", std::process::id()));
        fs::create_dir_all(&fresh)?;
        run(Command::new("tar").arg("xzf").arg(&archive).arg("-C").arg(&fresh))?;
        add_programs(&fresh.join(format!("redis-{VERSION}/src")))?;
        if let Err(error) = fs::rename(fresh.join(format!("redis-{VERSION}")), &source)
            && !source.exists()
        {
            return Err(error).context("the source of Redis cannot be moved to its place");
        }
        let _ = fs::remove_dir_all(&fresh);
    }
    Ok(source)
}

fn download(archive: &Path) -> Result<()> {
    let part = archive.with_extension(format!("part-{}", std::process::id()));
    let mut errors = Vec::new();
    for folder in FOLDERS {
        let address = format!("{folder}{ARCHIVE}");
        eprintln!("downloading {address}");
        let mut curl = Command::new("curl");
        curl.args(["--fail", "--silent", "--show-error", "--location", "--retry", "2", "--max-time", "120"]);
        match output(curl.arg("--output").arg(&part).arg(&address)) {
            Ok(_) => {
                let sum = sum(&part).context("sha256sum does not run")?;
                if sum != SHA256 {
                    fs::remove_file(&part)?;
                    bail!("{address} has the SHA-256 {sum}, and should have {SHA256}");
                }
                return Ok(fs::rename(&part, archive)?);
            }
            Err(error) => errors.push(format!("{error:#}")),
        }
    }
    bail!(
        "the source of Redis {VERSION} cannot be downloaded; without network, put {ARCHIVE} at {}\n{}",
        archive.display(),
        errors.join("\n")
    )
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
