//! The cluster file as it is written: one TOML file, the same for every node.
//!
//! These types say only what may stand where; what it means together is checked in `check`.

use super::adapt::AdaptTable;
use super::memory::MemoryPolicy;
use super::scope::SessionScope;
use super::units::{Address, PartitionSet, Size, Span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// The cluster file.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "Tidemark cluster file")]
pub struct ClusterFile {
    /// What holds for the whole cluster.
    pub cluster: ClusterTable,
    /// The numbers of the protocol, each with the paper's default; lengths of time may be written `theta = "5ms"`
    /// for `theta_us = 5000`.
    #[serde(default, skip_serializing_if = "toml::Table::is_empty")]
    #[schemars(with = "BTreeMap<String, serde_json::Value>")]
    pub protocol: toml::Table,
    /// Bounds, the same at every node.
    #[serde(default, skip_serializing_if = "is_default")]
    pub limits: Limits,
    /// Delays between regions, for a cluster whose regions all live on one machine or in one data centre.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wan: Option<WanTable>,
    /// Which regions hold which keys, if not all hold all: the first of these that speaks of a key decides.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub placement: Vec<PlacementTable>,
    /// Checking groups that follow what clients do, if they are to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub adapt: Option<AdaptTable>,
    /// The regions; the first is A, the second B, …
    #[serde(rename = "region", default)]
    pub regions: Vec<RegionTable>,
    /// The nodes: one process each.
    #[serde(rename = "node", default)]
    pub nodes: Vec<NodeTable>,
}

/// `[cluster]`
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ClusterTable {
    /// The cluster's name: data directories and peers of another cluster are refused.
    pub name: String,
    /// The consistency protocol; `tidemark protocols` lists them.
    #[serde(default = "causal")]
    pub protocol: String,
    /// Into how many partitions each region divides the key space, 1 to 16384.
    #[serde(default = "one")]
    pub partitions: u16,
    /// How many nodes of a region hold the same partitions: 1, or a group that outlives its machines as long as most of
    /// them run (3 or 5; an even number survives no more than the odd one below it).
    #[serde(default = "one_replica", skip_serializing_if = "is_one")]
    pub replicas: u8,
    /// When a write is made durable.
    #[serde(default)]
    pub fsync: Fsync,
    /// What nodes prove to each other when they connect. Required unless peers listen on loopback only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peer_secret: Option<Secret>,
    /// The password of Redis clients (`AUTH`). Required unless clients are listened for on loopback only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requirepass: Option<Secret>,
    /// How far ahead of its clock a server may stamp a write before it refuses with `CLOCKSKEW`.
    #[serde(default = "five_seconds")]
    pub max_skew: Span,
    /// What a region does with an operation on keys that it does not hold.
    #[serde(default, skip_serializing_if = "is_default")]
    pub elsewhere: Elsewhere,
    /// Which connections of Redis clients share one causal past.
    #[serde(default, skip_serializing_if = "is_default")]
    pub session_scope: SessionScope,
}

/// What a region does with an operation on keys that it does not hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Elsewhere {
    /// It forwards it to the nearest region that holds them all.
    #[default]
    Forward,
    /// It refuses it (`ELSEWHERE`), and says which regions hold them.
    Refuse,
}

/// `[limits]`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// The log kept for a peer that is away. Past it the peer never gets what was dropped: choose it for the longest
    /// cut that you want to survive.
    pub log_retain: Size,
    /// The size of one segment of the log.
    pub log_segment: Size,
    /// How much log is written between two snapshots.
    pub snapshot_every: Size,
    /// How many Redis clients a node serves at once.
    pub max_clients: u32,
    /// How much memory a node may use before it refuses commands that may add data; 0 for no limit.
    pub max_memory: Size,
    /// Whether keys with deadlines are evicted before that.
    pub max_memory_policy: MemoryPolicy,
    /// So long after their deadlines keys are purged that a cut keeps from being dropped.
    pub expire_grace: Span,
    /// How long an operation waits for a partition of its region before it answers `UNAVAILABLE`.
    pub request_timeout: Span,
    /// How long the members of a group wait for their leader before they elect another: what a leader's failure costs,
    /// and once or twice that at most.
    pub election_timeout: Span,
    /// How long a region receives nothing from another one before it asks a third one for the records; `0s` for never.
    pub relay_after: Span,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            log_retain: Size(8 << 30),
            log_segment: Size(64 << 20),
            snapshot_every: Size(256 << 20),
            max_clients: 10_000,
            max_memory: Size(0),
            max_memory_policy: MemoryPolicy::default(),
            expire_grace: Span(Duration::from_secs(600)),
            request_timeout: Span(Duration::from_secs(5)),
            election_timeout: Span(Duration::from_secs(1)),
            relay_after: Span(Duration::from_secs(2)),
        }
    }
}

/// `[wan]`
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WanTable {
    /// Round-trip times of a paper: gentlerain, spartan, nukv, swiftcloud, or none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preset: Option<String>,
    /// Round-trip times by region: `virginia = { oregon = "81ms", ireland = "88ms" }`. Each pair once.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub rtt: BTreeMap<String, BTreeMap<String, Span>>,
    /// The round-trip time of pairs that are not listed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default_rtt: Option<Span>,
    /// Each message is late by up to this much more, at random.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jitter: Option<Span>,
}

/// `[[placement]]`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlacementTable {
    /// The keys whose names begin so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prefix: Option<String>,
    /// Or those of these slots, the first and the last: `"0-8191"`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slots: Option<String>,
    /// The regions that hold them; no other ever gets them.
    pub regions: Vec<String>,
}

/// `[[region]]`
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RegionTable {
    /// Its name: letters, digits and hyphens.
    pub name: String,
}

/// `[[node]]`
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NodeTable {
    /// Its name: letters, digits and hyphens.
    pub name: String,
    /// The region it belongs to.
    pub region: String,
    /// Where Redis clients connect.
    pub listen: Address,
    /// Where other nodes connect.
    pub peer_listen: Address,
    /// How other nodes reach `peer_listen`, if not under the same address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peer_address: Option<Address>,
    /// Where metrics, health and status are served over HTTP.
    pub admin_listen: Address,
    /// Where edge clients connect, by WebSocket; nowhere, if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edge_listen: Option<Address>,
    /// Its data directory, relative to the cluster file; `data/<name>` by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dir: Option<String>,
    /// The partitions it holds.
    #[serde(default)]
    pub partitions: PartitionSet,
}

/// When a write is made durable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Fsync {
    /// Before it is acknowledged: a power loss takes nothing.
    Always,
    /// Once a second: a power loss can take the last second, and with it causality between servers.
    #[default]
    EverySec,
    /// When the operating system likes.
    No,
}

impl FromStr for Fsync {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "always" => Ok(Self::Always),
            "everysec" => Ok(Self::EverySec),
            "no" => Ok(Self::No),
            _ => Err(format!("{text:?} is no fsync policy; choose always, everysec or no")),
        }
    }
}

impl From<Fsync> for tidemark_store::log::Fsync {
    fn from(fsync: Fsync) -> Self {
        match fsync {
            Fsync::Always => Self::Always,
            Fsync::EverySec => Self::EverySec,
            Fsync::No => Self::No,
        }
    }
}

impl fmt::Display for Fsync {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Always => "always",
            Self::EverySec => "everysec",
            Self::No => "no",
        })
    }
}

/// A password: never shown by `Debug`.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Secret(pub String);

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(secret)")
    }
}

impl From<String> for Secret {
    fn from(text: String) -> Self {
        Self(text)
    }
}

fn causal() -> String {
    "causal".into()
}

fn one() -> u16 {
    1
}

fn one_replica() -> u8 {
    1
}

fn is_one(replicas: &u8) -> bool {
    *replicas == 1
}

fn five_seconds() -> Span {
    Span(Duration::from_secs(5))
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
