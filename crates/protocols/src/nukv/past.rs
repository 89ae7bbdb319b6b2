//! What a NuKV session remembers: how far into whose log it has read and written, and up to which time.

use super::{DT_COVERS_READS, DT_COVERS_WRITES};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use tidemark_contract::core::{DcId, Guarantees, Hlc, PartitionId};
use tidemark_contract::waiters::Threshold;
use tidemark_contract::{Reach, Reaches};

/// A log index for each data centre: `sv`, or a column of a matrix. What is left out is 0.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Indexes(pub Vec<u64>);

impl Indexes {
    /// The entry of `dc`.
    pub fn get(&self, dc: DcId) -> u64 {
        self.0.get(dc.index()).copied().unwrap_or_default()
    }

    pub(super) fn set(&mut self, dc: DcId, idx: u64) {
        if self.0.len() <= dc.index() {
            self.0.resize(dc.index() + 1, 0);
        }
        self.0[dc.index()] = idx;
    }

    pub(super) fn raise(&mut self, dc: DcId, idx: u64) {
        self.set(dc, idx.max(self.get(dc)));
    }

    pub(super) fn merge(&mut self, other: &Self) {
        (0..).map(DcId).zip(&other.0).for_each(|(dc, idx)| self.raise(dc, *idx));
    }
}

impl Threshold for Indexes {
    fn reached(&self, sv: &Self) -> bool {
        (0..).map(DcId).zip(&self.0).all(|(dc, idx)| *idx <= sv.get(dc))
    }
}

/// What versions an operation has read, or written: how far into whose log, and their latest time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct Seen {
    pub x: Indexes,
    pub t: Hlc,
}

/// What a session remembers: all of its token.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct Past {
    pub hrm: BTreeMap<PartitionId, Indexes>,
    pub hwm: BTreeMap<PartitionId, Indexes>,
    pub dt_r: Hlc,
    pub dt_w: Hlc,
}

impl Reaches for Past {
    fn reach(&self) -> Reach {
        let columns = self.hrm.values().chain(self.hwm.values());
        let partitions = self.hrm.keys().chain(self.hwm.keys()).map(|partition| partition.index() + 1);
        Reach {
            latest: self.dt_r.max(self.dt_w),
            dcs: columns.map(|column| column.0.len()).max().unwrap_or_default(),
            partitions: partitions.max().unwrap_or_default(),
        }
    }

    fn join(&mut self, other: &Self) {
        self.merge(other);
    }
}

impl Past {
    /// I2.
    pub(super) fn learn(&mut self, partition: PartitionId, read: &Seen, wrote: &Seen) {
        for (matrix, seen) in [(&mut self.hrm, read), (&mut self.hwm, wrote)] {
            if seen.t > Hlc::ZERO {
                matrix.entry(partition).or_default().merge(&seen.x);
            }
        }
        self.dt_r = self.dt_r.max(read.t);
        self.dt_w = self.dt_w.max(wrote.t);
    }

    pub(super) fn merge(&mut self, other: &Self) {
        for (mine, theirs) in [(&mut self.hrm, &other.hrm), (&mut self.hwm, &other.hwm)] {
            theirs.iter().for_each(|(partition, x)| mine.entry(*partition).or_default().merge(x));
        }
        self.dt_r = self.dt_r.max(other.dt_r);
        self.dt_w = self.dt_w.max(other.dt_w);
    }

    /// What a read of `partition` waits for: hrv and hwv, as far as it asks for them (D5).
    pub(super) fn reads_after(&self, partition: PartitionId, asked: Guarantees) -> Indexes {
        self.seen(partition, asked.monotonic_reads, asked.read_your_writes)
    }

    /// What a write of `partition` waits for where clocks cannot put it above that (D10).
    pub(super) fn writes_follow(&self, partition: PartitionId, asked: Guarantees) -> Indexes {
        self.seen(partition, asked.writes_follow_reads, asked.monotonic_writes)
    }

    /// hrv and hwv, or one of them.
    fn seen(&self, partition: PartitionId, read: bool, written: bool) -> Indexes {
        let mut x = Indexes::default();
        for (matrix, is_asked) in [(&self.hrm, read), (&self.hwm, written)] {
            matrix.get(&partition).filter(|_| is_asked).into_iter().for_each(|column| x.merge(column));
        }
        x
    }

    /// `dt`: what a write has to win over, as far as it asks for that.
    pub(super) fn writes_after(&self, asked: Guarantees) -> Hlc {
        let dt_r = if asked.writes_follow_reads && DT_COVERS_READS.kept() { self.dt_r } else { Hlc::ZERO };
        let dt_w = if asked.monotonic_writes && DT_COVERS_WRITES.kept() { self.dt_w } else { Hlc::ZERO };
        dt_r.max(dt_w)
    }
}
