//! MEMORY STATS.

use super::MEMORY;
use crate::redis::prelude::*;

pub(super) static SPEC: Spec = Spec {
    name: "memory|stats",
    arity: 2,
    summary: "Returns figures about memory.",
    remark: "Only figures that a node has. `total.allocated` is what the process has allocated.",
    handler: Handler::Local(answer),
    ..MEMORY
};

fn answer(_: &mut Connection, _: &Call, cx: &mut Context<'_>) -> Answer {
    let facts = cx.info.facts();
    let (used, peak) = (facts.used_memory_bytes, facts.used_memory_peak_bytes);
    let percent = |part: u64, whole: u64| if whole == 0 { 0.0 } else { 100.0 * part as f64 / whole as f64 };
    cx.out.map(7);
    for (name, value) in [
        ("peak.allocated", peak),
        ("total.allocated", used),
        ("keys.count", facts.keys),
        ("keys.bytes-per-key", facts.dataset_bytes.checked_div(facts.keys).unwrap_or(0)),
        ("dataset.bytes", facts.dataset_bytes),
    ] {
        cx.out.bulk(name);
        cx.out.integer(value as i64);
    }
    for (name, value) in
        [("dataset.percentage", percent(facts.dataset_bytes, used)), ("peak.percentage", percent(used, peak))]
    {
        cx.out.bulk(name);
        cx.out.double(value);
    }
    Ok(Next::Continue)
}
