//! The description of a workload: flat settings with kebab-case names, on top of a named one.
//!
//! In a file or on a command line a workload is the name of another, `base`, and the settings that differ:
//! `{ base = "ycsb-a", value-bytes = 64 }`. Which settings there are depends on the base; others are refused.

use crate::{WorkloadError, named};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use serde_json::{Map, Value};
use tidemark_core::Guarantees;

/// What clients do: which operations on which keys with which values.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", remote = "Self")]
pub struct Workload {
    /// The named workload that this one began as. Decides the pattern.
    pub base: String,
    /// What to call it in results; the base unless set.
    pub name: String,
    /// How many keys the fill phase writes, in all partitions together.
    pub keys: u64,
    /// How long values are, in bytes. (YCSB's record of ten fields of 100 bytes is one value of 1000.)
    pub value_bytes: usize,
    /// How keys are called.
    pub names: Names,
    /// Which keys are chosen: of all, or within the partition that the pattern has chosen.
    pub choice: Choice,
    /// How uneven zipfian and latest choices are: 0 is uniform, YCSB has 0.99.
    pub skew: f64,
    /// The probability that a key comes from the session's own set instead, 0 to 1.
    pub locality: f64,
    /// How many keys a session's own set has.
    pub locality_keys: u64,
    /// The probability that a request is made in another region than the client's, 0 to 1. Its session goes along.
    pub remote: f64,
    /// What reads ask for: a level of `TIDE.GUARANTEE read=`.
    pub read_guarantee: String,
    /// What writes ask for: a level of `TIDE.GUARANTEE write=`.
    pub write_guarantee: String,
    /// The checking groups that answer, between commas, as in `TIDE.CHECKING`; `*` leaves the choice to servers.
    pub checking: String,
    /// How long a client thinks after an answer, in microseconds; on average, if exponential.
    pub think_us: u64,
    /// How thinking times are spread.
    pub think: Think,
    /// What one request is.
    #[serde(flatten)]
    pub pattern: Pattern,
}

/// How keys are called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Names {
    /// `{tag}:index`: the workload chooses the partition.
    Tagged,
    /// `user` and a hash, as YCSB's.
    Ycsb,
}

/// Which keys are chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Choice {
    /// Every key as often.
    Uniform,
    /// A few keys most of the time. Of all keys, popular ones lie scattered, as with YCSB; within a partition
    /// the first index is the most popular.
    Zipfian,
    /// What was inserted last most of the time.
    Latest,
}

/// How thinking times are spread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Think {
    /// Always the same.
    Fixed,
    /// Exponentially.
    Exponential,
}

/// What one request is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "pattern", rename_all = "kebab-case", rename_all_fields = "kebab-case")]
pub enum Pattern {
    /// YCSB's core workload: one of five requests, in these proportions, which sum to 1.
    Mix {
        /// One key is read.
        read: f64,
        /// One key that exists is written.
        update: f64,
        /// A new key is written.
        insert: f64,
        /// Some keys are listed.
        scan: f64,
        /// One key is read, then written.
        read_modify_write: f64,
        /// Scans list 1 to this many keys, each number as often.
        scan_length: u32,
        /// How many inserts to expect: popularity is spread over these keys too, and choices that do not exist yet are
        /// repeated. (YCSB: twice the number of inserts that the run's length suggests.)
        expected_inserts: u64,
    },
    /// Read-only transactions and updates: one key each of `span` partitions, chosen at random.
    Transactions {
        /// PUTs / (PUTs + keys read), 0 to 1: the paper's w. A transaction of k keys counts as k reads.
        write_share: f64,
        /// How many partitions a transaction reads from: the paper's p.
        span: usize,
    },
    /// Reads one key of every partition, then writes one key of one partition.
    Rounds {},
    /// Writes only: partition after partition.
    RoundRobin {},
    /// Reads keys of partitions chosen at random, then writes one key in each of some partitions chosen at random.
    Ratio {
        /// How many keys are read first.
        reads: u32,
        /// How many are then written.
        writes: u32,
    },
    /// Snapshots of keys of partitions chosen at random.
    Snapshots {
        /// How many keys a snapshot has.
        span: usize,
    },
    /// One request is many writes one after the other, partition after partition (query amplification).
    Amplified {
        /// How many.
        factor: u32,
        /// Whether every write is of a new key.
        inserts: bool,
    },
    /// A social network (SocialApp of 004): transactions over the objects of users, in these proportions, which sum to 1. There are
    /// eight keys a user. A client is a user, and the objects of its friends are the session's own set.
    Social {
        /// Somebody's wall and events are read.
        read_wall: f64,
        /// Somebody's friends are read.
        see_friends: f64,
        /// A message is left on somebody's wall.
        message: f64,
        /// Something is said on the own wall.
        post_status: f64,
        /// Somebody becomes a friend.
        add_friend: f64,
        /// How many friends a user has at first.
        friends: u32,
        /// Whether a look at a wall counts as a visit there, which makes it an update.
        views: bool,
    },
    /// Pairs of clients, of which each waits until it reads what the other has written, then writes itself.
    Turns {
        /// The partition where all of them count their turns.
        partition: usize,
        /// How long after an answer a client that waits looks again, in microseconds.
        poll_us: u64,
    },
    /// Pairs of clients, of which one reads a key of every partition, partition after partition, and one writes them in the
    /// opposite order, so that what is read first depends on what is read next.
    Alternate {
        /// How long the one that writes pauses when it has written all of them, in microseconds.
        pause_us: u64,
    },
    /// Both at once: of the pairs 0, 1, 2, …, those with an even number take turns, and those with an odd number alternate.
    Apps {
        /// The partition where those that take turns count them.
        partition: usize,
        /// How long after an answer a client that waits for its turn looks again, in microseconds.
        poll_us: u64,
        /// How long one that writes all partitions pauses when it has, in microseconds.
        pause_us: u64,
        /// When they swap: from then on even pairs alternate, and odd ones take turns. In microseconds after the clients of
        /// the run began, their warm-up included; 0 is never.
        swap_after_us: u64,
    },
}

impl Workload {
    /// The workload of that name; `Workload::catalogue()` are all of them.
    pub fn named(name: &str) -> Result<Self, WorkloadError> {
        named::named(name)
    }

    /// What `named` knows, with a line about each.
    pub fn catalogue() -> &'static [(&'static str, &'static str)] {
        named::NAMES
    }

    /// Changes one setting; `value` is what JSON would have, or a bare word. Checks that the result makes sense.
    pub fn set(&mut self, setting: &str, value: &str) -> Result<(), WorkloadError> {
        let value = serde_json::from_str(value).unwrap_or_else(|_| Value::from(value));
        *self = self.with([(setting.to_owned(), value)])?;
        Ok(())
    }

    /// This workload with other settings. All are changed before the result is checked.
    pub fn with(&self, settings: impl IntoIterator<Item = (String, Value)>) -> Result<Self, WorkloadError> {
        let mut map = self.settings();
        let mut changed = self.clone();
        for (setting, value) in settings {
            if matches!(setting.as_str(), "base" | "pattern") && map.get(&setting) != Some(&value) {
                return Err(self.bad(&setting, "follows from the base: begin with another".into()));
            }
            if !map.contains_key(&setting) {
                return Err(self.unknown(&setting, &map));
            }
            map.insert(setting.clone(), value);
            let result = Self::deserialize(Value::Object(map.clone()));
            changed = result.map_err(|error| self.bad(&setting, error.to_string()))?;
        }
        changed.validate()?;
        Ok(changed)
    }

    /// What its operations ask for.
    ///
    /// # Errors
    /// A level that does not exist.
    pub fn guarantees(&self) -> Result<Guarantees, WorkloadError> {
        let reads = Guarantees::ALL.with_reads(&self.read_guarantee);
        let reads = reads.map_err(|error| self.bad("read-guarantee", error.to_string()))?;
        reads
            .with_writes(&self.write_guarantee)
            .map_err(|error| self.bad("write-guarantee", error.to_string()))
    }

    /// The checking groups that clients name; none if they leave the choice to servers.
    pub fn checking(&self) -> Vec<&str> {
        if self.checking == "*" { Vec::new() } else { self.checking.split(',').map(str::trim).collect() }
    }

    /// Whether clients wait for what others do: only a client that makes one request at a time can.
    pub fn waits(&self) -> bool {
        matches!(self.pattern, Pattern::Turns { .. } | Pattern::Apps { .. })
    }

    /// All settings with their values.
    pub fn settings(&self) -> Map<String, Value> {
        match Self::serialize(self, serde_json::value::Serializer) {
            Ok(Value::Object(map)) => map,
            // Names and numbers in a struct always become an object.
            other => unreachable!("a workload is an object, not {other:?}"),
        }
    }

    fn unknown(&self, setting: &str, map: &Map<String, Value>) -> WorkloadError {
        let known: Vec<&str> = map.keys().map(String::as_str).collect();
        WorkloadError::UnknownSetting {
            workload: self.base.clone(),
            setting: setting.into(),
            known: known.join(", "),
        }
    }

    pub(crate) fn bad(&self, setting: &str, reason: String) -> WorkloadError {
        WorkloadError::BadValue { workload: self.name.clone(), setting: setting.into(), reason }
    }
}

impl Serialize for Workload {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Self::serialize(self, serializer)
    }
}

impl<'de> Deserialize<'de> for Workload {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let map = Map::<String, Value>::deserialize(deserializer)?;
        let base = map.get("base").and_then(Value::as_str);
        let base = base.ok_or_else(|| D::Error::custom(WorkloadError::NoBase { known: named::known() }))?;
        Self::named(base).and_then(|base| base.with(map)).map_err(D::Error::custom)
    }
}
