//! The numbers of GentleRain.

use super::Resolver;
use tidemark_contract::conflicts::Judge as _;
use tidemark_contract::prelude::{Deserialize, Hlc, Micros, Serialize};
use tidemark_contract::{Topology, stabilised};

/// What stamps are made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Stamps {
    /// Physical time, as published: a PUT waits for a clock that lags behind its session.
    Physical,
    /// A hybrid clock: no PUT waits.
    Hlc,
    /// A Lamport clock, which only writes and versions move (§5.1), for experiments: `gst` follows the slowest, and where a partition
    /// is written to no more, nothing new from elsewhere shows.
    Logical,
}

impl Stamps {
    /// What a clock shows by itself, whatever has been written: `now`.
    pub(super) fn read(self, now: Micros) -> Hlc {
        if self == Self::Logical { Hlc::ZERO } else { Hlc::at(now) }
    }
}

/// The numbers: θ and the fan-out are those of the paper's evaluation, which does not tell its Δ.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// θ: how often a server passes on what it has received.
    pub theta_us: Micros,
    /// Δ: how long a server that writes nothing lets its peers wait for a heartbeat.
    pub delta_us: Micros,
    /// Children of a node of the aggregation tree; 0: no tree, each tells all.
    pub fan_out: usize,
    /// α: how far `gst` may lie behind a session's `dt` for its ROTX to wait. At 0 none waits; if unset, all do.
    pub alpha_us: Option<Micros>,
    /// How long a ROTX, or a session that moved here, waits for `gst`.
    pub wait_limit_us: Micros,
    /// What stamps are made of.
    pub clock: Stamps,
    /// How long a version is kept after a newer one has taken its place, for reads at a time (D11). At 0, the default, none is
    /// kept for them and they are refused.
    pub keep_us: Micros,
    /// Who wins of two updates that did not see each other (D9).
    pub resolver: Resolver,
}

impl tidemark_contract::Params for Params {
    fn check(&self, _topology: &Topology) -> Result<(), String> {
        match self.clock == Stamps::Logical && self.keep_us > 0 {
            true => {
                Err("clock = \"logical\" has no physical times to read at: leave keep_us at 0".to_string())
            }
            false => Ok(()),
        }
    }

    /// Where the last writer wins, what lost is gone from some replicas, and another resolver would miss it.
    fn format(&self) -> String {
        if self.resolver.resolves() { "conflicts are kept".to_string() } else { String::new() }
    }

    fn keep_us(&self) -> Micros {
        self.keep_us
    }
}

impl Default for Params {
    fn default() -> Self {
        let (theta_us, delta_us, wait_limit_us) = (5_000, 5_000, 2_000_000);
        let clock = Stamps::Physical;
        let resolver = Resolver::default();
        Self { theta_us, delta_us, fan_out: 2, alpha_us: None, wait_limit_us, clock, keep_us: 0, resolver }
    }
}

impl Params {
    /// Those that the component knows.
    pub(super) fn shared(&self) -> stabilised::Params {
        let &Self { theta_us, delta_us, fan_out, wait_limit_us, .. } = self;
        stabilised::Params { theta_us, delta_us, fan_out, wait_limit_us }
    }
}
