//! Counters of the data thread: plain numbers that nobody else writes, copied out when somebody asks.

use crate::redis::Family;
use tidemark_core::{Failure, Found, Micros, Outcome, Reply};

/// How commands end, as metrics name it.
pub(crate) const OUTCOMES: [&str; 8] =
    ["ok", "error", "unavailable", "clock_skew", "stale_session", "indefinite", "misconfigured", "elsewhere"];
/// Latencies are counted by powers of two of microseconds, up to 2^23 µs (8.4 s).
pub(crate) const BUCKETS: usize = 24;

/// Places in [`OUTCOMES`].
pub(crate) mod outcome {
    pub(crate) const OK: usize = 0;
    pub(crate) const ERROR: usize = 1;
}

/// The place of a failure in [`OUTCOMES`].
pub(crate) fn outcome_of(failure: &Failure) -> usize {
    match failure {
        Failure::Unavailable(_) => 2,
        Failure::ClockSkew { .. } => 3,
        Failure::StaleSession(_) => 4,
        Failure::Indefinite(_) => 5,
        Failure::Misconfigured(_) => 6,
        Failure::Elsewhere(_) => 7,
        Failure::Refused(_) => outcome::ERROR,
    }
}

/// The time over which the rate of commands is taken.
const RATE_US: Micros = 1_000_000;

/// What the data thread counts.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stats {
    /// Commands by family and outcome.
    pub(crate) commands: [[u64; OUTCOMES.len()]; Family::NAMES.len()],
    /// Batches of replies by latency: from the read of the first command to the write of its replies.
    pub(crate) latency: [u64; BUCKETS + 1],
    /// The sum of those latencies.
    pub(crate) latency_us: u64,
    /// Connections accepted.
    pub(crate) connections: u64,
    /// Connections refused: too many.
    pub(crate) refused: u64,
    /// Bytes received from clients.
    pub(crate) input_bytes: u64,
    /// Bytes sent to clients.
    pub(crate) output_bytes: u64,
    /// Keys that reads found.
    pub(crate) hits: u64,
    /// Keys that they did not find.
    pub(crate) misses: u64,
    /// When commands were counted last for their rate, how many there were, and the rate before.
    sampled: (Micros, u64, u64),
}

impl Stats {
    /// Counts a command.
    #[inline]
    pub(crate) fn command(&mut self, family: Family, outcome: usize) {
        self.commands(family, outcome, 1);
    }

    /// Counts so many commands.
    #[inline]
    pub(crate) fn commands(&mut self, family: Family, outcome: usize, times: usize) {
        self.commands[family as usize][outcome] += times as u64;
    }

    /// Counts `commands` whose replies took so long.
    #[inline]
    pub(crate) fn latency(&mut self, took: Micros, commands: u32) {
        let bucket = (u64::BITS - took.leading_zeros()) as usize;
        self.latency[bucket.min(BUCKETS)] += u64::from(commands);
        self.latency_us += took * u64::from(commands);
    }

    /// Counts what a read has found.
    #[inline]
    pub(crate) fn read(&mut self, outcome: &Outcome) {
        let mut count = |found: &Found| match found.value {
            Some(_) => self.hits += 1,
            None => self.misses += 1,
        };
        match outcome {
            Outcome::Found(found) => count(found),
            Outcome::FoundAll(all) => all.iter().for_each(count),
            // Of a command of a data type that wrote nothing.
            Outcome::Written { stamp: None, previous: Some(Found { reply: Some(reply), .. }) } => {
                match **reply {
                    Reply::Null | Reply::NullArray | Reply::Int(0) => self.misses += 1,
                    Reply::Error(_) => {}
                    _ => self.hits += 1,
                }
            }
            _ => {}
        }
    }

    /// Commands a second, over the last second or since then.
    pub(crate) fn rate(&mut self, now: Micros) -> u64 {
        let (at, before, rate) = self.sampled;
        let passed_us = now.saturating_sub(at);
        if passed_us < RATE_US {
            return rate;
        }
        let total = self.total();
        let rate = total.saturating_sub(before) * 1_000_000 / passed_us;
        self.sampled = (now, total, rate);
        rate
    }

    /// Commands of every family and outcome.
    pub(crate) fn total(&self) -> u64 {
        self.commands.iter().flatten().sum()
    }
}
