//! SLOWLOG RESET.

use super::SLOWLOG;
use crate::redis::prelude::*;

pub(super) static SPEC: Spec = Spec {
    name: "slowlog|reset",
    arity: 2,
    summary: "Deletes the log of slow commands.",
    handler: Handler::Local(answer),
    ..SLOWLOG
};

fn answer(_: &mut Connection, _: &Call, cx: &mut Context<'_>) -> Answer {
    cx.shared.slow_log.reset();
    cx.out.ok();
    Ok(Next::Continue)
}
