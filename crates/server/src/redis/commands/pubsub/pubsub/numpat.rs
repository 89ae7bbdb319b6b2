//! PUBSUB NUMPAT.

use super::{OF_THIS_NODE, PUBSUB};
use crate::redis::prelude::*;
use crate::redis::subscriptions::Space;

pub(super) static SPEC: Spec = Spec {
    name: "pubsub|numpat",
    arity: 2,
    summary: "Returns the number of patterns that have subscribers.",
    remark: OF_THIS_NODE,
    handler: Handler::Local(answer),
    ..PUBSUB
};

fn answer(_: &mut Connection, _: &Call, cx: &mut Context<'_>) -> Answer {
    let patterns = cx.shared.subscriptions.names(Space::Patterns).count();
    cx.out.integer(patterns as i64);
    Ok(Next::Continue)
}
