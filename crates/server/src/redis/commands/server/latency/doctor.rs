//! LATENCY DOCTOR.

use super::LATENCY;
use crate::redis::prelude::*;
use std::fmt::Write as _;

pub(super) static SPEC: Spec = Spec {
    name: "latency|doctor",
    arity: 2,
    summary: "Describes the latency spikes in words.",
    remark: "In other words than Redis: how many there were, how long they were, how to see more.",
    handler: Handler::Local(answer),
    ..LATENCY
};

fn answer(_: &mut Connection, _: &Call, cx: &mut Context<'_>) -> Answer {
    let threshold = cx.config.get("latency-monitor-threshold").unwrap_or_default();
    let mut text = String::new();
    if threshold == "0" {
        text.push_str(
            "Latency monitoring is off. \"CONFIG SET latency-monitor-threshold <milliseconds>\" turns it on.\n",
        );
    }
    let events = cx.shared.latency.iter();
    if events.len() == 0 {
        text.push_str("No latency spike was observed.\n");
    }
    for (event, spikes) in events {
        let samples = spikes.samples.len() as u64;
        let sum: u64 = spikes.samples.iter().map(|spike| spike.took_ms).sum();
        let _ = writeln!(
            text,
            "{event}: {samples} latency spikes (average {} ms, longest {} ms). \"SLOWLOG GET\" shows which commands \
             were slow.",
            sum / samples.max(1),
            spikes.longest_ms
        );
    }
    cx.out.verbatim(*b"txt", text);
    Ok(Next::Continue)
}
