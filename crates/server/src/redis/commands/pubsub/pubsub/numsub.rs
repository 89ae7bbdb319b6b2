//! PUBSUB NUMSUB.

use super::{OF_THIS_NODE, PUBSUB, numbers};
use crate::redis::prelude::*;
use crate::redis::subscriptions::Space;

pub(super) static SPEC: Spec = Spec {
    name: "pubsub|numsub",
    arity: -2,
    since: "2.8.0",
    syntax: "[channel [channel ...]]",
    summary: "Returns how many subscribers each of the channels has.",
    remark: OF_THIS_NODE,
    handler: Handler::Local(|_, call, cx| numbers(call, cx, Space::Channels)),
    ..PUBSUB
};
