//! The terms of GentleRain: its rules, one of which tests break at a time; its numbers; what is said, kept and seen.

use serde::{Deserialize, Serialize};
use tidemark_contract::core::{DcId, Hlc, Key, Micros, Update};
use tidemark_contract::{
    Absence, Found, Hard, Lacks, Reach, SliceReply, SliceReq, Tree, Version, Walk, one_round,
};

/// Where the corrected protocol and the published one differ, and what tests break to see it matter.
#[allow(missing_docs)]
pub trait Rules: 'static {
    const NAME: &'static str;
    const ABOUT: &'static str;
    const PUT_CARRIES_GST: bool = true; // D1
    const GST_NEVER_FALLS: bool = true; // D2
    const STAMPS_INCREASE: bool = true; // D3
    const GST_SURVIVES: bool = true; // D4
    const STABLE_STAYS_HOME: bool = true; // D5
    const PUT_WAITS: bool = true; // Algorithm 2 line 6
    const ROTX_WAITS: bool = true; // Algorithm 4 line 11
    const ROTX_COVERS_DT: bool = true; // D7, from here on
    const SLICE_FENCES: bool = true;
    const FENCE_SURVIVES: bool = true;
    const LOCAL_NEEDS_GST: bool = true;
    const PUT_TELLS_GST: bool = true;
    const ONE_GST: bool = true;
    const ONE_CUT: bool = true; // D10, from here on
    const HIDES: bool = true;
    const FETCHES: bool = true;
    const ALL_HIDE_FIRST: bool = true;
    const GST_JUMPS: bool = true;
    const ADMITS_IGNORANCE: bool = true;
    const RETURN_WAITS: bool = true;
    const MOVERS_WAIT: bool = true;
    const MOVERS_CATCH_UP: bool = true;
    const DELETIONS_LAST: bool = true;

    /// Whether [`Self::newer_wins`] is to be asked.
    const RESOLVES: bool = false;
    /// §4.4: whether `newer` wins against `older`, which it did not see: a function of the two alone.
    fn newer_wins(_older: &Version<Hlc>, _newer: &Version<Hlc>) -> bool {
        true
    }
}

/// The protocol as it should be.
pub type GentleRain = super::Server<Corrected>;
/// The rules of [`GentleRain`].
pub struct Corrected;

impl Rules for Corrected {
    const NAME: &'static str = "gentlerain";
    const ABOUT: &'static str = "causal+ with one number a version; waits for the farthest region";
}

/// The protocol to the letter of the paper, for the checker to convict.
pub type GentleRainPublished = super::Server<Published>;
/// The rules of [`GentleRainPublished`].
pub struct Published;

impl Rules for Published {
    const NAME: &'static str = "gentlerain-published";
    const ABOUT: &'static str =
        "GentleRain to the letter, with errata E-1, E-2, E-9 and E-11: for study only";
    const PUT_CARRIES_GST: bool = false;
    const GST_NEVER_FALLS: bool = false;
    const STAMPS_INCREASE: bool = false;
    const ONE_CUT: bool = false;
    const ALL_HIDE_FIRST: bool = false;
    const RETURN_WAITS: bool = false;
}

/// What stamps are made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Stamps {
    /// Physical time, as published: a PUT waits for a clock that lags behind its session.
    Physical,
    /// A hybrid clock: no PUT waits.
    Hlc,
}

/// The numbers: θ and the fan-out are those of the paper's evaluation, which does not tell its Δ.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// θ: how often a server passes on what it has received.
    pub theta_us: Micros,
    /// Δ: how long a server that writes nothing lets its peers wait for a heartbeat.
    pub delta_us: Micros,
    /// Children of a node of the aggregation tree.
    pub fan_out: usize,
    /// α: how far `gst` may lie behind a session's `dt` for its ROTX to wait. At 0 none waits; if unset, all do.
    pub alpha_us: Option<Micros>,
    /// How long a ROTX, or a session that moved here, waits for `gst`.
    pub wait_limit_us: Micros,
    /// What stamps are made of.
    pub clock: Stamps,
}

impl Default for Params {
    fn default() -> Self {
        let (theta_us, delta_us, wait_limit_us) = (5_000, 5_000, 2_000_000);
        Self { theta_us, delta_us, fan_out: 2, alpha_us: None, wait_limit_us, clock: Stamps::Physical }
    }
}

/// DT and GST of a session, what an answer adds to them, and what a snapshot contains (D7; its `dt` is 0 in
/// Algorithm 3, where `gst` is called `st`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct Past {
    pub dt: Hlc,
    pub gst: Hlc,
}

impl one_round::Past for Past {
    /// Algorithm 1 lines 4, 5 and 10; 3 and 4 lines 5 and 6.
    fn merge(&mut self, other: &Self) {
        self.dt = self.dt.max(other.dt);
        self.gst = self.gst.max(other.gst);
    }

    fn reach(&self, home: DcId) -> Reach {
        Reach::of(home, [&super::one(self.dt), &super::one(self.gst)])
    }
}

/// What a session asks.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[allow(missing_docs)]
pub enum Request {
    Get(Key, Hlc),           // GETREQ k, gst
    Put(Key, Update, Past),  // PUTREQ k, v, dt; D1: and gst
    Snapshot(Vec<Key>, Hlc), // GETSNAPSHOT kset, gst
    Rotx(Vec<Key>, Past),    // GETROTX kset, gst, dt
    Walk(Walk, Hlc),         // SCAN and COUNT, gst
    Cover(Past, DcId),       // D5: wait for everything up to dt; from where (D10)
}

/// What the servers of a data centre say to each other.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[allow(missing_docs)]
pub enum Peer {
    Tree(Tree),
    SliceReq(SliceReq<Past>),     // SLICEREQ k, st
    SliceReply(SliceReply<Past>), // SLICEREPLY v, ut, gst
    Lacks(Lacks),                 // D10: to the donor
    Found(Found<Hlc>),            // and back
}

/// What outlives a crash.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct Kept {
    pub clock: Hard,
    pub absence: Absence,
}

/// Timers; `Clock` is armed while a PUT waits for the clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs)]
pub enum Timer {
    Theta,
    Delta,
    Clock,
}

/// What a reader in data centre `m` can see.
pub struct View {
    pub(super) m: DcId,
    /// A snapshot; a GET sees everything that was written here, and what is stable.
    pub(super) at: Past,
    pub(super) fresh: bool,
    /// D10: of which data centre nothing is shown that it wrote above a cut.
    pub(super) hidden: Option<(DcId, Hlc)>,
}
