//! Intervals and limits of stable time.

use serde::{Deserialize, Serialize};
use tidemark_core::Micros;

/// The parameters of GentleRain's evaluation, which later papers share or leave open.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// θ: how often a server passes on what it has received.
    pub theta_us: Micros,
    /// Δ: how long a server that writes nothing lets its peers wait for a heartbeat.
    pub delta_us: Micros,
    /// Children of a node of the aggregation tree.
    pub fan_out: usize,
    /// How long a session, or a read of several keys, waits.
    pub wait_limit_us: Micros,
}

impl crate::Params for Params {}

impl Default for Params {
    fn default() -> Self {
        Self { theta_us: 5_000, delta_us: 5_000, fan_out: 2, wait_limit_us: 2_000_000 }
    }
}

/// The same, of protocols that have interactive transactions.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[allow(missing_docs)]
pub struct TransactionParams {
    pub theta_us: Micros,
    pub delta_us: Micros,
    pub fan_out: usize,
    pub wait_limit_us: Micros,
    /// How long an interactive transaction may be open: until then its snapshot is kept.
    pub transaction_limit_us: Micros,
}

/// See [`TransactionParams::transaction_limit_us`].
pub const TRANSACTION_LIMIT_US: Micros = 60_000_000;

impl crate::Params for TransactionParams {}

impl Default for TransactionParams {
    fn default() -> Self {
        let Params { theta_us, delta_us, fan_out, wait_limit_us } = Params::default();
        Self { theta_us, delta_us, fan_out, wait_limit_us, transaction_limit_us: TRANSACTION_LIMIT_US }
    }
}

impl From<TransactionParams> for Params {
    fn from(TransactionParams { theta_us, delta_us, fan_out, wait_limit_us, .. }: TransactionParams) -> Self {
        Self { theta_us, delta_us, fan_out, wait_limit_us }
    }
}

/// The same, of protocols that can read at a time.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[allow(missing_docs)]
pub struct KeepParams {
    pub theta_us: Micros,
    pub delta_us: Micros,
    pub fan_out: usize,
    pub wait_limit_us: Micros,
    /// How long a version is kept after a newer one has taken its place, for reads at a time. At 0, the default, none is kept
    /// for them and they are refused.
    pub keep_us: Micros,
}

impl crate::Params for KeepParams {
    fn keep_us(&self) -> Micros {
        self.keep_us
    }
}

impl Default for KeepParams {
    fn default() -> Self {
        let Params { theta_us, delta_us, fan_out, wait_limit_us } = Params::default();
        Self { theta_us, delta_us, fan_out, wait_limit_us, keep_us: 0 }
    }
}

impl From<KeepParams> for Params {
    fn from(KeepParams { theta_us, delta_us, fan_out, wait_limit_us, .. }: KeepParams) -> Self {
        Self { theta_us, delta_us, fan_out, wait_limit_us }
    }
}
