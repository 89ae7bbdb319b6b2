//! The numbers of Orbe.

use tidemark_contract::prelude::{Deserialize, Micros, Serialize};
use tidemark_contract::stabilised;

/// The numbers. The paper's could not be verified: Δ, θ and the fan-out are those of GentleRain, which is by the same
/// authors.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// θ: how often a server asks again what was not answered, gives up what waited too long, and collects (D8).
    pub theta_us: Micros,
    /// Δ: how long a server that writes nothing lets its peers wait for a heartbeat.
    pub delta_us: Micros,
    /// Children of a node of the aggregation tree.
    pub fan_out: usize,
    /// How far behind its coordinator's clock a read-only transaction begins: what it is older, it waits less.
    pub snapshot_age_us: Micros,
    /// How long a read-only transaction, or a session that moved here, waits.
    pub wait_limit_us: Micros,
}

impl tidemark_contract::Params for Params {}

impl Default for Params {
    fn default() -> Self {
        let (theta_us, delta_us, wait_limit_us) = (100_000, 5_000, 2_000_000);
        Self { theta_us, delta_us, fan_out: 2, snapshot_age_us: 0, wait_limit_us }
    }
}

impl Params {
    /// Those that the component knows.
    pub(super) fn shared(&self) -> stabilised::Params {
        let &Self { theta_us, delta_us, fan_out, wait_limit_us, .. } = self;
        stabilised::Params { theta_us, delta_us, fan_out, wait_limit_us }
    }
}
