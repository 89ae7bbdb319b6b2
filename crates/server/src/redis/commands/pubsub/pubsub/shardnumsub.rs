//! PUBSUB SHARDNUMSUB.

use super::{OF_THIS_NODE, PUBSUB, numbers};
use crate::redis::prelude::*;
use crate::redis::subscriptions::Space;

pub(super) static SPEC: Spec = Spec {
    name: "pubsub|shardnumsub",
    arity: -2,
    since: "7.0.0",
    syntax: "[shardchannel [shardchannel ...]]",
    summary: "Returns how many subscribers each of the shard channels has.",
    remark: OF_THIS_NODE,
    handler: Handler::Local(|_, call, cx| numbers(call, cx, Space::Shards)),
    ..PUBSUB
};
