//! LATENCY HISTOGRAM.

use super::LATENCY;
use crate::redis::prelude::*;
use crate::redis::table::Table;

pub(super) static SPEC: Spec = Spec {
    name: "latency|histogram",
    arity: -2,
    since: "7.0.0",
    syntax: "[command [command ...]]",
    summary: "Returns how long commands took: how many took at most 1, 2, 4 … microseconds.",
    handler: Handler::Local(answer),
    ..LATENCY
};

fn answer(_: &mut Connection, call: &Call, cx: &mut Context<'_>) -> Answer {
    let wanted: Vec<&Spec> = call.arguments.iter().filter_map(|name| Table::get().any(name)).collect();
    let is_wanted = |spec: &Spec| {
        let is =
            |row: &&Spec| row.name == spec.name || row.subcommands.iter().any(|sub| sub.name == spec.name);
        call.arguments.is_empty() || wanted.iter().any(is)
    };
    let all = cx.shared.commands.commands();
    let found = all.into_iter().filter(|(spec, _)| is_wanted(spec));
    let found: Vec<_> =
        found.filter_map(|(spec, counts)| Some((spec, counts.calls, counts.latencies.as_ref()?))).collect();
    cx.out.map(found.len());
    for (spec, calls, latencies) in found {
        cx.out.bulk(spec.name);
        cx.out.map(2);
        cx.out.bulk("calls");
        cx.out.integer(calls as i64);
        cx.out.bulk("histogram_usec");
        let cumulative = latencies.cumulative();
        cx.out.map(cumulative.len());
        for (limit_us, count) in cumulative {
            cx.out.integer(limit_us as i64);
            cx.out.integer(count as i64);
        }
    }
    Ok(Next::Continue)
}
