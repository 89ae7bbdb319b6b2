//! LATENCY RESET.

use super::LATENCY;
use crate::redis::prelude::*;

pub(super) static SPEC: Spec = Spec {
    name: "latency|reset",
    arity: -2,
    syntax: "[event [event ...]]",
    summary: "Deletes latency spikes and returns of how many events there were some.",
    handler: Handler::Local(answer),
    ..LATENCY
};

fn answer(_: &mut Connection, call: &Call, cx: &mut Context<'_>) -> Answer {
    let latency = &mut cx.shared.latency;
    let count = match &call.arguments[..] {
        [] => latency.reset_all(),
        events => events.iter().filter(|event| latency.reset(event)).count(),
    };
    cx.out.integer(count as i64);
    Ok(Next::Continue)
}
