//! What the numbers of a cluster make of its protocol.

use crate::ServeError;
use serde_json::Value;
use tidemark_adapt::Choices;
use tidemark_contract::core::Micros;
use tidemark_contract::{Params as _, Protocol, Topology};

/// A protocol with its numbers, as far as others than its servers have to know.
pub(crate) struct Dialect {
    /// The protocol's name, and how what it stores and hands over is to be read, if that depends on its numbers: nodes and
    /// tokens of one cluster have the same.
    pub(crate) name: String,
    /// Whether it has checking groups.
    pub(crate) checks_in_groups: bool,
    /// Those that there are, and when to look again.
    pub(crate) checking_groups: (Choices, Micros),
}

impl Dialect {
    /// REQUIRES: `params` were checked.
    pub(super) fn of<P: Protocol>(params: &P::Params, topology: &Topology) -> Self {
        let stored = params.format();
        let name =
            if stored.is_empty() { P::INFO.name.to_string() } else { format!("{}, {stored}", P::INFO.name) };
        let founded = P::EXTENSIONS.checking_groups(params, topology, &P::Hard::default());
        let checks_in_groups = !founded.is_empty();
        let mut known = Choices::default();
        known.update(founded);
        Self { name, checks_in_groups, checking_groups: (known, 0) }
    }
}

/// The numbers of the protocol that a cluster runs.
pub(super) fn params<P: Protocol>(params: &Value, topology: &Topology) -> Result<P::Params, ServeError> {
    let wrong =
        |why: String| ServeError::Config(format!("the parameters of protocol {}: {why}", P::INFO.name));
    let params = match params {
        Value::Null => P::Params::default(),
        Value::Object(map) if map.is_empty() => P::Params::default(),
        params => serde_json::from_value(params.clone()).map_err(|error| wrong(error.to_string()))?,
    };
    params.check(topology).map_err(wrong)?;
    Ok(params)
}
