//! UNSUBSCRIBE.

use super::{UNSUBSCRIBE, unsubscribe};
use crate::redis::prelude::*;
use crate::redis::subscriptions::Space;

pub(super) static SPEC: Spec = Spec {
    name: "unsubscribe",
    since: "2.0.0",
    syntax: "[channel [channel ...]]",
    summary: "Ends subscriptions to channels, all of them if none is named.",
    handler: Handler::Local(|connection, call, cx| unsubscribe(connection, call, cx, Space::Channels)),
    ..UNSUBSCRIBE
};
