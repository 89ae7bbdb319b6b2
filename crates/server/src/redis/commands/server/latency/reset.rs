//! LATENCY RESET.

use super::{LATENCY, zero};
use crate::redis::prelude::*;

pub(super) static SPEC: Spec = Spec {
    name: "latency|reset",
    arity: -2,
    syntax: "[event [event ...]]",
    summary: "Deletes latency spikes and returns of how many events there were some.",
    handler: Handler::Local(zero),
    ..LATENCY
};
