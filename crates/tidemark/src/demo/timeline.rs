//! What happened when and where, a line an event.

use std::time::Instant;

/// A timeline that is printed as it happens.
pub(crate) struct Timeline {
    start: Instant,
}

impl Timeline {
    /// Begins an act.
    pub(crate) fn begin(title: &str, story: &str) -> Self {
        println!("\n{title}\n{story}\n");
        Self { start: Instant::now() }
    }

    /// Somebody did something somewhere.
    pub(crate) fn event(&self, who: &str, what: &str) {
        println!("  {:>6} ms  {who:<10} {what}", self.start.elapsed().as_millis());
    }

    /// What it means.
    pub(crate) fn verdict(&self, anomaly: bool, what: &str) {
        println!("  {:>9}  {} {what}", "", if anomaly { "✗" } else { "✓" });
    }
}
