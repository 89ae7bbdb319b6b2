//! How often each command ran, how long that took, and which errors were replied.

use super::table::Spec;
use std::collections::BTreeMap;
use tidemark_core::Micros;

/// More errors of different first words are not told apart, as in Redis.
const ERRORS_MAX: usize = 128;

/// A power of two, several times the number of commands and subcommands.
const PLACES: usize = 2048;

/// What is known of one command.
#[derive(Clone, Debug, Default)]
pub(super) struct CommandCounts {
    /// How often it ran.
    pub calls: u64,
    /// How long that took together, if times are taken.
    pub took_us: Micros,
    /// How often it was refused before it ran.
    pub rejected: u64,
    /// How often it ran and failed.
    pub failed: u64,
    /// How long each run took, if latencies are tracked.
    pub(super) latencies: Option<Box<Latencies>>,
}

/// The counts of all commands.
#[derive(Debug, Default)]
pub(super) struct CommandStats {
    /// Each command at the place that its address gives it, or at the next free one.
    places: Vec<Option<(&'static Spec, CommandCounts)>>,
    /// Errors by their first word.
    errors: BTreeMap<String, u64>,
    /// All errors.
    pub(super) error_replies: u64,
}

impl CommandStats {
    /// The counts of a command, to change them.
    #[inline]
    fn of(&mut self, spec: &'static Spec) -> &mut CommandCounts {
        if self.places.is_empty() {
            self.places.resize_with(PLACES, || None);
        }
        let mut at = (std::ptr::from_ref(spec).addr() >> 4) % PLACES;
        while self.places[at].as_ref().is_some_and(|(other, _)| !std::ptr::eq(*other, spec)) {
            at = (at + 1) % PLACES;
        }
        &mut self.places[at].get_or_insert_with(|| (spec, CommandCounts::default())).1
    }

    /// A command has run. `took_us` is known if times are taken.
    #[inline]
    pub(super) fn ran(&mut self, spec: &'static Spec, took_us: Option<Micros>, tracks: bool, failed: bool) {
        let counts = self.of(spec);
        counts.calls += 1;
        counts.failed += u64::from(failed);
        if let Some(took_us) = took_us {
            counts.took_us += took_us;
            if tracks {
                counts.latencies.get_or_insert_default().add(took_us);
            }
        }
    }

    /// A command was refused before it ran.
    pub(super) fn rejected(&mut self, spec: &'static Spec) {
        self.of(spec).rejected += 1;
    }

    /// An error was replied.
    pub(super) fn error(&mut self, text: &[u8]) {
        self.error_replies += 1;
        let word = text.iter().position(|byte| *byte == b' ').map_or(&b"ERR"[..], |end| &text[..end]);
        let word = String::from_utf8_lossy(word);
        if let Some(count) = self.errors.get_mut(&*word) {
            *count += 1;
        } else if self.errors.len() < ERRORS_MAX {
            self.errors.insert(word.into_owned(), 1);
        }
    }

    /// The commands that ran or were refused, in alphabetical order.
    pub(super) fn commands(&self) -> Vec<(&'static Spec, &CommandCounts)> {
        let mut all: Vec<_> = self.places.iter().flatten().map(|(spec, counts)| (*spec, counts)).collect();
        all.sort_by_key(|(spec, _)| spec.name);
        all
    }

    /// Errors by their first word.
    pub(super) fn errors(&self) -> impl Iterator<Item = (&str, u64)> {
        self.errors.iter().map(|(word, count)| (word.as_str(), *count))
    }

    /// Forgets everything.
    pub(super) fn reset(&mut self) {
        *self = Self::default();
    }
}

/// Sixteen places for each power of two: what is read back is at most a sixteenth too high.
const FINE: usize = 16;
const LATENCIES: usize = FINE * 37;

/// How long runs of a command took.
#[derive(Clone, Debug)]
pub(super) struct Latencies {
    counts: Vec<u32>,
    total: u64,
}

impl Default for Latencies {
    fn default() -> Self {
        Self { counts: vec![0; LATENCIES], total: 0 }
    }
}

impl Latencies {
    fn add(&mut self, took_us: Micros) {
        let place = place(took_us).min(LATENCIES - 1);
        self.counts[place] = self.counts[place].saturating_add(1);
        self.total += 1;
    }

    /// The time that `percent` of the runs did not exceed.
    pub(super) fn percentile(&self, percent: f64) -> Micros {
        let wanted = ((self.total as f64 * percent / 100.0).ceil() as u64).max(1);
        let mut seen = 0;
        let at = self.counts.iter().position(|count| {
            seen += u64::from(*count);
            seen >= wanted
        });
        at.map_or(0, highest)
    }

    /// How many runs took no longer than 1, 2, 4 … µs, where that number rises, as LATENCY HISTOGRAM shows it.
    pub(super) fn cumulative(&self) -> Vec<(Micros, u64)> {
        let (mut shown, mut before, mut seen, mut at) = (Vec::new(), 0, 0, 0);
        for power in 0..40 {
            let limit = 1_u64 << power;
            while at < LATENCIES && highest(at) <= limit {
                seen += u64::from(self.counts[at]);
                at += 1;
            }
            if seen > before {
                shown.push((limit, seen));
                before = seen;
            }
        }
        shown
    }
}

/// Where a time is counted.
fn place(took_us: Micros) -> usize {
    let power = took_us.checked_ilog2().unwrap_or(0) as usize;
    if power < 4 { took_us as usize } else { FINE * (power - 3) + (took_us >> (power - 4)) as usize % FINE }
}

/// The longest time that is counted at a place.
fn highest(place: usize) -> Micros {
    if place < FINE {
        return place as Micros;
    }
    let power = place / FINE + 3;
    ((FINE + place % FINE + 1) as Micros) * (1 << (power - 4)) - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_counted_where_it_is_read_back() {
        for took_us in (0..100_000).chain([1 << 20, (1 << 30) + 12_345, 1 << 35]) {
            let high = highest(place(took_us));
            assert!(took_us <= high && high <= took_us + took_us / 16, "{took_us} {high}");
        }
        let mut latencies = Latencies::default();
        (1..=100).for_each(|took_us| latencies.add(took_us));
        assert!((50..=53).contains(&latencies.percentile(50.0)));
        assert_eq!(latencies.percentile(0.0), 1);
        assert_eq!(latencies.cumulative().first(), Some(&(1, 1)));
        assert_eq!(latencies.cumulative().last(), Some(&(128, 100)));
    }
}
