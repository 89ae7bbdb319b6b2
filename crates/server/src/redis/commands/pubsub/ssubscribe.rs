//! SSUBSCRIBE.

use super::{SUBSCRIBE, subscribe};
use crate::redis::prelude::*;
use crate::redis::subscriptions::Space;

pub(super) static SPEC: Spec = Spec {
    name: "ssubscribe",
    since: "7.0.0",
    syntax: "shardchannel [shardchannel ...]",
    summary: "Subscribes to shard channels.",
    handler: Handler::Local(|connection, call, cx| subscribe(connection, call, cx, Space::Shards)),
    ..SUBSCRIBE
};
