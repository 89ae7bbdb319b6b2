//! PSUBSCRIBE.

use super::{SUBSCRIBE, subscribe};
use crate::redis::prelude::*;
use crate::redis::subscriptions::Space;

pub(super) static SPEC: Spec = Spec {
    name: "psubscribe",
    since: "2.0.0",
    syntax: "pattern [pattern ...]",
    summary: "Subscribes to all channels whose names match a pattern.",
    handler: Handler::Local(|connection, call, cx| subscribe(connection, call, cx, Space::Patterns)),
    ..SUBSCRIBE
};
