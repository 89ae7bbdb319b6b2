//! How far a run is: a bar on a terminal, lines elsewhere; on standard error.

use crate::Row;
use crate::table::plain;
use indicatif::{ProgressBar, ProgressStyle};
use std::io::{IsTerminal, stderr};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How often a point that is being measured may add a line where there is no bar.
const PAUSE: Duration = Duration::from_secs(5);

/// The progress of one part of an experiment. Threads share it.
pub(crate) struct Progress {
    bar: Option<ProgressBar>,
    part: String,
    total: usize,
    done: AtomicUsize,
    said: Mutex<Instant>,
}

impl Progress {
    pub(crate) fn new(part: &str, total: usize) -> Self {
        let bar = stderr().is_terminal().then(|| {
            let style = ProgressStyle::with_template("{prefix} {bar:24} {pos}/{len} {elapsed} {wide_msg}");
            let bar = ProgressBar::new(total as u64).with_prefix(part.to_string());
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
            bar.enable_steady_tick(Duration::from_millis(200));
            bar
        });
        Self {
            bar,
            part: part.to_string(),
            total,
            done: AtomicUsize::new(0),
            said: Mutex::new(Instant::now()),
        }
    }

    /// What the point that is being measured is at.
    pub(crate) fn say(&self, point: &str, text: &str) {
        match &self.bar {
            Some(bar) => bar.set_message(format!("{point}: {text}")),
            None => {
                let mut said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
                if said.elapsed() >= PAUSE {
                    *said = Instant::now();
                    eprintln!("{}: {point}: {text}", self.part);
                }
            }
        }
    }

    /// A point is done; what went wrong if it failed.
    pub(crate) fn done(&self, point: &str, took: Duration, error: Option<&str>) {
        let done = self.done.fetch_add(1, Ordering::Relaxed) + 1;
        let end = error.map_or_else(String::new, |error| format!(" FAILED: {error}"));
        let line = format!("{} {done}/{}: {point} ({:.1} s){end}", self.part, self.total, took.as_secs_f64());
        match &self.bar {
            Some(bar) => {
                bar.inc(1);
                if error.is_some() {
                    bar.println(line);
                }
            }
            None => eprintln!("{line}"),
        }
    }

    pub(crate) fn end(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// A point in a few words: what is varied.
pub(crate) fn words(point: &Row, varied: &[String]) -> String {
    let some = point.iter().filter(|(name, _)| varied.contains(name));
    let words: Vec<String> = some.map(|(name, value)| format!("{name} {}", plain(value))).collect();
    if words.is_empty() { "the only point".into() } else { words.join(", ") }
}
