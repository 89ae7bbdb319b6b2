//! PUBSUB CHANNELS.

use super::{OF_THIS_NODE, PUBSUB, names};
use crate::redis::prelude::*;
use crate::redis::subscriptions::Space;

pub(super) static SPEC: Spec = Spec {
    name: "pubsub|channels",
    arity: -2,
    since: "2.8.0",
    syntax: "[pattern]",
    summary: "Returns the channels that have subscribers.",
    remark: OF_THIS_NODE,
    handler: Handler::Local(|_, call, cx| names(call, cx, Space::Channels)),
    ..PUBSUB
};
