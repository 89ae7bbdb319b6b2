//! PUBSUB SHARDCHANNELS.

use super::{OF_THIS_NODE, PUBSUB, names};
use crate::redis::prelude::*;
use crate::redis::subscriptions::Space;

pub(super) static SPEC: Spec = Spec {
    name: "pubsub|shardchannels",
    arity: -2,
    since: "7.0.0",
    syntax: "[pattern]",
    summary: "Returns the shard channels that have subscribers.",
    remark: OF_THIS_NODE,
    handler: Handler::Local(|_, call, cx| names(call, cx, Space::Shards)),
    ..PUBSUB
};
