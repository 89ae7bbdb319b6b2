//! The interpreter as its host sees it: what scripts are answered, and what stops them.

mod digests;
mod functions;
mod limits;
mod numbers;
mod shebang;
mod support;
mod transcripts;
