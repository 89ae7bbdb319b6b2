//! LATENCY HISTOGRAM.

use super::LATENCY;
use crate::redis::prelude::*;

pub(super) static SPEC: Spec = Spec {
    name: "latency|histogram",
    arity: -2,
    since: "7.0.0",
    syntax: "[command [command ...]]",
    summary: "Returns the distribution of the latencies of commands.",
    remark: "Always empty: see the metrics endpoint.",
    handler: Handler::Local(answer),
    ..LATENCY
};

fn answer(_: &mut Connection, _: &Call, cx: &mut Context<'_>) -> Answer {
    cx.out.map(0);
    Ok(Next::Continue)
}
