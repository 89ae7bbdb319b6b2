//! The numbers of NuKV: ours.

use serde::{Deserialize, Serialize};
use tidemark_contract::core::Micros;

/// The numbers.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// How long a read waits for what its session has seen or for its time, and a write of `nukv-physical` for the clock.
    pub wait_limit_us: Micros,
    /// How long a version is kept after a newer one has taken its place, for reads at a time (D11). At 0, the default, none is
    /// kept for them, they are refused, and there are no heartbeats. `nukv-physical` has none of this.
    pub keep_us: Micros,
    /// Δ: how long a server lets its peers wait for a heartbeat, if versions are kept.
    pub delta_us: Micros,
}

impl tidemark_contract::Params for Params {
    fn keep_us(&self) -> Micros {
        self.keep_us
    }
}

impl Default for Params {
    fn default() -> Self {
        Self { wait_limit_us: 2_000_000, keep_us: 0, delta_us: 5_000 }
    }
}
