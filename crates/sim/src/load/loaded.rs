//! What a run under load was like.

use crate::grouping::Account;
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;
use tidemark_core::Micros;
use tidemark_workload::{Point, Summary};

/// What was measured.
#[derive(Clone, Debug, Serialize)]
pub struct Loaded {
    /// The protocol.
    pub protocol: &'static str,
    /// What clients saw, of operations on slow servers, if there are some.
    pub slow: Option<Summary>,
    /// What clients saw, of all other operations.
    pub summary: Summary,
    /// How many servers there are, in all data centres.
    pub servers: usize,
    /// The share of the time in which a server's core was busy, on average.
    pub busy: f64,
    /// That of the busiest server.
    pub busiest: f64,
    /// Messages between servers, by variant.
    pub messages: BTreeMap<String, Messages>,
    /// What was fed to other data centres, counted once for each of them.
    pub fed: Fed,
    /// What protocols counted, all servers together, by name ([`tidemark_contract::Status`]).
    pub counted: BTreeMap<&'static str, u64>,
    /// How long operations took, as distributions by name; those on slow servers begin with `slow_`.
    #[serde(skip)]
    pub latencies: BTreeMap<String, Vec<Point>>,
    /// For a data centre and another one: how long after a write was acknowledged in the first it could be read in the
    /// second.
    #[serde(skip)]
    pub visibility: BTreeMap<(usize, usize), Visibility>,
    /// What became of checking groups that follow what clients do.
    #[serde(skip)]
    pub adapted: Option<Account>,
    /// Events that were simulated.
    pub events: u64,
}

/// Messages of one variant between servers.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Messages {
    /// How many within a data centre.
    pub near: u64,
    /// How many between data centres.
    pub far: u64,
    /// Bytes, of both.
    pub bytes: u64,
}

impl Messages {
    pub(crate) fn include(&mut self, other: &Self) {
        self.near += other.near;
        self.far += other.far;
        self.bytes += other.bytes;
    }
}

/// What was fed to other data centres.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Fed {
    /// Versions.
    pub versions: u64,
    /// Their bytes, those of keys and values included.
    pub version_bytes: u64,
    /// Heartbeats.
    pub heartbeats: u64,
    /// Bytes, of both.
    pub bytes: u64,
}

/// Times from a write's acknowledgement in one data centre to its first read in another.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Visibility {
    /// In microseconds, in the order in which they ended.
    pub times_us: Vec<Micros>,
}

impl Visibility {
    pub(crate) fn add(&mut self, us: Micros) {
        self.times_us.push(us);
    }
}

impl Loaded {
    /// The numbers as columns: what clients saw (of slow servers in columns that begin with `slow_`), how busy servers were, what passed between them for each operation, and
    /// the median of the times after which writes were visible.
    pub fn row(&self) -> BTreeMap<String, Value> {
        let mut row = self.summary.row();
        let slow = self.slow.iter().flat_map(Summary::row);
        row.extend(slow.map(|(name, value)| (format!("slow_{name}"), value)));
        let ops = self.summary.throughput * self.summary.duration_us as f64 / 1e6;
        let a_op = |count: u64| Value::from(if ops > 0.0 { count as f64 / ops } else { 0.0 });
        let seconds = self.summary.duration_us as f64 / 1e6;
        let mut all = Messages::default();
        for (variant, messages) in &self.messages {
            let count = messages.near + messages.far;
            let variant = variant.to_lowercase();
            row.insert(format!("messages_{variant}"), a_op(count));
            row.insert(format!("bytes_{variant}"), (messages.bytes as f64 / count.max(1) as f64).into());
            all.include(messages);
        }
        row.extend(self.counted.iter().map(|(name, count)| (format!("counted_{name}"), (*count).into())));
        if let Some(adapted) = &self.adapted {
            row.insert("adapt_changes".into(), adapted.changed.into());
            row.insert("adapt_groups".into(), adapted.groups.len().into());
        }
        let columns = [
            ("cpu", self.busy.into()),
            ("cpu_busiest", self.busiest.into()),
            ("messages", a_op(all.near + all.far)),
            ("messages_near", a_op(all.near)),
            ("messages_bytes", a_op(all.bytes)),
            (
                "server_messages_per_second",
                ((all.near + all.far) as f64 / seconds / self.servers as f64).into(),
            ),
            ("fed_versions", a_op(self.fed.versions)),
            ("fed_bytes", a_op(self.fed.bytes)),
            ("version_bytes", (self.fed.version_bytes as f64 / self.fed.versions.max(1) as f64).into()),
            ("fed_heartbeats_per_second", (self.fed.heartbeats as f64 / seconds).into()),
            ("events", self.events.into()),
        ];
        row.extend(columns.map(|(name, value)| (name.to_string(), value)));
        let mut times: Vec<Micros> =
            self.visibility.values().flat_map(|v| v.times_us.iter().copied()).collect();
        times.sort_unstable();
        for (name, share) in [("visible_p50_us", 0.5), ("visible_p99_us", 0.99)] {
            let place = (share * times.len() as f64) as usize;
            row.extend(times.get(place).map(|us| (name.to_string(), Value::from(*us))));
        }
        row
    }
}
