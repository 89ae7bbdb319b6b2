//! Experiments from their files to verdicts, figures and the published document.

mod claims;
mod common;
mod engine;
mod figures;
mod files;
mod results;
