//! The duration of syncs of the log.

use tidemark_core::Micros;

/// A sync that runs for longer is slow.
const SLOW_US: Micros = 1_000_000;
/// So long after a slow sync, without another one, the disk is not slow any more: policy `everysec` syncs each second.
const CALM_US: Micros = 2_000_000;

/// The syncs of the log.
#[derive(Debug, Default)]
pub(crate) struct Syncs {
    /// When the one that runs was asked for.
    running: Option<Micros>,
    /// Since when they are slow, and when the last one of these was still running.
    slow: Option<(Micros, Micros)>,
}

impl Syncs {
    pub(crate) fn began(&mut self, now: Micros) {
        self.running = Some(now);
    }

    pub(crate) fn ended(&mut self, now: Micros) {
        self.note(now);
        let was_slow = self.running.take().is_some_and(|began| now >= began + SLOW_US);
        if !was_slow {
            self.slow = None;
        }
    }

    fn note(&mut self, now: Micros) {
        if let Some(began) = self.running.filter(|began| now >= *began + SLOW_US) {
            let since = self.slow.map_or(began, |(since, _)| since);
            self.slow = Some((since, now));
        }
    }

    /// Since when syncs are slow, and for how long the one that runs has been running; none if they are not.
    pub(crate) fn slow(&mut self, now: Micros) -> Option<(Micros, Option<Micros>)> {
        self.note(now);
        let (since, _) = self.slow.filter(|(_, last)| now <= *last + CALM_US)?;
        Some((since, self.running.map(|began| now.saturating_sub(began))))
    }
}
