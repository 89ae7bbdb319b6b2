//! SLOWLOG LEN.

use super::SLOWLOG;
use crate::redis::prelude::*;

pub(super) static SPEC: Spec = Spec {
    name: "slowlog|len",
    arity: 2,
    summary: "Returns the number of slow commands in the log.",
    handler: Handler::Local(answer),
    ..SLOWLOG
};

fn answer(_: &mut Connection, _: &Call, cx: &mut Context<'_>) -> Answer {
    cx.out.integer(cx.shared.slow_log.iter().len() as i64);
    Ok(Next::Continue)
}
