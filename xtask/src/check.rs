//! `./x check`, which changes nothing, and `./x fix`, which does.

use crate::run::{cargo, command, output, root, run};
use crate::tidy;
use anyhow::{Result, anyhow, bail};
use std::time::Instant;

const CLIPPY: &[&str] = &["clippy", "--workspace", "--all-targets", "--quiet"];

/// The build that README has newcomers make, which no test compiles.
const WITHOUT_LAB: &[&str] = &["check", "--package", "tidemark", "--no-default-features", "--quiet"];

/// Formatting, the tidy rules, clippy, and whether a program without the lab compiles.
pub(crate) fn check() -> Result<()> {
    all().map(drop)
}

/// The same as a step of others: all of them, even if one fails.
///
/// # Errors
/// The names of those that failed; what they found is printed.
pub(crate) fn all() -> Result<String> {
    let parts: [(&str, &dyn Fn() -> Result<()>); 4] = [
        ("format", &|| format(&["--check"])),
        ("tidy", &tidy::run),
        ("clippy", &|| cargo(&[CLIPPY, &["--", "--deny", "warnings"]].concat())),
        ("without lab", &|| cargo(WITHOUT_LAB)),
    ];
    let mut failed = Vec::new();
    for (name, part) in parts {
        let began = Instant::now();
        if let Err(error) = part() {
            println!("{name}: {error:#}");
            failed.push(name);
        }
        println!("{name}: {:.1} s", began.elapsed().as_secs_f64());
    }
    if failed.is_empty() { Ok(String::new()) } else { bail!("{}", failed.join(", ")) }
}

/// Runs rustfmt on every file: `cargo fmt` does not find modules that a macro declares, as those of Redis commands.
fn format(options: &[&str]) -> Result<()> {
    let list = ["ls-files", "--cached", "--others", "--exclude-standard", "*.rs"];
    let files = output(&mut command("git", &list))?;
    let files: Vec<&str> = files.lines().filter(|file| root().join(file).exists()).collect();
    let ended = run(&mut command("rustfmt", &[&["--edition", "2024"], options, &files].concat()));
    // The error has the names of all files.
    ended.map_err(|_| anyhow!("rustfmt has found what is shown above: ./x fix"))
}

/// Formats, applies what clippy suggests, and lowers the ratchet.
pub(crate) fn fix() -> Result<()> {
    cargo(&[CLIPPY, &["--fix", "--allow-dirty", "--allow-staged"]].concat())?;
    format(&[])?;
    tidy::lower_the_ratchet()?;
    check()
}
