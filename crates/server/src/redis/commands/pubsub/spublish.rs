//! SPUBLISH.

use super::{PUBLISH, REACH, publish};
use crate::redis::prelude::*;

pub(super) static SPEC: Spec = Spec {
    name: "spublish",
    since: "7.0.0",
    syntax: "shardchannel message",
    summary: "Sends a message to the subscribers of a shard channel.",
    remark: REACH,
    handler: Handler::Local(|_, call, cx| publish(call, cx, true)),
    ..PUBLISH
};
