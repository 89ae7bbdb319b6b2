//! What was counted, folded into what a table shows.

use super::{Ended, KINDS, Kind, Meter, Metered, Traffic};
use serde::Serialize;
use std::collections::BTreeMap;
use tidemark_core::{Micros, Promise, Stamp};

/// What a protocol costs, and how fresh it is.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Measured {
    /// The protocol.
    pub protocol: &'static str,
    /// Whether the history kept the protocol's promise.
    pub kept: bool,
    /// Operations that failed.
    pub failed: u64,
    /// Reads of one key.
    pub get: Operation,
    /// Writes.
    pub put: Operation,
    /// Read-only transactions.
    pub transaction: Operation,
    /// Write transactions, if the schedule has any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub write_transaction: Option<Operation>,
    /// Versions on their way to other data centres.
    pub updates: Updates,
    /// The mean size of what a session hands over when it moves, in bytes.
    pub token_bytes: f64,
    /// What servers say on nobody's behalf.
    pub background: Background,
    /// Whether an acknowledged write is promised to be visible at once in its data centre.
    pub local_at_once: bool,
    /// The share of keys read of which a newer version had been written in the same data centre before.
    pub missed_local_share: f64,
}

/// One kind of operation. Bytes are metadata: without the keys and values that it is about.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Operation {
    /// How many there were.
    pub count: u64,
    /// Rounds of questions and answers between the session and servers.
    pub rounds: f64,
    /// The most rounds that one took.
    pub rounds_max: u32,
    /// The longest chain of messages between servers before an answer.
    pub hops_max: u32,
    /// Values in answers, for each key read.
    pub versions: f64,
    /// The most versions of one key that an operation brought.
    pub versions_max: u32,
    /// The share that waited at a server for something other than messages of their own.
    pub waited_share: f64,
    /// How long those waited, on average, in microseconds.
    pub waited_us: f64,
    /// From beginning to end: the median, in microseconds.
    pub latency_us_p50: Micros,
    /// The 99th percentile.
    pub latency_us_p99: Micros,
    /// Messages between the session and servers, both ways.
    pub client_messages: f64,
    /// Messages between servers of one data centre.
    pub near_messages: f64,
    /// Messages between data centres: of a write, its copies among them.
    pub far_messages: f64,
    /// Metadata in its questions.
    pub request_bytes: f64,
    /// Metadata in answers to it.
    pub reply_bytes: f64,
    /// Metadata in messages between servers, copies of versions not counted.
    pub server_bytes: f64,
    /// The share of keys read of which the server had received a newer version before the read began.
    pub stale_share: f64,
    /// The same of those keys read that a single write had written last, where there are write transactions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stale_alone_share: Option<f64>,
    /// And of those that a write transaction had written last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stale_together_share: Option<f64>,
}

/// Versions on their way to other data centres.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Updates {
    /// Metadata of a version, in bytes.
    pub metadata_bytes: f64,
    /// From being written until a new session elsewhere reads it: the median, in microseconds.
    pub visible_us_p50: Micros,
    /// The 99th percentile.
    pub visible_us_p99: Micros,
    /// How many were looked for.
    pub samples: u64,
}

/// What servers say on nobody's behalf, for each server and second.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Background {
    /// Messages within the data centre.
    pub near_messages: f64,
    /// Messages to other data centres, heartbeats among them.
    pub far_messages: f64,
    /// Bytes.
    pub bytes: f64,
}

impl Meter {
    /// Folds everything.
    pub(crate) fn results(mut self, protocol: &'static str, promise: Promise, kept: bool) -> Measured {
        let (caused, background) = self.traffic();
        let mut kinds = KINDS.map(|kind| self.operation(kind, caused[kind as usize]));
        let [get, put, transaction, write_transaction] = &mut kinds;
        self.share_copies(put, write_transaction);
        let ended = || self.ops.iter().filter(|op| op.counts).filter_map(|op| op.ended.as_ref());
        let sum = |of: fn(&Ended) -> u64| ended().map(of).sum::<u64>();
        let (failed, token_bytes) = (sum(|e| e.failed.into()), sum(|e| e.token_bytes));
        let token_bytes = ratio(token_bytes, ended().count() as u64);
        let all: Vec<Read> = self.ops.iter().filter(|op| op.counts).flat_map(Metered::read).collect();
        self.visible.sort_unstable();
        Measured {
            protocol,
            kept,
            failed,
            get: std::mem::take(get),
            put: std::mem::take(put),
            transaction: std::mem::take(transaction),
            write_transaction: (write_transaction.count > 0).then(|| std::mem::take(write_transaction)),
            updates: Updates {
                metadata_bytes: ratio(self.records.bytes, self.records.far),
                visible_us_p50: percentile(&self.visible, 50),
                visible_us_p99: percentile(&self.visible, 99),
                samples: self.visible.len() as u64,
            },
            token_bytes,
            background,
            local_at_once: promise == Promise::CausalImmediate,
            missed_local_share: share(all.iter().map(|read| read.found < read.local)),
        }
    }

    /// The traffic of each kind of operation, and what is background. Messages whose cause was lost, because what they
    /// belong to had been blocked, are shared out as those of the same variant are whose cause is known. Those of a
    /// variant that is also sent when nobody asks anything, or never on anybody's behalf, are background.
    fn traffic(&self) -> ([[f64; 3]; KINDS.len()], Background) {
        let mut caused = [[0.0; 3]; KINDS.len()];
        let mut background = self.heartbeats;
        for variant in self.variants.values() {
            let known: u64 = variant.caused.iter().map(|traffic| traffic.near + traffic.far).sum();
            let mut lost = Traffic::default();
            if variant.idle || known == 0 {
                background.include(variant.uncaused);
            } else {
                lost.include(variant.uncaused);
                lost.include(variant.uncaused_late);
            }
            for (sum, own) in caused.iter_mut().zip(&variant.caused) {
                let share = ratio(own.near + own.far, known);
                let all = [(own.near, lost.near), (own.far, lost.far), (own.bytes, lost.bytes)];
                for (sum, (own, lost)) in sum.iter_mut().zip(all) {
                    *sum += own as f64 + share * lost as f64;
                }
            }
        }
        let seconds = (self.times.until - self.times.from) as f64 / 1e6;
        let servers = (self.topology.dcs * self.topology.partitions) as f64;
        let rate = |count: u64| round(count as f64 / seconds / servers);
        let background = Background {
            near_messages: rate(background.near),
            far_messages: rate(background.far),
            bytes: rate(background.bytes),
        };
        (caused, background)
    }

    fn operation(&self, kind: Kind, [near, far, bytes]: [f64; 3]) -> Operation {
        let ops: Vec<&Metered> =
            self.ops.iter().filter(|op| op.kind == kind && op.counts && op.ended.is_some()).collect();
        let count = ops.len() as u64;
        let sum = |of: fn(&Metered) -> u64| ops.iter().map(|op| of(op)).sum::<u64>();
        let most = |of: fn(&Metered) -> u32| ops.iter().map(|op| of(op)).max().unwrap_or(0);
        let read: Vec<Read> = ops.iter().flat_map(|op| op.read()).collect();
        let stale_of = |together: bool| {
            let of = |read: &&Read| self.written_together.contains(&read.newest) == together;
            let stale = || share(read.iter().filter(of).map(Read::is_stale));
            (!self.written_together.is_empty()).then(stale)
        };
        let waited: Vec<Micros> = ops.iter().filter_map(|op| op.waited).collect();
        let mut latencies: Vec<Micros> =
            ops.iter().filter_map(|op| op.ended.as_ref().map(|ended| ended.at - op.began)).collect();
        latencies.sort_unstable();
        Operation {
            count,
            rounds: ratio(sum(|op| op.rounds.into()), count),
            rounds_max: most(|op| op.rounds),
            hops_max: most(|op| op.hops),
            versions: ratio(sum(|op| op.values.iter().map(|(_, n)| *n as u64).sum()), read.len() as u64),
            versions_max: most(versions_max),
            waited_share: ratio(waited.len() as u64, count),
            waited_us: ratio(waited.iter().sum(), waited.len() as u64),
            latency_us_p50: percentile(&latencies, 50),
            latency_us_p99: percentile(&latencies, 99),
            client_messages: ratio(sum(|op| op.client_messages), count),
            near_messages: round(near / count.max(1) as f64),
            far_messages: round(far / count.max(1) as f64),
            request_bytes: ratio(sum(|op| op.request_bytes), count),
            reply_bytes: ratio(sum(|op| op.reply_bytes), count),
            server_bytes: round(bytes / count.max(1) as f64),
            stale_share: share(read.iter().map(Read::is_stale)),
            stale_alone_share: stale_of(false),
            stale_together_share: stale_of(true),
        }
    }

    /// Copies of versions count as messages of what has written them: each key of a write is one for each other data centre.
    fn share_copies(&self, put: &mut Operation, write_transaction: &mut Operation) {
        let keys = |kind| {
            let ops = self.ops.iter().filter(|op| op.kind == kind && op.counts && op.ended.is_some());
            ops.map(|op| op.keys.len() as u64).sum::<u64>()
        };
        let (alone, together) = (keys(Kind::Put), keys(Kind::WriteTransaction));
        let a_key = self.records.far as f64 / (alone + together).max(1) as f64;
        for (op, keys) in [(put, alone), (write_transaction, together)] {
            op.far_messages = round(op.far_messages + a_key * keys as f64 / op.count.max(1) as f64);
        }
    }
}

/// A key that was read.
struct Read {
    /// The version that was found, the newest that the server had then, and of those the newest that was written there.
    found: Stamp,
    newest: Stamp,
    local: Stamp,
}

impl Read {
    fn is_stale(&self) -> bool {
        self.found < self.newest
    }
}

impl Metered {
    fn read(&self) -> impl Iterator<Item = Read> {
        let found = self.ended.iter().flat_map(|ended| &ended.found);
        found.zip(&self.newest).map(|(found, (newest, local))| Read {
            found: *found,
            newest: *newest,
            local: *local,
        })
    }
}

/// The share of those that are true.
fn share(of: impl Iterator<Item = bool>) -> f64 {
    let (mut yes, mut all) = (0, 0);
    for one in of {
        yes += u64::from(one);
        all += 1;
    }
    ratio(yes, all)
}

/// The most versions of one key that answers brought: how often a key was asked for with success, or how many values an
/// answer had for each of its keys.
fn versions_max(op: &Metered) -> u32 {
    let values = |ask| op.values.iter().find(|(id, _)| *id == ask).map_or(0, |(_, values)| *values);
    let mut asked = BTreeMap::<u32, u32>::new();
    for (ask, _, keys) in &op.asks {
        let a_key = values(*ask).div_ceil(keys.len().max(1));
        keys.iter().for_each(|key| *asked.entry(*key).or_default() += a_key as u32);
    }
    op.keys.iter().filter_map(|key| asked.get(key).copied()).max().unwrap_or(0)
}

fn ratio(part: u64, whole: u64) -> f64 {
    round(part as f64 / whole.max(1) as f64)
}

/// To four digits after the point: more would only be noise in a listing.
fn round(number: f64) -> f64 {
    (number * 1e4).round() / 1e4
}

fn percentile(sorted: &[Micros], percent: usize) -> Micros {
    let at = (sorted.len() * percent).div_ceil(100).max(1) - 1;
    sorted.get(at).copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_values_that_occurred() {
        let sorted: Vec<Micros> = (1..=200).collect();
        assert_eq!((percentile(&sorted, 50), percentile(&sorted, 99), percentile(&[], 50)), (100, 198, 0));
        assert_eq!((percentile(&[7], 1), percentile(&[7], 100)), (7, 7));
    }
}
