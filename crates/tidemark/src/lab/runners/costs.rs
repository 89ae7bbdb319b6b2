//! Points that play the schedule of `tidemark protocols --table`: what operations cost, and how fresh what they read is.

use super::settings::Settings;
use anyhow::{Context, anyhow};
use serde_json::Value;
use tidemark_experiments::{Point, Row, Runner};
use tidemark_sim::Measurement;
use tidemark_simulators::simulator;

/// What a protocol costs: a row a point.
pub(crate) struct Costs;

impl Runner for Costs {
    fn run(&self, point: &Point<'_>, _say: &dyn Fn(&str)) -> anyhow::Result<Vec<Row>> {
        let settings = Settings::new(point);
        let protocol = settings.word("protocol")?.context("a point names its protocol")?;
        let usual = Measurement::default();
        let what = Measurement {
            dcs: settings.whole("dcs", usual.dcs)?,
            partitions: settings.whole("partitions", usual.partitions)?,
            sessions: settings.whole("sessions", usual.sessions)?,
            ops: settings.whole("ops", usual.ops)?,
            write_transactions: settings.whole("write_transactions", 0)? as u32,
            seed: settings.whole("seed", usual.seed as usize)? as u64,
            params: settings.params()?.into_iter().collect(),
            ..usual
        };
        settings.end()?;
        let simulator = simulator(protocol).with_context(|| format!("no protocol is called {protocol}"))?;
        simulator.validate_measurement(&what).map_err(|error| anyhow!(error))?;
        let mut row = Row::new();
        flatten("", serde_json::to_value(simulator.measure(&what))?, &mut row);
        row.remove("protocol");
        Ok(vec![row])
    }

    fn parallel(&self) -> bool {
        true
    }

    fn repeatable(&self) -> bool {
        true
    }
}

/// Numbers within numbers, with the names of both: `get_stale_share`.
fn flatten(name: &str, value: Value, row: &mut Row) {
    let Value::Object(fields) = value else {
        row.insert(name.to_string(), value);
        return;
    };
    for (field, value) in fields {
        let name = if name.is_empty() { field } else { format!("{name}_{field}") };
        flatten(&name, value, row);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn row(extra: Value) -> anyhow::Result<Row> {
        let mut values = json!({"protocol": "accf", "dcs": 2, "partitions": 2, "sessions": 4, "ops": 400});
        values.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        let values: Row = serde_json::from_value(values).unwrap();
        Costs.run(&Point { values: &values, labels: &[] }, &|_| {}).map(|mut rows| rows.remove(0))
    }

    #[test]
    fn a_version_is_heavier_the_more_groups_are_tracked() {
        let bytes = |tracking: &str| {
            let row = row(json!({"param_tracking": tracking})).unwrap();
            assert_eq!((&row["kept"], &row["failed"]), (&json!(true), &json!(0)));
            row["updates_metadata_bytes"].as_f64().unwrap()
        };
        let (system, region, server) = (bytes("system"), bytes("region"), bytes("server"));
        assert!(system < region && region < server, "{system}, {region}, {server}");
        let refused = row(json!({"param_tracking": "galaxy"})).unwrap_err().to_string();
        assert!(refused.contains("\"region\""), "{refused}");
    }
}
