//! MEMORY PURGE.

use super::MEMORY;
use crate::redis::prelude::*;

pub(super) static SPEC: Spec = Spec {
    name: "memory|purge",
    arity: 2,
    summary: "Asks the allocator to release memory.",
    remark: "Accepted without effect: the allocator releases memory by itself.",
    handler: Handler::Local(answer),
    ..MEMORY
};

fn answer(_: &mut Connection, _: &Call, cx: &mut Context<'_>) -> Answer {
    cx.out.ok();
    Ok(Next::Continue)
}
