//! MEMORY MALLOC-STATS.

use super::MEMORY;
use crate::redis::prelude::*;

pub(super) static SPEC: Spec = Spec {
    name: "memory|malloc-stats",
    arity: 2,
    summary: "Returns figures of the allocator.",
    remark: "Says that there are none.",
    handler: Handler::Local(answer),
    ..MEMORY
};

fn answer(_: &mut Connection, _: &Call, cx: &mut Context<'_>) -> Answer {
    cx.out.bulk("Stats not supported for the current allocator");
    Ok(Next::Continue)
}
