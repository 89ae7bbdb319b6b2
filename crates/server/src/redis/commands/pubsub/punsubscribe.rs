//! PUNSUBSCRIBE.

use super::{UNSUBSCRIBE, unsubscribe};
use crate::redis::prelude::*;
use crate::redis::subscriptions::Space;

pub(super) static SPEC: Spec = Spec {
    name: "punsubscribe",
    since: "2.0.0",
    syntax: "[pattern [pattern ...]]",
    summary: "Ends subscriptions to patterns, all of them if none is named.",
    handler: Handler::Local(|connection, call, cx| unsubscribe(connection, call, cx, Space::Patterns)),
    ..UNSUBSCRIBE
};
