//! How it goes, for people: a bar on a terminal, a line now and then elsewhere.

use crate::format::{count, rate, time};
use crate::live::{Phase, Tick};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::time::{Duration, Instant};

/// How often a line is written where there is no terminal.
const TELL_EVERY: Duration = Duration::from_secs(5);
/// How often figures change on a terminal.
const REFRESH: Duration = Duration::from_millis(500);

/// Shows ticks on standard error.
pub(crate) struct Shown {
    bar: Option<ProgressBar>,
    quiet: bool,
    told: Instant,
    /// What the last line said: figures are those since.
    last: Option<Tick>,
}

impl Shown {
    pub(crate) fn new(quiet: bool) -> Self {
        let terminal = !quiet && std::io::stderr().is_terminal();
        let bar = terminal.then(|| {
            let bar = ProgressBar::with_draw_target(Some(1000), ProgressDrawTarget::stderr_with_hz(4));
            // The template is a constant; without it the bar is plain.
            bar.set_style(
                ProgressStyle::with_template("{bar:30} {msg}").unwrap_or(ProgressStyle::default_bar()),
            );
            bar
        });
        Self { bar, quiet, told: Instant::now(), last: None }
    }

    pub(crate) fn update(&mut self, tick: &Tick) {
        if let Some(bar) = &self.bar {
            bar.set_position((tick.done * 1000.0) as u64);
        }
        let new = self.last.as_ref().is_none_or(|last| last.phase != tick.phase);
        let every = if self.bar.is_some() { REFRESH } else { TELL_EVERY };
        if self.quiet || !(new || self.told.elapsed() >= every) {
            return;
        }
        let line = line(tick, self.last.as_ref(), self.told.elapsed());
        match &self.bar {
            Some(bar) => bar.set_message(line),
            None => eprintln!("{line}"),
        }
        (self.told, self.last) = (Instant::now(), Some(*tick));
    }

    pub(crate) fn end(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// What has happened since `last`.
fn line(tick: &Tick, last: Option<&Tick>, since: Duration) -> String {
    let name = match tick.phase {
        Phase::Fill => "fill",
        Phase::WarmUp => "warm-up",
        Phase::Measure => "measuring",
        Phase::End => "waiting for the last answers",
    };
    // Counters begin again after the fill phase.
    let last = last.filter(|last| (last.phase == Phase::Fill) == (tick.phase == Phase::Fill));
    let since = if last.is_some() { since } else { tick.elapsed };
    let before = last.map_or([0; 3], |last| [last.operations, last.latency_us, last.failed]);
    let operations = tick.operations.saturating_sub(before[0]);
    let mut line = format!("{name}, {:.0} s, {:.0}%", tick.elapsed.as_secs_f64(), tick.done * 100.0);
    if operations > 0 && since > Duration::ZERO {
        line += &format!(": {} operations a second", rate(operations as f64 / since.as_secs_f64()));
        let latency_us = tick.latency_us.saturating_sub(before[1]);
        if latency_us > 0 {
            line += &format!(", mean {}", time(latency_us as f64 / operations as f64));
        }
    }
    if tick.failed > 0 {
        line += &format!(", {} failed", count(tick.failed));
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_what_happened_since_the_last() {
        let tick = |operations, latency_us, failed| Tick {
            phase: Phase::Measure,
            elapsed: Duration::from_secs(7),
            done: 0.5,
            operations,
            latency_us,
            failed,
        };
        let said =
            line(&tick(30_000, 60_000_000, 2), Some(&tick(10_000, 40_000_000, 0)), Duration::from_secs(5));
        assert_eq!(said, "measuring, 7 s, 50%: 4,000 operations a second, mean 1.00 ms, 2 failed");
        let filling = Tick { phase: Phase::Fill, ..tick(500, 0, 0) };
        assert_eq!(line(&filling, None, Duration::from_secs(1)), "fill, 7 s, 50%: 71.4 operations a second");
        let said = line(&tick(14_000, 0, 0), Some(&filling), Duration::from_secs(1));
        assert_eq!(
            said, "measuring, 7 s, 50%: 2,000 operations a second",
            "what was filled in does not count"
        );
    }
}
