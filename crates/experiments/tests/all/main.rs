//! Experiments from their files to verdicts, figures and the published document.

mod claims;
mod common;
mod compare;
mod engine;
mod figures;
mod files;
mod lines;
mod results;
