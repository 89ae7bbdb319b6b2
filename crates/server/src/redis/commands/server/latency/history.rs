//! LATENCY HISTORY.

use super::{EVENTS, LATENCY};
use crate::redis::prelude::*;

pub(super) static SPEC: Spec = Spec {
    name: "latency|history",
    arity: 3,
    syntax: "event",
    summary: "Returns the latency spikes of one event, oldest first.",
    remark: EVENTS,
    handler: Handler::Local(answer),
    ..LATENCY
};

fn answer(_: &mut Connection, call: &Call, cx: &mut Context<'_>) -> Answer {
    let Some(spikes) = cx.shared.latency.get(&call.arguments[0]) else {
        cx.out.array(0);
        return Ok(Next::Continue);
    };
    cx.out.array(spikes.samples.len());
    for spike in &spikes.samples {
        cx.out.array(2);
        cx.out.integer(spike.at_s as i64);
        cx.out.integer(spike.took_ms as i64);
    }
    Ok(Next::Continue)
}
