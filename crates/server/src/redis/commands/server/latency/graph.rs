//! LATENCY GRAPH.

use super::{EVENTS, LATENCY};
use crate::redis::latency::Spikes;
use crate::redis::prelude::*;
use std::fmt::Write as _;

/// The size of the graph, without the labels below it.
const COLUMNS: usize = 80;
const ROWS: usize = 4;
/// How full a row is, in thirds, and what a column is filled with below its top.
const TOPS: [char; 3] = ['_', 'o', '#'];
const FILL: char = '|';

pub(super) static SPEC: Spec = Spec {
    name: "latency|graph",
    arity: 3,
    syntax: "event",
    summary: "Draws the latency spikes of one event.",
    remark: EVENTS,
    handler: Handler::Local(answer),
    ..LATENCY
};

fn answer(_: &mut Connection, call: &Call, cx: &mut Context<'_>) -> Answer {
    let event = String::from_utf8_lossy(&call.arguments[0]);
    let Some(spikes) = cx.shared.latency.get(&call.arguments[0]) else {
        return Err(ErrorReply::new(format!("ERR No samples available for event '{event}'")));
    };
    cx.out.verbatim(*b"txt", graph(&event, spikes, cx.now / 1_000_000));
    Ok(Next::Continue)
}

fn graph(event: &str, spikes: &Spikes, now_s: u64) -> String {
    let heights = || spikes.samples.iter().map(|spike| spike.took_ms);
    let (low, high) = (heights().min().unwrap_or(0), heights().max().unwrap_or(0));
    let mut text = format!(
        "{event} - high {high} ms, low {low} ms (all time high {} ms)\n{}\n",
        spikes.longest_ms,
        "-".repeat(COLUMNS)
    );
    let samples: Vec<_> = spikes.samples.iter().collect();
    for part in samples.chunks(COLUMNS) {
        // The steps of a column: three in each row.
        let steps = |took_ms: u64| match high - low {
            0 => 0,
            range => (took_ms - low) as usize * (ROWS * TOPS.len() - 1) / range as usize,
        };
        for row in (0..ROWS).rev() {
            let cell = |took_ms: u64| match steps(took_ms) {
                step if step / TOPS.len() > row => FILL,
                step if step / TOPS.len() == row => TOPS[step % TOPS.len()],
                _ => ' ',
            };
            let line: String = part.iter().map(|spike| cell(spike.took_ms)).collect();
            let _ = writeln!(text, "{}", line.trim_end());
        }
        let ages: Vec<String> = part.iter().map(|spike| age(now_s.saturating_sub(spike.at_s))).collect();
        let depth = ages.iter().map(String::len).max().unwrap_or(0);
        text.push('\n');
        for at in 0..depth {
            let line: String = ages.iter().map(|age| age.chars().nth(at).unwrap_or(' ')).collect();
            let _ = writeln!(text, "{}", line.trim_end());
        }
    }
    text
}

/// How long ago something was: `59s`, `3m`, `2h`, `1d`.
fn age(seconds: u64) -> String {
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3_600 => format!("{}m", seconds / 60),
        3_600..86_400 => format!("{}h", seconds / 3_600),
        _ => format!("{}d", seconds / 86_400),
    }
}
