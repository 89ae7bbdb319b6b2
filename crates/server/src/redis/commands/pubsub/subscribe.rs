//! SUBSCRIBE.

use super::{SUBSCRIBE, subscribe};
use crate::redis::prelude::*;
use crate::redis::subscriptions::Space;

pub(super) static SPEC: Spec = Spec {
    name: "subscribe",
    since: "2.0.0",
    syntax: "channel [channel ...]",
    summary: "Subscribes to channels.",
    handler: Handler::Local(|connection, call, cx| subscribe(connection, call, cx, Space::Channels)),
    ..SUBSCRIBE
};
