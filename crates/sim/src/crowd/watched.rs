//! What a crowd was like.

use super::meter::{BLOATED_ENTRY_BYTES, GUARD_BYTES, Meter};
use super::{Crowd, Work};
use serde_json::Value;
use std::collections::BTreeMap;
use std::time::Duration;
use tidemark_core::Micros;
use tidemark_workload::{Cdf, Point};

/// One transaction of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answered {
    /// Whose.
    pub client: usize,
    /// When it ended, after the clients began.
    pub at_us: Micros,
    /// How long it took.
    pub took_us: Micros,
    /// What it was.
    pub kind: &'static str,
    /// All that it read was kept.
    pub hit: bool,
    /// The data centre that the client was connected to, or tried to reach.
    pub dc: usize,
}

/// What a data centre stored at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sample {
    /// After the clients began.
    pub at_us: Micros,
    /// Clients that are gone.
    pub gone: usize,
    /// Clients that have ever committed: each has a guard.
    pub committers: usize,
    /// Keys, guards among them.
    pub keys: u64,
    /// Versions.
    pub versions: u64,
    /// Bytes of keys, of registers, and of versions that are not folded.
    pub bytes: u64,
    /// Bytes of fields and members that there were at first.
    pub filled: u64,
    /// Bytes of members that clients have added to sets so far.
    pub grown: u64,
    /// Entries of counters that would protect themselves from repetitions: one for each client that has added to each.
    pub bloated: usize,
}

impl Sample {
    /// As a row of results.
    pub fn row(&self) -> BTreeMap<String, Value> {
        let columns = [
            ("at_s", Value::from(self.at_us as f64 / 1e6)),
            ("gone", self.gone.into()),
            ("guards", self.committers.into()),
            ("guard_bytes", (self.committers as u64 * GUARD_BYTES).into()),
            ("stored_keys", self.keys.into()),
            ("stored_versions", self.versions.into()),
            ("stored_bytes", self.bytes.into()),
            ("grown_bytes", self.grown.into()),
            ("database_bytes", (self.bytes + self.filled + self.grown).into()),
            ("bloated_entries", self.bloated.into()),
            ("bloated_bytes", (self.bloated as u64 * BLOATED_ENTRY_BYTES).into()),
        ];
        columns.map(|(name, value)| (name.to_string(), value)).into()
    }
}

/// What was measured.
#[derive(Clone, Debug)]
pub struct Watched {
    /// Numbers, by the names of columns.
    pub row: BTreeMap<String, Value>,
    /// Distributions of response times: of reads, updates, hits and misses.
    pub curves: BTreeMap<&'static str, Vec<Point>>,
    /// What a data centre stored over time: whenever clients were replaced, and in the end.
    pub samples: Vec<Sample>,
    /// Transactions of those clients of which they are told.
    pub answered: Vec<Answered>,
}

/// Types of frames, by their first byte.
const FRAMES: [(u8, &str); 13] = [
    (1, "hello"),
    (2, "transfer"),
    (3, "watch"),
    (4, "unwatch"),
    (6, "sync"),
    (129, "welcome"),
    (130, "ack"),
    (131, "missing"),
    (132, "later"),
    (133, "behind"),
    (135, "retime"),
    (137, "value"),
    (138, "tick"),
];

impl Watched {
    pub(crate) fn new(meter: Meter, what: &Crowd) -> Self {
        let (clients, seconds) = (what.clients, what.measure_us as f64 / 1e6);
        let mut row = BTreeMap::new();
        let mut put = |name: &str, value: Value| drop(row.insert(name.to_string(), value));
        put("throughput", (meter.all.count() as f64 / seconds).into());
        put("transactions", meter.all.count().into());
        let share = |part: u64, all: u64| Value::from(part as f64 / all.max(1) as f64);
        put("hit_share", share(meter.hits.count(), meter.all.count()));
        put("object_hit_share", share(meter.objects.1, meter.objects.0));
        for (name, cdf) in named(&meter) {
            put(&format!("{name}_count"), cdf.count().into());
            let shown = if cdf.count() > 0 { &[50.0, 70.0, 95.0, 99.0][..] } else { &[] };
            for percent in shown {
                put(&format!("{name}_p{percent}_us"), cdf.percentile(*percent).into());
            }
        }
        let rtts =
            [("miss", &meter.misses_rtts), ("read", &meter.reads_rtts), ("update", &meter.updates_rtts)];
        for (name, cdf) in rtts.into_iter().filter(|(_, cdf)| cdf.count() > 0) {
            put(&format!("{name}_rtts_p50"), (cdf.percentile(50.0) as f64 / 1e3).into());
        }
        for (kind, name) in FRAMES {
            let frames = meter.frames.get(&kind).copied().unwrap_or_default();
            let each = frames.bytes as f64 / frames.count.max(1) as f64;
            put(&format!("{name}_frames"), (frames.count as f64 / seconds / clients as f64).into());
            put(&format!("{name}_bytes"), each.into());
        }
        weights(&meter, &mut put);
        staleness(&meter, &mut put);
        if let Some(costs) = what.work {
            work(&meter, costs, what.dcs() * what.partitions, &mut put);
        }
        put("lost", meter.lost.into());
        let curves = named(&meter).filter(|(_, cdf)| cdf.count() > 0);
        let curves = curves.map(|(name, cdf)| (name, cdf.points())).collect();
        let Meter { samples, answered, .. } = meter;
        if let Some(last) = samples.last() {
            row.extend(last.row());
        }
        Self { row, curves, samples, answered }
    }
}

fn named(meter: &Meter) -> impl Iterator<Item = (&'static str, &Cdf)> {
    let whole = [
        ("response", &meter.all),
        ("hit", &meter.hits),
        ("miss", &meter.misses),
        ("reading", &meter.reads),
        ("updating", &meter.updates),
        ("commit_to_base", &meter.to_base),
    ];
    whole.into_iter().chain(meter.kinds.iter().map(|(name, cdf)| (*name, cdf)))
}

fn weights(meter: &Meter, put: &mut impl FnMut(&str, Value)) {
    put("weighed_notifications", meter.notifications.count().into());
    if let Some(each) = meter.transfers.ratio() {
        put("transfer_metadata", each.into());
    }
    let Some(each) = meter.notifications.ratio() else { return };
    let (updates, metadata) = meter.notifications.means();
    put("notification_updates", updates.into());
    put("notification_metadata", metadata.into());
    put("notification_payload", meter.payload.means().1.into());
    put("update_metadata", each.into());
    let of_ten = [("notification_metadata_10", &meter.notifications), ("fat_metadata_10", &meter.fat)];
    for (name, line) in of_ten {
        put(name, line.ratio().map(|each| each * 10.0).into());
    }
    put("notification_metadata_fitted_10", meter.notifications.at(10.0).into());
    put("fat_metadata", meter.fat.means().1.into());
    put("fat_entries", meter.fat_entries.means().1.into());
}

fn staleness(meter: &Meter, put: &mut impl FnMut(&str, Value)) {
    let fresh = meter.fresh;
    if fresh.transactions == 0 {
        return;
    }
    let share = |part: u64, all: u64| Value::from(part as f64 / all.max(1) as f64);
    put("compared_reads", fresh.reads.into());
    put("compared_transactions", fresh.transactions.into());
    put("stale_reads", share(fresh.stale_reads, fresh.reads));
    put("stale_transactions", share(fresh.stale_transactions, fresh.transactions));
    put("behind_reads", share(fresh.behind_reads, fresh.reads));
    put("own_reads", fresh.own.into());
    put("not_compared", fresh.failed.into());
}

/// What a transaction costs, in microseconds of a processor, all nodes together; and how many a second they could take if each has a
/// processor of its own, and all have as much to do.
fn work(meter: &Meter, costs: Work, nodes: usize, put: &mut impl FnMut(&str, Value)) {
    let [before, after] = meter.work;
    let each = |us: f64| us / meter.all.count().max(1) as f64;
    let us = |before: Duration, after: Duration| (after - before).as_secs_f64() * 1e6;
    let (reads, writes) = ((after.reads - before.reads) as f64, (after.writes - before.writes) as f64);
    let parts = [
        ("node_us", us(before.nodes, after.nodes)),
        ("gateway_us", us(before.gateways, after.gateways)),
        ("socket_us", (reads * costs.read_ns + writes * costs.write_ns) / 1e3),
    ];
    parts.iter().for_each(|(name, us)| put(name, each(*us).into()));
    let all = each(parts.iter().map(|(_, us)| us).sum());
    put("cpu_us", all.into());
    put("capacity", (nodes as f64 * 1e6 / all).into());
}
