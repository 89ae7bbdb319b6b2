//! `[adapt]`: checking groups that follow what clients do.

use super::problem::Problem;
use super::units::Span;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::time::Duration;
use tidemark_adapt::Settings;
use tidemark_contract::Topology;

/// `[adapt]`: nodes watch which servers sessions read at together, and give each session that names no checking group the
/// smallest that holds them all. `tidemark up` adds groups that pay, and takes back those that do not.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct AdaptTable {
    /// How often somebody looks whether other groups would be better.
    pub every: Span,
    /// In how many checking groups a server may be, those of `[protocol]` included.
    pub budget: usize,
    /// How much waiting is worth what is newer: to read what is a millisecond older is as bad as to wait for so many milliseconds.
    pub freshness: f64,
    /// What a change has to save at least, for each read of those whom it serves.
    pub least: Span,
}

impl Default for AdaptTable {
    fn default() -> Self {
        let Settings { budget, freshness, least_us } = Settings::default();
        let least = Span(Duration::from_micros(least_us as u64));
        Self { every: Span(Duration::from_secs(5)), budget, freshness, least }
    }
}

/// Checking groups that follow what clients do.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Adapt {
    /// How often somebody looks.
    pub every: Duration,
    /// What it goes by.
    pub settings: Settings,
}

/// What `table` says, for a cluster of `protocol` whose numbers were checked.
pub(super) fn resolve(
    table: &AdaptTable,
    protocol: &str,
    params: &Value,
    topology: &Topology,
) -> Result<Adapt, Problem> {
    let grouped = tidemark_registry::by_name(protocol)
        .is_none_or(|protocol| !protocol.checking_groups(params, topology).is_empty());
    if !grouped {
        let what = format!("{protocol} has no checking groups that could follow its clients");
        return Err(Problem::new("adapt", what, "choose protocol = \"accf\", or remove the table"));
    }
    if !(Duration::from_millis(100)..=Duration::from_secs(86_400)).contains(&table.every.0) {
        let what = format!("{} is no time to see what clients do", table.every);
        return Err(Problem::new("adapt.every", what, "choose 100ms to a day; some seconds are usual"));
    }
    let least_us = table.least.0.as_micros() as f64;
    let settings = Settings { budget: table.budget, freshness: table.freshness, least_us };
    let remedy = "remove the line for the default";
    settings.check().map_err(|what| Problem::new("adapt", what, remedy))?;
    Ok(Adapt { every: table.every.0, settings })
}
