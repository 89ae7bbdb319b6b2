//! LATENCY LATEST.

use super::{EMPTY, LATENCY, empty};
use crate::redis::prelude::*;

pub(super) static SPEC: Spec = Spec {
    name: "latency|latest",
    arity: 2,
    summary: "Returns the latest latency spikes.",
    remark: EMPTY,
    handler: Handler::Local(empty),
    ..LATENCY
};
