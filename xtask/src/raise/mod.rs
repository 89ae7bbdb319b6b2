//! `./x raise`: the newest versions of what tests install, pinned again.
//!
//! Each ecosystem resolves its own pins, in a copy of the folder that has them; then the files that changed are copied back.
//!
//! - `tools`: what resolves them.

mod tools;

use crate::pins::{self, Versions};
use crate::run::{command, output, root};
use anyhow::{Context, Result, bail};
use std::fs;
use std::path::Path;

const HELP: &str = "\
./x raise [--check]

Asks PyPI, npm, the proxy of Go modules and Maven Central for the newest versions of the client libraries, applications and the
browser that tests install, pins them with their hashes, and says what changed. It changes nothing else, and installs nothing but
the tool that resolves Python's requirements.

  --check  only lists what is behind

What is held back stays: ranges in the package.json of our own packages, versions that pom.xml does not have as properties, and
Redis, whose version is that of Debian (xtask/pins/redis.txt).
";

/// Pins of one folder.
struct Pinned {
    /// The folder, from the root.
    folder: &'static str,
    /// The file that names what is wanted, and the one with the versions; they may be one.
    wanted: &'static str,
    lock: &'static str,
    /// Reads the versions.
    read: fn(&str) -> Result<Versions>,
    /// Resolves them again, in a copy of the folder; notes about what is held back.
    raise: fn(&Pinned, &Path) -> Result<Vec<String>>,
}

const fn python(wanted: &'static str, lock: &'static str) -> Pinned {
    Pinned { folder: "xtask/pins/python", wanted, lock, read: pins::requirements, raise: tools::python }
}

/// `raise` is `tools::newest`, or `tools::in_range` where a range says what is held back.
const fn node(folder: &'static str, raise: fn(&Pinned, &Path) -> Result<Vec<String>>) -> Pinned {
    Pinned { folder, wanted: "package.json", lock: "package-lock.json", read: pins::package_lock, raise }
}

const fn go(folder: &'static str) -> Pinned {
    Pinned { folder, wanted: "go.sum", lock: "go.mod", read: pins::go_mod, raise: tools::go }
}

/// The tool that resolves Python's requirements comes first: it is pinned like them.
const ALL: [Pinned; 13] = [
    python("raise.in", "raise.txt"),
    python("libraries.in", "libraries.txt"),
    python("applications.in", "applications.txt"),
    python("redis-py-tests.in", "redis-py-tests.txt"),
    node("xtask/pins/node/libraries", tools::newest),
    node("xtask/pins/node/bullmq", tools::newest),
    node("xtask/pins/node/chromium", tools::newest),
    node("clients/edge-js", tools::in_range),
    node("examples/board", tools::in_range),
    go("xtask/pins/go-redis"),
    go("clients/session/go"),
    go("clients/ycsb-go"),
    Pinned {
        folder: "clients/ycsb",
        wanted: "pom.xml",
        lock: "pom.xml",
        read: pins::pom,
        raise: tools::maven,
    },
];

/// Runs `./x raise`.
pub(crate) fn run(args: &[String]) -> Result<()> {
    let check = match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => false,
        ["--check"] => true,
        ["--help" | "-h"] => {
            print!("{HELP}");
            return Ok(());
        }
        _ => bail!("no such option\n\n{HELP}"),
    };
    let mut count = 0;
    for pinned in &ALL {
        let scratch = tempfile::tempdir()?;
        copy(pinned.folder, scratch.path())?;
        let title = format!("{}/{}", pinned.folder, pinned.lock);
        let notes = (pinned.raise)(pinned, scratch.path()).with_context(|| title.clone())?;
        let read = |folder: &Path| -> Result<Versions> {
            (pinned.read)(&fs::read_to_string(folder.join(pinned.lock))?)
        };
        let changes = changes(&read(&root().join(pinned.folder))?, &read(scratch.path())?);
        count += changes.len();
        println!("{title}: {}", if changes.is_empty() { "the newest" } else { "" });
        for line in changes.iter().chain(&notes) {
            println!("    {line}");
        }
        if !check && !changes.is_empty() {
            for file in [pinned.wanted, pinned.lock] {
                fs::copy(scratch.path().join(file), root().join(pinned.folder).join(file))?;
            }
        }
    }
    println!("{}", closing(count, check));
    Ok(())
}

fn closing(count: usize, check: bool) -> String {
    match (count, check) {
        (0, _) => "nothing is behind".to_string(),
        (_, true) => format!("{count} are behind; `./x raise` raises them"),
        (_, false) => format!(
            "{count} raised. Next: `./x test --full`, and docs/clients.md, which names versions. If a library whose own tests are \
             run is among them, `./x client-tests SUITE --reference --update` and then `--update` make its list again."
        ),
    }
}

/// Copies what git knows of a folder.
fn copy(folder: &str, to: &Path) -> Result<()> {
    let list =
        output(&mut command("git", &["ls-files", "--cached", "--others", "--exclude-standard", folder]))?;
    for file in list.lines() {
        let copy = to.join(Path::new(file).strip_prefix(folder)?);
        fs::create_dir_all(copy.parent().context("a file lies in a folder")?)?;
        fs::copy(root().join(file), copy).with_context(|| file.to_string())?;
    }
    Ok(())
}

/// Differences between two sets of versions, a line for each package.
fn changes(old: &Versions, new: &Versions) -> Vec<String> {
    let mut names: Vec<&String> = old.keys().chain(new.keys()).collect();
    names.sort();
    names.dedup();
    let line = |name: &String| match (old.get(name), new.get(name)) {
        (Some(old), Some(new)) if old == new => None,
        (Some(old), Some(new)) => Some(format!("{name} {old} → {new}")),
        (Some(old), None) => Some(format!("{name} {old}: not needed any more")),
        (None, new) => Some(format!("{name} {}: new", new.map_or("", String::as_str))),
    };
    names.into_iter().filter_map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn versions(list: &[(&str, &str)]) -> Versions {
        list.iter().map(|(name, version)| (name.to_string(), version.to_string())).collect()
    }

    #[test]
    fn what_changed_is_told_from_old_to_new() {
        let old = versions(&[("gone", "1.0"), ("raised", "1.9"), ("same", "3.0")]);
        let new = versions(&[("come", "0.1"), ("raised", "1.10"), ("same", "3.0")]);
        assert_eq!(
            changes(&old, &new),
            ["come 0.1: new", "gone 1.0: not needed any more", "raised 1.9 → 1.10"]
        );
        assert!(changes(&old, &old).is_empty());
    }

    /// A lock file that cannot be read would be overwritten without a word about what changed.
    #[test]
    fn every_pinned_file_can_be_read_and_has_its_hashes() {
        for pinned in &ALL {
            let file = |name: &str| fs::read_to_string(root().join(pinned.folder).join(name)).unwrap();
            let count = (pinned.read)(&file(pinned.lock)).unwrap().len();
            assert!(count > 0, "{}/{}", pinned.folder, pinned.lock);
            let hashes = match pinned.lock {
                "package-lock.json" => file(pinned.lock).matches("\"integrity\"").count(),
                "go.mod" => file(pinned.wanted).matches(" h1:").count(),
                "pom.xml" => count,
                _ => file(pinned.lock).matches("--hash=sha256:").count(),
            };
            // Go's own version is none of a module.
            let needed = count - usize::from(pinned.lock == "go.mod");
            assert!(hashes >= needed, "{}/{}: {hashes} hashes of {needed}", pinned.folder, pinned.lock);
        }
    }

    #[test]
    fn all_pins_of_tests_are_raised() {
        let list = output(&mut command("git", &["ls-files", "--cached", "--others", pins::FOLDER])).unwrap();
        let raised = |file: &&str| {
            let known = |pinned: &Pinned| {
                [pinned.wanted, pinned.lock].iter().any(|name| **file == format!("{}/{name}", pinned.folder))
            };
            ALL.iter().any(known)
        };
        let others: Vec<&str> = list.lines().filter(|file| !raised(file)).collect();
        assert_eq!(others, ["xtask/pins/go-redis/pin.go", "xtask/pins/redis.txt"]);
    }
}
