//! Latency spikes: what took longer than `latency-monitor-threshold`, by the event that it was.
//!
//! The events of a node are `command` and `fast-command`: commands that took long, the latter marked as fast.

use std::collections::{BTreeMap, VecDeque};

/// So many samples are kept of an event.
const SAMPLES_MAX: usize = 160;

/// One spike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Spike {
    /// When, in seconds since 1970.
    pub at_s: u64,
    /// How long it took.
    pub took_ms: u64,
}

/// The spikes of one event.
#[derive(Clone, Debug, Default)]
pub(super) struct Spikes {
    /// The latest, oldest first: the longest of each second.
    pub samples: VecDeque<Spike>,
    /// The longest ever.
    pub longest_ms: u64,
}

/// The spikes of all events.
#[derive(Debug, Default)]
pub(super) struct LatencyEvents {
    events: BTreeMap<&'static str, Spikes>,
}

impl LatencyEvents {
    /// Something took so long.
    pub(super) fn add(&mut self, event: &'static str, spike: Spike) {
        let spikes = self.events.entry(event).or_default();
        spikes.longest_ms = spikes.longest_ms.max(spike.took_ms);
        match spikes.samples.back_mut().filter(|last| last.at_s == spike.at_s) {
            Some(last) => last.took_ms = last.took_ms.max(spike.took_ms),
            None => {
                if spikes.samples.len() == SAMPLES_MAX {
                    spikes.samples.pop_front();
                }
                spikes.samples.push_back(spike);
            }
        }
    }

    /// The events of which there are spikes.
    pub(super) fn iter(&self) -> impl ExactSizeIterator<Item = (&'static str, &Spikes)> {
        self.events.iter().map(|(event, spikes)| (*event, spikes))
    }

    /// The spikes of an event.
    pub(super) fn get(&self, event: &[u8]) -> Option<&Spikes> {
        self.events
            .iter()
            .find(|(name, _)| name.as_bytes().eq_ignore_ascii_case(event))
            .map(|(_, spikes)| spikes)
    }

    /// Forgets the spikes of an event; whether there were some.
    pub(super) fn reset(&mut self, event: &[u8]) -> bool {
        let before = self.events.len();
        self.events.retain(|name, _| !name.as_bytes().eq_ignore_ascii_case(event));
        self.events.len() < before
    }

    /// Forgets all; returns of how many events there were spikes.
    pub(super) fn reset_all(&mut self) -> usize {
        std::mem::take(&mut self.events).len()
    }
}
