//! LATENCY LATEST.

use super::{EVENTS, LATENCY};
use crate::redis::prelude::*;

pub(super) static SPEC: Spec = Spec {
    name: "latency|latest",
    arity: 2,
    summary: "Returns the latest latency spike of each event, and its longest one.",
    remark: EVENTS,
    handler: Handler::Local(answer),
    ..LATENCY
};

fn answer(_: &mut Connection, _: &Call, cx: &mut Context<'_>) -> Answer {
    let events = cx.shared.latency.iter();
    cx.out.array(events.len());
    for (event, spikes) in events {
        let last = spikes.samples.back().expect("an event has a spike");
        cx.out.array(4);
        cx.out.bulk(event);
        cx.out.integer(last.at_s as i64);
        cx.out.integer(last.took_ms as i64);
        cx.out.integer(spikes.longest_ms as i64);
    }
    Ok(Next::Continue)
}
