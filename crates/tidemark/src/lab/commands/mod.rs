//! One file a verb.

pub(super) mod bench;
pub(super) mod calibrate;
pub(super) mod check;
pub(super) mod edge_bench;
pub(super) mod experiment;
pub(super) mod results;
pub(super) mod sim;
