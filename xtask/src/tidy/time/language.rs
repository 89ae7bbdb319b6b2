//! The spelling of time in Rust and TypeScript: clocks, durations and waits.

use super::names::Names;
use super::text::{comparisons, words};

/// The least time that a test may wait for something, in seconds.
pub(super) const PATIENCE_S: f64 = 120.0;

/// The spelling of time in a language.
pub(super) struct Language {
    /// Readings of a clock.
    pub(super) clocks: &'static [&'static str],
    /// Whether an expression reads how much time has passed.
    pub(super) passed: fn(&str) -> bool,
    /// Whether a value is a duration below the patience.
    pub(super) is_short: fn(&str) -> bool,
    /// Whether a statement waits for less than the patience, or judges by less.
    pub(super) waits: fn(&str, &Names) -> bool,
    /// Where its tests wait.
    pub(super) waiter: &'static str,
}

pub(super) const RUST: Language = Language {
    clocks: &["Instant::now()"],
    passed: |text| {
        // The time of day has not passed.
        let since = text.split("duration_since(").skip(1).any(|from| !from.contains("UNIX_EPOCH"));
        since || ["elapsed()", ".since(", "Instant::now() - "].iter().any(|word| text.contains(word))
    },
    is_short: |value| {
        // A deadline is as short as the duration in it.
        let path = ["std", "core", "tokio", "time", "Some", "Instant", "now"];
        let before = value.split_once("Duration::").map(|(before, _)| before);
        before.is_some_and(|before| words(before).all(|word| path.contains(&word))) && spells_short(value)
    },
    waits: rust_waits,
    waiter: "tidemark_patience",
};

pub(super) const SCRIPT: Language = Language {
    clocks: &["Date.now()", "performance.now()"],
    passed: |text| ["Date.now() - ", "performance.now() - "].iter().any(|word| text.contains(word)),
    is_short: |value| {
        number(value).is_some_and(|(ms, rest)| is_short_ms(ms) && rest.trim_matches(';').is_empty())
    },
    waits: script_waits,
    waiter: super::UNTIL,
};

/// Calls that wait, in Rust.
const WAITERS: [&str; 8] = [
    "wait_for(",
    "until(",
    "eventually(",
    "settled(",
    "terminate(",
    "timeout(",
    "timeout_at(",
    "timeout_while(",
];

/// Words before the length of a wait, in TypeScript.
const TIMEOUTS: [&str; 4] = ["timeout: ", "waitForTimeout(", "DefaultTimeout(", "AbortSignal.timeout("];

/// Calls that pause, in TypeScript.
pub(super) const PAUSES: [&str; 3] = ["sleep(", "setTimeout(", "waitForTimeout("];

/// `assert_eq!` of durations is no limit, and neither is a least time.
fn rust_waits(text: &str, names: &Names) -> bool {
    let is_short = |part: &str| spells_short(part) || names.short(part);
    let any = |words: &[&str]| words.iter().any(|word| text.contains(word));
    let constant = any(&["const ", "static "]) && text.contains(": Duration");
    let compared = comparisons(text);
    constant && spells_short(text)
        || any(&WAITERS) && is_short(text)
        || text.contains("assert") && compared.iter().any(|(_, limit)| is_short(limit))
        || text.contains("assert!(")
            && spells_short(text)
            && !compared.iter().any(|(least, _)| spells_short(least))
}

/// Whether it spells out a duration below the patience.
fn spells_short(text: &str) -> bool {
    let units = [
        ("from_mins(", 60.0),
        ("from_secs(", 1.0),
        ("from_secs_f32(", 1.0),
        ("from_secs_f64(", 1.0),
        ("Duration::new(", 1.0),
        ("from_millis(", 1e-3),
        ("from_micros(", 1e-6),
        ("from_nanos(", 1e-9),
    ];
    units.iter().any(|(word, unit)| {
        let mut numbers = text.split(word).skip(1).filter_map(|rest| rest.split([')', ',']).next());
        numbers
            .any(|number| number.replace('_', "").parse().is_ok_and(|number: f64| number * unit < PATIENCE_S))
    })
}

fn script_waits(text: &str, names: &Names) -> bool {
    let any = |words: &[&str]| words.iter().any(|word| text.contains(word));
    let is_short = |rest: &str| match number(rest) {
        Some((ms, _)) => is_short_ms(ms),
        None => words(rest).next().is_some_and(|word| names.short(word)),
    };
    TIMEOUTS.iter().any(|word| text.split(word).skip(1).any(is_short))
        // One way out of a race is a pause; a loop that pauses ends after so many.
        || text.contains("Promise.race(") && any(&PAUSES)
        || text.contains("setTimeout(") && any(&["reject", "throw ", "fail(", "abort("])
        || any(&["for (", "while ("]) && any(&PAUSES) && !comparisons(text).is_empty()
}

fn is_short_ms(ms: f64) -> bool {
    ms < PATIENCE_S * 1e3
}

/// The number with which a text begins, and the rest of it.
fn number(text: &str) -> Option<(f64, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '_').unwrap_or(text.len());
    Some((text[..end].replace('_', "").parse().ok()?, &text[end..]))
}
