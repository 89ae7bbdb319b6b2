//! SUNSUBSCRIBE.

use super::{UNSUBSCRIBE, unsubscribe};
use crate::redis::prelude::*;
use crate::redis::subscriptions::Space;

pub(super) static SPEC: Spec = Spec {
    name: "sunsubscribe",
    since: "7.0.0",
    syntax: "[shardchannel [shardchannel ...]]",
    summary: "Ends subscriptions to shard channels, all of them if none is named.",
    handler: Handler::Local(|connection, call, cx| unsubscribe(connection, call, cx, Space::Shards)),
    ..UNSUBSCRIBE
};
