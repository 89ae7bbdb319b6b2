//! Intervals and limits of the default protocol.

use serde::{Deserialize, Serialize};
use tidemark_contract::core::Micros;
use tidemark_contract::stabilised::{self, TRANSACTION_LIMIT_US};

/// CausalSpartanX's, and those of reads at a time and of interactive transactions.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[allow(missing_docs)]
pub struct Params {
    pub theta_us: Micros,
    pub delta_us: Micros,
    pub fan_out: usize,
    pub wait_limit_us: Micros,
    /// How long a version is kept after a newer one has taken its place, for reads at a time. At 0, the default, none is kept
    /// for them and they are refused.
    pub keep_us: Micros,
    /// How long an interactive transaction may be open: until then its snapshot is kept.
    pub transaction_limit_us: Micros,
    /// Snapshots are kept that so many regions have whole, or fewer: what is not in them is not collected. At 0, the default, none are,
    /// and transactions that ask for one are refused.
    pub base_regions: usize,
    /// How often regions tell each other what they have, if such snapshots are kept.
    pub tell_us: Micros,
    /// A transaction of an edge client is accepted up to so long after its time. So long other regions can have accepted it, too, and
    /// what it wrote is kept apart; and snapshots that several regions have whole can be read for twice as long. At 0, the default, there
    /// are no edge clients.
    pub edge_retain_us: Micros,
}

impl tidemark_contract::Params for Params {
    fn keep_us(&self) -> Micros {
        self.keep_us
    }
}

impl Default for Params {
    fn default() -> Self {
        let stabilised::Params { theta_us, delta_us, fan_out, wait_limit_us } = Default::default();
        let transaction_limit_us = TRANSACTION_LIMIT_US;
        let (keep_us, base_regions, tell_us, edge_retain_us) = (0, 0, 100_000, 0);
        Self {
            theta_us,
            delta_us,
            fan_out,
            wait_limit_us,
            keep_us,
            transaction_limit_us,
            base_regions,
            tell_us,
            edge_retain_us,
        }
    }
}

impl From<Params> for stabilised::Params {
    fn from(Params { theta_us, delta_us, fan_out, wait_limit_us, .. }: Params) -> Self {
        Self { theta_us, delta_us, fan_out, wait_limit_us }
    }
}
