//! PUBLISH.

use super::{PUBLISH, REACH, publish};
use crate::redis::prelude::*;

pub(super) static SPEC: Spec = Spec {
    name: "publish",
    summary: "Sends a message to the subscribers of a channel.",
    remark: REACH,
    handler: Handler::Local(|_, call, cx| publish(call, cx, false)),
    ..PUBLISH
};
