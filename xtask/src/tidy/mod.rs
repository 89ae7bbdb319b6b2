//! The tidy test: rules of the house that a compiler does not know, each with a way out that is visible.
//!
//! - `counts`: documents count what lists have.
//! - `crates`: which crate may use which, as in ARCHITECTURE.md.
//! - `determinism`: no clocks, chance, threads or hash order where everything must follow from its input.
//! - `features`: what one protocol alone has does not spread over the crates that all share, nor what a small build lacks over the rest.
//! - `lengths`: files and functions stay short; those that are not may only shrink.
//! - `members`: the traits that every protocol implements do not grow.
//! - `language`: documents use the terms that their readers search for.
//! - `time`: nothing in tests fails for time.
//! - `prose`: every crate and module says what it is, nothing is left for later, links lead somewhere.
//! - `published`: published results belong to experiments, their figures to them, and all of it stays small.

mod counts;
mod crates;
mod determinism;
mod features;
mod language;
mod lengths;
mod members;
mod prose;
mod published;
mod source;
mod time;

use crate::run::root;
use anyhow::{Result, bail};
use source::Source;

/// Something that breaks a rule, where it stands and what to do.
type Finding = String;

/// Reads all rules over all files.
pub(crate) fn run() -> Result<()> {
    let sources = Source::all()?;
    let mut findings = crates::check()?;
    findings.extend(sources.iter().flat_map(determinism::check));
    findings.extend(lengths::check(&sources, &lengths::read_ratchet()?));
    findings.extend(members::check(&sources));
    findings.extend(features::check(&sources));
    findings.extend(time::check(&sources)?);
    findings.extend(prose::check(&sources)?);
    findings.extend(published::check()?);
    findings.extend(counts::check()?);
    for finding in &findings {
        println!("{finding}");
    }
    println!("tidy: {} files read, {} findings", sources.len(), findings.len());
    if findings.is_empty() { Ok(()) } else { bail!("{} findings", findings.len()) }
}

/// Lowers the ratchet to the lengths there are now; it never rises.
pub(crate) fn lower_the_ratchet() -> Result<()> {
    let lowered = lengths::lowered(&Source::all()?, &lengths::read_ratchet()?);
    std::fs::write(root().join(lengths::RATCHET), lowered)?;
    Ok(())
}
