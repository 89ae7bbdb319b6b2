//! LATENCY HISTORY.

use super::{EMPTY, LATENCY, empty};
use crate::redis::prelude::*;

pub(super) static SPEC: Spec = Spec {
    name: "latency|history",
    arity: 3,
    syntax: "event",
    summary: "Returns the latency spikes of one event.",
    remark: EMPTY,
    handler: Handler::Local(empty),
    ..LATENCY
};
